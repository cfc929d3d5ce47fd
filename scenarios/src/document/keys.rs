//! Maps with known keys: what each key is for, what is missing, and where a key
//! belongs that stands in the wrong place.

use super::decode::{brief, listed, nearest};
use super::diagnostic::Diagnostics;
use super::kind::{Known, Rule};
use super::{Key, Node, Span, ids};

/// The keys that a map may have.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// What the map is, with an article: `a step`.
    pub of: &'static str,
    /// Each key with what it is for and the kind of its value.
    pub known: &'static [Known],
    /// What goes together.
    pub rules: &'static [Rule],
    /// Keys that belong elsewhere, with where: (`status`, "`respond`").
    pub elsewhere: &'static [(&'static str, &'static str)],
    /// Where another key belongs, for keys that are listed in another place.
    pub owner: fn(&str) -> Option<String>,
    /// Keys of the language that this version does not know yet.
    pub not_yet: &'static [&'static str],
}

impl Keys {
    /// Keys without such as belong elsewhere or come later.
    pub const fn new(of: &'static str, known: &'static [Known]) -> Self {
        Self {
            of,
            known,
            rules: &[],
            elsewhere: &[],
            owner: |_| None,
            not_yet: &[],
        }
    }

    /// With what goes together.
    #[must_use]
    pub const fn rules(self, rules: &'static [Rule]) -> Self {
        Self { rules, ..self }
    }

    /// With keys that belong elsewhere.
    #[must_use]
    pub const fn elsewhere(self, elsewhere: &'static [(&'static str, &'static str)]) -> Self {
        Self { elsewhere, ..self }
    }

    /// With keys that belong where this says.
    #[must_use]
    pub const fn owner(self, owner: fn(&str) -> Option<String>) -> Self {
        Self { owner, ..self }
    }

    /// With keys that come later.
    #[must_use]
    pub const fn not_yet(self, not_yet: &'static [&'static str]) -> Self {
        Self { not_yet, ..self }
    }

    fn what(&self, key: &str) -> &'static str {
        let known = self.known.iter().find(|(known, ..)| *known == key);
        known.map_or("", |(_, what, _)| what)
    }

    /// Whether a rule tells that this key may have to be there.
    fn says_needed(&self, key: &str) -> bool {
        self.rules.iter().any(|rule| match rule {
            Rule::Needs(keys) | Rule::NeedsExpected(keys) => keys.contains(&key),
            Rule::With(_, needed) | Rule::WordNeeds(_, _, needed) => *needed == key,
            _ => false,
        })
    }

    /// Whether a rule tells that one of these keys has to be there.
    fn says_one_of(&self, keys: &[&str]) -> bool {
        self.rules.iter().any(|rule| match rule {
            Rule::OneOf(told) | Rule::OneOfExpected(told) | Rule::AnyOf(told) => *told == keys,
            _ => false,
        })
    }

    pub(super) fn report_unknown(&self, key: &Key, out: &mut Diagnostics) {
        let text = brief(&key.text);
        if self.not_yet.contains(&key.text.as_str()) {
            not_yet(&key.span, &text, out);
            return;
        }
        if out.is_full() {
            return;
        }
        let elsewhere = self.elsewhere.iter().find(|(word, _)| *word == key.text);
        let elsewhere = elsewhere.map(|(_, place)| (*place).to_owned());
        let elsewhere = elsewhere.or_else(|| (self.owner)(&key.text));
        let names = self.known.iter().map(|(known, ..)| *known);
        let help = match (elsewhere, nearest(&key.text, names.clone())) {
            (Some(place), _) => format!("`{text}` belongs under {place}"),
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
    pub(super) entries: &'n [(Key, Node)],
    pub(super) keys: &'static Keys,
}

impl<'n> Fields<'n> {
    /// A value of a key, if the key is there.
    pub fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|(_, value)| value)
    }

    /// A key with its value, if it is there.
    pub fn entry(&self, key: &str) -> Option<(&'n Key, &'n Node)> {
        debug_assert!(self.keys.known.iter().any(|(known, ..)| *known == key));
        let found = self.entries.iter().find(|(name, _)| name.text == key)?;
        Some((&found.0, &found.1))
    }

    /// All entries, unknown ones included, in the order of the file.
    pub fn entries(&self) -> &'n [(Key, Node)] {
        self.entries
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &str, out: &mut Diagnostics) -> Option<&'n Node> {
        debug_assert!(self.keys.says_needed(key), "no rule needs `{key}`");
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
        debug_assert!(self.keys.says_one_of(keys), "no rule needs one of {keys:?}");
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

fn described(keys: &Keys, names: &[&str]) -> String {
    let described: Vec<_> = names
        .iter()
        .map(|name| format!("`{name}` ({})", keys.what(name)))
        .collect();
    format!("write {}", described.join(" or "))
}
