//! `outcome`: the word for what the client showed of each call.

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::{Expected, Words, values};
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::{FindingName, Outcome};

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "outcome",
    summary: "what the client showed of a call, in one word",
    example: "outcome: [rejected, unknown]",
    decode,
};

/// The words.
pub const OUTCOMES: &[(&str, Outcome)] = &[
    ("success", Outcome::Success),
    ("rejected", Outcome::Rejected),
    ("not-sent", Outcome::NotSent),
    ("unknown", Outcome::Unknown),
    ("cancelled", Outcome::Cancelled),
    ("held", Outcome::Held),
    ("hung", Outcome::Hung),
    ("crashed", Outcome::Crashed),
];

/// A word, a list of words, or `by-policy`.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    values::expected(node, "`outcome`", true, scope, &|node, out| {
        node.word("an outcome", OUTCOMES, out)
    })
    .map(Assertion::Outcome)
}

/// Each call by itself. A call that the harness stopped says nothing.
pub fn judge(expected: &Expected<Outcome>, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for call in case.calls_of(of).filter(|call| !call.stopped) {
        let observed = call.meaning.outcome;
        match expected {
            Expected::Shown => {
                out.note(format!("outcome of call {}: {}", call.id, observed.words()));
            }
            Expected::Fits(matcher) => one(matcher, "", call, &mut out),
            Expected::ByPolicy => match case.prediction.outcome(call.id) {
                Ok(outcomes) => {
                    let matcher = Matcher::OneOf(outcomes);
                    let words = matcher.words();
                    out.note(format!("by-policy, outcome of call {}: {words}", call.id));
                    one(
                        &matcher,
                        ", by the client's declared policy",
                        call,
                        &mut out,
                    );
                }
                Err(missing) => out.doubt(missing),
            },
        }
    }
    out
}

fn one(matcher: &Matcher<Outcome>, by: &str, call: &CallView<'_>, out: &mut Checked) {
    let observed = call.meaning.outcome;
    if matcher.fits(&observed) {
        out.good();
        return;
    }
    let proof = call.exchanges.iter().flat_map(|one| one.proof());
    out.wrong(Raised::new(
        name(matcher, call),
        format!("outcome {} of call {}{by}", matcher.words(), call.id),
        format!("{} ({})", observed.words(), call.meaning.shown),
        call.report_n().into_iter().chain(proof),
    ));
}

/// The name for an outcome that does not fit.
fn name(matcher: &Matcher<Outcome>, call: &CallView<'_>) -> FindingName {
    match call.meaning.outcome {
        Outcome::Hung => FindingName::Hung,
        Outcome::Crashed => FindingName::Crashed,
        Outcome::Success => FindingName::FalseSuccess,
        Outcome::NotSent if call.delivered() > 0 => FindingName::Masquerade,
        Outcome::Rejected | Outcome::NotSent | Outcome::Unknown
            if matcher.fits(&Outcome::Success) && call.was_answered_whole() =>
        {
            FindingName::FalseFailure
        }
        _ => FindingName::WrongOutcome,
    }
}
