//! `window`: how many requests were delivered between two moments.

use std::cmp::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::counter::Counter;
use crate::document::decode::Keys;
use crate::document::kind::Rule;
use crate::document::{Kind, Node};
use crate::expected::{Expected, Words, counts, side};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::in_words;
use crate::judge::exchange::Exchange;
use crate::judge::mark::Mark;
use crate::judge::moment::{self, At};
use crate::judge::time::micros;
use crate::matcher::{Matcher, bounds};
use crate::moment::{self as moments, Moment};
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "window",
    summary: "requests that are delivered between two moments",
    example: "window: { counter: api, from: report, for: 200ms, delivered: 0 }",
    findings: &[
        FindingName::DeliveredAfterClaim,
        FindingName::NotCancelled,
        FindingName::EarlyRetry,
        FindingName::OverBudget,
        FindingName::GaveUpEarly,
    ],
    kind: || Kind::Map(&KEYS),
    decode,
};

/// Which requests, between which moments, and how many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowExpected {
    /// The requests.
    pub counter: Counter,
    /// From when on.
    pub from: Moment,
    /// Until when.
    pub until: Until,
    /// How many.
    pub delivered: Expected<u64>,
}

/// The end of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// A moment.
    To(Moment),
    /// So long after its beginning.
    For(Duration),
}

impl Parameters for WindowExpected {
    fn moments(&self) -> Vec<&Moment> {
        match &self.until {
            Until::To(moment) => vec![&self.from, moment],
            Until::For(_) => vec![&self.from],
        }
    }
}

static KEYS: Keys = Keys::new(
    "`window`",
    &[
        (
            "counter",
            "the requests, as `api` or `api POST /jobs`",
            counts::one,
        ),
        ("from", "the moment with which it begins", moments::kind),
        ("to", "the moment with which it ends", moments::kind),
        ("for", "how long it is", Kind::time),
        (
            "delivered",
            "how many requests are delivered in it",
            counts::one_count,
        ),
    ],
)
.rules(&[
    Rule::Needs(&["counter", "from", "delivered"]),
    Rule::OneOf(&["to", "for"]),
]);

/// `{counter, from, to | for, delivered}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    let fields = node.fields(&KEYS, scope.out)?;
    let counter = fields.need("counter", scope.out);
    let counter = counter.and_then(|node| counts::counter_of(node, scope));
    let from = fields.need("from", scope.out);
    let from = from.and_then(|node| moments::decode(node, scope));
    let until = match fields.one_of(&["to", "for"], scope.out) {
        Some(("to", _, node)) => moments::decode(node, scope).map(Until::To),
        Some((_, _, node)) => node.duration("`for`", scope.out).map(Until::For),
        None => None,
    };
    let delivered = fields.need("delivered", scope.out);
    let delivered = delivered.and_then(|node| counts::number_of(node, "`delivered`", scope));
    Some(Assertion::Window(WindowExpected {
        counter: counter?,
        from: from?,
        until: until?,
        delivered: delivered?,
    }))
}

/// A request is in it for certain that begins behind its beginning and is
/// delivered before its end.
pub(super) fn judge(expected: &WindowExpected, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    let Some(from) = moment::at(&expected.from, of.call, case) else {
        return out;
    };
    // An end that never came leaves the window open to the end of the record.
    let until = match &expected.until {
        Until::For(time) => Some(from.mark.at_us.saturating_add(micros(*time))),
        Until::To(to) => moment::at(to, of.call, case).map(|at| at.mark.at_us),
    };
    let watched = until.is_some_and(|until| watched(until, case));
    let end = until.unwrap_or(u64::MAX);
    let exchanges = case.facts.exchanges.iter();
    let delivered: Vec<(&Exchange, Mark)> = exchanges
        .filter(|one| one.is_counted_by(&expected.counter) && one.is_of(of))
        .filter_map(|one| Some((one, one.delivery()?)))
        .filter(|(_, at)| from.mark.at_us < at.at_us && at.at_us <= end)
        .collect();
    let certain = delivered.iter();
    let certain = certain.filter(|(one, _)| is_behind(one, expected, &from, case));
    let certain: Vec<(&Exchange, Mark)> = certain.copied().collect();
    let most = if watched {
        delivered.len() as u64
    } else {
        u64::MAX
    };
    let Expected::Fits(matcher) = &expected.delivered else {
        out.note(format!(
            "delivered at {} in the window: {}",
            expected.counter.text,
            delivered.len()
        ));
        return out;
    };
    let name = match (side(matcher, &(certain.len() as u64)), side(matcher, &most)) {
        (Some(Ordering::Greater), _) => too_many(expected, matcher),
        (_, Some(Ordering::Less)) => FindingName::GaveUpEarly,
        (None, None) => {
            out.good();
            return out;
        }
        _ => {
            out.doubt(if watched {
                "whether a request began behind the beginning of the window is not known"
            } else {
                "the client was ended before the end of the window"
            });
            return out;
        }
    };
    let seen: Vec<&Exchange> = match name {
        FindingName::GaveUpEarly => delivered.iter().map(|(one, _)| *one).collect(),
        _ => certain.iter().map(|(one, _)| *one).collect(),
    };
    let proof = delivered.iter().map(|(_, at)| at.n).chain([from.mark.n]);
    out.wrong(
        Raised::new(
            name,
            format!(
                "{} delivered at {} in the window",
                matcher.words(),
                expected.counter.text
            ),
            in_words(&seen),
            proof,
        )
        .in_any_case(name == FindingName::DeliveredAfterClaim),
    );
    out
}

/// A client needs a moment to read its order.
const READING: Duration = Duration::from_millis(50);

/// Whether a request began behind the beginning of the window for certain. Before
/// a client has had its turn to read an order, nothing that it does is against it.
fn is_behind(request: &Exchange, expected: &WindowExpected, from: &At, case: &Case<'_>) -> bool {
    let began = request.began().at_us;
    let kept = match expected.from {
        Moment::Cancel => {
            let delay = case.facts.client.run_delay.between(from.mark.at_us, began);
            micros(READING).saturating_add(delay)
        }
        _ => 0,
    };
    began > from.latest_us.saturating_add(kept)
}

/// Whether nothing ended the client before this time but itself.
fn watched(until_us: u64, case: &Case<'_>) -> bool {
    let client = &case.facts.client;
    let made = client.made_to_end();
    let by_itself = client.exited.is_some() && made.is_none();
    let end = made.map_or(client.last_us, |made| made.at_us);
    by_itself || end >= until_us
}

fn too_many(expected: &WindowExpected, matcher: &Matcher<u64>) -> FindingName {
    match (&expected.from, bounds(matcher).1) {
        (Moment::Report, _) => FindingName::DeliveredAfterClaim,
        (Moment::Cancel, _) => FindingName::NotCancelled,
        (_, Some(0)) => FindingName::EarlyRetry,
        _ => FindingName::OverBudget,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ClientEvent;
    use crate::testing::{Story, between, exactly, plan, respond, server};
    use crate::verdict::EndedBy;

    /// Requests at 5, 100 and 300 ms; the report at 310 ms.
    fn story() -> Story {
        Story::new()
            .request(5, "api", 1, "GET /x")
            .request(100, "api", 2, "GET /x")
            .request(300, "api", 3, "GET /x")
            .shows(310, 1, 200, "")
    }

    fn second(for_ms: u64, delivered: Expected<u64>) -> Assertion {
        Assertion::Window(WindowExpected {
            counter: Counter::server("api"),
            from: Moment::Delivered {
                server: "api".to_owned(),
                count: 1,
            },
            until: Until::For(Duration::from_millis(for_ms)),
            delivered,
        })
    }

    fn check(story: &Story, window: &Assertion) -> Checked {
        let plan = plan([server("api").step(respond(503))]).call("GET", "api", "/x");
        story.check(&plan, window)
    }

    #[test]
    fn only_what_is_delivered_behind_its_beginning_and_before_its_end_counts() {
        let ended = story().exit(900, 0);
        check(&ended, &second(94, exactly(0))).assert_good();
        check(&ended, &second(95, exactly(1))).assert_good();
        let early = check(&ended, &second(95, exactly(0)));
        assert_eq!(early.names(), [FindingName::EarlyRetry]);
        let many = check(&ended, &second(500, exactly(1)));
        assert_eq!(many.names(), [FindingName::OverBudget]);
        let few = check(&ended, &second(500, exactly(3)));
        assert_eq!(few.names(), [FindingName::GaveUpEarly]);
    }

    #[test]
    fn a_window_that_nobody_watched_to_its_end_says_only_what_was_too_much() {
        let told = story().client(400, ClientEvent::FinishSent);
        let told = told.end(420, EndedBy::Finish);
        let unsure = check(&told, &second(500, between(None, Some(2))));
        assert_eq!((unsure.names().len(), unsure.doubts.len()), (0, 1));
        let many = check(&told, &second(500, exactly(1)));
        assert_eq!(many.names(), [FindingName::OverBudget]);
        check(&told, &second(395, exactly(2))).assert_good();
        // A client that has ended sends nothing more.
        let ended = story().exit(320, 0);
        check(&ended, &second(5000, exactly(2))).assert_good();
    }

    #[test]
    fn what_comes_behind_the_report_is_delivered_after_the_claim() {
        let window = Assertion::Window(WindowExpected {
            counter: Counter::server("api"),
            from: Moment::Report,
            until: Until::For(Duration::from_millis(200)),
            delivered: exactly(0),
        });
        check(&story().exit(900, 0), &window).assert_good();
        let late = story().request(400, "api", 4, "GET /x").exit(900, 0);
        let late = check(&late, &window);
        assert_eq!(late.names(), [FindingName::DeliveredAfterClaim]);
        assert!(late.raised[0].in_any_case);
        let silent = Story::new().request(5, "api", 1, "GET /x").exit(9, 1);
        check(&silent, &window).assert_nothing();
    }

    #[test]
    fn an_end_that_never_came_leaves_the_window_open() {
        let to = |count| {
            Assertion::Window(WindowExpected {
                counter: Counter::server("api"),
                from: Moment::After(Duration::ZERO),
                until: Until::To(Moment::Delivered {
                    server: "api".to_owned(),
                    count,
                }),
                delivered: exactly(2),
            })
        };
        check(&story().exit(900, 0), &to(2)).assert_good();
        let many = check(&story().exit(900, 0), &to(4));
        assert_eq!(many.names(), [FindingName::OverBudget]);
    }
}
