//! Asking a client for its version starts a program, which may do anything.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::client::version::first_words;
use harness::surroundings::Surroundings;
use support::{PATIENCE, eventually, is_alive, pids_in, wirefault};
use tempfile::TempDir;

fn ask(folder: &Path, script: &str, patience: Duration) -> Result<String, String> {
    let around = Surroundings {
        cwd: folder.to_owned(),
        path: vec![PathBuf::from("/usr/bin"), PathBuf::from("/bin")],
        wirefault: wirefault(),
        ..Surroundings::read().unwrap()
    };
    let args = ["sh", "-c", script].map(str::to_owned);
    first_words(&args, &around, patience)
}

fn said(script: &str) -> Result<String, String> {
    ask(TempDir::new().unwrap().path(), script, PATIENCE)
}

#[test]
fn a_program_that_fails_has_no_version() {
    assert_eq!(
        said("echo 1.2; exit 3").unwrap_err(),
        "fails with exit code 3"
    );
    assert_eq!(
        said("echo 1.2; kill -9 $$").unwrap_err(),
        "was ended by signal 9"
    );
}

#[test]
fn the_environment_of_the_caller_is_not_seen() {
    assert_eq!(
        said("echo ${CARGO_MANIFEST_DIR:-unset}").unwrap(),
        "unset\n"
    );
}

#[test]
fn a_program_that_prints_far_too_much_is_heard_out() {
    let flood = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $1 0123456789012345678901234567890123456789; echo error >&2; done";
    let said = said(flood).unwrap();
    assert_eq!(said.len(), 4096);
}

/// A program that daemonizes itself has left the group that it was started in.
#[test]
fn nothing_is_left_of_a_program_that_never_ends() {
    let folder = TempDir::new().unwrap();
    let script = "setsid sh -c 'echo $$ >> pids; sleep 600' & echo $$ >> pids; sleep 600";
    let said = ask(folder.path(), script, Duration::from_secs(1));
    assert_eq!(said.unwrap_err(), "does not end within 1 s");
    for pid in pids_in(&folder.path().join("pids")) {
        assert!(!is_alive(pid), "{pid} is still there");
    }
}

#[test]
fn nothing_is_left_of_a_program_that_ends_before_what_it_started() {
    let folder = TempDir::new().unwrap();
    let script = "setsid sh -c 'echo $$ >> pids; sleep 600' & \
                  while ! test -s pids; do sleep 0.01; done; echo 1.2";
    assert_eq!(ask(folder.path(), script, PATIENCE).unwrap(), "1.2\n");
    let pids = eventually("a process id", || {
        let pids = pids_in(&folder.path().join("pids"));
        (!pids.is_empty()).then_some(pids)
    });
    assert!(!is_alive(pids[0]), "{} is still there", pids[0]);
}
