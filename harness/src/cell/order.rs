//! Orders that wait for a moment, as servers tell it: to cancel a call, to kill the
//! client.
//!
//! They only watch. That an order was given in time the judge finds in the evidence.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use scenarios::moment::Moment;
use scenarios::plan::Plan;
use scripted_servers::event::{Lane, ServerEvent, StepId, What};

/// An order to cancel a call that is due at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Number of the call to cancel.
    pub call: u32,
    /// When.
    pub due: Duration,
}

/// Where an exchange takes place: server and connection. A connection has one
/// at a time.
type Place = (Arc<str>, Option<u32>);

/// Waits for the moment of an order.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// What it waits for; none: no order is given.
    when: Option<Moment>,
    /// How long after it the order is due.
    later: Duration,
    /// The steps that the moment names, each with its server; true: a fault,
    /// which says itself when it happened.
    named: Vec<(String, StepId, bool)>,
    delivered: u64,
    /// Steps that exchanges under way have taken.
    taken: BTreeMap<Place, StepId>,
    /// Exchanges under way that no route expects.
    unexpected: BTreeMap<Place, ()>,
    due: Option<Duration>,
}

impl Watch {
    /// For the order to cancel a call.
    pub(super) fn of_cancel(plan: &Plan) -> Self {
        let cancel = plan.cancel.as_ref().filter(|cancel| !cancel.withheld);
        cancel.map_or_else(Self::default, |cancel| {
            Self::new(plan, &cancel.when, cancel.later)
        })
    }

    /// For the order to kill the client.
    pub(super) fn of_crash(plan: &Plan) -> Self {
        let crash = plan.crash.as_ref().filter(|crash| !crash.withheld);
        crash.map_or_else(Self::default, |crash| {
            Self::new(plan, &crash.when, Duration::ZERO)
        })
    }

    fn new(plan: &Plan, when: &Moment, later: Duration) -> Self {
        let named = match when {
            Moment::Fired(name) => steps(plan, name),
            _ => Vec::new(),
        };
        Self {
            when: Some(when.clone()),
            later,
            named,
            ..Self::default()
        }
    }

    /// When the order is due, once that is known.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// The client has its work since this time.
    pub(super) fn has_work(&mut self, at: Duration) {
        if let Some(Moment::After(after)) = self.when {
            self.came(at.saturating_add(after));
        }
    }

    /// A server saw something. Whether the order's time is known by it.
    pub(super) fn sees(&mut self, event: &ServerEvent, now: Duration) -> bool {
        if self.when.is_none() || self.due.is_some() {
            return false;
        }
        if self.is_moment(event) {
            self.came(now);
        }
        self.due.is_some()
    }

    fn came(&mut self, at: Duration) {
        self.due.get_or_insert(at.saturating_add(self.later));
    }

    fn is_moment(&mut self, event: &ServerEvent) -> bool {
        let place = (event.server.clone(), event.connection);
        match &event.what {
            What::Head { queue: None, .. } => {
                self.unexpected.insert(place, ());
                false
            }
            What::Head { step, .. } => {
                self.unexpected.remove(&place);
                self.take(place, *step);
                false
            }
            What::Taken { step } => {
                self.take(place, Some(*step));
                false
            }
            What::Delivered { drained: false, .. } => {
                let expected = !self.unexpected.contains_key(&place);
                expected && self.is_the_last_wanted(&event.server)
            }
            What::Fired {
                lane: Lane::Step(step),
                ..
            } => self.names(&event.server, *step, true),
            What::Answered { .. } => {
                let taken = self.taken.get(&place).copied();
                taken.is_some_and(|step| self.names(&event.server, step, false))
            }
            _ => false,
        }
    }

    fn take(&mut self, place: Place, step: Option<StepId>) {
        match step {
            Some(step) => self.taken.insert(place, step),
            None => self.taken.remove(&place),
        };
    }

    fn is_the_last_wanted(&mut self, at: &str) -> bool {
        let Some(Moment::Delivered { server, count }) = &self.when else {
            return false;
        };
        if server != at {
            return false;
        }
        self.delivered += 1;
        self.delivered == *count
    }

    fn names(&self, server: &str, step: StepId, fault: bool) -> bool {
        let mut named = self.named.iter();
        named.any(|(at, id, is_fault)| at == server && *id == step && *is_fault == fault)
    }
}

/// The steps of a name: where they are, and whether they are faults.
fn steps(plan: &Plan, name: &str) -> Vec<(String, StepId, bool)> {
    let mut named = Vec::new();
    for server in &plan.servers {
        for (queue, steps) in server.queues.iter().enumerate() {
            for (step, one) in steps.steps.iter().enumerate() {
                if one.name.as_deref() == Some(name) {
                    let id = StepId { queue, step };
                    named.push((server.name.clone(), id, one.is_fault()));
                }
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use scripted_servers::event::Taken;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn watch(when: Moment) -> Watch {
        Watch {
            when: Some(when),
            later: ms(50),
            ..Watch::default()
        }
    }

    fn event(connection: u32, what: What) -> ServerEvent {
        ServerEvent {
            server: "api".into(),
            connection: Some(connection),
            exchange: Some(1),
            what,
        }
    }

    fn head(queue: Option<usize>, step: Option<StepId>) -> What {
        What::Head {
            arrived_us: 1,
            method: "GET".to_owned(),
            target: "/x".to_owned(),
            headers: Vec::new(),
            queue,
            step,
        }
    }

    fn delivered(drained: bool) -> What {
        What::Delivered {
            arrived_us: 1,
            body_bytes: 0,
            body_sha256: None,
            drained,
        }
    }

    #[test]
    fn a_time_counts_from_the_work() {
        let mut watch = watch(Moment::After(ms(200)));
        assert_eq!(watch.due(), None);
        watch.has_work(ms(10));
        watch.has_work(ms(500));
        assert_eq!(
            watch.due(),
            Some(ms(260)),
            "the work of a new process is no new work"
        );
    }

    #[test]
    fn deliveries_count_at_their_server_and_unexpected_ones_do_not() {
        let mut watch = watch(Moment::Delivered {
            server: "api".to_owned(),
            count: 2,
        });
        for (connection, queue) in [(1, Some(0)), (2, None), (3, Some(0))] {
            assert!(!watch.sees(&event(connection, head(queue, None)), ms(1)));
        }
        let elsewhere = ServerEvent {
            server: "other".into(),
            ..event(1, delivered(false))
        };
        assert!(!watch.sees(&elsewhere, ms(2)));
        assert!(!watch.sees(&event(1, delivered(false)), ms(3)));
        assert!(!watch.sees(&event(2, delivered(false)), ms(4)));
        assert!(!watch.sees(&event(3, delivered(true)), ms(5)));
        assert!(watch.sees(&event(3, delivered(false)), ms(6)));
        assert_eq!(watch.due(), Some(ms(56)));
        // Once is enough.
        assert!(!watch.sees(&event(3, delivered(false)), ms(9)));
    }

    #[test]
    fn a_fault_has_happened_when_it_fired_and_an_answer_when_it_went_out() {
        let step = |step| StepId { queue: 0, step };
        let named = |id, fault| Watch {
            named: vec![("api".to_owned(), step(id), fault)],
            ..watch(Moment::Fired("it".to_owned()))
        };
        let fired = |id| What::Fired {
            lane: Lane::Step(step(id)),
            proof: String::new(),
            since_us: 1,
        };
        let answered = || What::Answered {
            bytes: 1,
            handed_us: 1,
        };
        let mut fault = named(1, true);
        fault.sees(&event(1, head(Some(0), Some(step(1)))), ms(1));
        assert!(!fault.sees(&event(1, answered()), ms(2)));
        assert!(!fault.sees(&event(1, fired(0)), ms(3)));
        assert!(fault.sees(&event(1, fired(1)), ms(4)));

        let mut plain = named(1, false);
        plain.sees(&event(1, head(Some(0), Some(step(0)))), ms(1));
        assert!(!plain.sees(&event(1, answered()), ms(2)));
        plain.sees(&event(2, What::Taken { step: step(1) }), ms(3));
        assert!(plain.sees(&event(2, answered()), ms(4)));
    }

    #[test]
    fn what_is_withheld_or_not_there_is_never_due() {
        let mut none = Watch::default();
        none.has_work(ms(1));
        let taken = Some(Taken {
            at_least: 0,
            at_most: 0,
        });
        let closed = What::Closed {
            received: 0,
            sent: 0,
            taken,
        };
        assert!(!none.sees(&event(1, closed), ms(1)));
        assert_eq!(none.due(), None);
    }
}
