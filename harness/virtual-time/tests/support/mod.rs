//! Runs programs in virtual time as the harness will: the test's process
//! traces, another one starts the program and waits for it.

#![allow(dead_code, reason = "each test uses its part of it")]

use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use virtual_time::{Entry, Options, TimeRecord, Tracer, VirtualTime, Voter, gate};

/// The program that makes timed calls.
pub(crate) const CLIENT: &str = env!("CARGO_BIN_EXE_virtual-time-client");

/// A program that has run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) output: Output,
    pub(crate) entry: Entry,
    pub(crate) record: TimeRecord,
    /// By the clock on the wall.
    pub(crate) real: Duration,
    /// By the cell's clock.
    pub(crate) virtual_time: Duration,
}

impl Ran {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    /// It ended well, and its times are true.
    pub(crate) fn checked(self) -> Self {
        assert!(self.output.status.success(), "{self:#?}");
        assert!(matches!(self.entry, Entry::Traced { .. }), "{self:#?}");
        assert_eq!(self.record.doubts, [], "{self:#?}");
        self
    }
}

/// A launcher of a program, with the door in its hand.
pub(crate) fn launcher(program: &[&str], tracer: &Tracer) -> Command {
    let (gate, door) = gate().unwrap();
    tracer.admit(gate);
    let mut launcher = Command::new(CLIENT);
    launcher.arg("launch").args(program).stdin(door);
    launcher.stdout(Stdio::piped()).stderr(Stdio::piped());
    launcher
}

pub(crate) fn run(program: &[&str]) -> Ran {
    run_in(&VirtualTime::begin(), Options::default(), program)
}

pub(crate) fn run_with(options: Options, program: &[&str]) -> Ran {
    run_in(&VirtualTime::begin(), options, program)
}

pub(crate) fn run_in(time: &Arc<VirtualTime>, options: Options, program: &[&str]) -> Ran {
    run_by(time.clone(), time, options, program)
}

/// Runs a program by a voter whose time is this one.
#[allow(clippy::disallowed_methods, reason = "what is measured is real time")]
pub(crate) fn run_by(
    voter: Arc<dyn Voter>,
    time: &Arc<VirtualTime>,
    options: Options,
    program: &[&str],
) -> Ran {
    let began = (Instant::now(), time.now());
    let tracer = Tracer::start(voter, options, |_| {}).unwrap();
    let child = launcher(program, &tracer).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let entry = tracer.wait_for_entries(1)[0];
    let record = tracer.finish();
    Ran {
        output,
        entry,
        record,
        real: began.0.elapsed(),
        virtual_time: time.now() - began.1,
    }
}

/// Whether the system lets this process trace; a test that needs it says that it
/// is skipped.
pub(crate) fn can_trace() -> bool {
    let probed = virtual_time::probe();
    if let Err(why) = &probed {
        println!("skipped: {why}");
    }
    probed.is_ok()
}

/// Whether a program is installed; a test that needs it says that it is skipped.
pub(crate) fn installed(program: &str, asked: &[&str]) -> bool {
    let there = Command::new(program)
        .args(asked)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        println!("skipped: {program} is not installed here");
    }
    there
}

/// Asserts that a time lies within bounds, in seconds.
#[track_caller]
pub(crate) fn within(time: Duration, from: f64, to: f64) {
    let seconds = time.as_secs_f64();
    assert!(
        (from..=to).contains(&seconds),
        "{seconds} s, not {from} to {to}"
    );
}
