//! `status`: the status that the client shows.

use super::{Assertion, Entry};
use crate::document::{Kind, Node};
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
pub(super) const ENTRY: Entry = Entry {
    word: "status",
    summary: "the status that the client shows its caller",
    example: "status: [407, 421]",
    findings: &[
        FindingName::FalseSuccess,
        FindingName::FabricatedAnswer,
        FindingName::WrongOutcome,
    ],
    kind: || Kind::matcher(Kind::Number(100..=599)).expected(),
    decode,
};

/// A number from 100 to 599, a list, or a range.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    values::expected(node, "`status`", false, scope, &|node, out| {
        let number = node.number("a status", 100..=599, out)?;
        u16::try_from(number).ok()
    })
    .map(Assertion::Status)
}

/// Each call by itself. Without an answer or an error there is nothing to
/// judge; neither is there for a command that shows no status.
pub(super) fn judge(expected: &Expected<u16>, of: &Of, case: &Case<'_>) -> Checked {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ShownResponse;
    use crate::testing::{Story, exactly, plan, respond, server};

    const AT: (&str, u32, u32) = ("api", 1, 1);

    fn check(story: &Story) -> Checked {
        let plan = plan([server("api").step(respond(407))]).call("POST", "api", "/x");
        story.check(&plan, &Assertion::Status(exactly(407)))
    }

    fn answered(status: u16) -> Story {
        let story = Story::new().request(5, "api", 1, "POST /x");
        story.answer(6, AT, status, "")
    }

    #[test]
    fn the_expected_status_is_good() {
        check(&answered(407).shows(9, 1, 407, "")).assert_good();
    }

    #[test]
    fn another_status_is_named_by_where_it_came_from() {
        let given = answered(500).shows(9, 1, 500, "");
        assert_eq!(check(&given).names(), [FindingName::WrongOutcome]);
        let success = answered(200).shows(9, 1, 200, "");
        assert_eq!(check(&success).names(), [FindingName::FalseSuccess]);
        let invented = answered(407).shows(9, 1, 500, "");
        assert_eq!(check(&invented).names(), [FindingName::FabricatedAnswer]);
    }

    #[test]
    fn an_error_hides_the_status() {
        let story = answered(407).fails(9, 1, "ECONNRESET");
        assert_eq!(check(&story).names(), [FindingName::WrongOutcome]);
    }

    #[test]
    fn a_command_that_shows_no_status_can_not_be_judged_by_it() {
        let shown = Shown::Response(ShownResponse::default());
        check(&answered(407).report(9, 1, shown)).assert_nothing();
        check(&answered(407)).assert_nothing();
    }
}
