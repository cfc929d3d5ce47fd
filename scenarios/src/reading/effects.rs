//! Effects of a server's application, and where their business key is found.

use scripted_servers::wire::KeySource;

use super::{Reading, content};
use crate::document::decode::{Keys, brief};
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};

/// The name of an effect.
pub(crate) fn kind() -> Kind {
    Kind::fits("[a-z0-9_-]{1,40}")
}

static KEY: Keys = Keys::new(
    "`key`",
    &[
        (
            "header",
            "the header field that holds it",
            content::field_name,
        ),
        ("json", "a JSON pointer into the content", pointer_kind),
        ("path", "`last`: the last segment of the path", || {
            Kind::word("last")
        }),
    ],
)
.rules(&[Rule::OneOf(&["header", "json", "path"])]);

/// Where a business key is found.
pub(crate) fn key_kind() -> Kind {
    Kind::Map(&KEY)
}

/// A JSON pointer.
pub(crate) fn pointer_kind() -> Kind {
    Kind::fits(r"(?:/[\s\S]*)?")
}

impl Reading<'_> {
    /// The name of an effect.
    pub(crate) fn effect(&mut self, node: &Node, what: &str) -> Option<String> {
        let name = node.text(what, self.out)?;
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        if name.chars().all(word) && name.len() <= 40 {
            return Some(name.to_owned());
        }
        let title = format!("`{}` cannot be an effect", brief(name));
        self.out
            .report(ids::BAD_NAME, &node.span, title)
            .label("not a name")
            .help("write a lower-case word such as `order`");
        None
    }

    /// Where a business key is found.
    pub(crate) fn key_source(&mut self, node: &Node) -> Option<KeySource> {
        let fields = node.fields(&KEY, self.out)?;
        let (form, _, value) = fields.one_of(&["header", "json", "path"], self.out)?;
        match form {
            "header" => self.field_of(value, "`header`").map(KeySource::Header),
            "json" => self.pointer(value).map(KeySource::Json),
            _ => value
                .word("a part of the path", &[("last", ())], self.out)
                .map(|()| KeySource::PathLast),
        }
    }

    /// The name of a header field that stands as a value.
    pub(crate) fn field_of(&mut self, node: &Node, what: &str) -> Option<String> {
        let name = node.text(what, self.out)?;
        let good = self.field_name(name, &node.span);
        good.then(|| name.to_owned())
    }

    /// A JSON pointer (RFC 6901).
    pub(crate) fn pointer(&mut self, node: &Node) -> Option<String> {
        let text = node.any_text("a JSON pointer", self.out)?;
        if !text.is_empty() && !text.starts_with('/') {
            self.out
                .report(ids::BAD_POINTER, &node.span, "not a JSON pointer")
                .label("it begins with `/`")
                .help(format!("write \"/{text}\""));
            return None;
        }
        Some(text.to_owned())
    }
}
