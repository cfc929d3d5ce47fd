//! Text with `{names}` in it, filled in when the servers' addresses are known.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Text in which names of servers stand for their addresses. Sweep and table
/// columns and `{n}` are already replaced when one is made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template(pub Vec<Piece>);

/// How a URL with the host `localhost` begins; the port of a server follows.
pub const AT_LOCALHOST: &str = "http://localhost:";

/// What stands for the id of a job until its client knows it.
pub const JOB: &str = "{job}";

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// As it stands.
    Text(String),
    /// `{api}`: base URL without a final slash.
    Url(String),
    /// `{api.host}`.
    Host(String),
    /// `{api.port}`.
    Port(String),
    /// `{job}`: left for the client, who puts the id of its job there.
    Job,
}

/// Where each server of a cell listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings(pub BTreeMap<String, SocketAddr>);

impl Template {
    /// A template without names.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Piece::Text(text.into())])
    }

    /// The text with all names filled in. Validation has made sure that every
    /// name is a server; one that is not bound renders as its name.
    pub fn render(&self, bindings: &Bindings) -> String {
        let address = |name: &String| bindings.0.get(name);
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Job => JOB.to_owned(),
                Piece::Url(name) => {
                    address(name).map_or_else(|| name.clone(), |a| format!("http://{a}"))
                }
                Piece::Host(name) => {
                    address(name).map_or_else(|| name.clone(), |a| a.ip().to_string())
                }
                Piece::Port(name) => {
                    address(name).map_or_else(|| name.clone(), |a| a.port().to_string())
                }
            })
            .collect()
    }

    /// Whether this is a URL whose host is `localhost`, which is several
    /// addresses.
    pub fn is_at_localhost(&self) -> bool {
        let first = self.0.first();
        matches!(first, Some(Piece::Text(text)) if text == AT_LOCALHOST)
    }

    /// Names of the servers it mentions.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) | Piece::Job => None,
            Piece::Url(name) | Piece::Host(name) | Piece::Port(name) => Some(name.as_str()),
        })
    }
}
