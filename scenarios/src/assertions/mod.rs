//! The assertions, a file each: form, decoding, and judging.
//!
//! A new one is a file, its `mod` line, its variant, and its two lines below.

pub mod applied;
pub mod body;
pub mod connections;
pub mod delivered;
pub mod elapsed;
pub mod error;
pub mod gap;
pub mod header;
pub mod honest;
pub mod order;
pub mod outcome;
pub mod per_key;
pub mod started;
pub mod status;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::counter::Counter;
use crate::document::{Key, Node, decode};
use crate::expected::Expected;
use crate::expected::counts::{Count, EffectCount};
use crate::judge::case::Case;
use crate::judge::checked::Checked;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::{Axis, Outcome};

/// What is expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assertion {
    /// Complete requests that arrived while the client lived.
    Delivered(Vec<Count>),
    /// Requests that were begun.
    Started(Vec<Count>),
    /// Connections that were accepted.
    Connections(Vec<Count>),
    /// Effects, by name.
    Applied(Vec<EffectCount>),
    /// Effects, for each business key.
    PerKey(Vec<EffectCount>),
    /// What the client showed, in one word.
    Outcome(Expected<Outcome>),
    /// What the client claims agrees with what the servers know.
    Honest,
    /// What the client's error says.
    Error(error::ErrorExpected),
    /// The status that the client shows.
    Status(Expected<u16>),
    /// The content that the client shows.
    Body(body::BodyExpected),
    /// Time from the work to the report.
    Elapsed(Expected<Duration>),
    /// Time from the end of one attempt to the begin of the next.
    Gap(Expected<Duration>),
    /// A header field of the requests that arrived.
    Header(header::HeaderExpected),
    /// The order of the deliveries.
    Order(Vec<Counter>),
}

/// How an assertion's value is read.
pub type Decode = fn(&Node, &mut Scope<'_>) -> Option<Assertion>;

/// One assertion of the language.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its key.
    pub word: &'static str,
    /// What it looks at, in one line.
    pub summary: &'static str,
    /// One line that uses it.
    pub example: &'static str,
    /// Reads its value.
    pub decode: Decode,
}

/// All assertions, in the order in which they are explained.
pub const LIST: &[Entry] = &[
    delivered::ENTRY,
    started::ENTRY,
    connections::ENTRY,
    applied::ENTRY,
    per_key::ENTRY,
    outcome::ENTRY,
    honest::ENTRY,
    error::ENTRY,
    status::ENTRY,
    body::ENTRY,
    elapsed::ENTRY,
    gap::ENTRY,
    header::ENTRY,
    order::ENTRY,
];

/// Assertions of the language that this version does not know yet.
pub const NOT_YET: &[&str] = &[
    "lookups",
    "running",
    "events",
    "in_flight",
    "rate",
    "window",
    "sent_method",
    "sent_body",
    "client_read",
    "client_closed",
    "progress",
];

/// The words that name an assertion.
pub fn words() -> impl Iterator<Item = &'static str> + Clone {
    LIST.iter().map(|entry| entry.word)
}

/// Decodes one assertion: its word, and the value that stands behind it.
pub fn decode(key: &Key, value: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    let word = key.text.as_str();
    if let Some(entry) = LIST.iter().find(|entry| entry.word == word) {
        return (entry.decode)(value, scope);
    }
    if NOT_YET.contains(&word) {
        decode::not_yet(&key.span, word, scope.out);
    } else {
        decode::unknown_word(&key.span, word, "an assertion", words(), scope.out);
    }
    None
}

impl Assertion {
    /// The axis it belongs to unless the scenario says otherwise: what the
    /// client's own documentation promises is conformance, all else safety.
    pub fn axis(&self) -> Axis {
        if self.by_policy() {
            Axis::Conformance
        } else {
            Axis::Safety
        }
    }

    /// Whether any of its values is `by-policy`.
    pub fn by_policy(&self) -> bool {
        match self {
            Self::Delivered(counts) => counts
                .iter()
                .any(|count| count.expected == Expected::ByPolicy),
            Self::Outcome(expected) => *expected == Expected::ByPolicy,
            Self::Gap(expected) => *expected == Expected::ByPolicy,
            _ => false,
        }
    }

    /// Looks at the part of a cell that `of` names.
    pub fn judge(&self, of: &Of, case: &Case<'_>) -> Checked {
        match self {
            Self::Delivered(counts) => delivered::judge(counts, of, case),
            Self::Started(counts) => started::judge(counts, of, case),
            Self::Connections(counts) => connections::judge(counts, of, case),
            Self::Applied(counts) => applied::judge(counts, of, case),
            Self::PerKey(counts) => per_key::judge(counts, of, case),
            Self::Outcome(expected) => outcome::judge(expected, of, case),
            Self::Honest => honest::judge(of, case),
            Self::Error(expected) => error::judge(expected, of, case),
            Self::Status(expected) => status::judge(expected, of, case),
            Self::Body(expected) => body::judge(expected, of, case),
            Self::Elapsed(expected) => elapsed::judge(expected, of, case),
            Self::Gap(expected) => gap::judge(expected, of, case),
            Self::Header(expected) => header::judge(expected, of, case),
            Self::Order(counters) => order::judge(counters, of, case),
        }
    }
}

#[cfg(test)]
mod tests;
