//! `records`: created by requests, and looked up by their business key.

use std::time::Duration;

use scripted_servers::models::{Rules, records};
use serde::{Deserialize, Serialize};

use super::{Declared, Entry, Listed, Model, Remembers};
use crate::document::Node;
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::reading::{Reading, effects, routes};

/// `records: {effect: order, key: {json: /ref}, create: "POST /orders", look_up: "GET /orders/*"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Records(pub records::Rules);

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        word: "records",
        summary: "records by business key, created by one route and looked up by another",
        example: "book: { records: { effect: order, key: { json: /ref }, \
                  create: \"POST /orders\", look_up: \"GET /orders/*\" } }",
    },
    kind: || Kind::Map(&KEYS),
    decode: |node, reading| decode(node, reading).map(Model::Records),
};

static KEYS: Keys = Keys::new(
    "`records`",
    &[
        ("effect", "the effect of creating a record", effects::kind),
        ("key", "the business key of a record", effects::key_kind),
        ("create", "the route of requests that create", routes::kind),
        (
            "look_up",
            "the route of requests that look up; `*` stands for the key",
            routes::with_id_kind,
        ),
    ],
)
.rules(&[Rule::Needs(&["effect", "key", "create", "look_up"])]);

fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Records> {
    let fields = node.fields(&KEYS, reading.out)?;
    let effect = fields.need("effect", reading.out);
    let key = fields.need("key", reading.out);
    let create = fields.need("create", reading.out);
    let look_up = fields.need("look_up", reading.out);
    let effect = effect.and_then(|node| reading.effect(node, "`effect`"));
    let key = key.and_then(|node| reading.key_source(node));
    let create = create.and_then(|node| reading.route_of(node, "`create`"));
    let look_up = look_up.and_then(|node| reading.route_with_id(node, "`look_up`"));
    Some(Records(records::Rules {
        effect: effect?,
        key: key?,
        create: create?,
        look_up: look_up?,
    }))
}

impl Remembers for Records {
    fn rules(&self) -> Rules {
        Rules::Records(self.0.clone())
    }

    fn effect(&self) -> Option<Declared<'_>> {
        Some(Declared {
            name: &self.0.effect,
            keyed: true,
            takes: Duration::ZERO,
        })
    }

    fn may_refuse(&self) -> bool {
        false
    }

    fn unwalkable(&self) -> Option<&'static str> {
        None
    }
}
