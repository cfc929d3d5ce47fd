//! `progress`: what a client says of a call while it is being made.
//!
//! Only of a client whose manifest says that it tells: the lines of a kit are the
//! kit's. A word that says how a call ended must be the last one and true, and
//! `succeeded` must not come before a server had handed out a whole answer.

use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::document::{Kind, Node};
use crate::expected::values;
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::judge::mark::Mark;
use crate::manifest::Ability;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::{FindingName, Outcome};

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "progress",
    summary: "what the client says of a call meanwhile: words that must come in this order",
    example: "progress: [pending, retrying, succeeded]",
    findings: &[FindingName::FalseProgress],
    kind: || Kind::list(Kind::words(WORDS)).expected(),
    decode,
};

/// The words that must come, in this order; none: they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgressExpected {
    /// The words.
    pub words: Vec<String>,
}

impl Parameters for ProgressExpected {}

const WORDS: &[(&str, &str)] = &[
    ("pending", "pending"),
    ("working", "working"),
    ("retrying", "retrying"),
    ("succeeded", SUCCEEDED),
    ("failed", FAILED),
];

const SUCCEEDED: &str = "succeeded";
const FAILED: &str = "failed";

/// A list of words.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    if values::is_shown(node, scope) {
        let words = Vec::new();
        return Some(Assertion::Progress(ProgressExpected { words }));
    }
    values::must_expect(node, "`progress`", scope)?;
    let items = node.filled_list("`progress`", scope.out)?;
    let words: Vec<_> = items
        .iter()
        .map(|item| item.word("a word of progress", WORDS, scope.out))
        .collect();
    let words: Vec<&str> = words.into_iter().collect::<Option<_>>()?;
    Some(Assertion::Progress(ProgressExpected {
        words: words.into_iter().map(str::to_owned).collect(),
    }))
}

/// Each call that has reported by itself.
pub(super) fn judge(expected: &ProgressExpected, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    if !case.manifest.abilities.contains(&Ability::TellsProgress) {
        return out;
    }
    for call in case.calls_of(of).filter(|call| call.report.is_some()) {
        let said = case.facts.client.progress.get(&call.id);
        let said = said.map_or(&[][..], Vec::as_slice);
        let words: Vec<&str> = said.iter().map(|(_, word)| word.as_str()).collect();
        let words = words.join(", ");
        if expected.words.is_empty() {
            out.note(format!("progress of call {}: {words}", call.id));
            continue;
        }
        match wrong(expected, said, call) {
            None => out.good(),
            Some((should, n)) => out.wrong(Raised::new(
                FindingName::FalseProgress,
                format!("{should}, in the progress of call {}", call.id),
                if words.is_empty() {
                    "nothing".to_owned()
                } else {
                    words
                },
                n.into_iter().chain(call.report_n()),
            )),
        }
    }
    out
}

/// What should have been, and the entry that shows that it was not.
fn wrong(
    expected: &ProgressExpected,
    said: &[(Mark, String)],
    call: &CallView<'_>,
) -> Option<(String, Option<u64>)> {
    for (place, (mark, word)) in said.iter().enumerate() {
        let end = word == SUCCEEDED || word == FAILED;
        if end && place + 1 < said.len() {
            let should = format!("nothing behind `{word}`, which is final");
            return Some((should, Some(mark.n)));
        }
        let good = call.meaning.outcome == Outcome::Success;
        if end && good != (word == SUCCEEDED) {
            let should = format!("no `{word}` where the report says otherwise");
            return Some((should, Some(mark.n)));
        }
        if word == SUCCEEDED && is_early(*mark, call) {
            let should = "no `succeeded` before the answer was there".to_owned();
            return Some((should, Some(mark.n)));
        }
    }
    let mut wanted = expected.words.iter().peekable();
    for (_, word) in said {
        wanted.next_if(|wanted| *wanted == word);
    }
    let missing = wanted.next()?;
    let order = expected.words.join(", ");
    Some((format!("{order}, in this order (`{missing}` lacks)"), None))
}

/// Whether no server had handed out a whole answer by then. A line counts as said
/// when it was read at the latest, so it is never taken for too early.
fn is_early(said: Mark, call: &CallView<'_>) -> bool {
    let success = |status| (200..300).contains(&status);
    let whole = call
        .exchanges
        .iter()
        .filter(|one| one.whole_answer(success));
    let first = whole.filter_map(|one| one.answered()).min();
    first.is_some_and(|answered| said.at_us < answered.at_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ClientEvent;
    use crate::testing::{Story, manifest, plan, respond, server};

    fn expecting(words: &[&str]) -> Assertion {
        Assertion::Progress(ProgressExpected {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        })
    }

    /// A call that is answered at 20 ms, with these words said meanwhile.
    fn story(said: &[(u64, &str)], status: u16) -> Story {
        let story = said.iter().fold(Story::new(), |story, (at, word)| {
            let progress = ClientEvent::Progress {
                call: 1,
                state: (*word).to_owned(),
            };
            story.client(*at, progress)
        });
        story
            .request(5, "api", 1, "GET /x")
            .answer(20, ("api", 1, 1), status, "")
            .shows(40, 1, status, "")
    }

    fn check(story: &Story, words: &[&str]) -> Checked {
        let plan = plan([server("api").step(respond(200))]).call("GET", "api", "/x");
        let mut telling = manifest();
        telling.abilities.insert(Ability::TellsProgress);
        story.check_with(&plan, &telling, &expecting(words), &Of::default())
    }

    #[test]
    fn the_words_come_in_order_and_more_may_stand_between() {
        let said = [(1, "pending"), (2, "working"), (30, "succeeded")];
        check(&story(&said, 200), &["pending", "succeeded"]).assert_good();
        let wrong = check(&story(&said, 200), &["working", "pending"]);
        assert_eq!(wrong.names(), [FindingName::FalseProgress]);
        let silent = check(&story(&[], 200), &["pending"]);
        assert_eq!(silent.raised[0].observed, "nothing");
    }

    #[test]
    fn what_says_how_it_ended_is_last_and_true_and_not_early() {
        let names = |said: &[(u64, &str)], status| {
            let story = story(said, status);
            check(&story, &["pending"]).names()
        };
        let wrong = [FindingName::FalseProgress];
        assert_eq!(names(&[(1, "pending"), (30, "succeeded")], 200), []);
        assert_eq!(names(&[(1, "pending"), (10, "succeeded")], 200), wrong);
        assert_eq!(names(&[(1, "pending"), (30, "succeeded")], 503), wrong);
        assert_eq!(names(&[(1, "pending"), (30, "failed")], 200), wrong);
        let twice = [(1, "pending"), (25, "succeeded"), (30, "succeeded")];
        assert_eq!(names(&twice, 200), wrong);
    }

    #[test]
    fn of_a_client_that_tells_nothing_nothing_is_judged() {
        let plan = plan([server("api").step(respond(200))]).call("GET", "api", "/x");
        story(&[(10, "failed")], 200)
            .check(&plan, &expecting(&["pending"]))
            .assert_nothing();
    }
}
