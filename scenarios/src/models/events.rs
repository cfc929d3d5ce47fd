//! `events`: a list of events that goes on behind the last one that a client has.

use scripted_servers::models::events::Cursor;
use scripted_servers::models::{Rules, events};
use serde::{Deserialize, Serialize};

use super::{Declared, Entry, Listed, Model, Remembers};
use crate::document::Node;
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::reading::{Reading, all_good, cursor};

/// `events: {count: 10, cursor: last-event-id, ends_with: "[DONE]"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Events(pub events::Rules);

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        word: "events",
        summary: "a list of server-sent events that goes on behind the last one that a client has",
        example: "feed: { events: { count: 10, cursor: last-event-id, ends_with: \"[DONE]\" } }",
    },
    kind: || Kind::Map(&KEYS),
    decode: |node, reading| decode(node, reading).map(Model::Events),
};

static KEYS: Keys = Keys::new(
    "`events`",
    &[
        (
            "count",
            "how many there are; their ids count from 1",
            || Kind::Number(1..=MOST),
        ),
        (
            "cursor",
            "where a request says the id of the last event that its client has",
            cursor::kind,
        ),
        (
            "ends_with",
            "the data of one more event behind them, without an id",
            Kind::text,
        ),
    ],
)
.rules(&[Rule::Needs(&["count", "cursor"])]);

const MOST: u64 = 10_000;

fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Events> {
    let fields = node.fields(&KEYS, reading.out)?;
    let count = fields.need("count", reading.out);
    let count = count.and_then(|node| node.number("`count`", 1..=MOST, reading.out));
    let cursor = fields.need("cursor", reading.out);
    let cursor: Option<Cursor> = cursor.and_then(|node| reading.cursor(node));
    let ends_with = fields.get("ends_with");
    let ends_with = ends_with.map(|node| node.text("`ends_with`", reading.out));
    Some(Events(events::Rules {
        count: u32::try_from(count?).ok()?,
        cursor: cursor?,
        ends_with: all_good(ends_with)?.map(str::to_owned),
    }))
}

impl Remembers for Events {
    fn rules(&self) -> Rules {
        Rules::Events(self.0.clone())
    }

    fn effect(&self) -> Option<Declared<'_>> {
        None
    }

    fn lists(&self) -> bool {
        true
    }

    fn may_refuse(&self) -> bool {
        false
    }

    fn unwalkable(&self) -> Option<&'static str> {
        Some("a step goes through `events`, and no policy says where a list goes on")
    }
}
