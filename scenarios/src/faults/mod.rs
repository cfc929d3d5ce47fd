//! The behaviours of a step, a file each: parameters, decoding, a pure function
//! to a wire program, and what the rest of the crate may ask.
//!
//! A fault decides, the interpreter of the servers acts. A new one is a file
//! here, its `mod` line, and its line in `behaviours!`.

mod common;
pub mod cut;
pub mod raw;
pub mod respond;

use std::time::Duration;

use scripted_servers::models::{ListedEvent, Reply};
use scripted_servers::wire::{Answer, Continue, IdleEnd, Position, RequestPoint, WireProgram};
use serde::{Deserialize, Serialize};

pub(crate) use common::shown;

use crate::document::Node;
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Known};
use crate::manifest::Ability;
use crate::plan::{Content, StepPlan};
use crate::reading::Reading;
use crate::rendering::Rendering;
use crate::template::{Bindings, Template};

/// From a line for each behaviour: the type of a step's fault, the list of all,
/// and whom to ask.
macro_rules! behaviours {
    ($($(#[$doc:meta])* $name:ident in $file:ident;)+) => {
        /// What the wire shows in a step.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[expect(clippy::large_enum_variant, reason = "a Plan holds few, and most are the largest")]
        pub enum Fault {
            $($(#[$doc])* $name($file::$name),)+
        }

        /// All behaviours, in the order in which they are explained.
        const ENTRIES: &[&Entry] = &[$(&$file::ENTRY),+];

        impl Fault {
            /// Whom to ask about it.
            pub(crate) fn behaviour(&self) -> &dyn Behaviour {
                match self {
                    $(Self::$name(fault) => fault,)+
                }
            }

            /// Its word and how it is listed.
            fn entry(&self) -> &'static Entry {
                match self {
                    $(Self::$name(_) => &$file::ENTRY,)+
                }
            }
        }
    };
}

behaviours! {
    /// An answer, faults included.
    Respond in respond;
    /// Read up to a point, answer nothing, end.
    Cut in cut;
    /// Exact bytes instead of an answer.
    Raw in raw;
}

/// Behaviours of the language that this version does not know yet.
pub(crate) const NOT_YET: &[&str] = &["tunnel", "refuse_stream"];

/// What the rest of the crate asks of a fault.
///
/// Where a fault does not answer, the cautious answer stands: the one with which
/// no scenario is refused and no client accused. Only what is certain is
/// answered otherwise.
pub(crate) trait Behaviour {
    /// The wire program of a step with this fault: what is read and sent, and
    /// the proof that it leaves.
    fn program(&self, step: &StepPlan, with: &Rendering<'_>) -> WireProgram;

    /// What it shows to a client that sends a request; an error says why nobody
    /// can tell.
    fn shows(&self, to: &Asker<'_>) -> Result<shown::Met, String>;

    /// The same with what models decided; none: they change nothing of it.
    fn with_answer(&self, _given: &ByModel<'_>) -> Option<Fault> {
        None
    }

    /// Whether models of the step say what it answers.
    fn is_by_model(&self) -> bool {
        false
    }

    /// The fault in a few words, as a report of what did not happen says it.
    fn words(&self) -> String;

    /// Whether it shows nothing but headers and a body with a 2xx.
    fn is_plain(&self) -> bool {
        false
    }

    /// How far a request is read.
    fn request_point(&self) -> RequestPoint {
        RequestPoint::Request
    }

    /// Whether it answers, so that a step can say from which point on.
    fn answers(&self) -> bool {
        true
    }

    /// Whether the rest of a request is read after it acted at a point before
    /// the request's end. How much of a large one comes is then up to the client.
    fn reads_on(&self) -> bool {
        false
    }

    /// Whether it certainly ends the connection itself.
    fn ends_connection(&self) -> bool {
        false
    }

    /// Whether a client can rightly take what it shows for success.
    fn may_succeed(&self) -> bool {
        true
    }

    /// Whether it answers as a success does, but in bytes of its own: a client that
    /// takes answers in the format of its API only can not read them.
    fn succeeds_in_bytes(&self) -> bool {
        self.may_succeed()
    }

    /// Whether a call that meets it may never end by itself.
    fn may_hang(&self) -> bool {
        true
    }

    /// Where it may send a client.
    fn redirects(&self) -> Redirects {
        Redirects::Anywhere
    }

    /// How long it certainly takes, when nobody cuts it short.
    fn own_time(&self) -> Duration {
        Duration::ZERO
    }

    /// The header fields of its answer, where it has any.
    fn headers(&self) -> &[(String, Template)] {
        &[]
    }

    /// The content of its answer, where it has any.
    fn content(&self) -> Option<&Content> {
        None
    }

    /// Whether it does something at a place in a list of events.
    fn points_at_events(&self) -> bool {
        false
    }

    /// Whether a list of events ends too soon in such good order that only its
    /// last event tells so.
    fn ends_a_list_in_order(&self) -> bool {
        false
    }

    /// What a client must be able to do to be judged by it.
    fn needs(&self) -> Option<Ability> {
        None
    }

    /// The texts that it sends, for the names of servers in them.
    fn texts(&self) -> Vec<&Template> {
        Vec::new()
    }

    /// Whether all of its texts were sent once the answer was given.
    fn is_all_sent(&self, answer: Option<&Answer>) -> bool {
        answer.is_some_and(|answer| answer.whole)
    }
}

/// Who meets a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker<'a> {
    /// Bytes of the content of its request.
    pub(crate) content: u64,
    /// Addresses that stand for the servers.
    pub(crate) names: &'a Bindings,
}

/// What models decided about a request, for the answer to it.
pub(crate) struct ByModel<'a> {
    /// Header fields that they add.
    pub(crate) fields: &'a [(String, String)],
    /// What the model answered that did not let it pass; none: all did.
    pub(crate) answered: Option<Answered<'a>>,
}

/// What a model answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answered<'a> {
    /// Content of its own.
    Reply(&'a Reply),
    /// Events.
    List(&'a [ListedEvent]),
    /// The denial that the scenario writes.
    Denial(&'a respond::Respond),
}

/// Where an answer may send a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// Nowhere.
    Never,
    /// To where its header fields say.
    ByItsFields,
    /// To any place at all.
    Anywhere,
}

/// A word of the lanes of a server, for `wirefault list faults`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Where it is written: `step`, `respond`, `cut`, `raw`,
    /// `then`, `connections`,
    /// `listen`.
    pub place: &'static str,
    /// The word.
    pub word: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// How it is written, in one line.
    pub example: &'static str,
}

/// One behaviour of the language.
struct Entry {
    /// Its word, with what it does.
    listed: Listed,
    /// The kind of the value behind its word: a map, where its parameters have
    /// names of their own.
    kind: fn() -> Kind,
    /// Those of its parameters that are faults themselves.
    parts: &'static [Listed],
    /// Reads the value behind its word.
    decode: fn(&Node, &mut Reading<'_>) -> Option<Fault>,
}

/// The behaviours of a step.
pub fn behaviours() -> impl Iterator<Item = Listed> {
    ENTRIES.iter().map(|entry| entry.listed)
}

/// Everything that can go wrong at a server, by place.
pub fn all() -> impl Iterator<Item = Listed> {
    let parts = ENTRIES.iter().flat_map(|entry| entry.parts);
    behaviours().chain(parts.chain(common::lanes::LANES).copied())
}

/// The words of the behaviours.
pub(crate) static WORDS: [&str; COUNT] = words();

const fn words() -> [&'static str; COUNT] {
    let mut words = [""; COUNT];
    let mut at = 0;
    while at < COUNT {
        words[at] = ENTRIES[at].listed.word;
        at += 1;
    }
    words
}

/// The number of behaviours.
pub(crate) const COUNT: usize = ENTRIES.len();

/// Keys of a step: its own, and a key for each behaviour.
pub(crate) const fn with_behaviours<const N: usize>(own: &[Known]) -> [Known; N] {
    let mut keys: [Known; N] = [("", "", || Kind::Any); N];
    let mut at = 0;
    while at < own.len() {
        keys[at] = own[at];
        at += 1;
    }
    while at < N {
        let entry = ENTRIES[at - own.len()];
        keys[at] = (entry.listed.word, entry.listed.summary, entry.kind);
        at += 1;
    }
    keys
}

/// The behaviour that has a parameter of this name.
pub(crate) fn owner(parameter: &str) -> Option<&'static str> {
    let has = |keys: &Keys| keys.known.iter().any(|(key, ..)| *key == parameter);
    let mut entries = ENTRIES.iter();
    let owner = entries.find(|entry| matches!((entry.kind)(), Kind::Map(keys) if has(keys)))?;
    Some(owner.listed.word)
}

/// Decodes a behaviour: its word, and the value that stands behind it.
pub(crate) fn decode(word: &str, value: &Node, reading: &mut Reading<'_>) -> Option<Fault> {
    let mut entries = ENTRIES.iter();
    let entry = entries.find(|entry| entry.listed.word == word)?;
    (entry.decode)(value, reading)
}

impl Fault {
    /// The wire program of a step with this fault.
    pub fn program(&self, step: &StepPlan, with: &Rendering<'_>) -> WireProgram {
        self.behaviour().program(step, with)
    }

    /// What stands in its place when it is switched off: a plain empty answer; for a
    /// list of events, which empty is none, the whole list.
    pub(crate) fn switched_off(&self) -> Self {
        let list = self.behaviour().content();
        let list = list.filter(|body| matches!(body, Content::Events(_)));
        Self::Respond(respond::Respond {
            body: list.cloned(),
            ..respond::Respond::plain()
        })
    }

    /// Whatever the models of the step answer.
    pub(crate) fn by_model() -> Self {
        Self::Respond(respond::Respond {
            by_model: true,
            ..respond::Respond::plain()
        })
    }

    /// Whether models of the step say what it answers.
    pub(crate) fn is_by_model(&self) -> bool {
        self.behaviour().is_by_model()
    }

    /// A plain empty answer.
    pub fn plain() -> Self {
        Self::Respond(respond::Respond::plain())
    }

    /// The word that it is written with.
    pub(crate) fn word(&self) -> &'static str {
        self.entry().listed.word
    }

    /// How far a request is read.
    pub fn request_point(&self) -> RequestPoint {
        self.behaviour().request_point()
    }

    /// Whether it may send a client somewhere else.
    pub(crate) fn may_redirect(&self) -> bool {
        self.behaviour().redirects() != Redirects::Never
    }
}

impl StepPlan {
    /// How far a request is read before the step acts.
    pub fn request_point(&self) -> RequestPoint {
        self.reads.unwrap_or(self.fault.request_point())
    }

    /// Whether the act lies inside the head, so that the step is taken at the
    /// first byte of a request.
    pub fn is_inside_head(&self) -> bool {
        matches!(self.request_point(), RequestPoint::Head(position) if position != Position::All)
    }

    /// How long it waits between the point and the act. Without a delay an answer
    /// waits until the application is through; no end of a connection does.
    pub(crate) fn wait(&self) -> Duration {
        if self.delay.is_zero() && self.fault.behaviour().answers() {
            self.takes
        } else {
            self.delay
        }
    }

    /// Whether the connection is closed in order behind its answer, and nothing
    /// else comes before that.
    pub(crate) fn is_closed_behind(&self) -> bool {
        let then = self.then.as_ref();
        then.is_some_and(|then| then.end == Some(IdleEnd::Close) && then.sends.is_none())
    }

    /// Whether it answers before it has read all of a request.
    pub(crate) fn answers_early(&self) -> bool {
        self.reads
            .is_some_and(|point| point != RequestPoint::Request)
    }

    /// Whether the rest of a request is read after the step acted at a point
    /// before its end. How much of a large one comes is then up to the client.
    pub(crate) fn reads_on(&self) -> bool {
        self.answers_early() || self.fault.behaviour().reads_on()
    }

    /// The step in a few words, as a report of what did not happen says it.
    pub(crate) fn words(&self) -> String {
        let words = self.fault.behaviour().words();
        match self.through.join(", ") {
            models if models.is_empty() => words,
            models => format!("through {models}, {words}"),
        }
    }

    /// Whether the step is a fault, and not a plain answer. What models decide is
    /// none.
    pub fn is_fault(&self) -> bool {
        !self.fault.behaviour().is_plain()
            || !self.delay.is_zero()
            || !self.takes.is_zero()
            || self.slow_read.is_some()
            || self.then.is_some()
            || self.answers_early()
            || self.continues != Continue::Sent
    }
}
