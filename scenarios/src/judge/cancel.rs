//! Whether the order to cancel was given while its call was open, and in time.
//!
//! An order that came late, or not at all, proves nothing about the client.

use std::time::Duration;

use super::case::Case;
use super::moment;
use super::time::micros;
use crate::expected::Words;
use crate::plan::Cancel;

/// How late an order may be: a harness that got no turn for longer may have
/// cancelled something else than was meant.
pub(super) const LATEST: Duration = Duration::from_millis(500);

/// Why the order of this case proves nothing; none when it was given, or when
/// the case has none.
pub(super) fn not_given(case: &Case<'_>) -> Option<String> {
    let cancel = case.plan.cancel.as_ref()?;
    let why = why(cancel, case)?;
    let Cancel { line, call, .. } = cancel;
    Some(format!("line {line}: `cancel` of call {call}: {why}"))
}

fn why(cancel: &Cancel, case: &Case<'_>) -> Option<String> {
    let client = &case.facts.client;
    let sent = client.cancel_sent;
    let Some((_, sent)) = sent.filter(|(call, _)| *call == cancel.call) else {
        let reported = client.reports.contains_key(&cancel.call);
        let why = if reported {
            "the call had reported before the order was due"
        } else if moment::at(&cancel.when, None, case).is_none() {
            "its moment never came"
        } else {
            "the order was not given"
        };
        return Some(why.to_owned());
    };
    let report = client.reports.get(&cancel.call);
    if report.is_some_and(|(report, _)| report.at_us < sent.at_us) {
        return Some("the call had reported when the order was given".to_owned());
    }
    let Some(moment) = moment::at(&cancel.when, None, case) else {
        return Some("the order was given, but its moment is not in the record".to_owned());
    };
    let due = moment.mark.at_us.saturating_add(micros(cancel.later));
    let late = Duration::from_micros(sent.at_us.saturating_sub(due));
    if late > LATEST {
        return Some(format!("the order was given {} late", late.words()));
    }
    (sent.at_us < due).then(|| "the order was given before it was due".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ClientEvent;
    use crate::moment::Moment;
    use crate::plan::Plan;
    use crate::testing::{Story, delivered, plan, respond, server};
    use crate::verdict::Verdict;

    fn case() -> Plan {
        let mut plan = plan([server("api").step(respond(200))])
            .call("GET", "api", "/x")
            .must(delivered("api", 1));
        plan.cancel = Some(Cancel {
            line: 9,
            call: 1,
            when: Moment::Delivered {
                server: "api".to_owned(),
                count: 1,
            },
            later: Duration::from_millis(100),
            withheld: false,
        });
        plan
    }

    fn cancelled(at: u64, call: u32) -> Story {
        let sent = ClientEvent::CancelSent { call };
        Story::new().request(5, "api", 1, "GET /x").client(at, sent)
    }

    fn verdict(story: &Story) -> (Verdict, String) {
        let cell = story.judge(&case());
        (cell.verdict, cell.reason.unwrap_or_default())
    }

    fn ended(story: Story) -> Story {
        story
            .report(900, 1, crate::evidence::Shown::Cancelled {})
            .exit(910, 0)
    }

    #[test]
    fn an_order_in_time_proves_that_the_call_was_cancelled() {
        assert_eq!(verdict(&ended(cancelled(106, 1))).0, Verdict::Pass);
    }

    #[test]
    fn without_an_order_in_time_nothing_is_proved() {
        let finished = |story: Story| story.shows(900, 1, 200, "").exit(910, 0);
        let request = || Story::new().request(5, "api", 1, "GET /x");
        let after = || {
            let sent = ClientEvent::CancelSent { call: 1 };
            request().shows(104, 1, 200, "").client(106, sent)
        };
        for (story, why) in [
            (finished(request()), "had reported before the order was due"),
            (
                Story::new().accepted(1, "api", 1).exit(910, 1),
                "its moment never came",
            ),
            (
                after().exit(910, 0),
                "had reported when the order was given",
            ),
            (ended(cancelled(620, 1)), "the order was given 515ms late"),
            (ended(cancelled(50, 1)), "before it was due"),
            (finished(cancelled(106, 2)), "before the order was due"),
        ] {
            let (verdict, reason) = verdict(&story);
            assert_eq!(verdict, Verdict::Inconclusive, "{why}");
            assert!(reason.contains(why), "{reason}: {why}");
            assert!(reason.contains("line 9: `cancel` of call 1"), "{reason}");
        }
    }
}
