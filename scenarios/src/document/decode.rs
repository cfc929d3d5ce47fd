//! Walking a tree of values: maps, lists, words and text.
//!
//! Every function reports what is wrong and returns none; the caller goes on
//! with the rest. A null is what is left of a mistake that was reported while
//! the text was read, so nothing more is said of it.

use super::diagnostic::Diagnostics;
use super::{Key, Node, Scalar, ScalarKind, Span, Value, ids};

pub use super::keys::{Fields, Keys, not_yet};

impl Node {
    /// As a map with known keys; unknown ones are reported.
    pub fn fields(&self, keys: &'static Keys, out: &mut Diagnostics) -> Option<Fields<'_>> {
        let entries = self.map(keys.of, out)?;
        for (key, _) in entries {
            if !keys.known.iter().any(|(known, ..)| *known == key.text) {
                keys.report_unknown(key, out);
            }
        }
        out.meet(keys, entries);
        Some(Fields {
            node: self,
            entries,
            keys,
        })
    }

    /// As a map with any keys. `what` names it, with an article.
    pub fn map(&self, what: &str, out: &mut Diagnostics) -> Option<&[(Key, Self)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => self.wrong(what, "a map (`key: value`)", out),
        }
    }

    /// As a list.
    pub fn list(&self, what: &str, out: &mut Diagnostics) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => self.wrong(
                what,
                "a list (`[a, b]`, or lines that begin with `- `)",
                out,
            ),
        }
    }

    /// As a list with at least one entry.
    pub fn filled_list(&self, what: &str, out: &mut Diagnostics) -> Option<&[Self]> {
        let items = self.list(what, out)?;
        if items.is_empty() {
            out.report(ids::EMPTY_LIST, &self.span, format!("{what} is empty"))
                .label("nothing in it")
                .help("add an entry, or remove the key");
            return None;
        }
        Some(items)
    }

    /// As a map with exactly one key: the key and its value.
    pub fn tagged(&self, what: &str, out: &mut Diagnostics) -> Option<(&Key, &Self)> {
        let entries = self.map(what, out)?;
        if let [(key, value)] = entries {
            return Some((key, value));
        }
        out.report(
            ids::ONE_OF,
            &self.span,
            format!("{what} has exactly one key"),
        )
        .label(format!("{} here", counted(entries.len(), "key")))
        .help("write `{key: value}` with one key");
        None
    }

    /// As text that is not empty. Numbers and truth values must be quoted.
    pub fn text(&self, what: &str, out: &mut Diagnostics) -> Option<&str> {
        let text = self.any_text(what, out)?;
        if text.trim().is_empty() {
            out.report(ids::EMPTY_TEXT, &self.span, format!("{what} is empty"))
                .label("nothing but white space")
                .help("write something, or remove the key");
            return None;
        }
        Some(text)
    }

    /// As text, perhaps empty. Numbers and truth values must be quoted.
    pub fn any_text(&self, what: &str, out: &mut Diagnostics) -> Option<&str> {
        match &self.value {
            Value::Scalar(Scalar { text, kind }) => match kind {
                ScalarKind::Text => Some(text),
                ScalarKind::Null => None,
                ScalarKind::Number | ScalarKind::Truth => {
                    let read = match kind {
                        ScalarKind::Number => "a number",
                        _ => "a truth value",
                    };
                    out.report(ids::QUOTE_IT, &self.span, format!("{what} must be text"))
                        .label(format!("YAML reads this as {read}"))
                        .help(format!("quote it: \"{text}\""));
                    None
                }
            },
            _ => self.wrong(what, "text", out),
        }
    }

    /// As `true` or `false`.
    pub fn truth(&self, what: &str, out: &mut Diagnostics) -> Option<bool> {
        match &self.value {
            Value::Scalar(Scalar {
                text,
                kind: ScalarKind::Truth,
            }) => Some(text == "true"),
            _ => self.wrong(what, "`true` or `false`", out),
        }
    }

    /// As one of some words.
    pub fn word<T: Copy>(
        &self,
        what: &str,
        words: &[(&'static str, T)],
        out: &mut Diagnostics,
    ) -> Option<T> {
        let names = words.iter().map(|(word, _)| *word);
        let Value::Scalar(scalar) = &self.value else {
            return self.wrong(what, &format!("one of {}", listed(names)), out);
        };
        if scalar.kind == ScalarKind::Null {
            return None;
        }
        let found = words.iter().find(|(word, _)| *word == scalar.text);
        if found.is_none() {
            unknown_word(&self.span, &scalar.text, what, names, out);
        }
        found.map(|(_, value)| *value)
    }

    /// Whether this is a scalar with exactly this text, unquoted or quoted.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.value, Value::Scalar(Scalar { text, kind: ScalarKind::Text }) if text == word)
    }

    /// Whether this is `{}`.
    pub fn is_empty_map(&self) -> bool {
        matches!(&self.value, Value::Map(entries) if entries.is_empty())
    }

    /// Whether a mistake was already reported in its place.
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.kind == ScalarKind::Null)
    }

    /// Reports that another kind of value is needed. Always none.
    pub fn wrong<T>(&self, what: &str, needed: &str, out: &mut Diagnostics) -> Option<T> {
        if !self.is_null() {
            let help = match out.form_of(what) {
                Some(form) => format!("write {needed} here, for example `{form}`"),
                None => format!("write {needed} here"),
            };
            out.report(
                ids::WRONG_KIND,
                &self.span,
                format!("{what} must be {needed}"),
            )
            .label(format!("this is {}", self.kind()))
            .help(help);
        }
        None
    }

    fn kind(&self) -> String {
        match &self.value {
            Value::Map(_) => "a map".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Scalar(scalar) => match scalar.kind {
                ScalarKind::Text => format!("the text `{}`", brief(&scalar.text)),
                ScalarKind::Number => format!("the number {}", brief(&scalar.text)),
                ScalarKind::Truth => format!("the truth value {}", scalar.text),
                ScalarKind::Null => "nothing".to_owned(),
            },
        }
    }

    /// The value in one line, as it could be written: `{api: 1, b: [x, "2"]}`.
    pub fn flow(&self) -> String {
        match &self.value {
            Value::Scalar(scalar) => scalar.flow(),
            Value::List(items) => {
                let items: Vec<_> = items.iter().map(Self::flow).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Map(entries) => {
                let entries: Vec<_> = entries
                    .iter()
                    .map(|(key, value)| format!("{}: {}", key.text, value.flow()))
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}

impl Scalar {
    fn flow(&self) -> String {
        let simple = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
        let plain = self.kind != ScalarKind::Text
            || (super::scalar::plain(&self.text) == super::scalar::Plain::Text
                && self.text.chars().all(simple));
        if plain {
            self.text.clone()
        } else {
            format!("{:?}", self.text)
        }
    }
}

/// Reports a word that is not in a list.
pub fn unknown_word<'w>(
    span: &Span,
    word: &str,
    what: &str,
    words: impl Iterator<Item = &'w str> + Clone,
    out: &mut Diagnostics,
) {
    let help = match nearest(word, words.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", listed(words)),
    };
    out.report(
        ids::UNKNOWN_WORD,
        span,
        format!("`{}` is not {what}", brief(word)),
    )
    .label("not a word that is known here")
    .help(help);
}

/// Words of other tools and of the wire, with ours for the same thing.
const SYNONYMS: &[(&str, &str)] = &[
    ("abort", "reset"),
    ("delete", "remove"),
    ("error", "rejected"),
    ("fin", "close"),
    ("get", "fetch"),
    ("matrix", "sweep"),
    ("ok", "success"),
    ("post", "create"),
    ("put", "replace"),
    ("repeat", "times"),
    ("rst", "reset"),
    ("sleep", "delay"),
    ("timeout", "hang"),
    ("wait", "delay"),
];

/// The word of a list that was probably meant: one that is written nearly so,
/// one that means the same, or the only one that begins so.
pub fn nearest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    // Longer than any word of ours: comparing it would only cost time.
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase().replace('-', "_");
    let words: Vec<&str> = words.collect();
    let means = |known: &str| SYNONYMS.contains(&(word.as_str(), known));
    if let Some(known) = words.iter().find(|known| means(known)) {
        return Some(known);
    }
    let alike = words.iter().map(|known| {
        let like = known.to_lowercase().replace('-', "_");
        (strsim::damerau_levenshtein(&word, &like), *known)
    });
    let alike = alike
        .filter(|(distance, known)| *distance <= 1.max(known.len() / 3))
        .min_by_key(|(distance, _)| *distance);
    alike
        .map(|(_, known)| known)
        .or_else(|| begun(&word, &words))
}

/// The only word that begins like this; of two letters nobody can tell.
fn begun<'w>(word: &str, words: &[&'w str]) -> Option<&'w str> {
    let mut begun = words.iter().filter(|known| known.starts_with(word));
    let first = begun.next().filter(|_| word.len() > 2);
    first.filter(|_| begun.next().is_none()).copied()
}

/// Names in a row: `a`, `b` and `c`.
pub fn listed<'w>(names: impl Iterator<Item = &'w str>) -> String {
    let mut names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    match names.pop() {
        None => "nothing".to_owned(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
    }
}

/// `1 key`, `2 keys`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The begin of a text, for use inside a message.
pub fn brief(text: &str) -> String {
    const KEPT: usize = 60;
    match text.char_indices().nth(KEPT) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}
