//! The manifest says what the program is.

use reference_client::defects::LIST;
use serde_yaml::Value;

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn manifest() -> Value {
    serde_yaml::from_str(include_str!("../reference.yaml")).unwrap()
}

#[test]
fn the_manifest_lists_exactly_the_defects_there_are() {
    let manifest = manifest();
    let listed: Vec<_> = manifest["defects"]
        .as_sequence()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let there: Vec<_> = LIST.iter().map(|(_, name, _)| *name).collect();
    assert_eq!(listed, there);
}

#[test]
fn the_manifest_gives_every_code_of_the_client_a_phase_and_the_right_one() {
    let manifest = manifest();
    let listed: Vec<_> = manifest["errors"]
        .as_sequence()
        .unwrap()
        .iter()
        .map(|rule| {
            (
                rule["code"].as_str().unwrap(),
                rule["phase"].as_str().unwrap(),
            )
        })
        .collect();
    let codes: Vec<_> = reference_client::codes().collect();
    for code in &codes {
        assert!(listed.contains(code), "{code:?}");
    }
    assert_eq!(listed.len(), codes.len());
    assert_eq!(
        listed[0].0, "EARLIER_REQUEST_SENT",
        "it decides before all others"
    );
}
