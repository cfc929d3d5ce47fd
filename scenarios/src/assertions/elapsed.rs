//! `elapsed`: from handing over the work to the last report.

use std::time::Duration;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::{Expected, Words, values};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::facts::Mark;
use crate::judge::time::{Bounded, bounded, bounds};
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "elapsed",
    summary: "time from handing over the work to the last report, or of one call",
    example: "elapsed: { at_most: 2s }",
    decode,
};

/// A range.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
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
pub fn judge(expected: &Expected<Duration>, of: &Of, case: &Case<'_>) -> Checked {
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
    let bounded = bounded(range, time, case.facts.client.run_delay_us);
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
    let from = match place.checked_sub(1) {
        Some(before) => case.calls[before].report?.0,
        None => work,
    };
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
