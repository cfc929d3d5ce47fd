//! `idempotency`: the first use of a key runs, and later ones get its result.

use std::time::Duration;

use scripted_servers::models::{Rules, idempotency};
use serde::{Deserialize, Serialize};

use super::{Declared, Entry, Listed, Model, Remembers};
use crate::document::Node;
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::reading::{Reading, all_good, content, effects};

/// `idempotency: {header: Idempotency-Key, effect: order}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Idempotency(pub idempotency::Rules);

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        word: "idempotency",
        summary: "the first use of a key runs; the same key again gets the stored result",
        example: "store: { idempotency: { header: Idempotency-Key, effect: order } }",
    },
    kind: || Kind::Map(&KEYS),
    decode: |node, reading| decode(node, reading).map(Model::Idempotency),
};

static KEYS: Keys = Keys::new(
    "`idempotency`",
    &[
        (
            "header",
            "the header field that holds the key; without one a request runs each time",
            content::field_name,
        ),
        ("effect", "the effect of a request that runs", effects::kind),
        (
            "busy",
            "the status while the first request with the key still runs",
            || refusal().by_default(BUSY),
        ),
        (
            "conflict",
            "the status for a key whose first request had other content",
            || refusal().by_default(CONFLICT),
        ),
        ("takes", "how long a request runs", || {
            Kind::time().by_default("0ms")
        }),
    ],
)
.rules(&[Rule::Needs(&["header", "effect"])]);

const BUSY: u16 = 409;
const CONFLICT: u16 = 422;

fn refusal() -> Kind {
    Kind::Number(400..=599)
}

fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Idempotency> {
    let fields = node.fields(&KEYS, reading.out)?;
    let header = fields.need("header", reading.out);
    let effect = fields.need("effect", reading.out);
    let header = header.and_then(|node| reading.field_of(node, "`header`"));
    let effect = effect.and_then(|node| reading.effect(node, "`effect`"));
    let mut status = |key: &str| {
        let node = fields.get(key)?;
        let number = node.number(&format!("`{key}`"), 400..=599, reading.out);
        Some(number.and_then(|number| u16::try_from(number).ok()))
    };
    let (busy, conflict) = (status("busy"), status("conflict"));
    let takes = fields.get("takes");
    let takes = takes.map(|node| node.duration("`takes`", reading.out));
    Some(Idempotency(idempotency::Rules {
        header: header?,
        effect: effect?,
        busy: all_good(busy)?.unwrap_or(BUSY),
        conflict: all_good(conflict)?.unwrap_or(CONFLICT),
        takes: all_good(takes)?.unwrap_or(Duration::ZERO),
    }))
}

impl Remembers for Idempotency {
    fn rules(&self) -> Rules {
        Rules::Idempotency(self.0.clone())
    }

    fn effect(&self) -> Option<Declared<'_>> {
        Some(Declared {
            name: &self.0.effect,
            keyed: false,
            takes: self.0.takes,
        })
    }

    fn may_refuse(&self) -> bool {
        true
    }

    fn key_field(&self) -> Option<&str> {
        Some(&self.0.header)
    }

    fn unwalkable(&self) -> Option<&'static str> {
        (!self.0.takes.is_zero())
            .then_some("a request of a model `takes` time, and the walk has no clock")
    }
}
