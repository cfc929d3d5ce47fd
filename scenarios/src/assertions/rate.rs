//! `rate`: the most requests that arrived in any time of some length.

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
use crate::judge::mark::Mark;
use crate::judge::moment;
use crate::judge::time::{micros, tolerance};
use crate::moment::{self as moments, Moment};
use crate::plan::Of;
use crate::reading::all_good;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "rate",
    summary: "the most requests that are delivered in any time of this length",
    example: "rate: { counter: api, per: 500ms, peak: { at_most: 8 } }",
    findings: &[
        FindingName::OverBudget,
        FindingName::InStep,
        FindingName::GaveUpEarly,
    ],
    kind: || Kind::Map(&KEYS),
    decode,
};

/// Which requests, and how many of them in which time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateExpected {
    /// The requests.
    pub counter: Counter,
    /// From when on; none: from the beginning.
    pub from: Option<Moment>,
    /// The length of the time.
    pub per: Duration,
    /// The most in any time of this length.
    pub peak: Expected<u64>,
}

impl Parameters for RateExpected {
    fn moments(&self) -> Vec<&Moment> {
        self.from.iter().collect()
    }
}

static KEYS: Keys = Keys::new(
    "`rate`",
    &[
        (
            "counter",
            "the requests, as `api` or `api POST /jobs`",
            counts::one,
        ),
        (
            "from",
            "the moment from which on they are looked at",
            moments::kind,
        ),
        ("per", "the length of the time", Kind::time),
        (
            "peak",
            "the most that are delivered in any time of this length",
            counts::one_count,
        ),
    ],
)
.rules(&[Rule::Needs(&["counter", "per", "peak"])]);

/// `{counter, from, per, peak}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    let fields = node.fields(&KEYS, scope.out)?;
    let counter = fields.need("counter", scope.out);
    let counter = counter.and_then(|node| counts::counter_of(node, scope));
    let from = fields.get("from");
    let from = from.map(|node| moments::decode(node, scope));
    let per = fields.need("per", scope.out);
    let per = per.and_then(|node| node.duration("`per`", scope.out));
    let peak = fields.need("peak", scope.out);
    let peak = peak.and_then(|node| counts::number_of(node, "`peak`", scope));
    Some(Assertion::Rate(RateExpected {
        counter: counter?,
        from: all_good(from)?,
        per: per?,
        peak: peak?,
    }))
}

/// Requests that come together although they were to come apart can have been
/// kept back by a busy machine; then too many at once prove nothing.
pub(super) fn judge(expected: &RateExpected, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    let from = match &expected.from {
        None => 0,
        Some(from) => match moment::at(from, of.call, case) {
            Some(at) => at.latest_us,
            None => return out,
        },
    };
    let exchanges = case.facts.exchanges.iter();
    let mut arrivals: Vec<Mark> = exchanges
        .filter(|one| one.is_counted_by(&expected.counter) && one.is_of(of))
        .filter_map(|one| one.delivery())
        .filter(|at| at.at_us >= from)
        .collect();
    arrivals.sort_unstable();
    if arrivals.is_empty() {
        return out;
    }
    let peak = peak(&arrivals, micros(expected.per));
    let name = &expected.counter.text;
    let per = expected.per.words();
    let Expected::Fits(matcher) = &expected.peak else {
        out.note(format!("most at {name} in {per}: {}", peak.len()));
        return out;
    };
    let finding = match side(matcher, &(peak.len() as u64)) {
        None => {
            out.good();
            return out;
        }
        Some(Ordering::Less) if case.cut_short() => return out,
        Some(Ordering::Less) => FindingName::GaveUpEarly,
        Some(_) => {
            let begin = peak.first().map_or(0, |mark| mark.at_us);
            let end = peak.last().map_or(0, |mark| mark.at_us);
            // What was kept back before is what comes together.
            let before = begin.saturating_sub(micros(expected.per));
            let delay = case.facts.client.run_delay.between(before, end);
            let delay = Duration::from_micros(delay);
            let holds = side(matcher, &least_meant(peak.len(), delay, expected.per));
            if delay > tolerance(expected.per) && holds != Some(Ordering::Greater) {
                out.doubt(format!(
                    "{} came within {per}, but the client was kept from running for {}",
                    peak.len(),
                    delay.words()
                ));
                return out;
            }
            if case.plan.is_fleet() {
                FindingName::InStep
            } else {
                FindingName::OverBudget
            }
        }
    };
    out.wrong(Raised::new(
        finding,
        format!("{} at {name} in any {per}", matcher.words()),
        (peak.len() as u64).words(),
        peak.iter().map(|mark| mark.n),
    ));
    out
}

/// The most that lie in any time of this length; of its two ends one belongs to
/// it.
fn peak(arrivals: &[Mark], per_us: u64) -> &[Mark] {
    let mut peak: &[Mark] = &[];
    let mut behind = 0;
    for (place, first) in arrivals.iter().enumerate() {
        let end = first.at_us.saturating_add(per_us);
        let more = arrivals[behind..].iter();
        behind += more.take_while(|mark| mark.at_us < end).count();
        let inside = arrivals.get(place..behind).unwrap_or_default();
        if inside.len() > peak.len() {
            peak = inside;
        }
    }
    peak
}

/// How many of those that came together were at least meant for one stretch of
/// time: a client that was kept from running for `delay` meant them for a stretch
/// that is longer by as much, and so many such stretches cover that.
fn least_meant(came: usize, delay: Duration, per: Duration) -> u64 {
    let stretches = 1 + delay.as_micros().div_ceil(per.as_micros().max(1));
    let stretches = u64::try_from(stretches).unwrap_or(u64::MAX);
    (came as u64).div_ceil(stretches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ClientEvent;
    use crate::testing::{Story, between, exactly, plan, respond, server};

    /// At 10, 20, 30, 200 and 290 ms.
    fn story() -> Story {
        let at = [10, 20, 30, 200, 290].into_iter().zip(1..);
        let sent = at.fold(Story::new(), |story, (at, place)| {
            story.request(at, "api", place, "GET /x")
        });
        sent.shows(310, 1, 200, "")
    }

    fn check(story: &Story, from: Option<Moment>, peak: Expected<u64>) -> Checked {
        let plan = plan([server("api").step(respond(503))]).call("GET", "api", "/x");
        let rate = RateExpected {
            counter: Counter::server("api"),
            from,
            per: Duration::from_millis(100),
            peak,
        };
        story.check(&plan, &Assertion::Rate(rate))
    }

    #[test]
    fn it_is_the_most_in_any_time_of_this_length() {
        check(&story(), None, exactly(3)).assert_good();
        let many = check(&story(), None, between(None, Some(2)));
        assert_eq!(many.names(), [FindingName::OverBudget]);
        assert_eq!(many.raised[0].events.len(), 3);
        let few = check(&story(), None, exactly(4));
        assert_eq!(few.names(), [FindingName::GaveUpEarly]);
    }

    #[test]
    fn only_what_comes_from_a_moment_on_is_looked_at() {
        let from = Moment::After(Duration::from_millis(25));
        check(&story(), Some(from), exactly(2)).assert_good();
        let never = Moment::After(Duration::from_secs(1));
        check(&story(), Some(never), exactly(2)).assert_nothing();
    }

    #[test]
    fn what_was_kept_back_by_a_busy_machine_proves_nothing() {
        let story = story().client(311, ClientEvent::RunDelay { micros: 60_000 });
        let unsure = check(&story, None, between(None, Some(2)));
        assert_eq!((unsure.names().len(), unsure.doubts.len()), (0, 1));
        check(&story, None, exactly(3)).assert_good();
        // Three that were meant for two stretches: two of them for one.
        let sure = check(&story, None, between(None, Some(1)));
        assert_eq!(sure.names(), [FindingName::OverBudget]);
    }

    #[test]
    fn processes_that_come_together_are_in_step() {
        let plan = plan([server("api").step(respond(503))])
            .call("GET", "api", "/x")
            .fleet(2);
        let both = |other| {
            let at = |story: Story, at, connection, call: &str| {
                let place = ("api", connection, 1);
                let story = story.accepted(at, "api", connection);
                story.on(at, place, "GET /x", &[("Wirefault-Call", call)])
            };
            let story = at(at(Story::new(), 10, 1, "1"), other, 2, "2");
            story
                .shows(310, 1, 200, "")
                .shows(311, 2, 200, "")
                .of_process(2)
        };
        let rate = RateExpected {
            counter: Counter::server("api"),
            from: None,
            per: Duration::from_millis(100),
            peak: between(None, Some(1)),
        };
        let rate = Assertion::Rate(rate);
        both(200).check(&plan, &rate).assert_good();
        let together = both(20).check(&plan, &rate);
        assert_eq!(together.names(), [FindingName::InStep]);
    }

    #[test]
    fn two_that_lie_a_whole_time_apart_are_not_in_it_together() {
        let story = Story::new()
            .request(100, "api", 1, "GET /x")
            .request(200, "api", 2, "GET /x")
            .shows(310, 1, 200, "");
        check(&story, None, exactly(1)).assert_good();
    }
}
