//! Walking a tree of values: maps with known keys, lists, words and text.
//!
//! Every function reports what is wrong and returns none; the caller goes on
//! with the rest. A null is what is left of a mistake that was reported while
//! the text was read, so nothing more is said of it.

use super::diagnostic::Diagnostics;
use super::{Key, Node, Scalar, ScalarKind, Span, Value, ids};

/// The keys that a map may have.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// What the map is, with an article: `a step`.
    pub of: &'static str,
    /// Each key with what it is for.
    pub known: &'static [(&'static str, &'static str)],
    /// Keys that belong elsewhere, with where: (`status`, "`respond`").
    pub elsewhere: &'static [(&'static str, &'static str)],
    /// Keys of the language that this version does not know yet.
    pub not_yet: &'static [&'static str],
}

impl Keys {
    /// Keys without such as belong elsewhere or come later.
    pub const fn new(of: &'static str, known: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            of,
            known,
            elsewhere: &[],
            not_yet: &[],
        }
    }

    /// With keys that belong elsewhere.
    #[must_use]
    pub const fn elsewhere(self, elsewhere: &'static [(&'static str, &'static str)]) -> Self {
        Self { elsewhere, ..self }
    }

    /// With keys that come later.
    #[must_use]
    pub const fn not_yet(self, not_yet: &'static [&'static str]) -> Self {
        Self { not_yet, ..self }
    }

    fn what(&self, key: &str) -> &'static str {
        let known = self.known.iter().find(|(known, _)| *known == key);
        known.map_or("", |(_, what)| what)
    }

    fn report_unknown(&self, key: &Key, out: &mut Diagnostics) {
        let text = brief(&key.text);
        if self.not_yet.contains(&key.text.as_str()) {
            not_yet(&key.span, &text, out);
            return;
        }
        if out.is_full() {
            return;
        }
        let elsewhere = self.elsewhere.iter().find(|(word, _)| *word == key.text);
        let names = self.known.iter().map(|(known, _)| *known);
        let help = match (elsewhere, nearest(&key.text, names.clone())) {
            (Some((_, place)), _) => format!("`{text}` belongs under {place}"),
            (None, Some(near)) => format!("did you mean `{near}` ({})?", self.what(near)),
            (None, None) => format!("{} has these keys: {}", self.of, listed(names)),
        };
        out.report(
            ids::UNKNOWN_KEY,
            &key.span,
            format!("{} has no key `{text}`", self.of),
        )
        .label("nobody reads this")
        .help(help);
    }
}

/// Reports a word of the language that this version does not know yet.
pub fn not_yet(span: &Span, word: &str, out: &mut Diagnostics) {
    out.report(ids::NOT_YET, span, format!("`{word}` does not work yet"))
        .label("the language has this word, this version of wirefault does not")
        .help("leave it out for now");
}

/// A map with known keys.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'n> {
    /// The map.
    pub node: &'n Node,
    entries: &'n [(Key, Node)],
    keys: &'static Keys,
}

impl<'n> Fields<'n> {
    /// A value of a key, if the key is there.
    pub fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|(_, value)| value)
    }

    /// A key with its value, if it is there.
    pub fn entry(&self, key: &str) -> Option<(&'n Key, &'n Node)> {
        debug_assert!(self.keys.known.iter().any(|(known, _)| *known == key));
        let found = self.entries.iter().find(|(name, _)| name.text == key)?;
        Some((&found.0, &found.1))
    }

    /// All entries, unknown ones included, in the order of the file.
    pub fn entries(&self) -> &'n [(Key, Node)] {
        self.entries
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &str, out: &mut Diagnostics) -> Option<&'n Node> {
        let found = self.get(key);
        if found.is_none() {
            let (of, what) = (self.keys.of, self.keys.what(key));
            out.report(
                ids::MISSING_KEY,
                &self.node.span,
                format!("{of} needs the key `{key}`"),
            )
            .label(format!("`{key}` is missing here"))
            .help(format!("add `{key}:`, {what}"));
        }
        found
    }

    /// The one of these keys that is there; none and two are mistakes.
    pub fn one_of(
        &self,
        keys: &[&'static str],
        out: &mut Diagnostics,
    ) -> Option<(&'static str, &'n Key, &'n Node)> {
        let found = self.at_most_one_of(keys, out)?;
        let later = |key: &Key| self.keys.not_yet.contains(&key.text.as_str());
        // One that comes later was reported, and may be the one.
        if found.is_none() && !self.entries.iter().any(|(key, _)| later(key)) {
            let of = self.keys.of;
            out.report(
                ids::ONE_OF,
                &self.node.span,
                format!("{of} needs one of {}", listed(keys.iter().copied())),
            )
            .label("none of them is here")
            .help(described(self.keys, keys));
        }
        found
    }

    /// The one of these keys that is there, if any; two are a mistake (none on
    /// the outside).
    pub fn at_most_one_of(
        &self,
        keys: &[&'static str],
        out: &mut Diagnostics,
    ) -> Option<Option<(&'static str, &'n Key, &'n Node)>> {
        let mut found = self.entries.iter().filter_map(|(key, value)| {
            let name = keys.iter().find(|name| **name == key.text)?;
            Some((*name, key, value))
        });
        let first = found.next();
        let (Some((name, first_key, _)), Some((other, key, _))) = (first, found.next()) else {
            return Some(first);
        };
        out.report(
            ids::ONE_OF,
            &key.span,
            format!("{} has `{name}` and `{other}`", self.keys.of),
        )
        .label("only one of them can be here")
        .help("remove one of the two")
        .other(&first_key.span, "the other one");
        None
    }
}

impl Node {
    /// As a map with known keys; unknown ones are reported.
    pub fn fields(&self, keys: &'static Keys, out: &mut Diagnostics) -> Option<Fields<'_>> {
        let entries = self.map(keys.of, out)?;
        for (key, _) in entries {
            if !keys.known.iter().any(|(known, _)| *known == key.text) {
                keys.report_unknown(key, out);
            }
        }
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
            out.report(
                ids::WRONG_KIND,
                &self.span,
                format!("{what} must be {needed}"),
            )
            .label(format!("this is {}", self.kind()))
            .help(format!("write {needed} here"));
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

/// The word of a list that was probably meant.
pub fn nearest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    // Longer than any word of ours: comparing it would only cost time.
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase().replace('-', "_");
    words
        .map(|known| {
            let like = known.to_lowercase().replace('-', "_");
            (strsim::damerau_levenshtein(&word, &like), known)
        })
        .filter(|(distance, known)| *distance <= 1.max(known.len() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
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

fn described(keys: &Keys, names: &[&str]) -> String {
    let described: Vec<_> = names
        .iter()
        .map(|name| format!("`{name}` ({})", keys.what(name)))
        .collect();
    format!("write {}", described.join(" or "))
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
