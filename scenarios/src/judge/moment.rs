//! When the moments of a case were, as exactly as that is known.

use scripted_servers::event::{Lane, StepId};

use super::case::Case;
use super::mark::Mark;
use crate::moment::Moment;

/// When a moment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    /// The entry that says so, with the time to show.
    pub mark: Mark,
    /// A client that acts on the moment may not have done so before this, in
    /// microseconds.
    pub latest_us: u64,
}

impl At {
    fn exactly(mark: Mark) -> Self {
        Self {
            mark,
            latest_us: mark.at_us,
        }
    }
}

/// When a moment was; none: it never came.
pub(crate) fn at(moment: &Moment, call: Option<u32>, case: &Case<'_>) -> Option<At> {
    let mark = match moment {
        Moment::Report => report(call, case),
        Moment::Cancel => case.facts.client.cancel_sent.map(|(_, mark)| mark),
        Moment::Crash => case.facts.client.crashed.map(|exit| exit.mark),
        Moment::After(time) => case.facts.client.work.map(|work| Mark {
            at_us: work.at_us.saturating_add(super::time::micros(*time)),
            ..work
        }),
        Moment::Delivered { server, count } => delivered(server, *count, case),
        Moment::Fired(name) => fired(name, case),
    };
    mark.map(At::exactly)
}

fn report(call: Option<u32>, case: &Case<'_>) -> Option<Mark> {
    let reports = &case.facts.client.reports;
    match call {
        Some(call) => reports.get(&call).map(|(mark, _)| *mark),
        None if case.calls.iter().all(|call| call.report.is_some()) => {
            case.facts.client.last_report()
        }
        None => None,
    }
}

fn delivered(server: &str, count: u64, case: &Case<'_>) -> Option<Mark> {
    let exchanges = case.facts.exchanges.iter();
    let here = exchanges.filter(|one| one.place.server == server);
    let mut deliveries: Vec<Mark> = here.filter_map(|one| one.delivery()).collect();
    deliveries.sort_unstable();
    let place = usize::try_from(count).ok()?.checked_sub(1)?;
    deliveries.get(place).copied()
}

/// The first time that any step of this name happened.
fn fired(name: &str, case: &Case<'_>) -> Option<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for server in &case.plan.servers {
        for (queue, steps) in server.queues.iter().enumerate() {
            for (step, plan) in steps.steps.iter().enumerate() {
                if plan.name.as_deref() != Some(name) {
                    continue;
                }
                let id = StepId { queue, step };
                let key = (server.name.clone(), Lane::Step(id));
                marks.extend(case.facts.fired.get(&key).into_iter().flatten());
                if !plan.is_fault() {
                    let taken = case.facts.exchanges.iter();
                    let taken = taken
                        .filter(|one| one.place.server == server.name && one.step() == Some(id));
                    marks.extend(taken.filter_map(|one| one.answered()));
                }
            }
        }
    }
    marks.into_iter().min()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use scripted_servers::wire::End;

    use super::*;
    use crate::evidence::ClientEvent;
    use crate::judge::gathering::gather;
    use crate::plan::Plan;
    use crate::testing::{Story, cut, manifest, plan, respond, server};

    fn case() -> Plan {
        let named = |step: crate::plan::StepPlan, name: &str| crate::plan::StepPlan {
            name: Some(name.to_owned()),
            ..step
        };
        plan([server("api")
            .step(named(cut(End::Reset), "cut"))
            .step(named(respond(200), "fine"))])
        .call("GET", "api", "/1")
        .call("GET", "api", "/2")
    }

    fn story() -> Story {
        Story::default()
            .client(50, ClientEvent::Work)
            .request(60, "api", 1, "GET /1")
            .fired(65, "api", 0)
            .request(80, "api", 2, "GET /1")
            .took(80, ("api", 2, 1), 1)
            .answer(81, ("api", 2, 1), 200, "")
            .shows(90, 1, 200, "")
    }

    fn when(story: &Story, moment: &Moment, call: Option<u32>) -> Option<u64> {
        let (plan, manifest) = (case(), manifest());
        let facts = gather(&plan, &manifest, &story.entries);
        let at = at(moment, call, &Case::new(&plan, &manifest, &facts))?;
        Some(at.mark.at_us / 1000)
    }

    #[test]
    fn every_moment_has_its_time() {
        let at = |moment: Moment| when(&story(), &moment, None);
        assert_eq!(at(Moment::After(Duration::from_millis(20))), Some(70));
        assert_eq!(at(Moment::Fired("cut".to_owned())), Some(65));
        assert_eq!(at(Moment::Fired("fine".to_owned())), Some(81));
        let delivered = |count| Moment::Delivered {
            server: "api".to_owned(),
            count,
        };
        assert_eq!(at(delivered(1)), Some(60));
        assert_eq!(at(delivered(2)), Some(80));
        assert_eq!(at(delivered(3)), None);
    }

    #[test]
    fn the_report_is_that_of_the_call_or_the_last_of_all() {
        assert_eq!(when(&story(), &Moment::Report, Some(1)), Some(90));
        assert_eq!(when(&story(), &Moment::Report, Some(2)), None);
        assert_eq!(when(&story(), &Moment::Report, None), None);
        let both = story().shows(99, 2, 200, "");
        assert_eq!(when(&both, &Moment::Report, None), Some(99));
    }
}
