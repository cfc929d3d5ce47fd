//! A call that ended in an error: where the code of that sits, and what the
//! six-code rule makes of it. The rule is that of many retry loops, by which
//! exactly six codes prove that nothing was sent.

use scenarios::verdict::{CallVerdict, Outcome};

use crate::record::Cell;

/// The codes which the rule takes for a proof.
pub(super) const CODES: [&str; 6] = [
    "UND_ERR_CONNECT_TIMEOUT",
    "ECONNREFUSED",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENOTFOUND",
    "EAI_AGAIN",
];

/// Where errors of the operating system and of libraries sit that are the
/// outermost themselves.
pub(super) const OUTERMOST: &str = "error";

/// The type of an error that is the exit code of a command.
const EXIT: &str = "exit";

/// A call that ended in an error which its caller was shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedCall<'a> {
    /// What the judge says of it.
    pub(super) call: &'a CallVerdict,
    /// Whether its cell has requests that no route expects, or that were
    /// complete only after the client's end: one of them may be this call's.
    pub(super) unclear: bool,
}

impl<'a> FailedCall<'a> {
    pub(super) fn of(cell: &'a Cell) -> impl Iterator<Item = Self> {
        let judged = &cell.judged;
        let strays = judged.other.values().chain(judged.drained.values());
        let unclear = strays.sum::<u64>() > 0;
        // A failure with a reason is one of which nothing is known but that
        // there was too much; its calls were not judged.
        let known = judged.reason.is_none();
        let failed =
            |call: &&CallVerdict| matches!(call.outcome, Outcome::NotSent | Outcome::Unknown);
        let calls = judged.calls.iter().filter(move |_| known).filter(failed);
        calls.map(move |call| Self { call, unclear })
    }
}

/// What the rule tells of a failed call, against what was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// It concludes that nothing was sent, and nothing was delivered.
    Right,
    /// It concludes that nothing was sent, and a request was delivered.
    Wrong,
    /// Nothing was delivered, and it does not conclude so.
    Missed,
    /// A request was delivered, and it does not conclude the contrary.
    HeldBack,
    /// No request of the call was seen where one is expected, but the cell has
    /// requests of which it is not known whose they are.
    Unclear,
}

impl Told {
    /// What the rule tells of this call.
    pub(super) fn of(failed: &FailedCall<'_>) -> Self {
        match (concludes(failed), failed.call.delivered > 0) {
            (true, true) => Self::Wrong,
            (false, true) => Self::HeldBack,
            (_, false) if failed.unclear => Self::Unclear,
            (true, false) => Self::Right,
            (false, false) => Self::Missed,
        }
    }
}

/// Whether the rule concludes that nothing was sent.
pub(super) fn concludes(failed: &FailedCall<'_>) -> bool {
    let code = failed.call.code.as_deref();
    code.is_some_and(|code| CODES.contains(&code))
}

/// What a code's place is, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// On the outermost error.
    Outermost,
    /// On an error below it.
    Below,
    /// It is the exit code of a command.
    Exit,
    /// There is a code, and the record does not say where.
    NotTold,
    /// There is no code.
    NoCode,
}

impl Place {
    /// Where the code of this call sits.
    pub(super) fn of(failed: &FailedCall<'_>) -> Self {
        let call = failed.call;
        match (&call.code, call.code_at.as_deref()) {
            (None, _) => Self::NoCode,
            (Some(_), Some(OUTERMOST)) => Self::Outermost,
            (Some(_), Some(_)) => Self::Below,
            (Some(_), None) if call.error_type.as_deref() == Some(EXIT) => Self::Exit,
            (Some(_), None) => Self::NotTold,
        }
    }
}
