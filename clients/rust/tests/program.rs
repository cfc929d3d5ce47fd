//! The hyper-util client as a program.

use std::process::Command;

use client_kit::conformance;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hyper-util-client");

#[test]
fn the_program_keeps_to_the_protocol() {
    let problems = conformance::check(&[PROGRAM.to_owned()]).unwrap();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn the_version_is_one_line_and_names_both_libraries() {
    let output = Command::new(PROGRAM).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("hyper-util 0.1.") && text.contains("(hyper 1."),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn an_argument_that_it_does_not_know_exits_2() {
    let output = Command::new(PROGRAM).arg("--defect").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
