//! Whether the deadline leaves room for what the scenario itself waits.

use std::time::Duration;

use crate::document::{Span, ids};
use crate::faults::Fault;
use crate::faults::raw::RawPart;
use crate::plan::{Content, Plan, StepPlan};

use super::View;
use crate::validate::reading::Reading;

/// How long a step itself takes, when nobody cuts it short.
pub(super) fn own_time(step: &StepPlan, case: &Plan) -> Duration {
    let mut time = step.delay;
    if let Some((_, idle)) = step.then {
        time += idle;
    }
    match &step.fault {
        Fault::Respond(respond) => {
            time += respond.stall.map_or(Duration::ZERO, |(_, pause)| pause);
            if let Some((bytes, every)) = respond.drip {
                let length = respond.body.as_ref().and_then(Content::length);
                let pieces = length.unwrap_or(0) / bytes.max(1);
                let most = case.deadline.saturating_mul(2);
                let pieces = u32::try_from(pieces).unwrap_or(u32::MAX);
                time += every.saturating_mul(pieces).min(most);
            }
        }
        Fault::Raw(raw) => {
            for part in &raw.parts {
                if let RawPart::Pause(pause) = part {
                    time += *pause;
                }
            }
        }
        Fault::Cut(_) => {}
    }
    time
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
    let patience = plan.limits.idle.into_iter().chain(plan.limits.total).min();
    view.each_step(|step| {
        let time = own_time(step.plan, plan);
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
    let pauses: Duration = plan.calls.iter().map(|call| call.pause).sum();
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
