//! Starting programs under test so that none of them outlives its cell.
//!
//! Every client is the child of a launcher: this binary, started again as
//! `wirefault __launch`. The launcher is small, has one thread,
//! and is a subreaper, so that whatever the client starts stays below it in the
//! tree of processes, sessions of their own and double forks included. Its
//! standard input is a socket to the harness: what to start comes in over it
//! with the client's pipes, orders come in, statuses go out, and its end tells that the harness
//! is gone. When the client has ended, or on order, or when the harness is
//! gone, the launcher kills all that is left and ends.
//!
//! Nothing here knows cells, plans or the client protocol.

mod end;
mod handle;
mod launcher;
mod procfs;
mod stamped;
mod tree;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

pub use handle::{Launched, Launcher, Stdin, Watch, become_subreaper};
pub use launcher::main;
pub(crate) use procfs::Usage;
pub(crate) use stamped::{Written, last_written};

/// The launcher's argument.
pub const ARGUMENT: &str = "__launch";

/// From the harness: here is a program with its three pipes, start it.
const GO: u8 = b'g';

/// From the harness: kill the client and all that it started.
const KILL: u8 = b'k';

/// CLOCK_MONOTONIC in nanoseconds: the one time that two processes share.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// What a launcher tells the harness, a JSON line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The program runs.
    Spawned {
        /// Its process id.
        pid: u32,
    },
    /// The program could not be started. Nothing follows.
    NotSpawned {
        /// Whether there is no such program.
        missing: bool,
        /// Why, in words.
        reason: String,
    },
    /// The program has ended.
    Exited {
        /// Exit code; none when a signal ended it.
        code: Option<i32>,
        /// Signal.
        signal: Option<i32>,
        /// Whether it was killed on order.
        killed: bool,
        /// CLOCK_MONOTONIC when that was seen, or just before the client was
        /// killed, in nanoseconds.
        monotonic_ns: u64,
        /// Time that its first thread was ready but not running.
        run_delay_ns: u64,
    },
    /// Nothing that the program started is left. The last status.
    Swept {
        /// How many processes it had left behind.
        count: u32,
        /// How many of them could not be killed.
        left: u32,
    },
}
