//! Words of judgement: levels, axes, findings, verdicts.

use std::collections::BTreeMap;

pub use client_kit::protocol::Claim;
use serde::{Deserialize, Serialize};

/// How much an expectation weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The cell fails.
    Must,
    /// The cell stays green, with a mark.
    Should,
    /// Shown only.
    Info,
}

/// Which question an expectation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Does the client do what its documentation says?
    Conformance,
    /// No duplicates, no lies, no hangs.
    Safety,
}

/// What is wrong, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingName {
    /// A call with an unsafe method was delivered more often than it may be.
    DuplicateDelivery,
    /// The application did the same work twice.
    DuplicateEffect,
    /// Says not-sent, was delivered.
    Masquerade,
    /// Says success without one.
    FalseSuccess,
    /// Shows a status that no server sent.
    FabricatedAnswer,
    /// Says failure of what succeeded.
    FalseFailure,
    /// A result that the server gave is lost.
    LostResult,
    /// Never came to an end.
    Hung,
    /// More requests than allowed.
    OverBudget,
    /// Sent again too soon.
    EarlyRetry,
    /// Sent again too late.
    LateRetry,
    /// Fewer requests than expected.
    GaveUpEarly,
    /// The idempotency key changed.
    KeyChanged,
    /// The body changed.
    BodyChanged,
    /// A secret reached another origin.
    SecretLeaked,
    /// Reads without a limit.
    UnboundedRead,
    /// A request arrived after the client's final report.
    DeliveredAfterClaim,
    /// A request that no route expects.
    UnexpectedRequest,
    /// Another end than expected.
    WrongOutcome,
    /// Another request than expected.
    WrongRequest,
    /// Another order than expected.
    WrongOrder,
    /// The error hides what caused it.
    CauseLost,
    /// The client ended without a report.
    Crashed,
    /// Goes on with what is not wanted any more.
    NotCancelled,
    /// More requests open at once than allowed.
    TooManyInFlight,
    /// Processes that failed together came back together.
    InStep,
    /// The client said of a call what was not so, or not in time.
    FalseProgress,
}

impl FindingName {
    /// The word that reports and scenarios use.
    pub fn word(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

/// Something expected that was not seen, or seen that was not allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// What is wrong.
    pub name: FindingName,
    /// Which question it answers.
    pub axis: Axis,
    /// The expectation as written, or the rule's name for findings that need
    /// no expectation.
    pub assertion: String,
    /// How much it weighs.
    pub level: Level,
    /// What was expected, in words.
    pub expected: String,
    /// What was seen, in words.
    pub observed: String,
    /// Line of the scenario's file; none for findings that need no expectation.
    pub line: Option<u32>,
    /// Numbers of the events that prove it, of very many the first.
    pub events: Vec<u64>,
    /// How many more events prove it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_events: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The verdict on one cell or one axis of it, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As expected.
    Pass,
    /// Can not run here, for example for want of a runtime.
    Skipped,
    /// The client declares that it can not do this.
    Unsupported,
    /// Proves nothing, for example because the fault never fired.
    Inconclusive,
    /// Not as expected.
    Fail,
    /// The harness or the adapter broke.
    Error,
}

/// What a client showed its caller, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A whole 2xx.
    Success,
    /// Any other status.
    Rejected,
    /// An error from before sending.
    NotSent,
    /// Any other error.
    Unknown,
    /// Cancelled by the caller.
    Cancelled,
    /// Parked for a person.
    Held,
    /// No end before the deadline.
    Hung,
    /// The program ended without a report.
    Crashed,
    /// Calls differ. Only for a whole cell, never for a call.
    Mixed,
}

/// How a cell came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// The process ended by itself.
    Exit,
    /// It was told to finish, after all reports and a quiet time.
    Finish,
    /// Enough deliveries had come.
    Enough,
    /// The scenario's cap was reached.
    Cap,
    /// The deadline was reached.
    Deadline,
}

/// All that the judge says of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellVerdict {
    /// On the axis conformance.
    pub conformance: Verdict,
    /// On the axis safety.
    pub safety: Verdict,
    /// The worse of the two.
    pub verdict: Verdict,
    /// Why, for every verdict but pass and fail.
    pub reason: Option<String>,
    /// Complete requests while the client lived, by server.
    pub delivered: BTreeMap<String, u64>,
    /// Accepted connections, by server.
    pub connections: BTreeMap<String, u64>,
    /// Requests that no route expects, by server.
    pub other: BTreeMap<String, u64>,
    /// Requests completed only by draining, by server.
    pub drained: BTreeMap<String, u64>,
    /// Effects, by name.
    pub applied: BTreeMap<String, u64>,
    /// The word of the matrix.
    pub outcome: Outcome,
    /// Each call.
    pub calls: Vec<CallVerdict>,
    /// How the cell ended; none when the client never ran.
    pub ended_by: Option<EndedBy>,
    /// From handing over the work to the last report, else to the end.
    pub elapsed_ms: u64,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Values of `info` expectations and of computed policies, in words.
    pub notes: Vec<String>,
}

/// How the reason begins of a cell in which a required fault did not happen.
pub const FAULT_DID_NOT_HAPPEN: &str = "a required fault did not happen";

impl CellVerdict {
    /// Whether the cell proves nothing for the reason that a required fault did
    /// not happen.
    pub fn lacks_its_fault(&self) -> bool {
        let reason = self.reason.as_deref().unwrap_or_default();
        self.verdict == Verdict::Inconclusive && reason.starts_with(FAULT_DID_NOT_HAPPEN)
    }
}

/// What the judge says of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallVerdict {
    /// Its number.
    pub id: u32,
    /// Calls that follow each other with the same number were made at the same time, so
    /// that chance decides which of them ended how; 0: it was made alone.
    #[serde(default, skip_serializing_if = "is_alone")]
    pub beside: u32,
    /// What the client showed, in words: `200, 3 bytes`, `ECONNRESET: read ...`.
    pub shown: String,
    /// The code of the first error in the chain that has one.
    pub code: Option<String>,
    /// Where in the caller's value that code sits, as the client tells it:
    /// `error.code` is at `error`, the code of its cause at `error.cause`. None
    /// without a code, and where the client tells no place, as of an exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_at: Option<String>,
    /// Type or class of the outermost error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// What that claims.
    pub claim: Claim,
    /// True when no entry of the manifest's error table matched.
    pub unmapped: bool,
    /// The word.
    pub outcome: Outcome,
    /// Requests of this call delivered, over all servers.
    pub delivered: u64,
    /// Effects of this call, over all names.
    pub applied: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_alone(beside: &u32) -> bool {
    *beside == 0
}
