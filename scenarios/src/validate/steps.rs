//! Steps of a queue: what the application does, and what the wire shows.

use std::time::Duration;

use scripted_servers::script::{Route, Times};
use scripted_servers::wire::{Continue, Effect, IdleEnd, KeySource};

use crate::document::decode::{Fields, Keys, brief};
use crate::document::{Node, Value, ids};
use crate::faults;
use crate::plan::StepPlan;

use super::servers::too_much;
use super::step_checks;
use crate::reading::Reading;
use crate::reading::all_good;
use crate::reading::names::is_name;

/// What a step has beside its behaviour.
const OWN: &[(&str, &str)] = &[
    ("when", "which requests it takes"),
    ("times", "how many it takes: a number, or `always`"),
    (
        "reads",
        "the point in the request after which the answer begins",
    ),
    (
        "continue",
        "with `Expect: 100-continue`: `sent`, `never` or `{after: TIME}`",
    ),
    ("applies", "the effect that is counted"),
    ("key", "the business key of the effect"),
    ("delay", "the time between the point and the act"),
    ("then", "how the idle connection ends after the answer"),
    ("required", "whether it must have fired"),
    ("name", "a name for moments"),
];

static WITH_BEHAVIOURS: [(&str, &str); OWN.len() + faults::COUNT] = faults::with_behaviours(OWN);

static KEYS: Keys = Keys::new("a step", &WITH_BEHAVIOURS)
    .elsewhere(&[
        ("connection", "`when`"),
        ("method", "`when`"),
        ("since", "`when`"),
        ("until", "`when`"),
        ("close", "`then`, or `cut: {with: close}`"),
        ("reset", "`then`, or `cut: {with: reset}`"),
    ])
    .owner(|key| faults::owner(key).map(|word| format!("`{word}`")))
    .not_yet(faults::NOT_YET);

/// Steps of a queue.
const MOST_STEPS: usize = 1000;

/// Where a queue of steps stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    server: &'a str,
    queue: &'a str,
    pub(super) route: &'a Route,
}

impl<'a> Place<'a> {
    pub(super) fn new(server: &'a str, queue: &'a str, route: &'a Route) -> Self {
        Self {
            server,
            queue,
            route,
        }
    }

    pub(super) fn is_script(&self) -> bool {
        self.queue == "script"
    }
}

/// Reads the steps of one queue.
pub(super) fn steps(
    node: &Node,
    place: &Place<'_>,
    reading: &mut Reading<'_>,
) -> Option<Vec<StepPlan>> {
    let what = format!("the steps of `{}` at `{}`", place.queue, place.server);
    let items = node.filled_list(&what, reading.out)?;
    if let Some(item) = items.get(MOST_STEPS) {
        too_much(MOST_STEPS, "steps in one queue", &item.span, reading);
        return None;
    }
    let read: Vec<_> = items
        .iter()
        .map(|item| step(item, place, reading))
        .collect();
    let mut steps = read.into_iter().collect::<Option<Vec<_>>>()?;
    let mut first = true;
    for (step, written) in &mut steps {
        let by_default = step.is_fault() && first;
        first &= !step.is_fault();
        step.required = written.unwrap_or(by_default);
    }
    let steps: Vec<_> = steps.into_iter().map(|(step, _)| step).collect();
    step_checks::order(&steps, items, reading);
    Some(steps)
}

/// A step, and `required` as written.
fn step(
    node: &Node,
    place: &Place<'_>,
    reading: &mut Reading<'_>,
) -> Option<(StepPlan, Option<bool>)> {
    let fields = node.fields(&KEYS, reading.out)?;
    let when = fields.get("when").map(|node| reading.when(node));
    let times = fields.get("times").map(|node| times(node, reading));
    let reads = fields.get("reads").map(|node| reading.request_point(node));
    let continues = fields.get("continue");
    let continues = continues.map(|node| continues_as(node, reading));
    let applies = applies(&fields, reading);
    let delay = fields.get("delay");
    let delay = delay.map(|node| node.duration("`delay`", reading.out));
    let then = fields.get("then").map(|node| then(node, reading));
    let required = fields.get("required");
    let required = required.map(|node| node.truth("`required`", reading.out));
    let name = fields.get("name").map(|node| name(node, reading));
    let behaviour = fields.one_of(&faults::words(), reading.out);
    let fault = behaviour.and_then(|(word, _, value)| faults::decode(word, value, reading));
    let step = StepPlan {
        line: reading.out.line(&node.span),
        name: all_good(name)?,
        when: all_good(when)?.unwrap_or_default(),
        times: all_good(times)?.unwrap_or(Times::Count(1)),
        reads: all_good(reads)?,
        continues: all_good(continues)?.unwrap_or_default(),
        applies: applies?,
        delay: all_good(delay)?.unwrap_or_default(),
        then: all_good(then)?,
        ..StepPlan::new(fault?)
    };
    let required = all_good(required)?;
    step_checks::check(&step, required, &fields, place, reading).then_some((step, required))
}

fn times(node: &Node, reading: &mut Reading<'_>) -> Option<Times> {
    if node.is_word("always") {
        return Some(Times::Always);
    }
    let count = node.number("`times`", 1..=1_000_000, reading.out)?;
    u32::try_from(count).ok().map(Times::Count)
}

fn continues_as(node: &Node, reading: &mut Reading<'_>) -> Option<Continue> {
    if matches!(node.value, Value::Map(_)) {
        static KEYS: Keys = Keys::new("`continue`", &[("after", "how late the 100 is")]);
        let fields = node.fields(&KEYS, reading.out)?;
        let after = fields.need("after", reading.out)?;
        return after.duration("`after`", reading.out).map(Continue::After);
    }
    let words = [("sent", Continue::Sent), ("never", Continue::Never)];
    node.word("`continue`", &words, reading.out)
}

fn applies(fields: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Option<Effect>> {
    let key = match fields.entry("key") {
        None => None,
        Some((written, node)) => {
            if fields.get("applies").is_none() {
                reading
                    .out
                    .report(ids::KEY_WITHOUT, &written.span, "`key` needs `applies`")
                    .label("the key of which effect?")
                    .help("add `applies: NAME`, or remove `key`");
                return None;
            }
            Some(key_source(node, reading)?)
        }
    };
    let Some(node) = fields.get("applies") else {
        return Some(None);
    };
    let name = node.text("`applies`", reading.out)?;
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if !name.chars().all(word) || name.len() > 40 {
        reading
            .out
            .report(
                ids::BAD_NAME,
                &node.span,
                format!("`{}` cannot be an effect", brief(name)),
            )
            .label("not a name")
            .help("write a lower-case word such as `order`");
        return None;
    }
    Some(Some(Effect {
        name: name.to_owned(),
        key,
    }))
}

fn key_source(node: &Node, reading: &mut Reading<'_>) -> Option<KeySource> {
    static KEYS: Keys = Keys::new(
        "`key`",
        &[
            ("header", "the header field that holds it"),
            ("json", "a JSON pointer into the content"),
            ("path", "`last`: the last segment of the path"),
        ],
    );
    let fields = node.fields(&KEYS, reading.out)?;
    let (form, _, value) = fields.one_of(&["header", "json", "path"], reading.out)?;
    match form {
        "header" => {
            let name = value.text("`header`", reading.out)?;
            let good = reading.field_name(name, &value.span);
            good.then(|| KeySource::Header(name.to_owned()))
        }
        "json" => reading.pointer(value).map(KeySource::Json),
        _ => value
            .word("a part of the path", &[("last", ())], reading.out)
            .map(|()| KeySource::PathLast),
    }
}

fn then(node: &Node, reading: &mut Reading<'_>) -> Option<(IdleEnd, Duration)> {
    static KEYS: Keys = Keys::new(
        "`then`",
        &[
            ("close", "the idle connection is closed after this time"),
            ("reset", "the idle connection is reset after this time"),
        ],
    )
    .not_yet(&["goaway"]);
    let fields = node.fields(&KEYS, reading.out)?;
    let (form, _, value) = fields.one_of(&["close", "reset"], reading.out)?;
    let after = value.duration("the idle time", reading.out)?;
    let how = match form {
        "close" => IdleEnd::Close,
        _ => IdleEnd::Reset,
    };
    Some((how, after))
}

/// A name by which moments refer to the step.
fn name(node: &Node, reading: &mut Reading<'_>) -> Option<String> {
    let name = node.text("`name`", reading.out)?;
    if is_name(name) {
        return Some(name.to_owned());
    }
    reading
        .out
        .report(
            ids::BAD_NAME,
            &node.span,
            format!("`{}` cannot name a step", brief(name)),
        )
        .label("not a name")
        .help("write a lower-case word such as `lost` or `first_answer`");
    None
}
