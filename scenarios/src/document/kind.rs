//! What kind of value stands behind a key, beside the key in its table.
//!
//! The decoders read values by themselves; this says the same to those who have
//! no decoder: the JSON Schema is made of it, and tests hold the two together.
//! It says what a value looks like, not what it means.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use super::keys::Keys;

/// A key that is known, what it is for, and the kind of its value.
pub type Known = (&'static str, &'static str, fn() -> Kind);

/// A kind of value.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Any value but nothing.
    Any,
    /// Any word, number or text.
    Scalar,
    /// `true` or `false`.
    Truth,
    /// `true`.
    True,
    /// A whole number.
    Number(RangeInclusive<u64>),
    /// A duration.
    Time(Time),
    /// A number of bytes.
    Size(RangeInclusive<u64>),
    /// Text that fits a pattern. Names in braces belong to it.
    Text {
        /// A regular expression of the whole text.
        pattern: String,
        /// The most characters.
        longest: Option<usize>,
    },
    /// One of some words.
    Word(Vec<(String, String)>),
    /// A list.
    List {
        /// What it is a list of.
        of: Box<Kind>,
        /// How many.
        count: RangeInclusive<usize>,
    },
    /// A map whose keys are names.
    Names {
        /// A regular expression of the whole name.
        name: String,
        /// What stands behind each.
        of: Box<Kind>,
        /// How many.
        count: RangeInclusive<usize>,
    },
    /// A map with known keys.
    Map(&'static Keys),
    /// A map with exactly one of some keys, and others beside it.
    Tagged {
        /// What it is, with an article.
        of: &'static str,
        /// Of these exactly one.
        one: Vec<Known>,
        /// Any of these.
        beside: Vec<Known>,
    },
    /// Any of several kinds.
    Either(Vec<Kind>),
    /// `{at_least, at_most}` of something.
    Range(Box<Kind>),
    /// What is expected; at the level `info` it is `{}`.
    Expected(Box<Kind>),
    /// All of this at the level `info`.
    Shown(Box<Kind>),
    /// What is read before columns are replaced, so that none can stand in it.
    AsWritten(Box<Kind>),
    /// A key that may be left out, with what stands there then.
    Default(Box<Kind>, Value),
}

/// Which durations.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// The shortest.
    pub least: Duration,
    /// Only whole milliseconds.
    pub whole: bool,
}

/// What about the keys of a map goes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// All of them are there.
    Needs(&'static [&'static str]),
    /// Exactly one of them is there.
    OneOf(&'static [&'static str]),
    /// All of them are there; at the level `info` none.
    NeedsExpected(&'static [&'static str]),
    /// Exactly one of them is there; at the level `info` none.
    OneOfExpected(&'static [&'static str]),
    /// One of them at most is there.
    AtMostOneOf(&'static [&'static str]),
    /// One of them at least is there.
    AnyOf(&'static [&'static str]),
    /// The first is there only with the second.
    With(&'static str, &'static str),
    /// The first is there only with the second, which is this word if it is
    /// there at all.
    WithWord(&'static str, &'static str, &'static str),
    /// Where the first is this word, the third is there.
    WordNeeds(&'static str, &'static str, &'static str),
}

/// Names of servers, columns and all that stands in braces.
pub const NAME: &str = "[a-z][a-z0-9_]*";

/// A pattern of any text.
pub const ANY_TEXT: &str = r"[\s\S]*";

/// A pattern of text that is more than white space.
pub const SOME_TEXT: &str = r"[\s\S]*\S[\s\S]*";

/// One or more.
pub const FILLED: RangeInclusive<usize> = 1..=usize::MAX;

impl Kind {
    /// Text that is not empty.
    pub fn text() -> Self {
        Self::fits(SOME_TEXT)
    }

    /// Text, perhaps empty.
    pub fn any_text() -> Self {
        Self::fits(ANY_TEXT)
    }

    /// Text that fits a pattern as a whole.
    pub fn fits(pattern: impl Into<String>) -> Self {
        Self::Text {
            pattern: pattern.into(),
            longest: None,
        }
    }

    /// One of the words of a decoder's table.
    pub fn words<T>(table: &[(&'static str, T)]) -> Self {
        Self::Word(
            table
                .iter()
                .map(|(word, _)| ((*word).to_owned(), String::new()))
                .collect(),
        )
    }

    /// One of some words, each with what it means.
    pub fn told(table: &[(&str, &str)]) -> Self {
        let words = table.iter();
        Self::Word(
            words
                .map(|(word, what)| ((*word).to_owned(), (*what).to_owned()))
                .collect(),
        )
    }

    /// One word.
    pub fn word(word: &str) -> Self {
        Self::Word(vec![(word.to_owned(), String::new())])
    }

    /// Any duration.
    pub fn time() -> Self {
        Self::time_from(Duration::ZERO)
    }

    /// A duration of at least this.
    pub fn time_from(least: Duration) -> Self {
        let whole = false;
        Self::Time(Time { least, whole })
    }

    /// Any number of bytes that a size can say.
    pub fn size() -> Self {
        Self::Size(0..=super::values::MOST_BYTES)
    }

    /// A place in something: bytes, from so many on, or a word.
    pub fn position(least: u64) -> Self {
        Self::Either(vec![
            Self::Size(least..=super::values::MOST_BYTES),
            Self::words(super::values::PLACES),
        ])
    }

    /// A list with at least one entry.
    pub fn list(of: Self) -> Self {
        Self::List {
            of: Box::new(of),
            count: FILLED,
        }
    }

    /// A list, perhaps empty.
    pub fn any_list(of: Self) -> Self {
        Self::List {
            of: Box::new(of),
            count: 0..=usize::MAX,
        }
    }

    /// A map from names to values.
    pub fn names(name: impl Into<String>, count: RangeInclusive<usize>, of: Self) -> Self {
        Self::Names {
            name: name.into(),
            of: Box::new(of),
            count,
        }
    }

    /// A value, a list of values of which any fits, or a range.
    pub fn matcher(item: Self) -> Self {
        Self::Either(vec![
            item.clone(),
            Self::list(item.clone()),
            Self::Range(Box::new(item)),
        ])
    }

    /// A map with exactly one of these keys.
    pub fn one_key(of: &'static str, one: &[Known]) -> Self {
        Self::Tagged {
            of,
            one: one.to_vec(),
            beside: Vec::new(),
        }
    }

    /// This, or a word.
    #[must_use]
    pub fn or_word(self, word: &str) -> Self {
        Self::Either(vec![self, Self::word(word)])
    }

    /// With what stands there when the key is left out.
    #[must_use]
    pub fn by_default(self, value: impl Into<Value>) -> Self {
        Self::Default(Box::new(self), value.into())
    }

    /// What is expected; at the level `info` it is `{}`.
    #[must_use]
    pub fn expected(self) -> Self {
        Self::Expected(Box::new(self))
    }

    /// Read before columns are replaced.
    #[must_use]
    pub fn as_written(self) -> Self {
        Self::AsWritten(Box::new(self))
    }
}
