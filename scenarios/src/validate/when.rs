//! `when`: which requests a step takes.

use scripted_servers::script::{ConnectionUse, FieldTest, When};

use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};

use crate::reading::names::{self, method};
use crate::reading::{Reading, all_good, content, effects};

static KEYS: Keys = Keys::new(
    "`when`",
    &[
        ("connection", "`fresh` or `reused`", || Kind::words(USES)),
        (
            "header",
            "`{name, is: present or absent}` or `{name, equals}`",
            || Kind::Map(&HEADER),
        ),
        ("json", "`{pointer, equals}`", || Kind::Map(&JSON)),
        ("method", "a method", names::method_kind),
        (
            "since",
            "not before this time since the server's first request",
            Kind::time,
        ),
        (
            "until",
            "only before this time since the server's first request",
            Kind::time,
        ),
    ],
)
.rules(&[Rule::AnyOf(&[
    "connection",
    "header",
    "json",
    "method",
    "since",
    "until",
])]);

static HEADER: Keys = Keys::new(
    "`when.header`",
    &[
        ("name", "the header's name", content::field_name),
        ("is", "`present` or `absent`", || Kind::words(IS)),
        ("equals", "its exact value", Kind::any_text),
    ],
)
.rules(&[Rule::Needs(&["name"]), Rule::OneOf(&["is", "equals"])]);

static JSON: Keys = Keys::new(
    "`when.json`",
    &[
        (
            "pointer",
            "a JSON pointer such as `/id`",
            effects::pointer_kind,
        ),
        ("equals", "the value that must stand there", || Kind::Any),
    ],
)
.rules(&[Rule::Needs(&["pointer", "equals"])]);

const USES: &[(&str, ConnectionUse)] = &[
    ("fresh", ConnectionUse::Fresh),
    ("reused", ConnectionUse::Reused),
];

const IS: &[(&str, bool)] = &[("present", true), ("absent", false)];

/// `when`.
pub(super) fn kind() -> Kind {
    Kind::Map(&KEYS)
}

impl Reading<'_> {
    /// Reads `when`.
    pub(super) fn when(&mut self, node: &Node) -> Option<When> {
        let fields = node.fields(&KEYS, self.out)?;
        if fields.entries().is_empty() {
            return node.wrong("`when`", "a map with at least one condition", self.out);
        }
        let connection = fields
            .get("connection")
            .map(|node| node.word("a kind of connection", USES, self.out));
        let header = fields.get("header").map(|node| self.when_header(node));
        let json = fields.get("json").map(|node| self.when_json(node));
        let method = fields.get("method").map(|node| self.method(node));
        let since = fields
            .get("since")
            .map(|node| node.duration("`since`", self.out));
        let until = fields
            .get("until")
            .map(|node| node.duration("`until`", self.out));
        if let (Some(Some(since)), Some(Some(until))) = (since, until)
            && since >= until
        {
            self.out
                .report(ids::BAD_RANGE, &node.span, "no time fits")
                .label("`since` is not before `until`")
                .help("swap the two")
                .beyond_schema();
            return None;
        }
        Some(When {
            connection: all_good(connection)?,
            header: all_good(header)?,
            json: all_good(json)?,
            method: all_good(method)?,
            since: all_good(since)?,
            until: all_good(until)?,
        })
    }

    fn when_header(&mut self, node: &Node) -> Option<(String, FieldTest)> {
        let fields = node.fields(&HEADER, self.out)?;
        let name = fields.need("name", self.out);
        let (form, _, value) = fields.one_of(&["is", "equals"], self.out)?;
        let name_node = name?;
        let name = name_node.text("`name`", self.out)?;
        if !self.field_name(name, &name_node.span) {
            return None;
        }
        let test = if form == "equals" {
            FieldTest::Equals(value.any_text("`equals`", self.out)?.to_owned())
        } else {
            match value.word("a state of a header", IS, self.out)? {
                true => FieldTest::Present,
                false => FieldTest::Absent,
            }
        };
        Some((name.to_owned(), test))
    }

    fn when_json(&mut self, node: &Node) -> Option<(String, serde_json::Value)> {
        let fields = node.fields(&JSON, self.out)?;
        let pointer = fields.need("pointer", self.out);
        let equals = fields.need("equals", self.out);
        let pointer = self.pointer(pointer?)?;
        Some((pointer, self.json_value(equals?)?))
    }

    /// The name of a method.
    pub(super) fn method(&mut self, node: &Node) -> Option<String> {
        method(node, self.out)
    }
}
