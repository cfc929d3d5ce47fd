//! `batch`: many items in one request, and a verdict on each.

use std::time::Duration;

use scripted_servers::models::batch::Verdict;
use scripted_servers::models::{Rules, batch};
use scripted_servers::script::Times;
use serde::{Deserialize, Serialize};

use super::{Declared, Entry, Listed, Model, Remembers};
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};
use crate::reading::{Reading, all_good, effects};

/// `batch: {effect: row, items: /rows, key: /id, verdicts: [..]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Batch(pub batch::Rules);

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        word: "batch",
        summary: "many items in one request, with a status for each in the answer",
        example: "rows: { batch: { effect: row, items: /rows, key: /id, \
                  verdicts: [ { item: 7, status: 422, times: always } ] } }",
    },
    kind: || Kind::Map(&KEYS),
    decode: |node, reading| decode(node, reading).map(Model::Batch),
};

static KEYS: Keys = Keys::new(
    "`batch`",
    &[
        (
            "effect",
            "the effect of an item that is taken",
            effects::kind,
        ),
        (
            "items",
            "where the list of items stands in the JSON of a request, a pointer",
            effects::pointer_kind,
        ),
        (
            "key",
            "where its number stands in an item, a pointer",
            effects::pointer_kind,
        ),
        (
            "verdicts",
            "items that are not taken; of all others 200 is said",
            || Kind::List {
                of: Box::new(Kind::Map(&VERDICT)),
                count: 1..=MOST,
            },
        ),
    ],
)
.rules(&[Rule::Needs(&["effect", "items", "key"])]);

static VERDICT: Keys = Keys::new(
    "a verdict",
    &[
        ("item", "the number of the item", || {
            Kind::Number(1..=MOST as u64)
        }),
        ("status", "the status that is said of it", || {
            Kind::Number(STATUSES)
        }),
        ("times", "how often: a number, or `always`", || {
            Kind::Either(vec![Kind::Number(1..=MOST as u64), Kind::word("always")]).by_default(1)
        }),
    ],
)
.rules(&[Rule::Needs(&["item", "status"])]);

const MOST: usize = 1000;
const STATUSES: std::ops::RangeInclusive<u64> = 300..=599;

fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Batch> {
    let fields = node.fields(&KEYS, reading.out)?;
    let effect = fields.need("effect", reading.out);
    let items = fields.need("items", reading.out);
    let key = fields.need("key", reading.out);
    let effect = effect.and_then(|node| reading.effect(node, "`effect`"));
    let items = items.and_then(|node| reading.pointer(node));
    let key = key.and_then(|node| reading.pointer(node));
    let verdicts = fields.get("verdicts").map(|node| verdicts(node, reading));
    Some(Batch(batch::Rules {
        effect: effect?,
        items: items?,
        key: key?,
        verdicts: all_good(verdicts)?.unwrap_or_default(),
    }))
}

fn verdicts(node: &Node, reading: &mut Reading<'_>) -> Option<Vec<Verdict>> {
    let items = node.filled_list("`verdicts`", reading.out)?;
    if let Some(item) = items.get(MOST) {
        reading
            .out
            .report(ids::TOO_MUCH_SCRIPT, &item.span, "too many verdicts")
            .label(format!("more than {MOST} with this one"))
            .help("a batch has no more items");
        return None;
    }
    let verdicts: Vec<_> = items.iter().map(|item| verdict(item, reading)).collect();
    verdicts.into_iter().collect()
}

fn verdict(node: &Node, reading: &mut Reading<'_>) -> Option<Verdict> {
    let fields = node.fields(&VERDICT, reading.out)?;
    let item = fields.need("item", reading.out);
    let status = fields.need("status", reading.out);
    let most = MOST as u64;
    let item = item.and_then(|node| node.number("the number of an item", 1..=most, reading.out));
    let status = status.and_then(|node| node.number("`status`", STATUSES, reading.out));
    let times = fields.get("times").map(|node| {
        if node.is_word("always") {
            return Some(Times::Always);
        }
        let count = node.number("`times`", 1..=most, reading.out)?;
        u32::try_from(count).ok().map(Times::Count)
    });
    Some(Verdict {
        item: u32::try_from(item?).ok()?,
        status: u16::try_from(status?).ok()?,
        times: all_good(times)?.unwrap_or(Times::Count(1)),
    })
}

impl Remembers for Batch {
    fn rules(&self) -> Rules {
        Rules::Batch(self.0.clone())
    }

    fn effect(&self) -> Option<Declared<'_>> {
        Some(Declared {
            name: &self.0.effect,
            keyed: true,
            takes: Duration::ZERO,
        })
    }

    fn may_refuse(&self) -> bool {
        !self.0.verdicts.is_empty()
    }

    fn unwalkable(&self) -> Option<&'static str> {
        Some("a step goes through `batch`, and no policy says what is sent again of several items")
    }
}
