//! What still counts at the end of the client's life.
//!
//! The kernel goes on sending for a process that has ended, and the servers go
//! on reading for a moment. So the order in which threads woke up must not
//! decide what counts: bytes count by their arrival, and what the servers did
//! counts when it began while the client lived. So an effect that takes time counts
//! also where it was through only later: the application does not know that its
//! client is gone.

use std::collections::BTreeSet;

use scripted_servers::event::{Lane, ServerEvent, What};

use super::effects;
use super::facts::Facts;
use crate::evidence::{Entry, Event};
use crate::plan::Plan;
use crate::verdict::EndedBy;

/// Takes out what came after the client's exit. A record without an exit is
/// left as it is.
pub(super) fn settle(plan: &Plan, facts: &mut Facts, entries: &[&Entry]) {
    let Some(exit) = facts.client.exited.as_ref().map(|exit| exit.mark.at_us) else {
        return;
    };
    for exchange in &mut facts.exchanges {
        if let Some(delivered) = &mut exchange.delivered {
            delivered.drained |= delivered.mark.at_us > exit;
        }
    }
    let effects = std::mem::take(&mut facts.effects).into_iter();
    (facts.effects, facts.late_effects) = effects.partition(|effect| effect.began_us <= exit);
    let end = End {
        plan,
        exit,
        before: entries.iter().filter(|entry| entry.at_us <= exit).collect(),
        // What the harness cuts off, the client has not sat out.
        stopped: matches!(facts.client.end(), Some(EndedBy::Enough | EndedBy::Cap)),
    };
    let late: BTreeSet<u64> = entries
        .iter()
        .filter(|entry| end.is_too_late(entry))
        .map(|entry| entry.n)
        .collect();
    facts.fired.retain(|_, proof| {
        proof.retain(|mark| !late.contains(&mark.n));
        !proof.is_empty()
    });
}

/// The client's end.
struct End<'e> {
    plan: &'e Plan,
    exit: u64,
    before: Vec<&'e &'e Entry>,
    stopped: bool,
}

impl End<'_> {
    /// Whether it says that a fault happened which began only after the exit.
    fn is_too_late(&self, entry: &Entry) -> bool {
        let Event::Server(event) = &entry.event else {
            return false;
        };
        let What::Fired { lane, since_us, .. } = &event.what else {
            return false;
        };
        match since_us {
            0 => entry.at_us > self.exit && !self.had_begun(event, *lane),
            since => *since > self.exit,
        }
    }

    /// For a proof that does not say since when it holds. A fault is noted when its proof is there, which may be a little after a
    /// client that it made exit. It had begun when the end of the connection or
    /// the answer had, or the wait before them.
    fn had_begun(&self, fired: &ServerEvent, lane: Lane) -> bool {
        self.before.iter().any(|entry| {
            let Event::Server(event) = &entry.event else {
                return false;
            };
            let same = event.server == fired.server && event.connection == fired.connection;
            let same_exchange = same && event.exchange == fired.exchange;
            match &event.what {
                What::Ended { .. } => same,
                What::Accepted { .. } => {
                    same && !self.stopped && matches!(lane, Lane::Connections(_))
                }
                What::Answering { .. } | What::Answered { .. } => same_exchange && !self.stopped,
                What::Delivered { .. } => same_exchange && !self.stopped && self.waits(fired, lane),
                _ => false,
            }
        })
    }

    /// Whether the step waits once the request is there.
    fn waits(&self, fired: &ServerEvent, lane: Lane) -> bool {
        let Lane::Step(id) = lane else { return false };
        let step = effects::step_of(self.plan, &fired.server, id);
        step.is_some_and(|step| !step.wait().is_zero())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use scripted_servers::event::Ending;
    use scripted_servers::wire::End as Way;

    use super::*;
    use crate::assertions::Assertion;
    use crate::evidence::ClientEvent;
    use crate::testing::{Story, cut, delivered, effect, exactly, plan, respond, server};
    use crate::verdict::{EndedBy, FindingName, Verdict};

    const AT: (&str, u32, u32) = ("api", 1, 1);

    fn exits(story: Story, at: u64, ended_by: EndedBy) -> Story {
        let exited = ClientEvent::Exited {
            code: Some(0),
            signal: None,
            killed: ended_by != EndedBy::Exit,
        };
        story.client(at, exited).end(200, ended_by)
    }

    #[test]
    fn bytes_that_arrived_after_the_exit_are_drained_and_never_delivered() {
        let plan = plan([server("api").step(respond(200))])
            .call("POST", "api", "/x")
            .must(delivered("api", 0));
        let story = |at| {
            let story = Story::new().request(at, "api", 1, "POST /x");
            exits(story.fails(10, 1, "ECONNRESET"), 20, EndedBy::Exit)
        };
        let late = story(21).judge(&plan);
        assert_eq!((late.delivered["api"], late.drained["api"]), (0, 1));
        assert_eq!(late.calls[0].delivered, 0);
        assert_eq!(late.verdict, Verdict::Pass);
        let in_time = story(20).judge(&plan);
        assert_eq!((in_time.delivered["api"], in_time.drained["api"]), (1, 0));
        assert_eq!(in_time.verdict, Verdict::Fail);
    }

    fn fault(step: crate::plan::StepPlan) -> Plan {
        plan([server("api").step(step.required())])
            .call("POST", "api", "/x")
            .must(delivered("api", 1))
    }

    fn sent() -> Story {
        Story::new()
            .request(5, "api", 1, "POST /x")
            .took(5, AT, 0)
            .fails(10, 1, "ECONNRESET")
    }

    #[test]
    fn a_fault_that_began_after_the_exit_has_not_happened() {
        let plan = fault(cut(Way::Reset));
        let late = exits(sent().fired(22, "api", 0), 20, EndedBy::Exit);
        let cell = late.judge(&plan);
        assert_eq!(cell.verdict, Verdict::Inconclusive, "{cell:?}");
        let in_time = exits(sent().fired(20, "api", 0), 20, EndedBy::Exit);
        assert_eq!(in_time.judge(&plan).verdict, Verdict::Pass);
    }

    #[test]
    fn a_fault_that_made_the_client_exit_has_happened_though_it_is_noted_later() {
        let story = sent().ended(9, AT, Ending::Reset).fired(22, "api", 0);
        let cell = exits(story, 20, EndedBy::Exit).judge(&fault(cut(Way::Reset)));
        assert_eq!(cell.verdict, Verdict::Pass, "{cell:?}");
        let story = sent().answering(9, AT, 503, "", true).fired(22, "api", 0);
        let cell = exits(story, 20, EndedBy::Exit).judge(&fault(respond(503)));
        assert_eq!(cell.verdict, Verdict::Pass, "{cell:?}");
    }

    #[test]
    fn a_wait_counts_from_its_beginning_unless_the_harness_ends_it() {
        let mut step = cut(Way::Reset);
        step.delay = Duration::from_secs(3);
        let plan = fault(step);
        let cut_off = |by| {
            exits(sent().fired(22, "api", 0), 20, by)
                .judge(&plan)
                .verdict
        };
        assert_eq!(cut_off(EndedBy::Exit), Verdict::Pass);
        assert_eq!(cut_off(EndedBy::Enough), Verdict::Inconclusive);
        assert_eq!(
            cut_off(EndedBy::Cap),
            Verdict::Fail,
            "the cap itself is a finding"
        );
    }

    #[test]
    fn an_effect_after_the_exit_does_not_count_and_its_lack_proves_nothing() {
        let case = |number| {
            plan([server("api").step(respond(200).applies("order"))])
                .call("POST", "api", "/x")
                .must(Assertion::Applied(vec![effect("order", exactly(number))]))
        };
        let story = exits(sent().effect(21, AT, "order", None), 20, EndedBy::Exit);
        let none = story.judge(&case(0));
        assert_eq!((none.applied["order"], none.verdict), (0, Verdict::Pass));
        assert_eq!(story.judge(&case(1)).verdict, Verdict::Inconclusive);
        let too_few = story.judge(&case(2));
        assert_eq!(too_few.findings[0].name, FindingName::LostResult);
    }

    #[test]
    fn an_effect_that_was_begun_in_time_counts_however_late_it_was_through() {
        let plan = plan([server("api").step(respond(200).applies("order"))])
            .call("POST", "api", "/x")
            .must(Assertion::Applied(vec![effect("order", exactly(1))]));
        let run = |began| sent().run((began, 500), AT, "order", None);
        let begun = exits(run(19), 20, EndedBy::Exit).judge(&plan);
        assert_eq!((begun.applied["order"], begun.verdict), (1, Verdict::Pass));
        let late = exits(run(21), 20, EndedBy::Exit).judge(&plan);
        assert_eq!(late.applied["order"], 0);
        assert_eq!(late.verdict, Verdict::Inconclusive);
    }

    proptest! {
        /// Only when bytes arrived decides, however late a server read them.
        #[test]
        fn counts_follow_arrival_and_never_the_time_of_reading(
            arrivals in prop::collection::vec((0_u64..40, 0_u64..40), 0..8),
            exit in 0_u64..40,
        ) {
            let plan = plan([server("api").step(respond(200))]).call("POST", "api", "/x");
            let mut story = Story::new();
            for (place, (arrived, later)) in (1..).zip(&arrivals) {
                story = story.request(*arrived, "api", place, "POST /x");
                for entry in story.entries.iter_mut().rev().take(4) {
                    entry.at_us += later * 1000;
                }
            }
            let cell = exits(story, exit, EndedBy::Exit).judge(&plan);
            let counts = |in_time| {
                arrivals.iter().filter(|(at, _)| (*at <= exit) == in_time).count() as u64
            };
            prop_assert_eq!(cell.delivered["api"], counts(true));
            prop_assert_eq!(cell.drained["api"], counts(false));
            prop_assert_eq!(cell.calls[0].delivered, counts(true));
        }
    }
}
