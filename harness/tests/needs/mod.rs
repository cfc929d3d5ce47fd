//! Programs that some tests need and not every machine has.

use std::io::Write;
use std::process::Command;

/// Whether this program is there. Where it is not, the caller leaves out what
/// needs it, and this says so past the test runner, which would keep to itself
/// what a passing test prints.
pub(crate) fn is_there(program: &str, what: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        skipped(&format!("`{program}`"), what);
    }
    there
}

/// Says what a test leaves out, and what it lacks for it.
pub(crate) fn skipped(lacks: &str, what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED for want of {lacks}: {what}");
}
