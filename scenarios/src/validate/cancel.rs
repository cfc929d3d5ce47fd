//! `cancel`: the order to give up a call, and when it is given.

use std::time::Duration;

use crate::document::decode::{Fields, Keys};
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};
use crate::moment::{self, Moment};
use crate::plan::{Call, Cancel, Limits, ServerPlan};
use crate::scope::{Scope, Treatment};
use crate::verdict::Level;

use super::expect::call_number;
use super::work::MOST_CALLS;
use crate::reading::{Reading, all_good};

static KEYS: Keys = Keys::new(
    "`cancel`",
    &[
        ("when", "the moment that it waits for", moment::fact_kind),
        ("later", "how long after that the order is given", || {
            Kind::time().by_default("0ms")
        }),
        ("call", "with `calls`: the number of the call", || {
            Kind::Number(1..=MOST_CALLS).by_default(1)
        }),
    ],
)
.rules(&[Rule::Needs(&["when"])]);

/// `cancel`.
pub(super) fn kind() -> Kind {
    Kind::Map(&KEYS)
}

/// Reads `cancel`.
pub(super) fn cancel(
    document: &Fields<'_>,
    (servers, calls, limits): (&[ServerPlan], &[Call], &Limits),
    reading: &mut Reading<'_>,
) -> Option<Option<Cancel>> {
    let Some((key, node)) = document.entry("cancel") else {
        return Some(None);
    };
    let fields = node.fields(&KEYS, reading.out)?;
    let mut scope = Scope {
        servers,
        calls,
        limits,
        treatment: Treatment::default(),
        level: Level::Must,
        out: reading.out,
    };
    let when = fields.need("when", scope.out);
    let when = when.and_then(|node| Some((moment::fact(node, &mut scope)?, node)));
    let later = fields
        .get("later")
        .map(|node| node.duration("`later`", reading.out));
    let most = u64::try_from(calls.len()).unwrap_or(u64::MAX);
    let call = fields
        .get("call")
        .map(|node| call_number(node, most, reading));
    let ((when, written), later, call) = (when?, all_good(later)?, all_good(call)?);
    if never_in_time(&when, servers) {
        too_late(written, reading);
        return None;
    }
    Some(Some(Cancel {
        line: reading.out.line(&key.span),
        call: call.and_then(|call| u32::try_from(call).ok()).unwrap_or(1),
        when,
        later: later.unwrap_or(Duration::ZERO),
        withheld: false,
    }))
}

/// Whether a step is known to have happened only when the client has acted on it,
/// or after a time of its own, so that no order can wait for it.
pub(super) fn never_in_time(when: &Moment, servers: &[ServerPlan]) -> bool {
    let Moment::Fired(name) = when else {
        return false;
    };
    let queues = servers.iter().flat_map(|server| &server.queues);
    let steps = queues.flat_map(|queue| &queue.steps);
    let mut named = steps.filter(|step| step.name.as_ref() == Some(name));
    named.any(|step| {
        let behaviour = step.fault.behaviour();
        let takes = step.delay.saturating_add(behaviour.own_time());
        step.then.is_some() || behaviour.may_hang() || !takes.is_zero()
    })
}

fn too_late(node: &Node, reading: &mut Reading<'_>) {
    reading
        .out
        .report(
            ids::CANCEL_OF_NOTHING,
            &node.span,
            "this step takes its time, and has happened only when it is over",
        )
        .label("the order would come too late, or never")
        .help(
            "wait for `{ delivered: { server: api, count: 1 } }`, with `later` until the step \
             has begun",
        );
}
