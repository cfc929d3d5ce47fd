//! `through`: the models that the requests of a step go through.

use scripted_servers::wire::{Continue, RequestPoint};

use crate::document::decode::{Fields, brief, listed, nearest};
use crate::document::{Node, ids};
use crate::faults::{self, Fault};
use crate::models::{Model, ModelPlan};
use crate::plan::StepPlan;
use crate::reading::Reading;

/// Reads the names; none are written where a step goes through no model.
pub(super) fn names(fields: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Vec<String>> {
    let Some(node) = fields.get("through") else {
        return Some(Vec::new());
    };
    let items = node.list("`through`", reading.out)?;
    let names: Vec<_> = items.iter().map(|item| name(item, reading)).collect();
    let Some(names) = names.into_iter().collect::<Option<Vec<_>>>() else {
        // Which one was meant nobody knows, so none is called unused.
        let all = reading.models.iter().map(|model| model.name.clone());
        reading.used_models.extend(all);
        return None;
    };
    reading.used_models.extend(names.iter().cloned());
    let twice = names
        .iter()
        .enumerate()
        .position(|(at, name)| names[..at].contains(name));
    if let Some(item) = twice.and_then(|at| items.get(at)) {
        reading
            .out
            .report(ids::SAME_TWICE, &item.span, "this model stands here twice")
            .label("again here")
            .help("a request goes through it once");
        return None;
    }
    Some(names)
}

fn name(item: &Node, reading: &mut Reading<'_>) -> Option<String> {
    let name = item.text("the name of a model", reading.out)?;
    let known = || reading.models.iter().map(|model| model.name.as_str());
    if known().any(|known| known == name) {
        return Some(name.to_owned());
    }
    let help = match (nearest(name, known()), known().next()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, Some(_)) => format!("the models are {}", listed(known())),
        (None, None) => format!(
            "add `models: {{ {}: {{ .. }} }}` to the server",
            brief(name)
        ),
    };
    let title = format!("there is no model `{}`", brief(name));
    reading
        .out
        .report(ids::UNKNOWN_MODEL, &item.span, title)
        .label("not under `models` of this server")
        .help(help);
    None
}

/// Reads what the wire shows; a step that goes through models may leave that open.
pub(super) fn behaviour(
    fields: &Fields<'_>,
    through: Option<&[String]>,
    reading: &mut Reading<'_>,
) -> Option<Fault> {
    // Of models that are wrong nobody knows what they leave to the step.
    let goes_through = through.is_none_or(|names| !names.is_empty());
    reading.goes_through = goes_through;
    let found = fields.at_most_one_of(&faults::WORDS, reading.out);
    let fault = match found {
        Some(Some((word, _, value))) => faults::decode(word, value, reading),
        Some(None) => none(fields, goes_through, reading),
        None => None,
    };
    reading.goes_through = false;
    fault
}

fn none(fields: &Fields<'_>, goes_through: bool, reading: &mut Reading<'_>) -> Option<Fault> {
    let later = fields.entries().iter();
    let mut later = later.filter(|(key, _)| faults::NOT_YET.contains(&key.text.as_str()));
    if later.next().is_some() {
        return None;
    }
    if goes_through {
        return Some(Fault::by_model());
    }
    let words = listed(faults::WORDS.iter().copied());
    let (id, span) = match fields.entry("through") {
        Some((key, _)) => (ids::NO_ANSWER, &key.span),
        None => (ids::ONE_OF, &fields.node.span),
    };
    reading
        .out
        .report(id, span, format!("a step needs one of {words}"))
        .label("none of them is here, and no model answers")
        .help("write what is answered, such as `respond: {status: 200}`");
    None
}

/// Checks a step that goes through models.
pub(super) fn check(
    step: &StepPlan,
    required: Option<bool>,
    fields: &Fields<'_>,
    reading: &mut Reading<'_>,
) -> bool {
    if !step.goes_through_models() {
        return true;
    }
    let before = reading.out.reports();
    let asked = |model: &&ModelPlan| step.through.contains(&model.name);
    let models: Vec<ModelPlan> = reading.models.iter().filter(asked).cloned().collect();
    let models: Vec<&Model> = models.iter().map(|one| &one.model).collect();
    asked_late(step, fields, reading);
    effect_twice(step, &models, fields, reading);
    answered_by_nobody(step, &models, fields, reading);
    never_refuses((step, required), &models, fields, reading);
    lists_nothing(step, &models, fields, reading);
    reading.out.reports() == before
}

/// A model needs the whole request.
fn asked_late(step: &StepPlan, fields: &Fields<'_>, reading: &mut Reading<'_>) {
    let key = if step.request_point() != RequestPoint::Request {
        fields.entry("reads").or(fields.entry(step.fault.word()))
    } else if step.continues != Continue::Sent {
        fields.entry("continue")
    } else if step.slow_read.is_some() {
        fields.entry("slow_read")
    } else {
        None
    };
    let Some((key, _)) = key else { return };
    reading
        .out
        .report(ids::ASKED_LATE, &key.span, "this step acts before its models are asked")
        .label("a model is asked when all of a request is there")
        .help("act after `request`, and remove `reads`, `continue` and `slow_read`; or remove `through`");
}

fn effect_twice(
    step: &StepPlan,
    models: &[&Model],
    fields: &Fields<'_>,
    reading: &mut Reading<'_>,
) {
    let Some(applied) = &step.applies else { return };
    let mut effects = models.iter().filter_map(|model| model.remembers().effect());
    let same = effects.any(|effect| effect.name == applied.name);
    if let (true, Some((key, _))) = (same, fields.entry("applies")) {
        reading
            .out
            .report(
                ids::EFFECT_TWICE,
                &key.span,
                "a model of this step applies this already",
            )
            .label("one request would have the effect twice")
            .help("remove `applies`; the model counts it");
    }
}

/// What a limiter lets pass is answered by the step.
fn answered_by_nobody(
    step: &StepPlan,
    models: &[&Model],
    fields: &Fields<'_>,
    reading: &mut Reading<'_>,
) {
    let answered = models.iter().any(|model| model.remembers().answers());
    if let (false, true, Some((key, _))) =
        (answered, step.fault.is_by_model(), fields.entry("through"))
    {
        reading
            .out
            .report(ids::NO_ANSWER, &key.span, "nobody answers what passes here")
            .label("a limiter lets pass or denies, and never answers itself")
            .help("add `respond: {status: 200}` to the step");
    }
}

/// A step whose wire is plain is proved by a refusal of a model.
fn never_refuses(
    (step, required): (&StepPlan, Option<bool>),
    models: &[&Model],
    fields: &Fields<'_>,
    reading: &mut Reading<'_>,
) {
    let may_refuse = models.iter().any(|model| model.remembers().may_refuse());
    let plain = required == Some(true) && !step.is_fault();
    if let (true, false, Some((key, _))) = (plain, may_refuse, fields.entry("required")) {
        reading
            .out
            .report(ids::CANNOT_FIRE, &key.span, "this step is never refused")
            .label("none of its models ever refuses, and the wire is left alone")
            .help("remove `required`, or add a fault");
    }
}

/// A point in events needs some.
fn lists_nothing(
    step: &StepPlan,
    models: &[&Model],
    fields: &Fields<'_>,
    reading: &mut Reading<'_>,
) {
    let behaviour = step.fault.behaviour();
    let written = behaviour.content().is_some();
    let listed = models.iter().any(|model| model.remembers().lists());
    if let (true, false, false, Some((key, _))) = (
        behaviour.points_at_events(),
        written,
        listed,
        fields.entry(step.fault.word()),
    ) {
        reading
            .out
            .report(
                ids::FRAMING,
                &key.span,
                "there are no events here to point at",
            )
            .label("none of the step's models answers with a list of events")
            .help("go through a model `events`, or write the body as `{events: [..]}`");
    }
}
