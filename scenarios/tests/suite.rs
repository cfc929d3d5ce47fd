//! The shipped scenarios as a whole: what they are about, and that each names a
//! defect of the reference client and each defect is named. Whether they are caught is
//! shown by `wirefault selftest`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::BTreeSet;
use std::path::Path;

use scenarios::document::{Source, render};
use scenarios::plan::Plan;
use scenarios::validate::{Known, scenario};

fn defects() -> BTreeSet<String> {
    let file = Path::new("../clients/reference/reference.yaml");
    let source = Source::read(file).unwrap();
    scenarios::manifest::decode(&source).unwrap().defects
}

fn plans() -> Vec<Plan> {
    let known = Known { defects: defects() };
    let areas = std::fs::read_dir("suite").unwrap();
    let areas = areas.map(|entry| entry.unwrap().path());
    let files = areas.filter(|path| path.is_dir()).flat_map(|area| {
        let files = std::fs::read_dir(area).unwrap();
        files.map(|entry| entry.unwrap().path())
    });
    files.flat_map(|file| of_file(&file, &known)).collect()
}

fn of_file(file: &Path, known: &Known) -> Vec<Plan> {
    let source = Source::read(file).unwrap();
    let name = file.with_extension("");
    let name = name.strip_prefix("suite").unwrap().to_string_lossy();
    match scenario(&source, &name, 1, known) {
        Ok(plans) => plans,
        Err(found) => panic!("{}", render(&found, &source, false)),
    }
}

#[test]
fn every_scenario_names_a_defect_and_every_defect_is_named() {
    let plans = plans();
    let all: BTreeSet<&str> = plans.iter().map(|one| &*one.case.scenario).collect();
    let proved = plans.iter().filter(|plan| plan.proves.is_some());
    let with_proof: BTreeSet<&str> = proved.map(|plan| &*plan.case.scenario).collect();
    assert_eq!(with_proof, all, "scenarios that would pass any client");
    let named = plans.iter().filter_map(|plan| plan.proves.as_ref());
    let named: BTreeSet<String> = named.map(|proves| proves.defect.clone()).collect();
    assert_eq!(named, defects(), "defects that no scenario catches");
}

/// What clients have to get right in twenty-six rows, one tag each.
const ROWS: usize = 26;

#[test]
fn every_row_of_what_a_client_has_to_get_right_has_a_scenario() {
    let plans = plans();
    let tags: BTreeSet<&str> = plans
        .iter()
        .flat_map(|plan| &plan.tags)
        .map(|tag| &**tag)
        .collect();
    let rows = (1..=ROWS).map(|row| format!("R{row}"));
    let missing: Vec<String> = rows.filter(|row| !tags.contains(&**row)).collect();
    assert_eq!(missing, MISSING, "rows without a scenario");
}

/// Rows whose scenarios are still to come.
const MISSING: [&str; 1] = ["R24"];
