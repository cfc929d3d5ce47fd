//! APIs that remember, a file each: parameters, decoding, and what the rest of the
//! crate may ask. What they do with requests is told in `scripted_servers::models`.
//!
//! A model decides content and effects; the behaviour of the step decides the wire.
//! A new one is a file here, its `mod` line, and its line in `models!`.

mod batch;
mod events;
mod idempotency;
mod jobs;
mod limiter;
mod records;

use std::time::Duration;

use scripted_servers::models::Rules;
use serde::{Deserialize, Serialize};

use crate::document::decode::{Keys, brief};
use crate::document::kind::{Kind, Known, NAME, Rule};
use crate::document::{Node, ids};
use crate::faults::respond::Respond;
use crate::reading::Reading;
use crate::reading::names::is_name;

pub use batch::Batch;
pub use events::Events;
pub use idempotency::Idempotency;
pub use jobs::Jobs;
pub use limiter::Limiter;
pub use records::Records;

/// From a line for each model: the type of all, the list of all, and whom to ask.
macro_rules! models {
    ($($(#[$doc:meta])* $name:ident in $file:ident;)+) => {
        /// What a server's application remembers.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Model {
            $($(#[$doc])* $name($file::$name),)+
        }

        /// All models, in the order in which they are explained.
        const ENTRIES: &[&Entry] = &[$(&$file::ENTRY),+];

        impl Model {
            /// Whom to ask about it.
            pub(crate) fn remembers(&self) -> &dyn Remembers {
                match self {
                    $(Self::$name(model) => model,)+
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

/// What the rest of the crate asks of a model.
pub(crate) trait Remembers {
    /// What the servers are told.
    fn rules(&self) -> Rules;

    /// The effect that its application has, if any.
    fn effect(&self) -> Option<Declared<'_>>;

    /// Whether it certainly or possibly answers; if not, it only lets pass or denies.
    fn answers(&self) -> bool {
        true
    }

    /// Whether it answers with events.
    fn lists(&self) -> bool {
        false
    }

    /// Whether it may refuse what a client asks for.
    fn may_refuse(&self) -> bool;

    /// What a request gets that it denies.
    fn denial(&self) -> Option<&Respond> {
        None
    }

    /// The header field by which it takes two requests for one.
    fn key_field(&self) -> Option<&str> {
        None
    }

    /// Why no policy walk can tell what it answers; none: a 2xx.
    fn unwalkable(&self) -> Option<&'static str>;
}

/// An effect that a case declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Declared<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Whether it has a business key.
    pub(crate) keyed: bool,
    /// How long the application works on it.
    pub(crate) takes: Duration,
}

/// A model of a server, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelPlan {
    /// Its name.
    pub name: String,
    /// Where it stands in the file.
    pub line: u32,
    /// What it is.
    pub model: Model,
}

/// A model, for `wirefault list models`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The word.
    pub word: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// How it is written, in one line.
    pub example: &'static str,
}

/// One model of the language.
struct Entry {
    /// Its word, with what it does.
    listed: Listed,
    /// The kind of the value behind its word.
    kind: fn() -> Kind,
    /// Reads the value behind its word.
    decode: fn(&Node, &mut Reading<'_>) -> Option<Model>,
}

/// All models.
pub fn all() -> impl Iterator<Item = Listed> {
    ENTRIES.iter().map(|entry| entry.listed)
}

const COUNT: usize = ENTRIES.len();

static WORDS: [&str; COUNT] = {
    let mut words = [""; COUNT];
    let mut at = 0;
    while at < COUNT {
        words[at] = ENTRIES[at].listed.word;
        at += 1;
    }
    words
};

static KNOWN: [Known; COUNT] = {
    let mut known: [Known; COUNT] = [("", "", || Kind::Any); COUNT];
    let mut at = 0;
    while at < COUNT {
        let entry = ENTRIES[at];
        known[at] = (entry.listed.word, entry.listed.summary, entry.kind);
        at += 1;
    }
    known
};

static KEYS: Keys = Keys::new("a model", &KNOWN).rules(&[Rule::OneOf(&WORDS)]);

/// Models of a server.
const MOST: usize = 20;

/// The models that a step goes through.
pub(crate) fn through_kind() -> Kind {
    Kind::List {
        of: Box::new(Kind::fits(NAME)),
        count: 0..=MOST,
    }
}

/// `models` of a server.
pub(crate) fn kind() -> Kind {
    Kind::names(NAME, 1..=MOST, Kind::Map(&KEYS))
}

/// Reads `models` of a server.
pub(crate) fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Vec<ModelPlan>> {
    let entries = node.map("`models`", reading.out)?;
    if entries.is_empty() {
        return node.wrong("`models`", "a map with at least one model", reading.out);
    }
    if let Some((key, _)) = entries.get(MOST) {
        reading
            .out
            .report(ids::TOO_MUCH_SCRIPT, &key.span, "too many models")
            .label(format!("more than {MOST} with this one"))
            .help("split the scenario");
        return None;
    }
    let mut models = Vec::new();
    let mut good = true;
    for (key, node) in entries {
        if !is_name(&key.text) {
            good = false;
            let title = format!("`{}` cannot be the name of a model", brief(&key.text));
            reading
                .out
                .report(ids::BAD_NAME, &key.span, title)
                .label("not a name")
                .help("write a lower-case word such as `store`");
        }
        match model(node, reading) {
            Some(model) => models.push(ModelPlan {
                name: key.text.clone(),
                line: reading.out.line(&key.span),
                model,
            }),
            None => good = false,
        }
    }
    good.then_some(models)
}

fn model(node: &Node, reading: &mut Reading<'_>) -> Option<Model> {
    let fields = node.fields(&KEYS, reading.out)?;
    let (word, _, value) = fields.one_of(&WORDS, reading.out)?;
    let entry = ENTRIES.iter().find(|entry| entry.listed.word == word)?;
    (entry.decode)(value, reading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_here_is_in_the_list() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/models");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned()))
            .filter(|name| name != "mod")
            .collect();
        files.sort();
        let mut words: Vec<_> = all().map(|one| one.word.to_owned()).collect();
        words.sort();
        assert_eq!(files, words);
    }
}
