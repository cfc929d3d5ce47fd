//! Cells before other programs, where this process may: load on the machine then
//! hardly shows in what a client does when.
//!
//! Only those who may raise a priority (root, CAP_SYS_NICE) can; others run as
//! everybody does, and nothing depends on it.

use std::fs;

use rustix::process::setpriority_process;

/// The most that there is: a program that computes as long as it likes has a
/// ninetieth of the weight.
const FIRST: i32 = -20;

/// This thread, and all that it starts from now on, goes first.
pub(crate) fn this_thread_first() {
    // Not allowed: as everybody.
    let _ = setpriority_process(None, FIRST);
}

/// The session that this process has begun goes first. The kernel shares processors
/// between sessions before it shares them within one (see sched(7), autogroup).
pub(crate) fn this_session_first() {
    let _ = fs::write("/proc/self/autogroup", FIRST.to_string());
}
