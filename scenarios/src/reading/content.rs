//! Content of requests and answers: text, JSON, bytes, shapes.

use std::collections::BTreeSet;

use crate::document::decode::{Keys, not_yet};
use crate::document::kind::{Kind, Rule, SOME_TEXT};
use crate::document::{Node, ScalarKind, Value, ids};
use crate::plan::{Content, SentEvent, Shape};
use crate::template::{Piece, Template};

use super::{Reading, all_good};

/// Most bytes of one content.
const MOST: u64 = 64 << 20;

static OF_REQUEST: Keys = Keys::new(
    "the body of a request",
    &[
        ("text", "text with names", Kind::any_text),
        ("json", "JSON with names", || Kind::Any),
        ("hex", "bytes in hexadecimal", hex),
        ("bytes", "so many bytes, made from the seed", content_size),
    ],
)
.rules(&[Rule::OneOf(&["text", "json", "hex", "bytes"])]);

static OF_ANSWER: Keys = Keys::new(
    "the body of an answer",
    &[
        ("text", "text with names", Kind::any_text),
        ("json", "JSON with names", || Kind::Any),
        ("hex", "bytes in hexadecimal", hex),
        ("bytes", "so many bytes, made from the seed", content_size),
        ("endless", "text that is repeated without end", endless),
        ("events", "server-sent events, in order", || {
            Kind::list(Kind::Map(&EVENT))
        }),
        ("shape", "what it means: `ok`, `error` or `page`", || {
            Kind::words(SHAPES)
        }),
        ("code", "with `shape: error`: the error's code", Kind::text),
        ("size", "with `shape`: at least so many bytes", content_size),
    ],
)
.rules(&[
    Rule::OneOf(&["text", "json", "hex", "bytes", "endless", "events", "shape"]),
    Rule::With("size", "shape"),
    Rule::WithWord("code", "shape", "error"),
    Rule::WordNeeds("shape", "error", "code"),
]);

static EVENT: Keys = Keys::new(
    "an event",
    &[
        ("id", "its id", event_line),
        (
            "event",
            "its type; `message` where it is left out",
            event_line,
        ),
        ("data", "what it says", || {
            Kind::fits(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f]*")
        }),
    ],
)
.rules(&[Rule::Needs(&["data"])]);

/// A value that stands in one line.
fn event_line() -> Kind {
    Kind::fits(r"[^\x00-\x1f\x7f-\x9f]+")
}

const SHAPES: &[(&str, &str)] = &[("ok", "ok"), ("error", "error"), ("page", "page")];

/// Most bytes of text that is repeated.
const MOST_REPEATED: usize = 4096;

/// The characters that a header's name is made of.
const TOKEN: &str = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";

/// The body of a request.
pub(crate) fn request_body() -> Kind {
    Kind::Map(&OF_REQUEST)
}

/// The body of an answer.
pub(crate) fn answer_body() -> Kind {
    Kind::Map(&OF_ANSWER)
}

/// Bytes that a case holds.
pub(crate) fn content_size() -> Kind {
    Kind::Size(0..=MOST)
}

static EXACT: Keys = Keys::new(
    "exact bytes",
    &[
        ("text", "text that is written as it stands", Kind::any_text),
        ("hex", "bytes in hexadecimal", hex),
    ],
)
.rules(&[Rule::OneOf(&["text", "hex"])]);

/// Bytes that are sent as they stand.
pub(crate) fn exact_kind() -> Kind {
    Kind::Map(&EXACT)
}

/// Bytes written in hexadecimal.
pub(crate) fn hex() -> Kind {
    const BLANK: &str = r"[ \t\n\f\r]*";
    Kind::fits(format!("{BLANK}(?:[0-9A-Fa-f]{BLANK}[0-9A-Fa-f]{BLANK})+"))
}

fn endless() -> Kind {
    Kind::Text {
        pattern: SOME_TEXT.to_owned(),
        longest: Some(MOST_REPEATED),
    }
}

/// Header fields, of which some names are not written like this.
pub(crate) fn headers_without(names: &[&str]) -> Kind {
    let names: String = names
        .iter()
        .map(|name| format!("(?!{}$)", any_case(name)))
        .collect();
    let value = || Kind::fits(r"[^\x00-\x08\x0a-\x1f\x7f-\x9f]*");
    let values = Kind::Either(vec![value(), Kind::any_list(value())]);
    Kind::names(format!("{names}{TOKEN}"), 0..=usize::MAX, values)
}

/// The name of a header field.
pub(crate) fn field_name() -> Kind {
    Kind::fits(TOKEN)
}

/// A pattern of a word in capitals or not.
fn any_case(word: &str) -> String {
    let letters = word.chars().map(|c| match c {
        'a'..='z' => format!("[{}{c}]", c.to_ascii_uppercase()),
        _ => c.to_string(),
    });
    letters.collect()
}

impl Reading<'_> {
    /// The body of a request.
    pub(crate) fn request_body(&mut self, node: &Node) -> Option<Content> {
        let fields = node.fields(&OF_REQUEST, self.out)?;
        let (form, _, value) = fields.one_of(&["text", "json", "hex", "bytes"], self.out)?;
        self.simple_content(form, value)
    }

    /// The body of an answer.
    pub(crate) fn answer_body(&mut self, node: &Node) -> Option<Content> {
        let fields = node.fields(&OF_ANSWER, self.out)?;
        let forms = ["text", "json", "hex", "bytes", "endless", "events", "shape"];
        let (form, _, value) = fields.one_of(&forms, self.out)?;
        if form == "shape" {
            let size = match fields.get("size") {
                None => None,
                Some(node) => Some(self.content_size(node)?),
            };
            return self.shape(value, fields.entry("code"), size, node);
        }
        for key in ["code", "size"] {
            if let Some((key, _)) = fields.entry(key) {
                self.out
                    .report(
                        ids::KEY_WITHOUT,
                        &key.span,
                        format!("`{}` needs `shape`", key.text),
                    )
                    .label("it says more about a shape")
                    .help("remove it, or write `shape: error`");
            }
        }
        if form == "endless" {
            return self.endless(value);
        }
        if form == "events" {
            return self.events(value);
        }
        self.simple_content(form, value)
    }

    /// Bytes that are sent as they stand.
    pub(crate) fn exact(&mut self, node: &Node) -> Option<Content> {
        let fields = node.fields(&EXACT, self.out)?;
        let (form, _, value) = fields.one_of(&["text", "hex"], self.out)?;
        self.simple_content(form, value)
    }

    fn simple_content(&mut self, form: &str, value: &Node) -> Option<Content> {
        match form {
            "text" => self.template(value, "`text`").map(Content::Text),
            "json" => self.json(value).map(Content::Json),
            "hex" => self.hex(value).map(Content::Hex),
            _ => self.content_size(value).map(Content::Bytes),
        }
    }

    pub(crate) fn content_size(&mut self, node: &Node) -> Option<u64> {
        let size = node.size("the number of bytes", self.out)?;
        if size > MOST {
            self.out
                .report(ids::BAD_SIZE, &node.span, "more content than allowed")
                .label("at most 64MiB")
                .help("a smaller body shows the same; `endless` costs nothing");
            return None;
        }
        self.hold(size, &node.span);
        Some(size)
    }

    fn events(&mut self, node: &Node) -> Option<Content> {
        let items = node.filled_list("`events`", self.out)?;
        let read: Vec<_> = items.iter().map(|item| self.event(item)).collect();
        let events: Vec<SentEvent> = read.into_iter().collect::<Option<_>>()?;
        let mut ids = BTreeSet::new();
        for (event, item) in events.iter().zip(items) {
            if event.id.as_ref().is_some_and(|id| !ids.insert(id)) {
                self.out
                    .report(ids::SAME_TWICE, &item.span, "two events have this id")
                    .label("nobody could tell which of them came")
                    .help("give each event an id of its own, or none");
                return None;
            }
        }
        let bytes: usize = events.iter().map(|event| event.text().len()).sum();
        self.hold(u64::try_from(bytes).unwrap_or(u64::MAX), &node.span);
        Some(Content::Events(events))
    }

    fn event(&mut self, node: &Node) -> Option<SentEvent> {
        let fields = node.fields(&EVENT, self.out)?;
        let id = fields.get("id").map(|node| self.event_line(node, "`id`"));
        let event = fields
            .get("event")
            .map(|node| self.event_line(node, "`event`"));
        let data = fields.need("data", self.out)?;
        let text = data.any_text("`data`", self.out)?;
        if text.contains(|c: char| c.is_control() && c != '\n') {
            return self.not_in_an_event(data);
        }
        Some(SentEvent {
            id: all_good(id)?,
            event: all_good(event)?,
            data: text.to_owned(),
        })
    }

    fn event_line(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = node.text(what, self.out)?;
        if text.contains(|c: char| c.is_control()) {
            return self.not_in_an_event(node);
        }
        Some(text.to_owned())
    }

    fn not_in_an_event<T>(&mut self, node: &Node) -> Option<T> {
        self.out
            .report(ids::BAD_FIELD, &node.span, "this can not stand in an event")
            .label("control characters cannot stand in it; line breaks only in `data`")
            .help("bytes that break the rules are written with `hex`");
        None
    }

    fn endless(&mut self, node: &Node) -> Option<Content> {
        let text = node.text("`endless`", self.out)?;
        if text.len() > MOST_REPEATED {
            self.out
                .report(ids::TOO_LONG, &node.span, "the repeated text is too long")
                .label("at most 4096 bytes")
                .help("it is repeated without end anyway");
            if text.chars().count() <= MOST_REPEATED {
                self.out.last().beyond_schema();
            }
            return None;
        }
        Some(Content::Endless(text.to_owned()))
    }

    fn shape(
        &mut self,
        value: &Node,
        code: Option<(&crate::document::Key, &Node)>,
        size: Option<u64>,
        node: &Node,
    ) -> Option<Content> {
        let word = value.word("a shape", SHAPES, self.out)?;
        if word == "error" {
            let Some((_, code)) = code else {
                self.out
                    .report(
                        ids::MISSING_KEY,
                        &node.span,
                        "the shape `error` needs the key `code`",
                    )
                    .label("`code` is missing here")
                    .help("add `code:`, the error's code in the answer");
                return None;
            };
            let code = code.text("`code`", self.out)?.to_owned();
            return Some(Content::Shape(Shape::Error { code, size }));
        }
        if let Some((key, _)) = code {
            self.out
                .report(ids::KEY_WITHOUT, &key.span, "`code` needs `shape: error`")
                .label("only an error has a code")
                .help("remove it, or write `shape: error`");
            return None;
        }
        Some(Content::Shape(match word {
            "ok" => Shape::Ok { size },
            _ => Shape::Page { size },
        }))
    }

    /// Bytes written in hexadecimal; white space between them is allowed.
    pub(crate) fn hex(&mut self, node: &Node) -> Option<Vec<u8>> {
        let text = node.text("`hex`", self.out)?;
        let digits: Option<Vec<u8>> = text
            .chars()
            .filter(|c| !c.is_ascii_whitespace())
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect();
        match digits {
            Some(digits) if digits.len() % 2 == 0 => Some(
                digits
                    .chunks_exact(2)
                    .map(|two| two[0] << 4 | two[1])
                    .collect(),
            ),
            _ => {
                self.out
                    .report(
                        ids::BAD_HEX,
                        &node.span,
                        "these are not bytes in hexadecimal",
                    )
                    .label("two digits of 0-9 and a-f for each byte are needed")
                    .help("write it like \"00 ff 0d 0a\"");
                None
            }
        }
    }

    /// JSON as it goes on the wire, names filled in later.
    fn json(&mut self, node: &Node) -> Option<Template> {
        let mut template = Template(Vec::new());
        self.json_into(node, &mut template)?;
        Some(template)
    }

    fn json_into(&mut self, node: &Node, json: &mut Template) -> Option<()> {
        match &node.value {
            Value::Scalar(scalar) => match scalar.kind {
                ScalarKind::Null => return None,
                ScalarKind::Number | ScalarKind::Truth => add(json, &scalar.text),
                ScalarKind::Text => self.json_text(&scalar.text, node, json)?,
            },
            Value::List(items) => {
                add(json, "[");
                for (at, item) in items.iter().enumerate() {
                    add(json, if at > 0 { "," } else { "" });
                    self.json_into(item, json)?;
                }
                add(json, "]");
            }
            Value::Map(entries) => {
                add(json, "{");
                for (at, (key, value)) in entries.iter().enumerate() {
                    add(json, if at > 0 { "," } else { "" });
                    add(json, &quoted(&key.text));
                    add(json, ":");
                    self.json_into(value, json)?;
                }
                add(json, "}");
            }
        }
        Some(())
    }

    fn json_text(&mut self, text: &str, node: &Node, json: &mut Template) -> Option<()> {
        add(json, "\"");
        // An address needs no escape, so the names can stand inside the string.
        for piece in self.names_in(text, &node.span)?.0 {
            match piece {
                Piece::Text(text) => {
                    let quoted = quoted(&text);
                    add(json, &quoted[1..quoted.len() - 1]);
                }
                name => json.0.push(name),
            }
        }
        add(json, "\"");
        Some(())
    }

    /// A value to compare JSON with.
    pub(crate) fn json_value(&mut self, node: &Node) -> Option<serde_json::Value> {
        let json = self.json(node)?;
        let text = json.render(&crate::template::Bindings::default());
        serde_json::from_str(&text).ok()
    }

    /// Header fields in order; a list of texts makes a field for each.
    pub(crate) fn headers(&mut self, node: &Node) -> Option<Vec<(String, Template)>> {
        let mut headers = Vec::new();
        let mut good = true;
        for (name, value) in node.map("`headers`", self.out)? {
            good &= self.field_name(&name.text, &name.span);
            let values = match &value.value {
                Value::List(items) => items.as_slice(),
                _ => std::slice::from_ref(value),
            };
            for value in values {
                match self.field_value(value) {
                    Some(value) => headers.push((name.text.clone(), value)),
                    None => good = false,
                }
            }
        }
        good.then_some(headers)
    }

    fn field_value(&mut self, node: &Node) -> Option<Template> {
        let value = self.template(node, "the value of a header")?;
        let bad = value.0.iter().any(|piece| {
            matches!(piece, Piece::Text(text) if text.contains(|c: char| c.is_control() && c != '\t'))
        });
        if bad {
            self.out
                .report(ids::BAD_FIELD, &node.span, "not the value of a header")
                .label("line breaks and control characters cannot stand in it")
                .help("bytes that break the rules are written with `raw`");
            return None;
        }
        Some(value)
    }

    pub(crate) fn field_name(&mut self, name: &str, span: &crate::document::Span) -> bool {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        let good = !name.is_empty() && name.chars().all(token);
        if !good {
            self.out
                .report(ids::BAD_FIELD, span, "not the name of a header")
                .label("only letters, digits and a few signs can stand in it")
                .help("bytes that break the rules are written with `raw`");
        }
        good
    }

    /// Reports a word of the language that this version does not know yet.
    pub(crate) fn later(&mut self, node: &Node, words: &[&str]) -> bool {
        let found = words.iter().find(|word| node.is_word(word));
        if let Some(word) = found {
            not_yet(&node.span, word, self.out);
        }
        found.is_some()
    }
}

fn add(json: &mut Template, text: &str) {
    match json.0.last_mut() {
        Some(Piece::Text(before)) => before.push_str(text),
        _ => json.0.push(Piece::Text(text.to_owned())),
    }
}

/// A JSON string with its quotes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
