//! YAML text to a tree of values with positions.
//!
//! The only file that knows a YAML library. It reads the events of
//! serde-saphyr's parser rather than its typed values, since only they tell
//! quoted from plain text and show anchors and tags with their places. What
//! documents do not use (anchors, aliases, tags, merge keys, several documents,
//! empty values, words and numbers that readers disagree about) is reported
//! here, so that the rest of the crate never meets it.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{
    ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, Span as ParserSpan, StructureStyle,
};

use super::diagnostic::Diagnostics;
use super::scalar::{self, Plain};
use super::source::{MAX_BYTES, too_large};
use super::{Key, Node, Scalar, ScalarKind, Source, Span, Value, ids};

/// The deepest nesting of lists and maps.
const MAX_DEPTH: usize = 64;

/// Reads a document. Mistakes that leave a tree to look at are reported to
/// `out` and a null stands in their place; decoders pass over it in silence.
///
/// # Errors
/// None when there is no tree; `out` then says why.
pub fn parse(source: &Source, out: &mut Diagnostics) -> Option<Node> {
    if source.text.len() > MAX_BYTES {
        too_large(out);
        return None;
    }
    odd_characters(source, out);
    let mut builder = Builder {
        text: &source.text,
        out,
        open: Vec::new(),
        root: None,
    };
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.emit_unresolved_aliases = true;
    options.disallow_directives = true;
    options.block_scalar_eof_without_line_feed = true;
    for event in Parser::new_from_str_with_options(&source.text, options) {
        match event {
            Ok((event, span)) => builder.take(event, &span)?,
            Err(error) => {
                builder.syntax(&error);
                return None;
            }
        }
    }
    let root = builder.root.take();
    if root.is_none() {
        out.report(ids::EMPTY_FILE, &(0..0), "the file is empty")
            .label("nothing but white space and comments")
            .help("a scenario begins with `title:`, a client's manifest with `name:`");
    }
    root
}

/// Reports the first character that is a line end to some readers and text to
/// others; a BOM at the begin is neither.
fn odd_characters(source: &Source, out: &mut Diagnostics) {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let skipped = source.text.len() - text.len();
    if let Some((at, odd)) = text
        .char_indices()
        .find(|(_, one)| matches!(one, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'))
    {
        let at = skipped + at;
        out.report(
            ids::ODD_CHARACTER,
            &(at..at + odd.len_utf8()),
            "this character is a line end to some readers",
        )
        .label("YAML readers disagree about it")
        .help(format!(
            "write \"\\u{:04x}\" in double quotes, or remove it",
            u32::from(odd)
        ));
    }
}

/// A list or map that is not closed yet.
struct Open {
    start: usize,
    flow: bool,
    what: Collection,
}

enum Collection {
    List(Vec<Node>),
    Map {
        entries: Vec<(Key, Node)>,
        /// Where each key stands.
        keys: BTreeMap<String, Span>,
        /// The key that waits for its value; none: a key comes next.
        key: Option<WaitingKey>,
    },
}

enum WaitingKey {
    Good(Key),
    /// Was reported; its value is read and thrown away.
    Bad,
}

struct Builder<'a> {
    text: &'a str,
    out: &'a mut Diagnostics,
    open: Vec<Open>,
    root: Option<Node>,
}

impl Builder<'_> {
    /// Takes one event; none when there is no use in going on.
    fn take(&mut self, event: Event<'_>, at: &ParserSpan) -> Option<()> {
        let span = self.span(at);
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                self.out
                    .report(ids::SEVERAL_DOCUMENTS, &span, "a second YAML document")
                    .label("another document begins here")
                    .help(
                        "remove the line `---`, or put the second document into a file of its own",
                    );
                return None;
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.out
                    .report(ids::ALIAS, &span, "aliases are not used here")
                    .label("this is an alias")
                    .help("write the value out; text that begins with `*` must be quoted");
                self.add(null(span));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.properties(anchor, tag.is_some(), at, &span);
                self.scalar(text.into_owned(), style, span);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.properties(anchor, tag.is_some(), at, &span);
                self.begin(span, style, Collection::List(Vec::new()))?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.properties(anchor, tag.is_some(), at, &span);
                let map = Collection::Map {
                    entries: Vec::new(),
                    keys: BTreeMap::new(),
                    key: None,
                };
                self.begin(span, style, map)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span.end),
            _ => {}
        }
        Some(())
    }

    fn span(&self, at: &ParserSpan) -> Span {
        let range = at.byte_range().unwrap_or(0..0);
        let end = range
            .end
            .clamp(range.start, self.text.len().max(range.start));
        range.start..end
    }

    fn properties(&mut self, anchor: usize, tag: bool, at: &ParserSpan, span: &Span) {
        if anchor != 0 {
            self.out
                .report(ids::ANCHOR, span, "anchors are not used here")
                .label("this value has an anchor (`&name`)")
                .help("remove the anchor; text that begins with `&` must be quoted");
        }
        if tag {
            let span = at
                .tag_span()
                .map_or_else(|| span.clone(), |at| self.span(&at));
            self.out
                .report(ids::TAG, &span, "tags are not used here")
                .label("this is a YAML tag")
                .help("remove the tag; text that begins with `!` must be quoted");
        }
    }

    fn begin(&mut self, span: Span, style: StructureStyle, what: Collection) -> Option<()> {
        if self.open.len() >= MAX_DEPTH {
            self.out
                .report(ids::TOO_DEEP, &span, "nested too deeply")
                .label(format!(
                    "more than {MAX_DEPTH} lists and maps in each other"
                ))
                .help("no document needs that; is a bracket missing somewhere before?");
            return None;
        }
        if self.key_is_due() {
            self.key_not_text(&span);
        }
        self.open.push(Open {
            start: span.start,
            flow: style == StructureStyle::Flow,
            what,
        });
        Some(())
    }

    fn too_deep(&mut self, span: &Span) {
        self.out
            .report(ids::TOO_DEEP, span, "nested too deeply")
            .label(format!(
                "more than {MAX_DEPTH} lists and maps in each other"
            ))
            .help("no document needs that; is a bracket missing somewhere before?");
    }

    fn end(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let (value, last) = match open.what {
            Collection::List(items) => {
                let last = items.last().map(|item| item.span.end);
                (Value::List(items), last)
            }
            Collection::Map { entries, .. } => {
                let last = entries.last().map(|(_, value)| value.span.end);
                (Value::Map(entries), last)
            }
        };
        // The parser ends a block where the next token begins.
        let end = if open.flow { end } else { last.unwrap_or(end) };
        self.add(Node {
            span: open.start..end.max(open.start),
            value,
        });
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, span: Span) {
        if self.key_is_due() {
            self.key(text, style, span);
            return;
        }
        let kind = match style {
            // The parser says `~` where nothing stands.
            ScalarStyle::Plain if span.is_empty() => {
                self.empty_value(&span);
                ScalarKind::Null
            }
            ScalarStyle::Plain => self.plain(&text, scalar::plain(&text), &span),
            _ => ScalarKind::Text,
        };
        self.add(Node {
            span,
            value: Value::Scalar(Scalar { text, kind }),
        });
    }

    /// The kind of a plain scalar; null where a mistake was reported.
    fn plain(&mut self, text: &str, plain: Plain, span: &Span) -> ScalarKind {
        match plain {
            Plain::Text => ScalarKind::Text,
            Plain::Number => ScalarKind::Number,
            Plain::Truth => ScalarKind::Truth,
            Plain::AmbiguousWord(means) => {
                self.out
                    .report(ids::AMBIGUOUS_WORD, span, format!("`{text}` is ambiguous"))
                    .label("YAML readers disagree about this word")
                    .help(format!("{means}; as text write \"{text}\""));
                ScalarKind::Null
            }
            Plain::OddNumber(instead) => {
                self.out
                    .report(
                        ids::ODD_NUMBER,
                        span,
                        format!("`{text}` is an odd way to write a number"),
                    )
                    .label("YAML readers disagree about this number")
                    .help(format!("{instead}; as text write \"{text}\""));
                ScalarKind::Null
            }
        }
    }

    fn empty_value(&mut self, span: &Span) {
        let key = match self.open.last().map(|open| (&open.what, open.flow)) {
            Some((
                Collection::Map {
                    key: Some(WaitingKey::Good(key)),
                    ..
                },
                flow,
            )) => Some((key.clone(), flow)),
            _ => None,
        };
        let Some((key, flow)) = key else {
            self.out
                .report(ids::EMPTY_VALUE, span, "an entry without a value")
                .label("nothing stands here")
                .help("write a value, or remove the entry");
            return;
        };
        let help = if flow {
            format!(
                "write a value after it; if the name `{{{0}}}` is meant, quote it: \"{{{0}}}\"",
                key.text
            )
        } else {
            "write a value after it, or remove the key".to_owned()
        };
        self.out
            .report(
                ids::EMPTY_VALUE,
                &key.span,
                format!("`{}` has no value", key.text),
            )
            .label("nothing follows this key")
            .help(help);
    }

    fn key_is_due(&self) -> bool {
        matches!(
            self.open.last().map(|open| &open.what),
            Some(Collection::Map { key: None, .. })
        )
    }

    fn key_not_text(&mut self, span: &Span) {
        self.out
            .report(ids::KEY_NOT_TEXT, span, "a key must be one word or text")
            .label("this key is a list or a map")
            .help("if a `{name}` is meant, quote it: \"{name}\"");
    }

    fn key(&mut self, text: String, style: ScalarStyle, span: Span) {
        let waiting = self.checked_key(&text, style, &span);
        let Some(Collection::Map { keys, key, .. }) =
            self.open.last_mut().map(|open| &mut open.what)
        else {
            return;
        };
        *key = Some(match waiting {
            None => WaitingKey::Bad,
            Some(()) => {
                keys.insert(text.clone(), span.clone());
                WaitingKey::Good(Key { text, span })
            }
        });
    }

    /// Reports what is wrong with a key; none then.
    fn checked_key(&mut self, text: &str, style: ScalarStyle, span: &Span) -> Option<()> {
        if style == ScalarStyle::Plain {
            if text == "<<" {
                self.out
                    .report(ids::MERGE_KEY, span, "merge keys are not used here")
                    .label("this is a merge key")
                    .help("write the keys out");
                return None;
            }
            if span.is_empty() {
                self.out
                    .report(ids::EMPTY_VALUE, span, "a key is missing")
                    .label("nothing stands before the colon");
                return None;
            }
            if self.plain(text, scalar::plain(text), span) == ScalarKind::Null {
                return None;
            }
        }
        if let Some(first) = self.same_key(text) {
            self.out
                .report(
                    ids::DUPLICATE_KEY,
                    span,
                    format!("the key `{text}` stands here twice"),
                )
                .label("again here")
                .help("keep one of the two")
                .other(&first, "first here");
            return None;
        }
        Some(())
    }

    fn same_key(&self, text: &str) -> Option<Span> {
        match &self.open.last()?.what {
            Collection::Map { keys, .. } => keys.get(text).cloned(),
            Collection::List(_) => None,
        }
    }

    /// Puts a finished value where it belongs.
    fn add(&mut self, node: Node) {
        match self.open.last_mut().map(|open| &mut open.what) {
            None => self.root = Some(node),
            Some(Collection::List(items)) => items.push(node),
            Some(Collection::Map { entries, key, .. }) => match key.take() {
                Some(WaitingKey::Good(name)) => entries.push((name, node)),
                Some(WaitingKey::Bad) => {}
                // It stood in the place of a key and was reported.
                None => *key = Some(WaitingKey::Bad),
            },
        }
    }

    fn syntax(&mut self, error: &ScanError) {
        let start = error.marker().byte_offset().unwrap_or(0);
        let start = self.text.floor_char_boundary(start);
        let next = self.text[start..].chars().next();
        let end = next.map_or(start, |next| start + next.len_utf8());
        if let ErrorKind::RecursionLimitExceeded = error.kind() {
            self.too_deep(&(start..end));
            return;
        }
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let before = &self.text[line_start..start];
        let help = match scalar::unquoted_name(before) {
            Some(name) => format!(
                "a value that begins with the name `{{{name}}}` must be quoted: \"{{{name}}}...\""
            ),
            None => "check quotes, brackets and indentation here and in the line before".to_owned(),
        };
        self.out
            .report(
                ids::SYNTAX,
                &(start..end),
                format!("this is not valid YAML: {}", error.info()),
            )
            .label("the reader stopped here")
            .help(help);
    }
}

fn null(span: Span) -> Node {
    Node {
        span,
        value: Value::Scalar(Scalar {
            text: String::new(),
            kind: ScalarKind::Null,
        }),
    }
}
