//! The end of a client, and the time that it is given.
//!
//! What is done to a client is handed in as functions, so that the order of it
//! is kept here and can be tested: nothing in this file calls the system.

use super::Status;
use super::tree::Swept;

/// What ended the wait for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The client has ended.
    Ended,
    /// The harness ordered it to be killed.
    Ordered,
    /// The harness is gone.
    Orphaned,
}

/// What the system tells of a client that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reaped {
    /// Exit code; none when a signal ended it.
    pub(super) code: Option<i32>,
    /// Signal.
    pub(super) signal: Option<i32>,
    /// Time that its first thread was ready but not running.
    pub(super) run_delay_ns: u64,
}

/// Kills the client unless it has ended, reaps it, and says when it ended.
///
/// A client that was killed is given the time before anything was stopped. A
/// sweep takes a while, and what arrives in it may come from a process that is
/// half dead, or from its kernel: none of that was done by a living client.
pub(super) fn client(
    woken: Woken,
    now: impl Fn() -> u64,
    sweep: impl FnOnce() -> Swept,
    reap: impl FnOnce() -> Reaped,
) -> (Status, Swept) {
    let before = now();
    let swept = match woken {
        Woken::Ended => Swept::default(),
        Woken::Ordered | Woken::Orphaned => sweep(),
    };
    let seen = now();
    let Reaped {
        code,
        signal,
        run_delay_ns,
    } = reap();
    // An order that came as the client was ending by itself killed nobody, and
    // what the client did until then counts.
    let killed = woken != Woken::Ended && code.is_none();
    let status = Status::Exited {
        code,
        signal,
        killed: killed && woken == Woken::Ordered,
        monotonic_ns: if killed { before } else { seen },
        run_delay_ns,
    };
    (status, swept)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// When the client was woken for, and how long a sweep takes.
    const BEGIN: u64 = 1_000;
    const SWEEP: u64 = 50;

    /// The end of a client that the system tells so: its status, and whether it
    /// was swept. Time goes on by sweeping only.
    fn end(woken: Woken, code: Option<i32>) -> (Status, bool) {
        let (clock, swept) = (Cell::new(BEGIN), Cell::new(false));
        let sweep = || {
            clock.set(clock.get() + SWEEP);
            swept.set(true);
            Swept { killed: 1, left: 0 }
        };
        let reap = || Reaped {
            code,
            signal: code.is_none().then_some(9),
            run_delay_ns: 7,
        };
        let (status, found) = client(woken, || clock.get(), sweep, reap);
        assert_eq!(found.killed, u32::from(swept.get()));
        (status, swept.get())
    }

    fn exited(code: Option<i32>, killed: bool, monotonic_ns: u64) -> Status {
        Status::Exited {
            code,
            signal: code.is_none().then_some(9),
            killed,
            monotonic_ns,
            run_delay_ns: 7,
        }
    }

    #[test]
    fn the_time_of_a_kill_is_taken_before_the_sweep() {
        assert_eq!(end(Woken::Ordered, None), (exited(None, true, BEGIN), true));
        assert_eq!(
            end(Woken::Orphaned, None),
            (exited(None, false, BEGIN), true)
        );
    }

    #[test]
    fn a_client_that_ended_by_itself_as_the_order_came_lived_until_that_was_seen() {
        assert_eq!(
            end(Woken::Ordered, Some(0)),
            (exited(Some(0), false, BEGIN + SWEEP), true)
        );
    }

    #[test]
    fn a_client_that_has_ended_is_not_swept_before_it_is_reaped() {
        for code in [Some(3), None] {
            assert_eq!(end(Woken::Ended, code), (exited(code, false, BEGIN), false));
        }
    }
}
