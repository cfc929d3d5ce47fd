//! `in_flight`: how many requests were begun and not yet answered at once.
//!
//! Where a client ends an attempt by RST, when it did is not known to the moment:
//! so the peak has two bounds, and a client is wrong only if it is so by both.

use std::cmp::Ordering;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::counts::Count;
use crate::expected::{Expected, Words, counts, side};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::shown;
use crate::judge::exchange::Exchange;
use crate::judge::overlap;
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "in_flight",
    summary: "the most requests that were begun and not answered at the same time",
    example: "in_flight: { api: { at_most: 4 } }",
    findings: &[FindingName::TooManyInFlight, FindingName::GaveUpEarly],
    kind: || counts::of_requests(false),
    decode,
};

/// `{api: {at_most: 4}}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode(node, "`in_flight`", false, scope).map(Assertion::InFlight)
}

/// Too many at once is too many whatever else happened.
pub(super) fn judge(counts: &[Count], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let exchanges = case.facts.exchanges.iter();
        let seen: Vec<&Exchange> = exchanges
            .filter(|one| one.is_counted_by(&count.counter) && one.is_of(of))
            .collect();
        if !seen.is_empty() {
            one(count, &seen, case, &mut out);
        }
    }
    out
}

fn one(count: &Count, seen: &[&Exchange], case: &Case<'_>, out: &mut Checked) {
    let name = &count.counter.text;
    let end = case.facts.client.last_us.saturating_add(1);
    let over = |one: &Exchange| one.over_within();
    let least = peak(seen, |one| over(one).map_or(end, |over| over.earliest_us));
    let most = peak(seen, |one| over(one).map_or(end, |over| over.latest_us));
    let Expected::Fits(matcher) = &count.expected else {
        return out.note(shown("in flight at", name, least.number));
    };
    let finding = match (side(matcher, &least.number), side(matcher, &most.number)) {
        (Some(Ordering::Greater), _) => FindingName::TooManyInFlight,
        (_, Some(Ordering::Less)) if case.cut_short() => return,
        (_, Some(Ordering::Less)) => FindingName::GaveUpEarly,
        (None, None) if least.number == most.number || is_range(matcher) => return out.good(),
        _ => {
            return out.doubt(format!(
                "from {} to {} were in flight at {name}: when the client let go of some is not \
                 known to the moment",
                least.number, most.number
            ));
        }
    };
    out.wrong(
        Raised::new(
            finding,
            format!("{} in flight at {name}", matcher.words()),
            least.number.words(),
            least.begun,
        )
        .in_any_case(finding == FindingName::TooManyInFlight),
    );
}

fn is_range(matcher: &Matcher<u64>) -> bool {
    matches!(matcher, Matcher::Range { .. })
}

/// The most at once, and the entries with which they began.
struct Peak {
    number: u64,
    begun: Vec<u64>,
}

fn peak(seen: &[&Exchange], over: impl Fn(&Exchange) -> u64) -> Peak {
    let peak = overlap::peak(seen, |one| (one.began().at_us, over(one)));
    Peak {
        number: peak.len() as u64,
        begun: peak.into_iter().map(|one| one.began().n).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, between, count, exactly, plan, respond, server};
    use scripted_servers::event::{Ending, What};

    /// Three requests: two overlap, the third begins as the first is answered.
    fn story() -> Story {
        Story::new()
            .request(5, "api", 1, "GET /1")
            .request(10, "api", 2, "GET /2")
            .answer(20, ("api", 1, 1), 200, "")
            .request(20, "api", 3, "GET /3")
            .answer(30, ("api", 2, 1), 200, "")
            .answer(40, ("api", 3, 1), 200, "")
            .shows(50, 1, 200, "")
    }

    fn check(story: &Story, expected: Expected<u64>) -> Checked {
        let plan = plan([server("api").step(respond(200))]).call("GET", "api", "/1");
        story.check(&plan, &Assertion::InFlight(vec![count("api", expected)]))
    }

    #[test]
    fn it_is_the_most_that_were_open_at_once() {
        check(&story(), exactly(2)).assert_good();
        let many = check(&story(), between(None, Some(1)));
        assert_eq!(many.names(), [FindingName::TooManyInFlight]);
        assert!(many.raised[0].in_any_case);
        let few = check(&story(), exactly(3));
        assert_eq!(few.names(), [FindingName::GaveUpEarly]);
    }

    #[test]
    fn a_request_that_is_never_answered_stays_in_flight() {
        let story = story().request(45, "api", 4, "GET /4");
        let story = story.request(48, "api", 5, "GET /5");
        let story = story.request(49, "api", 6, "GET /6");
        check(&story, exactly(3)).assert_good();
    }

    #[test]
    fn what_a_client_reset_at_an_unknown_time_accuses_nobody() {
        let reset = What::PeerEnded {
            how: Ending::Reset,
            arrived_us: None,
            alive_us: 0,
        };
        let story = Story::new()
            .request(5, "api", 1, "GET /1")
            .server(40, ("api", 1, 0), reset)
            .request(20, "api", 2, "GET /1")
            .answer(30, ("api", 2, 1), 200, "")
            .shows(50, 1, 200, "");
        let doubtful = check(&story, between(None, Some(1)));
        assert_eq!((doubtful.names().len(), doubtful.doubts.len()), (0, 1));
        check(&story, between(None, Some(2))).assert_good();
    }

    #[test]
    fn without_a_request_nothing_is_in_flight() {
        check(&Story::new(), exactly(1)).assert_nothing();
    }
}
