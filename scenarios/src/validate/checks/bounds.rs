//! The least and the most that a script allows to be counted.

use scripted_servers::script::{ConnectionAct, Listen, Times, When};
use scripted_servers::wire::RequestPoint;

use crate::expected::Expected;
use crate::matcher::Matcher;
use crate::plan::{Call, QueuePlan, Request, ServerPlan, StepPlan};
use crate::target;

use super::View;

/// The least and the most that can be counted; none: no bound is certain.
pub(super) type Bounds = (u64, Option<u64>);

pub(super) fn out_of_bounds(
    expected: &Expected<u64>,
    (least, most): Bounds,
) -> Option<(&'static str, String)> {
    let Expected::Fits(matcher) = expected else {
        return None;
    };
    let possible = |value: u64| least <= value && most.is_none_or(|most| value <= most);
    let fits = match matcher {
        Matcher::OneOf(values) => values.iter().copied().any(possible),
        Matcher::Range { at_least, at_most } => {
            at_most.is_none_or(|high| high >= least)
                && at_least.is_none_or(|low| most.is_none_or(|most| low <= most))
        }
    };
    if fits {
        return None;
    }
    let why = match most {
        Some(most) if most == least => format!("it is always {least}"),
        Some(most) => format!("it is from {least} to {most}"),
        None => format!("it is {least} at least"),
    };
    Some(("the script does not allow this count", why))
}

/// Requests that a server certainly gets, and the most that it may get.
pub(super) fn delivered(view: &View<'_>, server: &ServerPlan) -> Bounds {
    if !server.listen.ever_opens() {
        return (0, Some(0));
    }
    let literal = view.plan.calls.iter().filter(|call| match &call.request {
        Request::Literal { url, .. } => {
            let to = target::leads_to(&view.plan.servers, url, None);
            to.is_some_and(|to| to.server == server.name)
        }
        Request::Operation { .. } => false,
    });
    let literal = u64::try_from(literal.count()).unwrap_or(u64::MAX);
    let batch = view.plan.calls.iter().find_map(|call| call.batch.as_ref());
    let direct = literal.div_ceil(batch.map_or(1, |batch| u64::from(batch.per_request)));
    let operations = view
        .plan
        .calls
        .iter()
        .any(|call| matches!(call.request, Request::Operation { .. }));
    let asks_more = view.plan.calls.iter().any(Call::asks_more);
    let at_localhost = view.plan.calls.iter().any(|call| match &call.request {
        Request::Literal { url, .. } => url.is_at_localhost(),
        Request::Operation { .. } => false,
    });
    let limits = &view.plan.limits;
    let most = match limits.sends() {
        Some(sends)
            if limits.hedge_after.is_none()
                && !operations
                && !asks_more
                && !at_localhost
                && !view.plan.may_redirect()
                && !view.has_stale_connections() =>
        {
            Some(direct.saturating_mul(sends))
        }
        _ => None,
    };
    let served = server
        .connections
        .iter()
        .all(|act| *act == ConnectionAct::Serve)
        && server.listen == Listen::Open;
    let steps = || server.queues.iter().flat_map(|queue| &queue.steps);
    let read_whole = steps().all(|step| step.request_point() == RequestPoint::Request);
    let mut all = view.plan.steps();
    let may_hang = all.any(|step| step.fault.behaviour().may_hang());
    let least = match (served && read_whole, may_hang) {
        (false, _) => 0,
        // After a call that never ends the next is never made.
        (true, true) => direct.min(1),
        (true, false) if limits.may_withhold() => direct.min(1),
        (true, false) => direct,
    };
    // The client is stopped when all have enough; one that is not named there
    // may not have had anything by then.
    let enough = &view.plan.enough;
    let stopped_at = match enough.get(&server.name) {
        Some(count) => *count,
        None if enough.is_empty() => u64::MAX,
        None => 0,
    };
    (least.min(stopped_at), most)
}

/// The most that an effect can be counted.
pub(super) fn applied(view: &View<'_>, effect: &str) -> Bounds {
    let servers = &view.plan.servers;
    let models = servers.iter().flat_map(|server| &server.models);
    let mut by_models = models.filter_map(|model| model.model.remembers().effect());
    if by_models.any(|declared| declared.name == effect) {
        return (0, None);
    }
    let queues = servers.iter().flat_map(|server| &server.queues);
    let most = queues
        .map(|queue| applied_in(queue, effect))
        .sum::<Option<u64>>();
    (0, most)
}

fn applied_in(queue: &QueuePlan, effect: &str) -> Option<u64> {
    let applies = |step: &&StepPlan| {
        let applied = step.applies.as_ref();
        applied.is_some_and(|applied| applied.name == effect)
    };
    let turns = queue
        .steps
        .iter()
        .filter(applies)
        .map(|step| match step.times {
            Times::Count(count) => Some(u64::from(count)),
            Times::Always => None,
        });
    let sum = turns.sum::<Option<u64>>()?;
    // The last fitting step repeats: only the last one where it fits all.
    let last = queue.steps.last()?;
    let only_last = last.when == When::default() && !applies(&last);
    (sum == 0 || only_last).then_some(sum)
}
