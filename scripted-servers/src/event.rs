//! What a server saw and did, as events.
//!
//! `arrived_us` is when bytes arrived in the server's kernel, which may be long
//! before they were read. All times are microseconds since the cell began.

mod json;

use std::net::SocketAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::models::Decided;
use crate::script::{ConnectionAct, Listen, PortState};
use crate::wire::Answer;

/// One event at one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerEvent {
    /// Name of the server.
    pub server: Arc<str>,
    /// Number of the connection at this server, from 1, in the order of accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// Number of the exchange on that connection, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<u32>,
    /// What happened.
    pub what: What,
}

/// Which step of which queue: the queue's place in the server's list (routes in
/// the order of the script) and the step's place in the queue, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepId {
    /// Place of the queue.
    pub queue: usize,
    /// Place of the step.
    pub step: usize,
}

/// Which lane's entry fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// The port: its first state, where that is a fault.
    Listen,
    /// The entry with this place in `connections`.
    Connections(usize),
    /// A step of a queue.
    Step(StepId),
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The port is as the script wants it. Before any client is started.
    Armed {
        /// Where.
        address: SocketAddr,
        /// How.
        listen: Listen,
    },
    /// The harness's own attempt to connect to a port that must refuse.
    Probed {
        /// Whether it was refused.
        refused: bool,
        /// Whether this was before or after the client ran.
        after: bool,
    },
    /// The harness's own attempt to connect to a port that must drop, before the
    /// client is started.
    ProbedDrop {
        /// Whether its SYN was counted as dropped while it did not connect.
        dropped: bool,
    },
    /// A port with phases comes into this state. For the first one, which has
    /// been in force since the port was armed: the work was handed over, and its
    /// time begins. Recorded before the change, so that no client can have acted
    /// on it earlier.
    Listening {
        /// Place of the phase, from 0.
        phase: usize,
        /// The state.
        state: PortState,
        /// Since when.
        since_us: u64,
    },
    /// A port does not drop any more, or the client has ended: SYNs that the
    /// kernel has dropped in that state, own probes not counted. A SYN that a
    /// client's kernel sent again counts as any other.
    Dropped {
        /// Place of the phase, from 0.
        phase: usize,
        /// How many.
        syns: u64,
    },
    /// A connection was accepted, and what its lane says to do with it.
    Accepted {
        /// The client's end.
        peer: SocketAddr,
        /// What is done with it.
        act: ConnectionAct,
    },
    /// The first byte of a request.
    Started {
        /// When it arrived.
        arrived_us: u64,
        /// Whether the connection has carried a request before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reused: bool,
    },
    /// A complete head.
    Head {
        /// When its last byte arrived.
        arrived_us: u64,
        /// Method as sent.
        method: String,
        /// Request target as sent.
        target: String,
        /// Header fields as sent, in order; octets beyond ASCII as Latin-1.
        headers: Vec<(String, String)>,
        /// The queue that takes it; none: no route expects it (`other`).
        queue: Option<usize>,
        /// The step that it takes with its head. One that is taken earlier or
        /// later is told by `Taken`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<StepId>,
    },
    /// The exchange took this step, not with its head.
    Taken {
        /// Which.
        step: StepId,
    },
    /// The request is complete.
    Delivered {
        /// When its last byte arrived.
        arrived_us: u64,
        /// Bytes of content.
        body_bytes: u64,
        /// SHA-256 of the content in lower-case hex; none when there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body_sha256: Option<String>,
        /// True when its last byte arrived only after the client's end, pulled
        /// out of the dead client's kernel. The servers learn of the end a
        /// little late: a delivery that they tell before may be later than the
        /// end as well, and `arrived_us` says so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        drained: bool,
    },
    /// The head, or the framing of the content, can not be understood; the
    /// connection is reset.
    Malformed {
        /// Why.
        reason: String,
    },
    /// The application did something.
    Effect {
        /// What.
        name: String,
        /// For whom; none: the step names no key or the request has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// From when on it was due: when the bytes that it waits for had
        /// arrived, or what stands before it was done. It does not depend on
        /// when the server got its turn.
        #[serde(default)]
        since_us: u64,
        /// From when on the application worked on it, where that took time;
        /// `since_us` is then when it was through. That may lie behind the
        /// client's end: the work goes on without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        began_us: Option<u64>,
    },
    /// A model was asked about the request, and decided.
    Model {
        /// Which.
        name: String,
        /// What.
        decided: Decided,
        /// When the request had arrived.
        since_us: u64,
    },
    /// `100 Continue` was sent to a request that expects it.
    Continued {
        /// Time just before it was handed to the kernel.
        handed_us: u64,
    },
    /// The first byte of the answer went out; interim answers are none.
    Answering {
        /// What it is.
        answer: Answer,
    },
    /// The last byte of the answer, or of what a cut leaves of it, was handed
    /// to the kernel.
    Answered {
        /// Bytes of the answer handed to the kernel, interim answers before it
        /// left out.
        bytes: u64,
        /// Time just before the last of them were handed over. No client can
        /// have acted on the whole answer earlier, while this event itself may
        /// be recorded after the client has already gone on.
        #[serde(default)]
        handed_us: u64,
    },
    /// Bytes that no request asked for were handed to the kernel, on a connection
    /// that was idle after this exchange.
    Unsolicited {
        /// How many.
        bytes: u64,
        /// Time just before they were handed over.
        handed_us: u64,
    },
    /// A fault happened.
    Fired {
        /// Which.
        lane: Lane,
        /// What proves it, in words.
        proof: String,
        /// When it happened or began, just before the act; the event itself may
        /// be recorded later. What ended the client comes after this.
        #[serde(default)]
        since_us: u64,
    },
    /// The program went by the place of a fault, but whether the fault happened
    /// as it was scripted can not be known. It does not count as fired.
    Unproven {
        /// Which.
        lane: Lane,
        /// Why, in words.
        reason: String,
        /// As in `Fired`.
        since_us: u64,
    },
    /// The client ended its direction.
    PeerEnded {
        /// How.
        how: Ending,
        /// When that arrived, as the kernel tells: exact to a few ticks of its
        /// timer, and rounded so that it is never too late. None where it does
        /// not tell: for every RST, and for a FIN after which something was
        /// sent. Then it came somewhen before this event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arrived_us: Option<u64>,
        /// The last sign of life on the connection before: bytes that came, bytes
        /// that were taken from the server, or a look at the socket.
        #[serde(default)]
        alive_us: u64,
    },
    /// The server is just about to end the connection. Recorded first, so that
    /// no client can have acted on it earlier.
    Ended {
        /// How.
        how: Ending,
    },
    /// Nothing more can come on this connection; its bytes are all read.
    Closed {
        /// Bytes received on it, those read after the client's end included.
        received: u64,
        /// Bytes handed to the kernel on it.
        sent: u64,
        /// How many of them the client's process has taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        taken: Option<Taken>,
    },
}

impl What {
    /// The step that the exchange takes with this.
    pub fn step(&self) -> Option<StepId> {
        match self {
            Self::Head { step, .. } => *step,
            Self::Taken { step } => Some(*step),
            _ => None,
        }
    }
}

/// How many bytes a client's process has taken out of its socket. The bounds are
/// the same where the servers could see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// So many for certain.
    pub at_least: u64,
    /// No more than these had left the servers' kernel.
    pub at_most: u64,
}

/// How a direction of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// FIN.
    Fin,
    /// RST.
    Reset,
}
