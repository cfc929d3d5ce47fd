//! Steps of a queue: what the application does, and what the wire shows.

use std::time::Duration;

use scripted_servers::script::{Route, Times};
use scripted_servers::wire::{Continue, Effect, IdleEnd};

use crate::document::decode::{Fields, Keys, brief};
use crate::document::kind::{Kind, Known, NAME, Rule};
use crate::document::{Node, Value, ids};
use crate::faults;
use crate::plan::{Content, SlowRead, StepPlan, Then};
use crate::template::Bindings;

use super::servers::too_much;
use super::{step_checks, through, when};
use crate::models;
use crate::reading::names::is_name;
use crate::reading::{Reading, all_good, content, effects, points};

/// What a step has beside its behaviour.
const OWN: &[Known] = &[
    ("when", "which requests it takes", when::kind),
    ("times", "how many it takes: a number, or `always`", || {
        Kind::Number(1..=MOST_TIMES).or_word("always").by_default(1)
    }),
    (
        "reads",
        "the point in the request after which the answer begins",
        points::request_point,
    ),
    (
        "continue",
        "with `Expect: 100-continue`: `sent`, `never` or `{after: TIME}`",
        || Kind::Either(vec![Kind::words(CONTINUES), Kind::Map(&CONTINUE)]).by_default("sent"),
    ),
    ("applies", "the effect that is counted", effects::kind),
    (
        "takes",
        "how long the application works on the effect, which is counted at the end",
        || Kind::time().by_default("0ms"),
    ),
    (
        "slow_read",
        "the content of the request is read in pieces, with time between them",
        || Kind::Map(&SLOW_READ),
    ),
    ("key", "the business key of the effect", effects::key_kind),
    (
        "through",
        "the models that its requests go through, in order; the first that answers ends",
        models::through_kind,
    ),
    ("delay", "the time between the point and the act", || {
        Kind::time().by_default("0ms")
    }),
    (
        "then",
        "what becomes of the connection, idle after the answer",
        || Kind::Map(&THEN),
    ),
    ("required", "whether it must have fired", || Kind::Truth),
    ("name", "a name for moments", || Kind::fits(NAME)),
];

static WITH_BEHAVIOURS: [Known; OWN.len() + faults::COUNT] = faults::with_behaviours(OWN);

static KEYS: Keys = Keys::new("a step", &WITH_BEHAVIOURS)
    .rules(&[
        Rule::AtMostOneOf(&faults::WORDS),
        Rule::AnyOf(&WORDS_OR_THROUGH),
        Rule::With("key", "applies"),
        Rule::With("takes", "applies"),
    ])
    .elsewhere(&[
        ("connection", "`when`"),
        ("method", "`when`"),
        ("since", "`when`"),
        ("until", "`when`"),
        ("close", "`then`, or `cut: {with: close}`"),
        ("reset", "`then`, or `cut: {with: reset}`"),
        ("stay", "`then`"),
        ("sends", "`then`"),
    ])
    .owner(|key| faults::owner(key).map(|word| format!("`{word}`")))
    .not_yet(faults::NOT_YET);

/// One of them at least is there.
static WORDS_OR_THROUGH: [&str; faults::COUNT + 1] = {
    let mut words = ["through"; faults::COUNT + 1];
    let mut at = 0;
    while at < faults::COUNT {
        words[at] = faults::WORDS[at];
        at += 1;
    }
    words
};

/// How many requests a step can take, unless it takes them always.
const MOST_TIMES: u64 = 1_000_000;

/// The steps of a queue.
pub(super) fn kind() -> Kind {
    Kind::List {
        of: Box::new(Kind::Map(&KEYS)),
        count: 1..=MOST_STEPS,
    }
}

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
    let takes = takes(&fields, reading);
    let slow_read = fields.get("slow_read").map(|node| slow_read(node, reading));
    let delay = fields.get("delay");
    let delay = delay.map(|node| node.duration("`delay`", reading.out));
    let then = fields.get("then").map(|node| then(node, reading));
    let required = fields.get("required");
    let required = required.map(|node| node.truth("`required`", reading.out));
    let name = fields.get("name").map(|node| name(node, reading));
    let through = through::names(&fields, reading);
    let fault = through::behaviour(&fields, through.as_deref(), reading);
    let step = StepPlan {
        line: reading.out.line(&node.span),
        name: all_good(name)?,
        when: all_good(when)?.unwrap_or_default(),
        times: all_good(times)?.unwrap_or(Times::Count(1)),
        reads: all_good(reads)?,
        continues: all_good(continues)?.unwrap_or_default(),
        applies: applies?,
        takes: takes?,
        through: through?,
        slow_read: all_good(slow_read)?,
        delay: all_good(delay)?.unwrap_or_default(),
        then: all_good(then)?,
        ..StepPlan::new(fault?)
    };
    let required = all_good(required)?;
    let good = step_checks::check(&step, required, &fields, place, reading)
        && through::check(&step, required, &fields, reading);
    good.then_some((step, required))
}

fn times(node: &Node, reading: &mut Reading<'_>) -> Option<Times> {
    if node.is_word("always") {
        return Some(Times::Always);
    }
    let count = node.number("`times`", 1..=MOST_TIMES, reading.out)?;
    u32::try_from(count).ok().map(Times::Count)
}

static CONTINUE: Keys = Keys::new(
    "`continue`",
    &[("after", "how late the 100 is", Kind::time)],
)
.rules(&[Rule::Needs(&["after"])]);

const CONTINUES: &[(&str, Continue)] = &[("sent", Continue::Sent), ("never", Continue::Never)];

fn continues_as(node: &Node, reading: &mut Reading<'_>) -> Option<Continue> {
    if matches!(node.value, Value::Map(_)) {
        let fields = node.fields(&CONTINUE, reading.out)?;
        let after = fields.need("after", reading.out)?;
        return after.duration("`after`", reading.out).map(Continue::After);
    }
    node.word("`continue`", CONTINUES, reading.out)
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
            Some(reading.key_source(node)?)
        }
    };
    let Some(node) = fields.get("applies") else {
        return Some(None);
    };
    let name = reading.effect(node, "`applies`")?;
    Some(Some(Effect { name, key }))
}

fn takes(fields: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Duration> {
    let Some((key, node)) = fields.entry("takes") else {
        return Some(Duration::ZERO);
    };
    if fields.get("applies").is_none() {
        reading
            .out
            .report(ids::KEY_WITHOUT, &key.span, "`takes` needs `applies`")
            .label("which effect takes so long?")
            .help("add `applies: NAME`; `delay` makes a step wait that applies nothing");
        return None;
    }
    node.duration("`takes`", reading.out)
}

/// Pauses are kept to about a millisecond.
const SHORTEST_PAUSE: Duration = Duration::from_millis(3);

static SLOW_READ: Keys = Keys::new(
    "`slow_read`",
    &[
        ("bytes", "how much is read at a time", Kind::size),
        ("every", "the time from piece to piece", || {
            Kind::time_from(SHORTEST_PAUSE)
        }),
    ],
)
.rules(&[Rule::Needs(&["bytes", "every"])]);

fn slow_read(node: &Node, reading: &mut Reading<'_>) -> Option<SlowRead> {
    let fields = node.fields(&SLOW_READ, reading.out)?;
    let bytes = fields.need("bytes", reading.out);
    let every = fields.need("every", reading.out);
    let (bytes, every) = (bytes?, every?);
    let size = bytes.size("`bytes`", reading.out)?;
    if size == 0 {
        reading
            .out
            .report(ids::CANNOT_FIRE, &bytes.span, "nothing is ever read so")
            .label("no byte at a time")
            .help("write a size such as 64KiB");
        return None;
    }
    let pause = every.duration("`every`", reading.out)?;
    if pause < SHORTEST_PAUSE {
        reading
            .out
            .report(ids::BAD_DURATION, &every.span, "too fast to be kept")
            .label("the shortest time from piece to piece is 3ms")
            .help("write 3ms or more, and larger pieces");
        return None;
    }
    Some(SlowRead {
        bytes: size,
        every: pause,
    })
}

const THEN_FORMS: [&str; 3] = ["close", "reset", "stay"];

static THEN: Keys = Keys::new(
    "`then`",
    &[
        (
            "close",
            "the idle connection is closed after this time",
            Kind::time,
        ),
        (
            "reset",
            "the idle connection is reset after this time",
            Kind::time,
        ),
        (
            "stay",
            "with `sends`: the connection stays open; `sends` comes after this time",
            Kind::time,
        ),
        (
            "sends",
            "bytes that nobody asked for, sent then, before any end",
            content::exact_kind,
        ),
    ],
)
.rules(&[Rule::OneOf(&THEN_FORMS), Rule::With("stay", "sends")])
.not_yet(&["goaway"]);

/// Most bytes that are sent on an idle connection: they must have room in the
/// socket of a client that does not read them.
const MOST_UNSOLICITED: u64 = 16 << 10;

fn then(node: &Node, reading: &mut Reading<'_>) -> Option<Then> {
    let fields = node.fields(&THEN, reading.out)?;
    let (form, key, value) = fields.one_of(&THEN_FORMS, reading.out)?;
    let after = value.duration("the idle time", reading.out)?;
    let sends = fields.get("sends").map(|node| unsolicited(node, reading));
    let end = match form {
        "close" => Some(IdleEnd::Close),
        "reset" => Some(IdleEnd::Reset),
        _ => None,
    };
    if end.is_none() && sends.is_none() {
        reading
            .out
            .report(ids::KEY_WITHOUT, &key.span, "`stay` needs `sends`")
            .label("an idle connection that stays open is no fault")
            .help("add `sends: {text: ...}`, or write `close` or `reset`");
        return None;
    }
    Some(Then {
        after,
        sends: all_good(sends)?,
        end,
    })
}

fn unsolicited(node: &Node, reading: &mut Reading<'_>) -> Option<Content> {
    let content = reading.exact(node)?;
    let bytes = content.likely_length(&Bindings::default());
    if bytes == 0 {
        reading
            .out
            .report(ids::CANNOT_FIRE, &node.span, "nothing is sent here")
            .label("no byte")
            .help("write what is sent, such as \"\\r\\n\", or remove `sends`");
        return None;
    }
    if bytes > MOST_UNSOLICITED {
        reading
            .out
            .report(
                ids::TOO_MUCH_CONTENT,
                &node.span,
                "too many bytes for an idle connection",
            )
            .label(format!(
                "these are {bytes} bytes, and at most 16KiB are sent"
            ))
            .help("a client that does not read must have room for them");
        return None;
    }
    Some(content)
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
