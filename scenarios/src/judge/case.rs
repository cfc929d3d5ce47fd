//! One cell as its judges see it: the case, the client's manifest, the facts,
//! and each call with what was shown and what that means.

use std::collections::BTreeMap;

use scripted_servers::script::Route;

use super::attribution;
use super::exchange::Exchange;
use super::facts::{EffectFact, Facts};
use super::mark::Mark;
use crate::counter::Counter;
use crate::evidence::{Report, Shown};
use crate::judge::errors::{self, Meaning};
use crate::manifest::Manifest;
use crate::plan::{Of, Plan};
use crate::policy::{self, Prediction};
use crate::target::{self, Sent};
use crate::template::JOB;
use crate::verdict::{EndedBy, Outcome};

/// Everything that an assertion may look at.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    /// The case.
    pub plan: &'a Plan,
    /// The client.
    pub manifest: &'a Manifest,
    /// What happened.
    pub facts: &'a Facts,
    /// What the client promises to do here.
    pub prediction: Prediction,
    /// The calls, in the order of the case.
    pub calls: Vec<CallView<'a>>,
}

/// One call with all that belongs to it.
#[derive(Debug)]
pub(crate) struct CallView<'a> {
    /// Its number.
    pub id: u32,
    /// What it was to send; none when the case does not say where to.
    pub sent: Option<Sent>,
    /// Its final report.
    pub report: Option<(Mark, &'a Report)>,
    /// What was shown, or what it means that nothing was.
    pub meaning: Meaning,
    /// Whether the harness stopped the client before this call could report, so
    /// that its end says nothing about the client.
    pub stopped: bool,
    /// Its requests by the time at which they began, those that no route
    /// expects included.
    pub exchanges: Vec<&'a Exchange>,
    /// What the application did for it.
    pub effects: Vec<&'a EffectFact>,
}

impl<'a> Case<'a> {
    /// Puts together what belongs together.
    pub(crate) fn new(plan: &'a Plan, manifest: &'a Manifest, facts: &'a Facts) -> Self {
        let mut exchanges = by_call(&facts.exchanges, attribution::calls_of);
        let mut effects = by_call(&facts.effects, |one| one.call.into_iter());
        let calls = plan.calls.iter().map(|call| {
            let report = facts.client.reports.get(&call.id);
            let report = report.map(|(mark, report)| (*mark, report));
            let (meaning, stopped) = match report {
                Some((_, report)) => (errors::meaning(report, manifest), false),
                None => unreported(plan, facts, call.id),
            };
            CallView {
                id: call.id,
                sent: target::of_call(plan, manifest, call),
                report,
                meaning,
                stopped,
                exchanges: exchanges.remove(&call.id).unwrap_or_default(),
                effects: effects.remove(&call.id).unwrap_or_default(),
            }
        });
        Self {
            plan,
            manifest,
            facts,
            prediction: policy::predict(plan, manifest),
            calls: calls.collect(),
        }
    }

    /// The call with this number.
    pub(crate) fn call(&self, id: u32) -> Option<&CallView<'a>> {
        // Calls are numbered in their order.
        let place = usize::try_from(id).ok().and_then(|id| id.checked_sub(1));
        let likely = place.and_then(|place| self.calls.get(place));
        let likely = likely.filter(|call| call.id == id);
        likely.or_else(|| self.calls.iter().find(|call| call.id == id))
    }

    /// The calls that an expectation is about.
    pub(crate) fn calls_of(&self, of: &Of) -> impl Iterator<Item = &CallView<'a>> {
        let wanted = of.call;
        self.calls
            .iter()
            .filter(move |call| wanted.is_none_or(|wanted| wanted == call.id))
    }

    /// Whether a request asks after a job.
    pub(crate) fn is_query(&self, exchange: &Exchange) -> bool {
        let Some(head) = exchange.head() else {
            return false;
        };
        let jobs = self.plan.calls.iter().filter_map(|call| call.job.as_ref());
        jobs.filter(|job| job.query.method == head.method)
            .filter_map(|job| target::leads_to(&self.plan.servers, &job.query.url, None))
            .any(|to| {
                let id = to.path.split_once(JOB).and_then(|(begin, end)| {
                    let rest = head.target.strip_prefix(begin)?;
                    rest.strip_suffix(end)
                });
                exchange.place.server == *to.server && id.is_some_and(|id| !id.is_empty())
            })
    }

    /// Whether the harness ended the cell while calls were still open, so that
    /// more requests might have come.
    pub(crate) fn cut_short(&self) -> bool {
        let stopped = matches!(
            self.facts.client.end(),
            Some(EndedBy::Deadline | EndedBy::Cap | EndedBy::Enough) | None
        );
        stopped && self.calls.iter().any(|call| call.report.is_none())
    }
}

impl CallView<'_> {
    /// Its method.
    pub(crate) fn method(&self) -> &str {
        self.sent.as_ref().map_or("GET", |sent| &sent.method)
    }

    /// Its complete requests, over all servers.
    pub(crate) fn delivered(&self) -> usize {
        let delivered = self.exchanges.iter();
        delivered.filter(|one| one.delivery().is_some()).count()
    }

    /// What its report shows.
    pub(crate) fn shown(&self) -> Option<&Shown> {
        self.report.map(|(_, report)| &report.shown)
    }

    /// The entry of its report, as proof.
    pub(crate) fn report_n(&self) -> Vec<u64> {
        self.report.iter().map(|(mark, _)| mark.n).collect()
    }

    /// Whether a server gave it a whole 2xx.
    pub(crate) fn was_answered_whole(&self) -> bool {
        let success = |status| (200..300).contains(&status);
        self.exchanges.iter().any(|one| one.whole_answer(success))
    }
}

impl Exchange {
    /// Whether a counter counts it; one with a pattern needs its head.
    pub(crate) fn is_counted_by(&self, counter: &Counter) -> bool {
        let fits = |route: &Route| {
            let head = self.head();
            head.is_some_and(|head| route.takes(head.method, head.target))
        };
        counter.server == self.place.server && counter.route.as_ref().is_none_or(fits)
    }

    /// Whether an expectation with this scope is about it.
    pub(crate) fn is_of(&self, of: &Of) -> bool {
        of.call.is_none_or(|call| self.call == Some(call))
            && of.attempt.is_none_or(|attempt| self.attempt == attempt)
            && of
                .server
                .as_ref()
                .is_none_or(|server| self.place.server == *server)
    }
}

/// What belongs to each call, in its order.
fn by_call<'a, T, C>(all: &'a [T], calls_of: impl Fn(&'a T) -> C) -> BTreeMap<u32, Vec<&'a T>>
where
    C: Iterator<Item = u32>,
{
    let mut calls: BTreeMap<u32, Vec<&T>> = BTreeMap::new();
    for one in all {
        for call in calls_of(one) {
            calls.entry(call).or_default().push(one);
        }
    }
    calls
}

/// What it means that a call has no report, and whether the harness is to
/// blame for that.
fn unreported(plan: &Plan, facts: &Facts, call: u32) -> (Meaning, bool) {
    let exit = facts.client.exits.get(&plan.process_of(call));
    // Whatever the others came to.
    let by_itself = plan.is_fleet() && exit.is_some_and(|exit| !exit.killed);
    let end = facts.client.end();
    match end.map(|end| if by_itself { EndedBy::Exit } else { end }) {
        Some(EndedBy::Deadline) => {
            let shown = "no report before the deadline";
            (errors::silent(shown, Outcome::Hung), false)
        }
        Some(EndedBy::Exit | EndedBy::Finish) => {
            let how = exit.map_or_else(|| "ended".to_owned(), |exit| exit.words());
            let shown = format!("no report, the program ended: {how}");
            (errors::silent(&shown, Outcome::Crashed), false)
        }
        Some(EndedBy::Enough) => {
            let shown = "stopped after enough deliveries";
            (errors::silent(shown, Outcome::Cancelled), true)
        }
        Some(EndedBy::Cap) => {
            let shown = "stopped at the cap";
            (errors::silent(shown, Outcome::Cancelled), true)
        }
        None => {
            let shown = "no report, the record breaks off";
            (errors::silent(shown, Outcome::Unknown), true)
        }
    }
}
