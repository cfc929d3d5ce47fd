//! Moments: from when, or until when, something is looked at.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::document::decode::{Keys, unknown_word};
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, Value, ids};
use crate::expected::counts;
use crate::scope::Scope;

/// A moment of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// The final report of a call; without a call, the last of all.
    Report,
    /// The order to cancel a call.
    Cancel,
    /// The end of the client that is killed.
    Crash,
    /// So long after the work was handed over.
    After(Duration),
    /// So many requests have been delivered at a server.
    Delivered {
        /// The server.
        server: String,
        /// How many.
        count: u64,
    },
    /// The step with this name happened: a fault when it fired, a plain answer
    /// when its last byte was sent.
    Fired(String),
}

const FORMS: &str = "`report`, `cancel`, `crash`, `{after: 2s}`, \
                     `{delivered: {server: api, count: 2}}` or `{fired: STEP}`";

/// Of those, what is not said by the client itself.
const FACTS: &str = "`{after: 2s}`, `{delivered: {server: api, count: 2}}` or `{fired: STEP}`";

static DELIVERED: Keys = Keys::new(
    "a moment of deliveries",
    &[
        ("server", "the name of a server", Kind::text),
        (
            "count",
            "how many requests have been delivered there",
            || Kind::Number(1..=100_000),
        ),
    ],
)
.rules(&[Rule::Needs(&["server", "count"])]);

/// A moment.
pub(crate) fn kind() -> Kind {
    let words = ["report", "cancel", "crash"].map(Kind::word);
    Kind::Either([fact_kind()].into_iter().chain(words).collect())
}

/// A moment that servers see, or the clock.
pub(crate) fn fact_kind() -> Kind {
    Kind::one_key(
        "a moment",
        &[
            (
                "after",
                "so long after the work was handed over",
                Kind::time,
            ),
            ("delivered", "so many requests have been delivered", || {
                Kind::Map(&DELIVERED)
            }),
            ("fired", "the step with this name happened", Kind::text),
        ],
    )
}

/// A moment.
pub(crate) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Moment> {
    if !matches!(node.value, Value::Map(_)) {
        let word = node.text("a moment", scope.out)?;
        if word == "report" {
            return Some(Moment::Report);
        }
        if word == "cancel" {
            return cancel(node, scope);
        }
        if word == "crash" {
            return crash(node, scope);
        }
        return node.wrong("a moment", FORMS, scope.out);
    }
    fact(node, scope)
}

/// A moment that servers see, or the clock: one that a client can be told at.
pub(crate) fn fact(node: &Node, scope: &mut Scope<'_>) -> Option<Moment> {
    if !matches!(node.value, Value::Map(_)) {
        return node.wrong("this moment", FACTS, scope.out);
    }
    let (key, value) = node.tagged("a moment", scope.out)?;
    match key.text.as_str() {
        "after" => value.duration("`after`", scope.out).map(Moment::After),
        "delivered" => delivered(value, scope),
        "fired" => fired(value, scope),
        word => {
            let words = ["after", "delivered", "fired"].into_iter();
            unknown_word(&key.span, word, "a moment", words, scope.out);
            None
        }
    }
}

fn cancel(node: &Node, scope: &mut Scope<'_>) -> Option<Moment> {
    if scope.treatment.cancels {
        return Some(Moment::Cancel);
    }
    scope
        .out
        .report(
            ids::NO_CANCEL,
            &node.span,
            "nothing is cancelled in this scenario",
        )
        .label("this moment never comes")
        .help(
            "add `cancel: { when: { delivered: { server: api, count: 1 } } }` to the scenario, \
             or write another moment",
        )
        .beyond_schema();
    None
}

fn crash(node: &Node, scope: &mut Scope<'_>) -> Option<Moment> {
    if scope.treatment.crashes {
        return Some(Moment::Crash);
    }
    scope
        .out
        .report(
            ids::NO_CRASH,
            &node.span,
            "nobody is killed in this scenario",
        )
        .label("this moment never comes")
        .help(
            "add `crash: { when: { delivered: { server: api, count: 1 } } }` to the scenario, \
             or write another moment",
        )
        .beyond_schema();
    None
}

fn delivered(node: &Node, scope: &mut Scope<'_>) -> Option<Moment> {
    let fields = node.fields(&DELIVERED, scope.out)?;
    let server = fields.need("server", scope.out);
    let server = server.and_then(|node| counts::server_of(node, scope));
    let count = fields.need("count", scope.out);
    let count = count.and_then(|node| node.number("a count of deliveries", 1..=100_000, scope.out));
    Some(Moment::Delivered {
        server: server?,
        count: count?,
    })
}

fn fired(node: &Node, scope: &mut Scope<'_>) -> Option<Moment> {
    let name = node.text("the name of a step", scope.out)?;
    let servers = scope.servers.iter();
    let steps = servers.flat_map(|server| server.queues.iter().flat_map(|queue| &queue.steps));
    let names: Vec<&str> = steps.filter_map(|step| step.name.as_deref()).collect();
    if names.contains(&name) {
        return Some(Moment::Fired(name.to_owned()));
    }
    if names.is_empty() {
        scope
            .out
            .report(ids::UNKNOWN_WORD, &node.span, "no step has a name")
            .label("which step?")
            .help(format!("add `name: {name}` to the step that is meant"))
            .beyond_schema();
        return None;
    }
    let what = "the name of a step";
    unknown_word(&node.span, name, what, names.into_iter(), scope.out);
    scope.out.last().beyond_schema();
    None
}
