//! Where a request says how far its client has got in a list of events.

use scripted_servers::models::events::Cursor;

use super::Reading;
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, Value, ids};

/// `last-event-id`, or `{query: NAME}`.
pub(crate) fn kind() -> Kind {
    Kind::Map(&KEYS).or_word("last-event-id")
}

static KEYS: Keys = Keys::new(
    "`cursor`",
    &[("query", "the parameter of the query that says it", || {
        Kind::fits("[A-Za-z0-9_-]+")
    })],
)
.rules(&[Rule::Needs(&["query"])]);

impl Reading<'_> {
    /// Reads it.
    pub(crate) fn cursor(&mut self, node: &Node) -> Option<Cursor> {
        if node.is_word("last-event-id") {
            return Some(Cursor::LastEventId);
        }
        if !matches!(node.value, Value::Map(_)) {
            return node.wrong("`cursor`", "`last-event-id` or `{query: NAME}`", self.out);
        }
        let fields = node.fields(&KEYS, self.out)?;
        let node = fields.need("query", self.out)?;
        let name = node.text("`query`", self.out)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_plain) {
            self.out
                .report(ids::BAD_NAME, &node.span, "not the name of a parameter")
                .label("letters, digits, `-` and `_` can stand in it")
                .help("write a name such as `starting_after`");
            return None;
        }
        Some(Cursor::Query(name.to_owned()))
    }
}
