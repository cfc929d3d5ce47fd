//! Evidence: what happened in one cell, in the order of one clock.
//!
//! Written as JSON Lines while the cell runs. Server events come from the
//! servers, client events from the harness; nothing is ever changed.

pub use client_kit::protocol::{ErrorLink, Report, Shown, ShownResponse};
use scripted_servers::event::ServerEvent;
use serde::{Deserialize, Serialize};

use crate::verdict::EndedBy;

/// One line of `events.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its number, from 1.
    pub n: u64,
    /// Microseconds since the cell began.
    pub at_us: u64,
    /// Which process of the client it is of, from 1. Other than 1 only in a fleet.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub process: u32,
    /// What happened.
    pub event: Event,
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_first(process: &u32) -> bool {
    *process == 1
}

/// Who saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A server.
    Server(ServerEvent),
    /// The harness, of the client under test.
    Client(ClientEvent),
}

/// What the harness saw of the client, and did to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientEvent {
    /// The program was started.
    Spawned {
        /// Its process id.
        pid: u32,
        /// Program and arguments.
        args: Vec<String>,
    },
    /// The work was handed over.
    Work,
    /// A line of progress.
    Progress {
        /// Of which call.
        call: u32,
        /// pending, working, retrying, succeeded, failed.
        state: String,
    },
    /// The final report of a call.
    Report(Report),
    /// The client said that it can not do this (exit 127, or by its report).
    Unsupported {
        /// Why, as far as it says.
        reason: String,
    },
    /// A line on stdout that is not of the protocol, cut to 200 characters.
    Garbage {
        /// The start of it.
        line: String,
        /// Why it was not understood.
        reason: String,
    },
    /// The client was told to cancel a call. Stamped just before it was written.
    CancelSent {
        /// Number of the call.
        call: u32,
    },
    /// The client is killed, to be started again. Stamped just before.
    CrashOrdered,
    /// The client was told to finish.
    FinishSent,
    /// The process under test ended.
    Exited {
        /// Exit code; none when a signal ended it.
        code: Option<i32>,
        /// Signal.
        signal: Option<i32>,
        /// Whether the harness killed it.
        killed: bool,
    },
    /// Processes that the client had left behind were killed.
    Swept {
        /// How many.
        count: u32,
    },
    /// The client's share of the processors: time it was ready but not running.
    RunDelay {
        /// Microseconds, over all its threads.
        micros: u64,
    },
    /// What became of time, in a cell whose client ran in virtual time.
    VirtualTime(VirtualTimeTold),
    /// The harness broke, or could not establish the conditions.
    HarnessError {
        /// What happened.
        reason: String,
    },
    /// The ledger is closed; the last entry.
    End {
        /// What ended the cell.
        ended_by: EndedBy,
    },
}

/// What became of a cell's virtual time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VirtualTimeTold {
    /// How often time was moved ahead.
    pub jumps: u64,
    /// By how much in all, in microseconds.
    pub jumped_us: u64,
    /// Who waited where time was moved by 100 ms or more, in order; the first 64.
    pub held: Vec<HeldWait>,
    /// How many more there were.
    pub held_not_listed: u64,
    /// What a reader should know, and how often it was seen.
    pub notes: Vec<Told>,
    /// Why the times are not to be trusted. Empty: they are true.
    pub doubts: Vec<Told>,
    /// Why the client ran in real time after all, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Something that was seen so often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// In words.
    pub what: String,
    /// How often.
    pub times: u64,
}

/// A wait that time was moved over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldWait {
    /// When it was first jumped over, in microseconds since the cell began.
    pub at_us: u64,
    /// The thread's name, or `(servers)`.
    pub thread: String,
    /// The system call that it waited in, or the kind of timer.
    pub call: String,
    /// How much was jumped over, in microseconds.
    pub us: u64,
    /// In how many jumps.
    pub jumps: u64,
}
