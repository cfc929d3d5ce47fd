//! `poll_every`: how long is waited before each query of a job.

use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Diagnostics, Node, Value, ids};
use crate::plan::Polls;

use super::limits::{timeout_kind, told_time};

static PHASE: Keys = Keys::new(
    "a phase of `poll_every`",
    &[
        ("every", "the wait before each query in it", timeout_kind),
        ("for", "how long its waits are together", timeout_kind),
    ],
)
.rules(&[Rule::Needs(&["every", "for"])]);

/// More phases than anybody has.
const MOST_PHASES: usize = 10;

/// `1s`, or `[{every: 1s, for: 30s}, 2s]`.
pub(super) fn kind() -> Kind {
    Kind::Either(vec![
        timeout_kind(),
        Kind::List {
            of: Box::new(Kind::Either(vec![Kind::Map(&PHASE), timeout_kind()])),
            count: 2..=MOST_PHASES,
        },
    ])
}

/// Reads `poll_every`.
pub(super) fn polls(node: &Node, out: &mut Diagnostics) -> Option<Vec<Polls>> {
    let Value::List(items) = &node.value else {
        let every = told_time(node, "poll_every", out)?;
        return Some(vec![Polls { every, lasts: None }]);
    };
    if !(2..=MOST_PHASES).contains(&items.len()) {
        let title = format!("`poll_every` has from 2 to {MOST_PHASES} phases");
        out.report(ids::EMPTY_LIST, &node.span, title)
            .label(format!("{} here", items.len()))
            .help("write one time such as `1s`, or `[{every: 1s, for: 30s}, 2s]`");
        return None;
    }
    let last = items.len() - 1;
    let phases: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(at, item)| phase(item, at == last, out))
        .collect();
    phases.into_iter().collect()
}

/// All phases but the last are over at some time.
fn phase(node: &Node, is_last: bool, out: &mut Diagnostics) -> Option<Polls> {
    let ends = matches!(node.value, Value::Map(_));
    if ends == is_last && !node.is_null() {
        let (label, help) = if is_last {
            (
                "nothing comes behind it",
                "write its wait alone, such as `2s`",
            )
        } else {
            ("it is never over", "write `{every: 1s, for: 30s}`")
        };
        out.report(
            ids::UNREACHABLE,
            &node.span,
            "only the last phase of `poll_every` stays",
        )
        .label(label)
        .help(help);
        return None;
    }
    if is_last {
        let every = told_time(node, "poll_every", out)?;
        return Some(Polls { every, lasts: None });
    }
    let fields = node.fields(&PHASE, out)?;
    let every = fields.need("every", out);
    let lasts = fields.need("for", out);
    let every = every.and_then(|node| told_time(node, "every", out));
    let time = lasts.and_then(|node| told_time(node, "for", out));
    let (every, time) = (every?, time?);
    if time < every {
        out.report(
            ids::UNREACHABLE,
            &lasts?.span,
            "this phase is over before its first query",
        )
        .label(format!("shorter than {every:?}, the wait before it"))
        .help("make `for` as long as several waits");
        return None;
    }
    Some(Polls {
        every,
        lasts: Some(time),
    })
}
