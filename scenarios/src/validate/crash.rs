//! `crash`: the client is killed, and started again.

use std::time::Duration;

use crate::document::decode::{Fields, Keys};
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};
use crate::moment;
use crate::plan::{Call, Crash, Limits, ServerPlan};
use crate::scope::{Scope, Treatment};
use crate::verdict::Level;

use super::cancel::never_in_time;
use crate::reading::{Reading, all_good};

/// How long after its end the client is started again, unless it is written.
const RESTART_AFTER: Duration = Duration::from_millis(100);

static KEYS: Keys = Keys::new(
    "`crash`",
    &[
        ("when", "the moment that it waits for", moment::fact_kind),
        (
            "restart_after",
            "how long after its end the client is started again",
            || Kind::time().by_default("100ms"),
        ),
    ],
)
.rules(&[Rule::Needs(&["when"])]);

/// `crash`.
pub(super) fn kind() -> Kind {
    Kind::Map(&KEYS)
}

/// Reads `crash`.
pub(super) fn crash(
    document: &Fields<'_>,
    (servers, calls, limits): (&[ServerPlan], &[Call], &Limits),
    reading: &mut Reading<'_>,
) -> Option<Option<Crash>> {
    let Some((key, node)) = document.entry("crash") else {
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
    let restart_after = fields.get("restart_after");
    let restart_after = restart_after.map(|node| node.duration("`restart_after`", reading.out));
    let ((when, written), restart_after) = (when?, all_good(restart_after)?);
    if never_in_time(&when, servers) {
        too_late(written, reading);
        return None;
    }
    // The new process has the work of the one that is gone, and nobody else.
    document.at_most_one_of(&["crash", "fleet"], reading.out)?;
    Some(Some(Crash {
        line: reading.out.line(&key.span),
        when,
        restart_after: restart_after.unwrap_or(RESTART_AFTER),
        withheld: false,
    }))
}

fn too_late(node: &Node, reading: &mut Reading<'_>) {
    reading
        .out
        .report(
            ids::CRASH_OF_NOTHING,
            &node.span,
            "this step takes its time, and has happened only when it is over",
        )
        .label("the client would be killed too late, or never")
        .help("wait for `{ delivered: { server: api, count: 1 } }`, which is known at once");
}
