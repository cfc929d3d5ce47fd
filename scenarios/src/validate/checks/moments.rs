//! Moments that are named: whether each name is used, and whether anybody would
//! watch for as long as an expectation says.

use std::time::Duration;

use super::View;
use super::claims::expectations;
use crate::assertions::Assertion;
use crate::assertions::window::Until;
use crate::document::ids;
use crate::moment::Moment;
use crate::plan::Plan;
use crate::reading::Reading;

pub(super) fn check(view: &View<'_>, reading: &mut Reading<'_>) {
    unused_names(view, reading);
    for (expectation, node) in expectations(view) {
        let Some(time) = watched(&expectation.assertion) else {
            continue;
        };
        if time > view.plan.quiet {
            reading
                .out
                .report(ids::BEYOND_QUIET, &node.span, "nobody watches for so long")
                .label(format!("{time:?} behind the last report"))
                .help(format!(
                    "raise `quiet` (now {:?}), after which the client is told to end",
                    view.plan.quiet
                ));
        }
    }
}

/// How long after the report somebody must watch.
fn watched(assertion: &Assertion) -> Option<Duration> {
    match assertion {
        Assertion::ClientClosed(closed) => {
            let closing = closed.is.as_ref()?;
            is_near_the_end(&closing.from).then_some(closing.within)
        }
        Assertion::Window(window) => match &window.until {
            Until::For(time) => is_near_the_end(&window.from).then_some(*time),
            Until::To(_) => None,
        },
        _ => None,
    }
}

/// Whether a client may be told to end soon after it: a call that is cancelled
/// reports at once.
fn is_near_the_end(moment: &Moment) -> bool {
    matches!(moment, Moment::Report | Moment::Cancel)
}

/// The names of steps that any moment of the case uses.
fn used(plan: &Plan) -> Vec<&str> {
    let moments = plan.expect.iter().flat_map(|one| one.assertion.moments());
    let cancel = plan.cancel.iter().map(|cancel| &cancel.when);
    let crash = plan.crash.iter().map(|crash| &crash.when);
    moments
        .chain(cancel)
        .chain(crash)
        .filter_map(|moment| match moment {
            Moment::Fired(name) => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

fn unused_names(view: &View<'_>, reading: &mut Reading<'_>) {
    let used = used(view.plan);
    view.each_step(|step| {
        let Some(name) = &step.plan.name else { return };
        if used.contains(&name.as_str()) {
            return;
        }
        let fields = super::entries(step.node);
        let Some((key, _)) = fields.iter().find(|(key, _)| key.text == "name") else {
            return;
        };
        reading
            .out
            .report(ids::UNUSED_NAME, &key.span, "nobody uses this name")
            .label("no moment refers to this step")
            .help(format!(
                "remove it, or write `{{fired: {name}}}` where a moment is meant"
            ));
    });
}
