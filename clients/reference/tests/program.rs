//! The reference client as a program: protocol, arguments, exit codes.

use std::process::Command;

use client_kit::conformance;
use reference_client::defects::LIST;

const PROGRAM: &str = env!("CARGO_BIN_EXE_reference-client");

#[test]
fn the_program_keeps_to_the_protocol() {
    let problems = conformance::check(&[PROGRAM.to_owned()]).unwrap();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn an_unknown_defect_exits_2_and_lists_all_there_are() {
    let output = Command::new(PROGRAM)
        .args(["--defect", "eats-cake"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("no defect is called \"eats-cake\""),
        "{text}"
    );
    for (_, name, does) in LIST {
        assert!(text.contains(name) && text.contains(does), "{name}");
    }
}

#[test]
fn without_work_it_exits_2_and_says_why() {
    let output = Command::new(PROGRAM)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("no work on stdin"), "{text}");
}

#[test]
fn the_version_is_one_line() {
    let output = Command::new(PROGRAM).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text,
        format!("reference-client {}\n", env!("CARGO_PKG_VERSION"))
    );
}
