//! `client_read`: bytes of answers that the client's process has taken.
//!
//! The servers know bounds, which are the same where the client has left nothing
//! unread. A client is only wrong if it is so by both.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::counter::Counter;
use crate::document::{Kind, Node};
use crate::expected::{Expected, Words, counts, side, values};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::exchange::Exchange;
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "client_read",
    summary: "bytes of answers, heads included, that the client's process has taken, over all \
              requests",
    example: "client_read: { api: { at_most: 8KiB } }",
    findings: &[FindingName::UnboundedRead, FindingName::LostResult],
    kind: || counts::of_counters(Kind::matcher(Kind::size())),
    decode,
};

/// Requests and how many bytes of their answers are to be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadExpected {
    /// The requests.
    pub counter: Counter,
    /// The bytes.
    pub bytes: Expected<u64>,
}

impl Parameters for Vec<ReadExpected> {}

/// `{api: 512}` or `{api: {at_most: 8KiB}}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    const WHAT: &str = "`client_read`";
    let all = counts::each_counter(node, WHAT, scope, &|value, scope| {
        let size = &|node: &Node, out: &mut _| node.size(WHAT, out);
        values::expected(value, WHAT, false, scope, size)
    })?;
    let all = all
        .into_iter()
        .map(|(counter, bytes)| ReadExpected { counter, bytes });
    Some(Assertion::ClientRead(all.collect()))
}

/// What is known of several answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    at_least: u64,
    at_most: u64,
}

impl Known {
    fn words(self) -> String {
        if self.at_least == self.at_most {
            return format!("{} bytes", self.at_least);
        }
        format!("from {} to {} bytes", self.at_least, self.at_most)
    }
}

/// Too much is reading without a limit, too little is losing a result.
pub(super) fn judge(all: &[ReadExpected], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for expected in all {
        let exchanges = case.facts.exchanges.iter();
        let answered: Vec<&Exchange> = exchanges
            .filter(|one| one.sent_bytes > 0 && !one.is_other())
            .filter(|one| one.is_counted_by(&expected.counter) && one.is_of(of))
            .collect();
        if !answered.is_empty() {
            one(expected, &answered, case, &mut out);
        }
    }
    out
}

fn one(expected: &ReadExpected, answered: &[&Exchange], case: &Case<'_>, out: &mut Checked) {
    let counter = &expected.counter.text;
    let mut known = Known::default();
    let mut proof = Vec::new();
    for exchange in answered {
        let Some((taken, n)) = case.facts.read(exchange) else {
            return out.doubt(format!(
                "what the client read at {counter} is not in the record"
            ));
        };
        known.at_least += taken.at_least;
        known.at_most += taken.at_most;
        proof.push(n);
    }
    let Expected::Fits(matcher) = &expected.bytes else {
        return out.note(format!("client read at {counter}: {}", known.words()));
    };
    let name = match (
        side(matcher, &known.at_least),
        side(matcher, &known.at_most),
    ) {
        (Some(Ordering::Greater), _) => FindingName::UnboundedRead,
        (_, Some(Ordering::Less)) if case.cut_short() => return,
        (_, Some(Ordering::Less)) => FindingName::LostResult,
        (None, None) if holds_between(matcher, known) => return out.good(),
        _ => {
            return out.doubt(format!(
                "the client read {} at {counter}: what it left unread cannot be seen",
                known.words()
            ));
        }
    };
    out.wrong(Raised::new(
        name,
        format!("{} bytes read at {counter}", matcher.words()),
        known.words(),
        proof,
    ));
}

/// Whether everything between two values that fit fits as well.
fn holds_between(matcher: &Matcher<u64>, known: Known) -> bool {
    matches!(matcher, Matcher::Range { .. }) || known.at_least == known.at_most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ClientEvent;
    use crate::testing::{Story, between, exactly, plan, respond, server};
    use crate::verdict::EndedBy;

    /// A client that took this much of an answer of 10,000 bytes.
    fn story(taken: (u64, u64)) -> Story {
        Story::new()
            .request(5, "api", 1, "GET /x")
            .sends(6, ("api", 1, 1), 10_000)
            .fails(20, 1, "ECONNRESET")
            .closed(21, "api", 1, taken)
    }

    fn check(story: &Story, counter: &str, bytes: Expected<u64>) -> Checked {
        let plan = plan([server("api").step(respond(500))]).call("GET", "api", "/x");
        let counter = Counter::parse(counter).unwrap();
        story.check(
            &plan,
            &Assertion::ClientRead(vec![ReadExpected { counter, bytes }]),
        )
    }

    fn at_most(bytes: u64) -> Expected<u64> {
        between(None, Some(bytes))
    }

    #[test]
    fn more_is_reading_without_a_limit_and_less_is_a_lost_result() {
        check(&story((5000, 5000)), "api", at_most(5000)).assert_good();
        check(&story((5000, 5000)), "api", exactly(5000)).assert_good();
        let more = check(&story((5000, 5000)), "api", at_most(4999));
        assert_eq!(more.names(), [FindingName::UnboundedRead]);
        assert_eq!(more.raised[0].observed, "5000 bytes");
        let less = check(&story((5000, 5000)), "api", between(Some(5001), None));
        assert_eq!(less.names(), [FindingName::LostResult]);
    }

    #[test]
    fn what_a_client_left_unread_accuses_nobody() {
        let unsure = story((4000, 6000));
        check(&unsure, "api", at_most(6000)).assert_good();
        let more = check(&unsure, "api", at_most(3999));
        assert_eq!(more.names(), [FindingName::UnboundedRead]);
        for bytes in [at_most(5000), between(Some(5000), None), exactly(5000)] {
            let doubtful = check(&unsure, "api", bytes);
            doubtful.assert_nothing();
            assert_eq!(doubtful.doubts.len(), 1);
        }
    }

    #[test]
    fn answers_on_one_connection_are_taken_in_their_order() {
        let story = Story::new()
            .request(5, "api", 1, "GET /x")
            .sends(6, ("api", 1, 1), 100)
            .on(7, ("api", 1, 2), "GET /y", &[])
            .sends(8, ("api", 1, 2), 100)
            .shows(9, 1, 200, "")
            .closed(10, "api", 1, (100, 150));
        let plan = plan([server("api").step(respond(200))]);
        let plan = plan.call("GET", "api", "/x").call("GET", "api", "/y");
        let of = |counter: &str, bytes| {
            let counter = Counter::parse(counter).unwrap();
            let read = Assertion::ClientRead(vec![ReadExpected { counter, bytes }]);
            story.check(&plan, &read)
        };
        of("api /x", exactly(100)).assert_good();
        of("api /y", at_most(50)).assert_good();
        assert_eq!(of("api /y", at_most(49)).doubts.len(), 1);
        of("api", between(Some(100), Some(150))).assert_good();
    }

    #[test]
    fn a_client_that_was_stopped_may_have_read_too_little() {
        let stopped = Story::new()
            .request(5, "api", 1, "GET /x")
            .sends(6, ("api", 1, 1), 10)
            .closed(21, "api", 1, (10, 10));
        let stopped = stopped.client(22, ClientEvent::FinishSent);
        let stopped = stopped.end(30, EndedBy::Deadline);
        check(&stopped, "api", exactly(11)).assert_nothing();
        let more = check(&stopped, "api", exactly(9));
        assert_eq!(more.names(), [FindingName::UnboundedRead]);
    }

    #[test]
    fn without_an_answer_there_is_nothing_to_read() {
        let none = Story::new().request(5, "api", 1, "GET /x");
        check(&none.fails(9, 1, "ECONNRESET"), "api", at_most(0)).assert_nothing();
        let unknown = Story::new().request(5, "api", 1, "GET /x");
        let unknown = unknown.sends(6, ("api", 1, 1), 10).shows(9, 1, 200, "");
        assert_eq!(check(&unknown, "api", at_most(9)).doubts.len(), 1);
    }
}
