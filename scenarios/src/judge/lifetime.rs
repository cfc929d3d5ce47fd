//! What still counts at the end of the client's life.
//!
//! The kernel goes on sending for a process that has ended, and the servers go
//! on reading for a moment. So the order in which threads woke up must not
//! decide what counts: bytes count by their arrival, and what the servers did
//! counts when it began while the client lived. So an effect that takes time counts
//! also where it was through only later: the application does not know that its
//! client is gone.

use std::collections::HashMap;

use scripted_servers::event::Lane;

use super::effects;
use super::exchange::Place;
use super::facts::Facts;
use super::mark::Mark;
use crate::plan::Plan;
use crate::verdict::EndedBy;

/// A proof that does not say since when it holds.
#[derive(Debug)]
pub(super) struct Undated {
    pub(super) lane: Lane,
    pub(super) place: Place,
    pub(super) mark: Mark,
}

/// Takes out what came after the client's exit, and sorts in the proofs that do
/// not say since when they hold. A record without an exit is left as it is.
pub(super) fn settle(plan: &Plan, facts: &mut Facts, mut undated: Vec<Undated>) {
    if let Some((crash, restart)) = facts.client.dead() {
        settle_crash(facts, (crash, restart));
        undated.retain(|one| !is_between(one.mark.at_us, (crash, restart)));
    }
    let exit = facts.client.exited.as_ref().map(|exit| exit.mark.at_us);
    if let Some(exit) = exit {
        for exchange in &mut facts.exchanges {
            exchange.drain_after(exit);
        }
        let late = facts
            .effects
            .extract_if(.., |effect| effect.began_us > exit);
        let late: Vec<_> = late.collect();
        facts.late_effects.extend(late);
        facts.fired.retain(|_, proof| {
            proof.retain(|mark| mark.at_us <= exit);
            !proof.is_empty()
        });
    }
    let exit = exit.unwrap_or(u64::MAX);
    let (late, in_time): (Vec<_>, Vec<_>) =
        undated.into_iter().partition(|one| one.mark.at_us > exit);
    let begun = End::new(plan, facts, exit, &late).begun(late);
    for Undated { lane, place, mark } in in_time.into_iter().chain(begun) {
        facts.proofs_of(&place.server, lane).push(mark);
    }
}

/// Takes out what came of a process that was killed, before another took its place. All
/// of its connections are over by then.
fn settle_crash(facts: &mut Facts, dead: (u64, u64)) {
    let (crash, restart) = dead;
    let before = facts.exchanges.iter_mut();
    for exchange in before.filter(|one| one.began().at_us < restart) {
        exchange.drain_after(crash);
    }
    let late = facts
        .effects
        .extract_if(.., |effect| is_between(effect.began_us, dead));
    facts.late_effects = late.collect();
    facts.fired.retain(|_, proof| {
        proof.retain(|mark| !is_between(mark.at_us, dead));
        !proof.is_empty()
    });
}

fn is_between(at_us: u64, (from, to): (u64, u64)) -> bool {
    from < at_us && at_us < to
}

/// What had begun when the client ended, as far as late proofs ask for it.
struct End<'p> {
    plan: &'p Plan,
    /// What the harness cuts off, the client has not sat out.
    stopped: bool,
    places: HashMap<Place, Begun>,
}

/// What had begun at one place.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    accepted: bool,
    ended: bool,
    delivered: bool,
    answer: bool,
}

impl<'p> End<'p> {
    fn new(plan: &'p Plan, facts: &Facts, exit: u64, late: &[Undated]) -> Self {
        let places = late.iter().map(|one| (one.place.clone(), Begun::default()));
        let mut end = Self {
            plan,
            stopped: matches!(facts.client.end(), Some(EndedBy::Enough | EndedBy::Cap)),
            places: places.collect(),
        };
        if !late.is_empty() {
            end.look_at(facts, exit);
        }
        end
    }

    fn look_at(&mut self, facts: &Facts, exit: u64) {
        let mut lines: HashMap<(&str, u32), (bool, bool)> = HashMap::new();
        for (name, server) in &facts.servers {
            let accepted = server.accepted.iter();
            for (connection, _) in accepted.filter(|(_, mark)| mark.at_us <= exit) {
                lines.entry((name, *connection)).or_default().0 = true;
            }
            let own = server.ends.iter().filter(|end| end.by_client.is_none());
            for end in own.filter(|end| end.mark.at_us <= exit) {
                lines.entry((name, end.connection)).or_default().1 = true;
            }
        }
        for (place, begun) in &mut self.places {
            let line = lines.get(&(&*place.server, place.connection));
            (begun.accepted, begun.ended) = line.copied().unwrap_or_default();
        }
        for exchange in &facts.exchanges {
            if let Some(begun) = self.places.get_mut(&exchange.place) {
                let (answer, delivered) = exchange.told_us();
                begun.answer = answer.is_some_and(|told| told <= exit);
                begun.delivered = delivered.is_some_and(|told| told <= exit);
            }
        }
    }

    /// Those of late proofs whose fault had begun.
    fn begun(self, late: Vec<Undated>) -> Vec<Undated> {
        let begun = late.into_iter().filter(|one| self.had_begun(one));
        begun.collect()
    }

    /// A fault is noted when its proof is there, which may be a little after a
    /// client that it made exit. It had begun when the end of the connection or
    /// the answer had, or the wait before them.
    fn had_begun(&self, late: &Undated) -> bool {
        let begun = self.places.get(&late.place).copied().unwrap_or_default();
        let of_connection = matches!(late.lane, Lane::Connections(_));
        let sat_out =
            of_connection && begun.accepted || begun.answer || begun.delivered && self.waits(late);
        begun.ended || !self.stopped && sat_out
    }

    /// Whether the step waits once the request is there.
    fn waits(&self, late: &Undated) -> bool {
        let Lane::Step(id) = late.lane else {
            return false;
        };
        let step = effects::step_of(self.plan, &late.place.server, id);
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
