//! `elapsed`: from handing over the work to the last report.

use std::time::Duration;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::{Expected, Words, values};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::mark::Mark;
use crate::judge::time::{Bounded, bounded};
use crate::matcher::{Matcher, bounds};
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "elapsed",
    summary: "time from handing over the work to the last report, or of one call",
    example: "elapsed: { at_most: 2s }",
    findings: &[FindingName::Hung, FindingName::GaveUpEarly],
    kind: values::time,
    decode,
};

/// A range.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    values::range_of_time(node, "`elapsed`", false, scope).map(Assertion::Elapsed)
}

/// A time with its two ends.
struct Span {
    from: Mark,
    to: Mark,
    reported: bool,
}

impl Span {
    fn time(&self) -> Duration {
        Duration::from_micros(self.to.at_us.saturating_sub(self.from.at_us))
    }
}

/// Too long is hanging, too short is giving up early. A client that was stopped
/// before it reported took at least the time until then.
pub(super) fn judge(expected: &Expected<Duration>, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    let Some(span) = span(of, case) else {
        return out;
    };
    match expected {
        Expected::Fits(range) => one(range, &span, case, &mut out),
        Expected::Shown | Expected::ByPolicy => {
            out.note(format!("elapsed: {}", span.time().words()));
        }
    }
    out
}

fn one(range: &Matcher<Duration>, span: &Span, case: &Case<'_>, out: &mut Checked) {
    let time = span.time();
    let client = &case.facts.client;
    let delay = client.run_delay.between(span.from.at_us, span.to.at_us);
    let bounded = bounded(range, time, delay);
    let (name, observed) = match bounded {
        Bounded::TooLong if span.reported => (FindingName::Hung, time.words()),
        Bounded::TooLong => (FindingName::Hung, format!("no report for {}", time.words())),
        Bounded::TooShort if span.reported => (FindingName::GaveUpEarly, time.words()),
        Bounded::Doubtful(why) => return out.doubt(why),
        Bounded::Within if span.reported => return out.good(),
        // How long it would have taken is not known.
        Bounded::Within | Bounded::TooShort => return,
    };
    let expected = Matcher::Range {
        at_least: bounds(range).0,
        at_most: bounds(range).1,
    };
    out.wrong(Raised::new(
        name,
        format!("elapsed {}", expected.words()),
        observed,
        [span.from.n, span.to.n],
    ));
}

/// From the work to the last report; of a call, from the report before it (and
/// its pause) to its own. Without a report, to the end of the cell.
fn span(of: &Of, case: &Case<'_>) -> Option<Span> {
    let client = &case.facts.client;
    let work = client.work?;
    let end = client.ended_by.map(|(_, mark)| mark);
    let exit = client.exited.as_ref().map(|exit| exit.mark);
    let until = exit.or(end);
    let Some(id) = of.call else {
        let all = case.calls.iter().all(|call| call.report.is_some());
        let to = if all { client.last_report() } else { until };
        return Some(Span {
            from: work,
            to: to?,
            reported: all,
        });
    };
    let place = case.calls.iter().position(|call| call.id == id)?;
    // Calls that are made beside each other begin when all before them are over.
    let group = case.plan.calls.get(place)?.group;
    let first = case.plan.calls.iter();
    let first = first.take(place).position(|one| {
        let own = case.plan.process_of(one.id) == case.plan.process_of(id);
        own && group > 0 && one.group == group
    });
    // Those of other processes have their own time.
    let process = case.plan.process_of(id);
    let before = case.calls.get(..first.unwrap_or(place))?.iter();
    let before = before.filter(|call| case.plan.process_of(call.id) == process);
    let mut from = work;
    for call in before {
        let (report, _) = call.report?;
        from = from.max(report);
    }
    let pause = case.plan.calls.get(place)?.pause;
    let pause = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
    let report = case.calls[place].report.map(|(mark, _)| mark);
    Some(Span {
        from: Mark {
            at_us: from.at_us.saturating_add(pause),
            ..from
        },
        to: report.or(until)?,
        reported: report.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ClientEvent;
    use crate::plan::Plan;
    use crate::testing::{Story, between, of_call, plan, respond, server};
    use crate::verdict::EndedBy;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn case() -> Plan {
        plan([server("api").step(respond(200))])
            .call("GET", "api", "/1")
            .call("GET", "api", "/2")
            .after(100)
    }

    fn story() -> Story {
        Story::default()
            .client(50, ClientEvent::Work)
            .shows(150, 1, 200, "")
            .shows(450, 2, 200, "")
    }

    fn within(least: u64, most: u64) -> Assertion {
        Assertion::Elapsed(between(Some(ms(least)), Some(ms(most))))
    }

    #[test]
    fn it_is_the_time_from_the_work_to_the_last_report() {
        story().check(&case(), &within(400, 400)).assert_good();
        let long = story().check(&case(), &within(0, 399));
        assert_eq!(long.names(), [FindingName::Hung]);
        assert_eq!(long.raised[0].events, [1, 3]);
        let short = story().check(&case(), &within(402, 500));
        assert_eq!(short.names(), [FindingName::GaveUpEarly]);
    }

    #[test]
    fn of_a_call_it_begins_with_the_report_before_and_leaves_the_pause_out() {
        let second = of_call(2);
        story()
            .check_of(&case(), &within(200, 200), &second)
            .assert_good();
        let long = story().check_of(&case(), &within(0, 199), &second);
        assert_eq!(long.names(), [FindingName::Hung]);
        story()
            .check_of(&case(), &within(100, 100), &of_call(1))
            .assert_good();
    }

    #[test]
    fn a_miss_that_load_explains_is_a_doubt() {
        let story = story().client(460, ClientEvent::RunDelay { micros: 200_000 });
        let checked = story.check(&case(), &within(0, 350));
        assert_eq!(checked.names(), []);
        assert_eq!(checked.doubts.len(), 1);
        let checked = story.check(&case(), &within(0, 150));
        assert_eq!(checked.names(), [FindingName::Hung]);
    }

    /// Both begin at 50 ms, and the second one reports first.
    #[test]
    fn of_a_call_beside_others_it_begins_when_all_before_them_were_over() {
        let story = Story::default()
            .client(50, ClientEvent::Work)
            .shows(150, 2, 200, "")
            .shows(450, 1, 200, "");
        let beside = plan([server("api").step(respond(200))])
            .call("GET", "api", "/1")
            .call("GET", "api", "/2")
            .at_once(2);
        let check = |call, time| story.check_of(&beside, &within(time, time), &of_call(call));
        check(2, 100).assert_good();
        check(1, 400).assert_good();
    }

    #[test]
    fn a_client_that_never_reported_took_at_least_until_its_end() {
        let story = Story::new()
            .shows(150, 1, 200, "")
            .end(5000, EndedBy::Deadline);
        let checked = story.check(&case(), &within(0, 4999));
        assert_eq!(checked.names(), [FindingName::Hung]);
        story.check(&case(), &within(0, 6000)).assert_nothing();
        story.check(&case(), &within(6000, 7000)).assert_nothing();
    }
}
