//! `outcome`: the word for what the client showed of each call.

use super::{Assertion, Entry};
use crate::document::{Kind, Node, Value};
use crate::expected::{Expected, Words, values};
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::{FindingName, Outcome};

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "outcome",
    summary: "what the client showed of a call, in one word",
    example: "outcome: [rejected, unknown]",
    findings: &[
        FindingName::FalseSuccess,
        FindingName::FalseFailure,
        FindingName::Masquerade,
        FindingName::Hung,
        FindingName::Crashed,
        FindingName::WrongOutcome,
    ],
    kind,
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

fn kind() -> Kind {
    let word = || Kind::words(OUTCOMES);
    Kind::Either(vec![word(), Kind::list(word()), Kind::word("by-policy")]).expected()
}

/// A word, a list of words, or `by-policy`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    // Words have no order, so no range of them says anything.
    if matches!(node.value, Value::Map(_)) && !values::is_shown(node, scope) {
        return node.wrong("`outcome`", "a word or a list of words", scope.out);
    }
    let expected = values::expected(node, "`outcome`", true, scope, &|node, out| {
        node.word("an outcome", OUTCOMES, out)
    })?;
    Some(Assertion::Outcome(expected))
}

/// Each call by itself. A call that the harness stopped says nothing.
pub(super) fn judge(expected: &Expected<Outcome>, of: &Of, case: &Case<'_>) -> Checked {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Shown;
    use crate::plan::Plan;
    use crate::testing::{Story, exactly, of_call, plan, respond, server};
    use crate::verdict::EndedBy;

    fn case() -> Plan {
        plan([server("api").step(respond(200))]).call("POST", "api", "/x")
    }

    fn sent() -> Story {
        Story::new().request(5, "api", 1, "POST /x")
    }

    fn names(story: &Story, expected: Outcome) -> Vec<FindingName> {
        story
            .check(&case(), &Assertion::Outcome(exactly(expected)))
            .names()
    }

    #[test]
    fn the_expected_word_is_good_and_a_list_takes_any_of_its_words() {
        let story = sent().fails(10, 1, "ECONNRESET");
        let one = Assertion::Outcome(exactly(Outcome::Unknown));
        story.check(&case(), &one).assert_good();
        let words = vec![Outcome::Rejected, Outcome::Unknown];
        let list = Assertion::Outcome(Expected::Fits(Matcher::OneOf(words)));
        story.check(&case(), &list).assert_good();
    }

    #[test]
    fn each_wrong_word_has_its_name() {
        let success = sent().shows(10, 1, 200, "");
        assert_eq!(
            names(&success, Outcome::Unknown),
            [FindingName::FalseSuccess]
        );
        let refused = sent().fails(10, 1, "ECONNREFUSED");
        assert_eq!(names(&refused, Outcome::Unknown), [FindingName::Masquerade]);
        let refused = Story::new().fails(10, 1, "ECONNREFUSED");
        assert_eq!(
            names(&refused, Outcome::Unknown),
            [FindingName::WrongOutcome]
        );
        let reset = sent().fails(10, 1, "ECONNRESET");
        assert_eq!(names(&reset, Outcome::Success), [FindingName::WrongOutcome]);
        let answered = sent()
            .answer(6, ("api", 1, 1), 200, "")
            .fails(10, 1, "ECONNRESET");
        assert_eq!(
            names(&answered, Outcome::Success),
            [FindingName::FalseFailure]
        );
        let held = sent().report(10, 1, Shown::Held {});
        assert_eq!(names(&held, Outcome::Unknown), [FindingName::WrongOutcome]);
        let hung = sent().end(30_000, EndedBy::Deadline);
        assert_eq!(names(&hung, Outcome::Unknown), [FindingName::Hung]);
        let crashed = sent().exit(10, 1);
        assert_eq!(names(&crashed, Outcome::Unknown), [FindingName::Crashed]);
    }

    #[test]
    fn a_client_that_the_harness_stopped_says_nothing() {
        let story = sent().end(10, EndedBy::Enough);
        let expected = Assertion::Outcome(exactly(Outcome::Rejected));
        story.check(&case(), &expected).assert_nothing();
    }

    #[test]
    fn every_call_is_judged_and_of_narrows_it() {
        let case = case().call("POST", "api", "/y");
        let story = sent().shows(10, 1, 200, "").fails(12, 2, "ECONNRESET");
        let expected = Assertion::Outcome(exactly(Outcome::Success));
        let checked = story.check(&case, &expected);
        assert_eq!((checked.judged, checked.raised.len()), (2, 1));
        story.check_of(&case, &expected, &of_call(1)).assert_good();
    }
}
