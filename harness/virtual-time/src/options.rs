//! How a cell's time is to be run.

use std::time::Duration;

/// How a cell's time is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Names of threads whose waits of more than 25 ms do not hold time, such as
    /// those of a virtual machine's own housekeeping. They are woken later than
    /// they asked for, as if they had not been given a processor.
    pub soft_threads: Vec<String>,
    /// Whoever starts the programs tells of each end that it has seen
    /// ([`Tracer::end_seen`](crate::Tracer::end_seen)), and until then time does not jump.
    /// Else it does as long as any program lives.
    pub waits_for_seen_ends: bool,
    /// Whether time is moved ahead. Without, a run shows what tracing alone
    /// changes.
    pub jump: bool,
    /// Whether programs read clocks without a stop, by a change of their vDSO.
    /// Without, each read is a stop, as where it cannot be changed.
    pub change_vdso: bool,
    /// For how long nothing may have stopped before the threads are looked at.
    /// A saving of work, no guard.
    pub rest: Duration,
    /// After how much real time without a rest the client is said to spin.
    pub spin_after: Duration,
    /// After how much real time, in which all wait and nobody for a time, the
    /// client is said to hang.
    pub stuck_after: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            soft_threads: Vec::new(),
            waits_for_seen_ends: false,
            jump: true,
            change_vdso: true,
            rest: Duration::from_micros(50),
            spin_after: Duration::from_secs(20),
            stuck_after: Duration::from_secs(2),
        }
    }
}
