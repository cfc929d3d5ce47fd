//! What about one step, and about the steps of a queue, cannot be.

use scripted_servers::script::{Times, When};
use scripted_servers::wire::{Continue, Position, RequestPoint};

use crate::document::decode::Fields;
use crate::document::{Node, ids};
use crate::plan::StepPlan;

use super::steps::Place;
use crate::reading::Reading;

/// Checks one step as a whole.
pub(super) fn check(
    step: &StepPlan,
    required: Option<bool>,
    fields: &Fields<'_>,
    place: &Place<'_>,
    reading: &mut Reading<'_>,
) -> bool {
    let before = reading.out.reports();
    check_wire(step, fields, reading);
    if step.is_inside_head() {
        check_inside_head(step, fields, place, reading);
    }
    if let (Some(method), Some((key, _))) = (&place.route.method, fields.entry("when"))
        && step.when.method.is_some()
    {
        reading
            .out
            .report(
                ids::CANNOT_FIT,
                &key.span,
                "this route has a method already",
            )
            .label(format!("the route takes {method} only"))
            .help("remove `method` here, or the method of the route");
    }
    if let (Some(required), Some((key, _))) = (required, fields.entry("required"))
        && !step.is_fault()
        && !(required && step.goes_through_models())
    {
        let label = match required {
            true => "a plain answer is no fault that could fire",
            false => "a plain answer is never required",
        };
        reading
            .out
            .report(ids::REQUIRED_PLAIN, &key.span, "this step is plain")
            .label(label)
            .help("remove `required`");
    }
    reading.out.reports() == before
}

fn check_wire(step: &StepPlan, fields: &Fields<'_>, reading: &mut Reading<'_>) {
    if let Some((key, _)) = fields.entry("then")
        && step.fault.behaviour().ends_connection()
    {
        reading
            .out
            .report(ids::THEN_AFTER_END, &key.span, "nothing is left for `then`")
            .label("the connection ends with this step anyway")
            .help("remove `then`, or the cut or `framing: close`");
    }
    if let Some((key, _)) = fields.entry("reads")
        && !step.fault.behaviour().answers()
    {
        reading
            .out
            .report(ids::READS_WITHOUT, &key.span, "nothing is answered here")
            .label("`reads` says when an answer begins")
            .help("remove it; `cut: {after: ...}` has a point of its own");
    }
    if let Some((key, _)) = fields.entry("continue")
        && matches!(
            step.request_point(),
            RequestPoint::Head(_) | RequestPoint::Body(Position::Bytes(0))
        )
    {
        reading
            .out
            .report(ids::CANNOT_FIRE, &key.span, "no 100 is due here")
            .label("this step acts before it reads any content")
            .help("remove it, or move the point behind the head");
    }
    if let Some((key, _)) = fields.entry("slow_read")
        && matches!(
            step.request_point(),
            RequestPoint::Head(_) | RequestPoint::Body(Position::Bytes(0))
        )
    {
        reading
            .out
            .report(ids::CANNOT_FIRE, &key.span, "nothing is read slowly here")
            .label("this step acts before it reads any content")
            .help("remove it, or move the point behind the head");
    }
    let RequestPoint::Head(position) = step.request_point() else {
        return;
    };
    if let Some((key, _)) = fields.entry("applies")
        && position != Position::All
    {
        reading
            .out
            .report(
                ids::APPLIES_IN_HEAD,
                &key.span,
                "nothing can be applied yet",
            )
            .label("the point lies inside the head of the request")
            .help("put the point at `{head: all}` or later, or remove `applies`");
    }
}

/// Whether a step looks at the head of a request.
fn looks_at_head(when: &When) -> bool {
    when.header.is_some() || when.json.is_some() || when.method.is_some()
}

fn check_inside_head(
    step: &StepPlan,
    fields: &Fields<'_>,
    place: &Place<'_>,
    reading: &mut Reading<'_>,
) {
    let point = fields.entry("reads");
    let Some((key, _)) = point.or(fields.entry(step.fault.word())) else {
        return;
    };
    let why = if !place.is_script() {
        "a route is known only when the head is complete"
    } else if looks_at_head(&step.when) {
        "its `when` is known only when the head is complete"
    } else {
        return;
    };
    reading
        .out
        .report(
            ids::INSIDE_HEAD,
            &key.span,
            "this step acts inside the head",
        )
        .label("it is taken at the first byte of a request")
        .help(format!(
            "{why}; use `script`, and `when` without header, json and method"
        ));
}

/// Checks the steps of a queue against each other.
pub(super) fn order(steps: &[StepPlan], items: &[Node], reading: &mut Reading<'_>) {
    let by_content = steps.iter().find(|step| step.when.json.is_some());
    for (at, (step, node)) in steps.iter().zip(items).enumerate() {
        if let Some(chooser) = by_content
            && (step.answers_early()
                || step.continues != Continue::Sent
                || step.slow_read.is_some())
        {
            reading
                .out
                .report(
                    ids::CHOSEN_LATE,
                    &node.span,
                    "this step acts before it can be chosen",
                )
                .label(format!(
                    "the `json` in line {} is looked at in the whole request",
                    chooser.line
                ))
                .help(
                    "choose by a header or a route, or remove `reads`, `continue` and `slow_read`",
                );
        }
        let before = &steps[..at];
        let taken = before
            .iter()
            .find(|earlier| earlier.times == Times::Always && is_wider(&earlier.when, &step.when));
        if let Some(earlier) = taken {
            reading
                .in_every_case
                .report(ids::UNREACHABLE, &node.span, "this step is never reached")
                .label(format!(
                    "the step in line {} takes its requests always",
                    earlier.line
                ))
                .help("put it before that step, give it another `when`, or remove it");
        }
        if step.is_inside_head() && before.iter().any(|earlier| looks_at_head(&earlier.when)) {
            reading
                .out
                .report(
                    ids::INSIDE_HEAD,
                    &node.span,
                    "this step acts inside the head",
                )
                .label("it is taken at the first byte of a request")
                .help("a step before it looks at the head; put this one first");
        }
    }
}

/// Whether all requests that fit `narrow` fit `wide`, too.
fn is_wider(wide: &When, narrow: &When) -> bool {
    fn free_or_same<T: PartialEq>(wide: &Option<T>, narrow: &Option<T>) -> bool {
        wide.is_none() || wide == narrow
    }
    free_or_same(&wide.connection, &narrow.connection)
        && free_or_same(&wide.header, &narrow.header)
        && free_or_same(&wide.json, &narrow.json)
        && free_or_same(&wide.method, &narrow.method)
        && wide
            .since
            .is_none_or(|since| narrow.since.is_some_and(|from| from >= since))
        && wide
            .until
            .is_none_or(|until| narrow.until.is_some_and(|to| to <= until))
}
