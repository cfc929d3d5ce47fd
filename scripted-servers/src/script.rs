//! What a server shall do: listening, connections, and queues of steps.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::models::{Rules, Through};
use crate::wire::WireProgram;

impl ServerScript {
    /// A server that can be reached, serves every connection and expects no
    /// request yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            listen: Listen::Open,
            connections: Vec::new(),
            models: Vec::new(),
            queues: Vec::new(),
        }
    }

    /// Every request that no other queue takes more closely takes these steps.
    pub fn script(self, steps: Vec<Step>) -> Self {
        let route = Route {
            method: None,
            path: PathPattern::Any,
        };
        self.queue(route, steps)
    }

    /// Requests on this route take these steps.
    pub fn queue(mut self, route: Route, steps: Vec<Step>) -> Self {
        self.queues.push(Queue { route, steps });
        self
    }

    /// What its application remembers, by name.
    pub fn model(mut self, name: impl Into<String>, rules: Rules) -> Self {
        self.models.push((name.into(), rules));
        self
    }

    /// What happens to accepted connections; the last repeats.
    pub fn connections(mut self, acts: Vec<ConnectionAct>) -> Self {
        self.connections = acts;
        self
    }
}

impl Step {
    /// A step that takes one request of any kind.
    pub fn new(program: WireProgram) -> Self {
        Self {
            when: When::default(),
            times: Times::Count(1),
            inside_head: false,
            program,
            through: None,
        }
    }

    /// A step that takes one request and answers it plainly.
    pub fn answer(status: u16, body: impl AsRef<[u8]>) -> Self {
        Self::new(WireProgram::answer(status, body.as_ref()))
    }
}

/// One server of a cell.
#[derive(Clone, Debug)]
pub struct ServerScript {
    /// The name that events and counts go by.
    pub name: String,
    /// Whether the port can be reached.
    pub listen: Listen,
    /// What happens to accepted connections, in order; the last repeats.
    /// Empty means serve all.
    pub connections: Vec<ConnectionAct>,
    /// What its application remembers, by name.
    pub models: Vec<(String, Rules)>,
    /// One queue a route. The route that fits best takes the request.
    pub queues: Vec<Queue>,
}

/// Whether a port can be reached, and when.
///
/// What a fault here can prove: of a port that drops, the kernel counts every
/// SYN that it throws away, so it is known that somebody tried. It is not known
/// how often: the kernel of a client that waits sends its SYN again (after about
/// 1, 2, 3 s), and a SYN sent again looks like that of a new attempt. Of a port
/// that refuses nothing is counted at all: only the harness's own probes show
/// that it did refuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Listen {
    /// Accepts connections.
    Open,
    /// Bound but not listening: the port stays reserved and every attempt to
    /// connect is refused.
    Refuse,
    /// A black hole: every SYN is dropped unanswered, and counted.
    Drop,
    /// One state after another, by the time since the client was handed its
    /// work. Until then the first one is in force.
    Phases(Vec<Phase>),
}

/// One state of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortState {
    /// Accepts connections.
    Open,
    /// Refuses them.
    Refuse,
    /// Drops every SYN.
    Drop,
}

/// A state of a port and how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Which.
    pub state: PortState,
    /// For how long; none: to the end of the cell.
    pub lasts: Option<Duration>,
}

impl Listen {
    /// The states in their order; the last one lasts to the end.
    pub fn phases(&self) -> Vec<Phase> {
        let only = |state| vec![Phase { state, lasts: None }];
        match self {
            Self::Open => only(PortState::Open),
            Self::Refuse => only(PortState::Refuse),
            Self::Drop => only(PortState::Drop),
            Self::Phases(phases) => phases.clone(),
        }
    }

    /// The state in which the client finds the port first.
    pub fn first(&self) -> PortState {
        let first = self.phases().first().map(|phase| phase.state);
        first.unwrap_or(PortState::Open)
    }

    /// Whether a connection can be made at some time.
    pub fn ever_opens(&self) -> bool {
        let mut phases = self.phases().into_iter();
        phases.any(|phase| phase.state == PortState::Open)
    }

    /// Whether a port can go through these states: one that has been listened to
    /// can not refuse any more, one that was open stays so, and all but the last
    /// end.
    pub fn is_possible(&self) -> bool {
        let rank = |state| match state {
            PortState::Refuse => 0,
            PortState::Drop => 1,
            PortState::Open => 2,
        };
        let phases = self.phases();
        let rises = |pair: &[Phase]| rank(pair[0].state) < rank(pair[1].state);
        let Some((last, before)) = phases.split_last() else {
            return false;
        };
        phases.windows(2).all(rises)
            && last.lasts.is_none()
            && before.iter().all(|phase| phase.lasts.is_some())
    }
}

/// What happens to an accepted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionAct {
    /// Requests on it are served by the script.
    Serve,
    /// RST once bytes have arrived and settled; no step is taken.
    Reset,
    /// FIN once bytes have arrived and settled; no step is taken.
    Close,
    /// Accepted, never read.
    Hang,
}

/// The steps that requests on one route take.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Which requests come here.
    pub route: Route,
    /// First fit; when no step has turns left, the last fitting one repeats.
    pub steps: Vec<Step>,
}

/// Which requests a queue takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The method; none: any.
    pub method: Option<String>,
    /// The path of the request target, without query.
    pub path: PathPattern,
}

/// Which paths a route takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathPattern {
    /// Every path: a `script`.
    Any,
    /// Exactly this path.
    Exact(String),
    /// Every path that begins with this (written `/path/*`).
    Prefix(String),
}

/// One step of a queue.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which requests it takes.
    pub when: When,
    /// How many it takes before the next fitting one is due.
    pub times: Times,
    /// Whether its act lies inside the head, so that it is taken at the first
    /// byte of a request. Such a step carries no `when` about the head.
    pub inside_head: bool,
    /// What it does; where it goes through models, as long as they decided nothing.
    pub program: WireProgram,
    /// The models that its requests go through. They are asked once a request has
    /// arrived whole.
    pub through: Option<Through>,
}

/// What must fit for a step to be taken; an empty one fits all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// Whether the connection has carried a request before.
    pub connection: Option<ConnectionUse>,
    /// A header field.
    pub header: Option<(String, FieldTest)>,
    /// A JSON pointer (RFC 6901) into the content and the value it must have.
    pub json: Option<(String, serde_json::Value)>,
    /// The method.
    pub method: Option<String>,
    /// Not before this time since the server's first request.
    pub since: Option<Duration>,
    /// Only before this time since the server's first request.
    pub until: Option<Duration>,
}

/// Whether a connection has carried a request before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionUse {
    /// This is its first request.
    Fresh,
    /// It has carried one before.
    Reused,
}

/// What is asked of a header field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldTest {
    /// It is there.
    Present,
    /// It is not there.
    Absent,
    /// It is there with exactly this value.
    Equals(String),
}

/// How many requests a step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// So many.
    Count(u32),
    /// All that come.
    Always,
}
