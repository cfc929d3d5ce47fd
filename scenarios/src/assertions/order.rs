//! `order`: in which order requests were delivered.

use super::{Assertion, Entry};
use crate::counter::Counter;
use crate::document::{Kind, Node};
use crate::expected::{counts, values};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::listed_by;
use crate::judge::exchange::Exchange;
use crate::judge::mark::Mark;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "order",
    summary: "the deliveries in order, by the time at which their last byte arrived",
    example: "order: [\"api /start\", \"api /end\"]",
    findings: &[FindingName::WrongOrder],
    kind: || Kind::list(counts::one()),
    decode,
};

/// A list of counters; at `info` too, as it says which deliveries are shown.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    let counters = values::list_in(node, "`order`", scope, &counts::counter_of)?;
    Some(Assertion::Order(counters))
}

/// The deliveries that any of the counters counts are exactly these, one for
/// each counter. Those that arrived in the same instant fit either way.
pub(super) fn judge(expected: &[Counter], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    let mut seen: Vec<(Mark, &Exchange)> = case
        .facts
        .exchanges
        .iter()
        .filter(|one| one.is_of(of) && expected.iter().any(|counter| one.is_counted_by(counter)))
        .filter_map(|one| Some((one.delivery()?, one)))
        .collect();
    seen.sort_unstable_by(|(mark, one), (other_mark, other)| {
        let arrived = mark.at_us.cmp(&other_mark.at_us);
        arrived.then_with(|| one.place.cmp(&other.place))
    });
    if seen.is_empty() {
        return out;
    }
    if fits(expected, &seen) {
        out.good();
        return out;
    }
    let wanted: Vec<_> = expected
        .iter()
        .map(|counter| counter.text.clone())
        .collect();
    let observed = seen.iter().map(|(_, one)| {
        let server = &one.place.server;
        let head = one.head();
        head.map_or_else(
            || server.to_string(),
            |head| format!("{server} {} {}", head.method, head.target),
        )
    });
    out.wrong(Raised::new(
        FindingName::WrongOrder,
        wanted.join(", then "),
        listed_by(", then ", observed),
        seen.iter().map(|(mark, _)| mark.n),
    ));
    out
}

fn fits(expected: &[Counter], seen: &[(Mark, &Exchange)]) -> bool {
    if expected.len() != seen.len() {
        return false;
    }
    let mut left: Vec<&(Mark, &Exchange)> = seen.iter().collect();
    expected.iter().all(|counter| {
        let Some(instant) = left.first().map(|(mark, _)| mark.at_us) else {
            return false;
        };
        let now = left.iter().take_while(|(mark, _)| mark.at_us == instant);
        let found = now
            .map(|(_, one)| *one)
            .position(|one| one.is_counted_by(counter));
        found.map(|place| left.remove(place)).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, plan, respond, server};

    fn check(story: &Story, counters: &[&str]) -> Checked {
        let plan = plan([
            server("api").step(respond(200)),
            server("b").step(respond(200)),
        ]);
        let plan = plan.call("GET", "api", "/start");
        let counters = counters.iter().filter_map(|text| Counter::parse(text));
        story.check(&plan, &Assertion::Order(counters.collect()))
    }

    fn story(times: [u64; 2]) -> Story {
        Story::new()
            .request(times[0], "api", 1, "GET /start")
            .request(times[1], "b", 1, "GET /end")
    }

    #[test]
    fn the_deliveries_come_in_this_order() {
        check(&story([5, 6]), &["api /start", "b /end"]).assert_good();
        let wrong = check(&story([6, 5]), &["api /start", "b /end"]);
        assert_eq!(wrong.names(), [FindingName::WrongOrder]);
        assert_eq!(wrong.raised[0].observed, "b GET /end, then api GET /start");
    }

    #[test]
    fn one_too_many_and_one_too_few_are_another_order() {
        let order = |counters: &[&str]| check(&story([5, 6]), counters).names();
        assert_eq!(order(&["api", "b", "api"]), [FindingName::WrongOrder]);
        let more = story([5, 6]).request(7, "api", 2, "GET /start");
        assert_eq!(
            check(&more, &["api", "b"]).names(),
            [FindingName::WrongOrder]
        );
    }

    #[test]
    fn deliveries_of_no_counter_do_not_matter() {
        let more = story([5, 6]).request(4, "api", 2, "GET /other");
        check(&more, &["api /start", "b"]).assert_good();
    }

    #[test]
    fn what_arrived_in_the_same_instant_fits_either_way() {
        check(&story([5, 5]), &["api", "b"]).assert_good();
        check(&story([5, 5]), &["b", "api"]).assert_good();
    }

    #[test]
    fn without_a_delivery_there_is_no_order() {
        check(&Story::new(), &["api", "b"]).assert_nothing();
    }
}
