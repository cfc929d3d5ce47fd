//! `status`: the status that the client shows.

use super::{Assertion, Entry};
use crate::document::Node;
use crate::evidence::Shown;
use crate::expected::{Expected, Words, values};
use crate::judge::answers;
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "status",
    summary: "the status that the client shows its caller",
    example: "status: [407, 421]",
    decode,
};

/// A number from 100 to 599, a list, or a range.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    values::expected(node, "`status`", false, scope, &|node, out| {
        let number = node.number("a status", 100..=599, out)?;
        u16::try_from(number).ok()
    })
    .map(Assertion::Status)
}

/// Each call by itself. Without an answer or an error there is nothing to
/// judge; neither is there for a command that shows no status.
pub fn judge(expected: &Expected<u16>, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for call in case.calls_of(of) {
        let status = match call.shown() {
            Some(Shown::Response(response)) => response.status,
            _ => None,
        };
        match (expected, call.shown(), status) {
            (Expected::Fits(matcher), Some(Shown::Response(_)), Some(status)) => {
                if matcher.fits(&status) {
                    out.good();
                } else {
                    out.wrong(other(matcher, status, call));
                }
            }
            (Expected::Fits(matcher), Some(Shown::Error(_)), _) => out.wrong(Raised::new(
                FindingName::WrongOutcome,
                format!("status {} of call {}", matcher.words(), call.id),
                format!("no status ({})", call.meaning.shown),
                call.report_n(),
            )),
            (Expected::Shown, _, Some(status)) => {
                out.note(format!("status of call {}: {status}", call.id));
            }
            _ => {}
        }
    }
    out
}

fn other(matcher: &Matcher<u16>, status: u16, call: &CallView<'_>) -> Raised {
    let given = answers::given(call);
    let was_given = given.is_none_or(|given| given.statuses.contains(&status));
    let name = match status {
        _ if !was_given => FindingName::FabricatedAnswer,
        200..=299 => FindingName::FalseSuccess,
        _ => FindingName::WrongOutcome,
    };
    Raised::new(
        name,
        format!("status {} of call {}", matcher.words(), call.id),
        status.words(),
        call.report_n(),
    )
}
