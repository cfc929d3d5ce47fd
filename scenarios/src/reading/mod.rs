//! Reading one case of a scenario: what is known meanwhile, and the values that
//! many places of the language share: names, contents, points.
//!
//! Faults and validation read with it; it knows neither.

pub(crate) mod content;
pub(crate) mod cursor;
pub(crate) mod effects;
pub(crate) mod names;
pub(crate) mod points;
pub(crate) mod routes;

use std::collections::BTreeSet;

use crate::document::decode::{brief, listed, nearest};
use crate::document::{Diagnostics, Source, Span, ids};
use crate::models::ModelPlan;

/// The state of reading one case: where mistakes go, and which names there are.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    /// Mistakes of this case.
    pub(crate) out: &'a mut Diagnostics,
    /// What is a mistake only if it is one in every case: a step that no case
    /// can reach, a server that no case mentions.
    pub(crate) in_every_case: &'a mut Diagnostics,
    /// The text, to find places inside values.
    pub(crate) source: &'a Source,
    /// Names of the servers.
    pub(crate) servers: Vec<String>,
    /// The models of the server that is being read.
    pub(crate) models: Vec<ModelPlan>,
    /// Those of them that a step goes through, by name.
    pub(crate) used_models: BTreeSet<String>,
    /// Whether the step that is being read goes through models, which may say what
    /// its answer leaves open.
    pub(crate) goes_through: bool,
    /// Names of the columns, for suggestions; they are replaced already.
    pub(crate) columns: Vec<String>,
    /// Servers that some text mentions, URLs at `localhost` left out.
    pub(crate) mentioned: BTreeSet<String>,
    /// The call that is being read, for `{n}`.
    pub(crate) call: Option<u32>,
    /// Whether the query of a job is being read, for `{job}`.
    pub(crate) in_query: bool,
    /// Bytes of content that the case would hold in memory.
    pub(crate) content_bytes: u64,
}

impl Reading<'_> {
    /// Whether a server has this name; reports it otherwise.
    pub(crate) fn known_server(&mut self, name: &str, span: &Span) -> bool {
        let known = self.servers.iter().any(|server| server == name);
        if !known {
            let names = self.servers.iter().map(String::as_str);
            let help = match nearest(name, names.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the servers are {}", listed(names)),
            };
            self.out
                .report(
                    ids::UNKNOWN_SERVER,
                    span,
                    format!("there is no server `{}`", brief(name)),
                )
                .label("not under `servers`")
                .help(help);
        }
        known
    }

    /// Counts content that the case will hold in memory, and reports too much.
    pub(crate) fn hold(&mut self, bytes: u64, span: &Span) {
        /// Most bytes of content of one case.
        const MOST: u64 = 256 << 20;
        let before = self.content_bytes;
        self.content_bytes = before.saturating_add(bytes);
        if before <= MOST && self.content_bytes > MOST {
            self.out
                .report(ids::TOO_MUCH_CONTENT, span, "too much content")
                .label("with this, the scenario holds more than 256 MiB")
                .help("smaller bodies show the same; `endless` costs nothing");
        }
    }
}

/// Turns "not there, wrong or good" into "wrong, or perhaps there".
pub(crate) fn all_good<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        None => Some(None),
        Some(None) => None,
        Some(good) => Some(good),
    }
}
