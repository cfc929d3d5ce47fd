//! APIs that remember: what a server's application does with a request because
//! of those before it. A model decides content and effects; the step's program
//! decides the wire.
//!
//! A model is a pure machine: facts of a request and their time in, a decision
//! out. All of a server's stand behind one lock, so that a key is claimed by one
//! request. A new one is a file here, its `mod` line, and its line in `models!`.

pub mod batch;
pub mod events;
pub mod idempotency;
pub mod jobs;
pub mod limiter;
pub mod records;

#[cfg(test)]
mod testing;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::route::path_of;
use crate::script::{PathPattern, Route};
use crate::wire::{KeySource, WireProgram};

/// From a line for each model: the type of what models keep to, and its machine.
macro_rules! models {
    ($($(#[$doc:meta])* $name:ident in $file:ident;)+) => {
        /// What a model keeps to.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Rules {
            $($(#[$doc])* $name($file::Rules),)+
        }

        impl Rules {
            fn machine(&self) -> Box<dyn Machine> {
                match self {
                    $(Self::$name(rules) => Box::new($file::Machine::new(rules.clone())),)+
                }
            }
        }
    };
}

models! {
    /// A list of events that goes on behind the last one that a client has.
    Events in events;
    /// The first use of a key runs, others get its result.
    Idempotency in idempotency;
    /// Records that can be looked up by their business key.
    Records in records;
    /// Work that is submitted, and asked after.
    Jobs in jobs;
    /// So many requests pass, others are denied.
    Limiter in limiter;
    /// Many items in one request, and a verdict on each.
    Batch in batch;
}

/// A request, as a model sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// When it had arrived.
    pub(crate) at: Duration,
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) headers: &'a [(String, String)],
    /// SHA-256 of its content; none: it has none.
    pub(crate) digest: Option<&'a str>,
    pub(crate) json: Option<&'a serde_json::Value>,
}

impl<'a> Asked<'a> {
    /// The value of the first header field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<&'a str> {
        let mut fields = self.headers.iter();
        let field = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.as_str())
    }

    /// The value of the first parameter of the query with this name, as it stands there.
    fn parameter(&self, name: &str) -> Option<&'a str> {
        let (_, query) = self.target.split_once('?')?;
        let mut parameters = query.split('&').filter_map(|one| one.split_once('='));
        let found = parameters.find(|(parameter, _)| *parameter == name);
        found.map(|(_, value)| value)
    }

    /// The business key at this place.
    pub(crate) fn key(&self, source: &KeySource) -> Option<String> {
        match source {
            KeySource::Header(name) => self.field(name).map(str::to_owned),
            KeySource::PathLast => {
                let path = path_of(self.target);
                let last = path.rsplit('/').find(|segment| !segment.is_empty());
                last.map(str::to_owned)
            }
            KeySource::Json(pointer) => match self.json?.pointer(pointer)? {
                serde_json::Value::String(text) => Some(text.clone()),
                serde_json::Value::Null => None,
                value => Some(value.to_string()),
            },
        }
    }

    fn is_on(&self, route: &Route) -> bool {
        route.takes(self.method, self.target)
    }

    /// What stands in the path in the place of a route's `*`.
    fn named_by(&self, route: &Route) -> &'a str {
        let path = path_of(self.target);
        match &route.path {
            PathPattern::Prefix(prefix) => path.strip_prefix(prefix.as_str()).unwrap_or(path),
            PathPattern::Any | PathPattern::Exact(_) => path,
        }
    }
}

/// A model at work.
trait Machine: Send {
    /// Decides about a request. Requests come in the order of their times.
    fn ask(&mut self, asked: &Asked<'_>) -> Decision;

    /// A request that it let pass was answered, or will never be.
    fn release(&mut self) {}
}

/// What a model decided about a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// In a word.
    pub decided: Decided,
    /// What becomes of the request.
    pub says: Says,
    /// Header fields of whatever is answered.
    pub fields: Vec<(String, String)>,
    /// The effects that the application had.
    pub effects: Vec<Applied>,
    /// How long the application works on it; its answer is ready then.
    pub takes: Duration,
}

impl Decision {
    fn new(decided: Decided, says: Says) -> Self {
        Self {
            decided,
            says,
            fields: Vec::new(),
            effects: Vec::new(),
            takes: Duration::ZERO,
        }
    }

    /// It is not this model's business.
    fn passed() -> Self {
        Self::new(Decided::Passed, Says::Passes)
    }

    /// An answer that says why there is no better one.
    fn refused(decided: Decided, status: u16) -> Self {
        let content = serde_json::json!({ "error": decided.word() });
        Self::new(decided, Says::Answers(Reply::json(status, &content)))
    }

    fn applies(mut self, name: &str, key: Option<String>) -> Self {
        let name = name.to_owned();
        self.effects.push(Applied { name, key });
        self
    }
}

/// What a model decided, in a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decided {
    /// The application did the work.
    Ran,
    /// The result of the first request with this key was given again.
    Stored,
    /// The first request with this key had other content.
    Conflict,
    /// The application still works on the first request with this key.
    Busy,
    /// A record was created.
    Created,
    /// The record was found.
    Found,
    /// There is no such record or job.
    Missing,
    /// Work was submitted.
    Submitted,
    /// A job is at this stage.
    Stage {
        /// From 1.
        number: usize,
        /// Of so many.
        of: usize,
    },
    /// Events were listed, from the one on that the client lacks.
    Listed,
    /// Of the items of a batch so many were taken.
    Items {
        /// So many.
        taken: usize,
        /// Of so many.
        of: usize,
    },
    /// There is no list of items in the content.
    NoItems,
    /// It was none of the model's business, or within the limit.
    Passed,
    /// It was beyond the limit.
    Denied,
}

impl Decided {
    /// Whether the client did not get what it asked for.
    pub fn refuses(&self) -> bool {
        match self {
            Self::Conflict | Self::Busy | Self::Denied => true,
            Self::Stage { number, of } => number < of,
            Self::Items { taken, of } => taken < of,
            _ => false,
        }
    }

    /// The word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::Stored => "stored",
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::Created => "created",
            Self::Found => "found",
            Self::Missing => "missing",
            Self::Submitted => "submitted",
            Self::Stage { .. } => "stage",
            Self::Listed => "listed",
            Self::Items { .. } => "items",
            Self::NoItems => "no-items",
            Self::Passed => "passed",
            Self::Denied => "denied",
        }
    }
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Says {
    /// The next model is asked, and behind the last one the step answers.
    Passes,
    /// It is turned away, in the words of the model's own denial.
    Denies,
    /// It is answered so.
    Answers(Reply),
    /// It is answered with events.
    Lists(EventList),
}

/// The events that a client lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventList {
    /// The ids of those before them, which it says that it has.
    pub left_out: Vec<String>,
    /// They themselves.
    pub events: Vec<ListedEvent>,
}

/// An event of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedEvent {
    /// Its id.
    pub id: Option<String>,
    /// What it says.
    pub data: String,
}

/// What a model answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// Content.
    pub content: Vec<u8>,
    /// What the content is.
    pub media: &'static str,
}

impl Reply {
    fn json(status: u16, content: &serde_json::Value) -> Self {
        Self {
            status,
            content: content.to_string().into_bytes(),
            media: "application/json",
        }
    }
}

/// An effect that a model's application had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The name that assertions count by.
    pub name: String,
    /// The business key.
    pub key: Option<String>,
}

/// The decisions of all models that a request came to, in order, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passage(pub Vec<(String, Decision)>);

impl Passage {
    /// The model that did not let it pass, with its decision.
    pub fn end(&self) -> Option<(&str, &Decision)> {
        let (name, last) = self.0.last()?;
        (last.says != Says::Passes).then_some((name.as_str(), last))
    }

    /// Whether a model refused what was asked for.
    pub fn is_refused(&self) -> bool {
        self.0.iter().any(|(_, one)| one.decided.refuses())
    }

    /// Header fields that models add to whatever is answered.
    pub fn fields(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter().flat_map(|(_, one)| &one.fields)
    }
}

/// The models that the requests of a step go through, and what is done then.
#[derive(Clone)]
pub struct Through {
    /// Their names, in order; the first that does not let pass ends it.
    pub models: Vec<String>,
    /// The program for what they decided. It begins by reading the whole request.
    pub program: Arc<dyn Fn(&Passage) -> WireProgram + Send + Sync>,
}

impl std::fmt::Debug for Through {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Through").field(&self.models).finish()
    }
}

/// The models of a server, while its cell runs.
pub(crate) struct Models(Mutex<Asking>);

struct Asking {
    machines: BTreeMap<String, Box<dyn Machine>>,
    /// The latest time that a model was told of.
    latest: Duration,
}

impl Models {
    pub(crate) fn new(rules: &[(String, Rules)]) -> Self {
        let machines = rules.iter();
        let machines = machines.map(|(name, rules)| (name.clone(), rules.machine()));
        Self(Mutex::new(Asking {
            machines: machines.collect(),
            latest: Duration::ZERO,
        }))
    }

    /// Leads a request through these models. Nobody else is asked meanwhile. One
    /// that is read behind a request that arrived later came with that.
    pub(crate) fn ask(&self, names: &[String], asked: &Asked<'_>) -> Passage {
        let mut asking = self.asking();
        asking.latest = asking.latest.max(asked.at);
        let at = asking.latest;
        let asked = &Asked { at, ..*asked };
        let mut passage = Passage::default();
        for name in names {
            let Some(machine) = asking.machines.get_mut(name) else {
                continue;
            };
            let decision = machine.ask(asked);
            let ends = decision.says != Says::Passes;
            passage.0.push((name.clone(), decision));
            if ends {
                break;
            }
        }
        passage
    }

    /// What these models let pass is over.
    pub(crate) fn release(&self, passage: &Passage) {
        let mut asking = self.asking();
        for (name, decision) in &passage.0 {
            if decision.says == Says::Passes
                && let Some(machine) = asking.machines.get_mut(name)
            {
                machine.release();
            }
        }
    }

    fn asking(&self) -> MutexGuard<'_, Asking> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
