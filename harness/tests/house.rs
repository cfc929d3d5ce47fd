//! The shape of the repository: who imports whom, and folders that must agree
//! with lists.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// What each of our crates imports of ours, outside of its tests.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .unwrap();
    let ours: BTreeSet<String> = metadata
        .packages
        .iter()
        .map(|package| package.name.to_string())
        .collect();
    let all = metadata.packages.iter();
    all.map(|package| {
        let used = package.dependencies.iter();
        let used = used.filter(|dependency| dependency.kind != DependencyKind::Development);
        let names = used.map(|dependency| dependency.name.clone());
        let of_ours = names.filter(|name| ours.contains(name)).collect();
        (package.name.to_string(), of_ours)
    })
    .collect()
}

#[test]
fn imports_point_one_way_floor_by_floor() {
    const FLOORS: [(&str, &[&str]); 8] = [
        ("client-kit", &[]),
        ("virtual-time", &[]),
        ("reference-client", &["client-kit"]),
        ("rust-clients", &["client-kit"]),
        ("scripted-servers", &[]),
        ("scenarios", &["client-kit", "scripted-servers"]),
        ("reports", &["scenarios"]),
        (
            "harness",
            &[
                "client-kit",
                "reference-client",
                "reports",
                "rust-clients",
                "scenarios",
                "scripted-servers",
                "virtual-time",
            ],
        ),
    ];
    let imports = imports();
    let known: BTreeSet<&str> = FLOORS.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> = imports.keys().map(String::as_str).collect();
    assert_eq!(found, known, "a crate without a floor");
    for (name, allowed) in FLOORS {
        for used in &imports[name] {
            assert!(
                allowed.contains(&used.as_str()),
                "{name} must not import {used}"
            );
        }
    }
}

#[test]
fn every_command_has_a_file_of_its_name() {
    const SHARED: [&str; 4] = ["mod", "arguments", "present", "workspace"];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !SHARED.contains(&name.as_str()))
        .collect();
    let help = assert_cmd::Command::cargo_bin("wirefault")
        .unwrap()
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let listed = help.split("Commands:\n").nth(1).unwrap();
    let commands: BTreeSet<String> = listed
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .filter(|command| command != "help")
        .collect();
    assert_eq!(commands, files);
}
