//! The assertions, a file each: form, decoding, and judging.
//!
//! A new one is a file here, its `mod` line, and its line in `assertions!`.

pub mod applied;
pub mod body;
pub mod client_closed;
pub mod client_read;
pub mod connections;
pub mod delivered;
pub mod elapsed;
pub mod error;
pub mod events;
pub mod gap;
pub mod header;
pub mod honest;
pub mod in_flight;
pub mod order;
pub mod outcome;
pub mod per_key;
pub mod progress;
pub mod rate;
pub mod running;
pub mod sent_body;
pub mod sent_method;
pub mod started;
pub mod status;
pub mod window;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::counter::Counter;
use crate::document::{Key, Kind, Node, decode};
use crate::expected::Expected;
use crate::expected::counts::{Count, EffectCount};
use crate::judge::case::Case;
use crate::judge::checked::Checked;
use crate::moment::Moment;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::{Axis, FindingName, Outcome};

/// A name, where a type is given.
macro_rules! given {
    ($name:ident, $value:ty) => {
        $name
    };
}

/// The parameters of an assertion; of one without, none.
macro_rules! parameters {
    ($name:ident) => {
        &()
    };
    ($name:ident, $value:ty) => {
        $name
    };
}

/// From a line for each assertion, with the type of its parameters: the type of
/// an expectation, the list of all, and who judges.
macro_rules! assertions {
    ($($(#[$doc:meta])* $name:ident $(($value:ty))? in $file:ident;)+) => {
        /// What is expected.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Assertion {
            $($(#[$doc])* $name $(($value))?,)+
        }

        /// All assertions, in the order in which they are explained.
        pub const LIST: &[Entry] = &[$($file::ENTRY),+];

        impl Assertion {
            /// Its line in the list.
            fn entry(&self) -> &'static Entry {
                match self {
                    $(Self::$name { .. } => const { &$file::ENTRY },)+
                }
            }

            /// Its parameters.
            fn parameters(&self) -> &dyn Parameters {
                match self {
                    $(Self::$name $((given!(value, $value)))? => parameters!(value $(, $value)?),)+
                }
            }

            /// Looks at the part of a cell that `of` names.
            pub(crate) fn judge(&self, of: &Of, case: &Case<'_>) -> Checked {
                match self {
                    $(Self::$name $((given!(value, $value)))? => {
                        $file::judge($(given!(value, $value),)? of, case)
                    })+
                }
            }
        }
    };
}

assertions! {
    /// Complete requests that arrived while the client lived.
    Delivered(Vec<Count>) in delivered;
    /// Requests that were begun.
    Started(Vec<Count>) in started;
    /// Connections that were accepted.
    Connections(Vec<Count>) in connections;
    /// Effects, by name.
    Applied(Vec<EffectCount>) in applied;
    /// Effects, for each business key.
    PerKey(Vec<EffectCount>) in per_key;
    /// Runs of effects that went on at the same time.
    Running(Vec<EffectCount>) in running;
    /// What the client showed, in one word.
    Outcome(Expected<Outcome>) in outcome;
    /// What the client claims agrees with what the servers know.
    Honest in honest;
    /// What the client's error says.
    Error(error::ErrorExpected) in error;
    /// The status that the client shows.
    Status(Expected<u16>) in status;
    /// The content that the client shows.
    Body(body::BodyExpected) in body;
    /// Events of a list that were lost or came twice.
    Events(events::EventsExpected) in events;
    /// Time from the work to the report.
    Elapsed(Expected<Duration>) in elapsed;
    /// Time from the end of one attempt to the begin of the next.
    Gap(Expected<Duration>) in gap;
    /// A header field of the requests that arrived.
    Header(header::HeaderExpected) in header;
    /// The order of the deliveries.
    Order(Vec<Counter>) in order;
    /// The method of the requests that arrived.
    SentMethod(Vec<sent_method::MethodExpected>) in sent_method;
    /// The content of the requests that arrived.
    SentBody(Vec<sent_body::SentBodyExpected>) in sent_body;
    /// Bytes of answers that the client's process has taken.
    ClientRead(Vec<client_read::ReadExpected>) in client_read;
    /// That the client ends its connections, and how soon.
    ClientClosed(client_closed::ClosedExpected) in client_closed;
    /// Requests that were begun and not answered at the same time.
    InFlight(Vec<Count>) in in_flight;
    /// What the client says of a call meanwhile.
    Progress(progress::ProgressExpected) in progress;
    /// The most requests in any time of some length.
    Rate(rate::RateExpected) in rate;
    /// Requests between two moments.
    Window(window::WindowExpected) in window;
}

/// What may be asked of an assertion's parameters, whichever they are.
pub(crate) trait Parameters {
    /// Whether any of it is `by-policy`.
    fn by_policy(&self) -> bool {
        false
    }

    /// The moments that it names.
    fn moments(&self) -> Vec<&Moment> {
        Vec::new()
    }

    /// The header fields of requests that it looks at. Of a head no other is
    /// kept.
    fn fields(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The assertion as it is told; none: as it is written.
    fn told(&self) -> Option<String> {
        None
    }
}

impl Parameters for () {}

impl Parameters for Vec<Counter> {}

impl Parameters for Vec<EffectCount> {}

impl<T: PartialEq> Parameters for Expected<T> {
    fn by_policy(&self) -> bool {
        *self == Self::ByPolicy
    }
}

impl Parameters for Vec<Count> {
    fn by_policy(&self) -> bool {
        self.iter().any(|count| count.expected.by_policy())
    }
}

/// How an assertion's value is read.
pub(crate) type Decode = fn(&Node, &mut Scope<'_>) -> Option<Assertion>;

/// One assertion of the language.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its key.
    pub word: &'static str,
    /// What it looks at, in one line.
    pub summary: &'static str,
    /// One line that uses it.
    pub example: &'static str,
    /// The findings that it can give.
    pub findings: &'static [FindingName],
    /// The kind of its value.
    pub(crate) kind: fn() -> Kind,
    /// Reads its value.
    decode: Decode,
}

/// Assertions of the language that this version does not know yet.
pub const NOT_YET: &[&str] = &["lookups"];

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
        self.parameters().by_policy()
    }

    /// The moments that it names.
    pub(crate) fn moments(&self) -> Vec<&Moment> {
        self.parameters().moments()
    }

    /// The header fields of requests that it looks at.
    pub(crate) fn fields(&self) -> Vec<&str> {
        self.parameters().fields()
    }

    /// The findings that it can give.
    pub fn findings(&self) -> &'static [FindingName] {
        self.entry().findings
    }

    /// As it is told, where that is not as it is written.
    pub(crate) fn told(&self) -> Option<String> {
        self.parameters().told()
    }
}

#[cfg(test)]
mod tests;
