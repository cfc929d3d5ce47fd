//! Whether the deadline leaves room for what the scenario itself waits.

use std::time::Duration;

use crate::document::{Span, ids};
use crate::moment::Moment;
use crate::plan::StepPlan;

use super::View;
use crate::reading::Reading;

/// How long a step itself takes, when nobody cuts it short.
pub(super) fn own_time(step: &StepPlan) -> Duration {
    let idle = step.then.as_ref();
    let idle = idle.map_or(Duration::ZERO, |then| then.after);
    let behaviour = step.fault.behaviour().own_time();
    step.wait().saturating_add(idle).saturating_add(behaviour)
}

/// Checks every wait that is written against the deadline.
pub(super) fn check(view: &View<'_>, reading: &mut Reading<'_>) {
    let plan = view.plan;
    let say = |span: &Span, label: String, reading: &mut Reading<'_>| {
        let out = &mut *reading.out;
        out.report(ids::DEADLINE, span, "the deadline comes before this")
            .label(label)
            .help(format!(
                "raise `deadline` (now {:?}), or wait less here",
                plan.deadline
            ));
    };
    let limits = &plan.limits;
    let patience = [limits.idle, limits.per_attempt, limits.total];
    let patience = patience.into_iter().flatten().min();
    view.each_step(|step| {
        let time = own_time(step.plan);
        // A client with less patience than that ends the step itself.
        if time >= plan.deadline && patience.is_none_or(|patience| patience >= plan.deadline) {
            say(
                &step.node.span,
                format!("this step takes {time:?}"),
                reading,
            );
        }
        if step
            .plan
            .when
            .since
            .is_some_and(|since| since >= plan.deadline)
        {
            say(
                &step.node.span,
                "`since` is never reached".to_owned(),
                reading,
            );
        }
    });
    for server in &plan.servers {
        let phases = server.listen.phases();
        let change = phases
            .iter()
            .filter_map(|phase| phase.lasts)
            .sum::<Duration>();
        if change >= plan.deadline
            && let Some(span) = view.listen(&server.name)
        {
            say(
                span,
                format!("the last phase comes after {change:?}"),
                reading,
            );
        }
    }
    if let Some(cancel) = &plan.cancel
        && let Some((key, _)) = view.document.entry("cancel")
    {
        let after = match cancel.when {
            Moment::After(after) => after,
            _ => Duration::ZERO,
        };
        let order = after.saturating_add(cancel.later);
        if order >= plan.deadline {
            say(
                &key.span,
                format!("the order comes after {order:?}"),
                reading,
            );
        }
    }
    if let Some(crash) = &plan.crash
        && let Some((key, _)) = view.document.entry("crash")
    {
        let after = match crash.when {
            Moment::After(after) => after,
            _ => Duration::ZERO,
        };
        let again = after.saturating_add(crash.restart_after);
        if again >= plan.deadline {
            let label = format!("the client would be started again after {again:?}");
            say(&key.span, label, reading);
        }
    }
    let of_one = &plan.calls[..plan.calls_each()];
    let pauses: Duration = of_one.iter().map(|call| call.pause).sum();
    if pauses >= plan.deadline
        && let Some((key, _)) = view.document.entry("calls")
    {
        say(&key.span, format!("the pauses take {pauses:?}"), reading);
    }
    if let Some(total) = plan.limits.total
        && total >= plan.deadline
        && let Some((key, _)) = view.document.entry("limits")
    {
        say(&key.span, format!("a call may take {total:?}"), reading);
    }
    if plan.quiet > plan.deadline
        && let Some((key, _)) = view.document.entry("quiet")
    {
        say(&key.span, "this silence is longer".to_owned(), reading);
    }
}
