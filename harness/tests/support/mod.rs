//! What several test files need: waiting for a condition with a limit, and
//! asking whether a process is there.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

pub(crate) mod cells;

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use scripted_servers::clock::RealClock;

/// How long anything in these tests may take, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The binary `wirefault`.
pub(crate) fn wirefault() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_wirefault"))
}

/// Runs a future on a runtime of its own, and fails when it takes too long.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let clock = RealClock::start();
    runtime.block_on(async {
        tokio::select! {
            done = work => done,
            _ = clock.sleep_until(PATIENCE) => panic!("not done within {PATIENCE:?}"),
        }
    })
}

/// Waits until `condition` gives a value, looking every few milliseconds.
pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let clock = RealClock::start();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(clock.now() < PATIENCE, "never came: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// Whether this process exists and has not ended.
pub(crate) fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
        !matches!(state, Some(b'Z' | b'X'))
    })
}

/// The process ids that programs have written into this file, a line each.
pub(crate) fn pids_in(file: &std::path::Path) -> Vec<i32> {
    std::fs::read_to_string(file)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}
