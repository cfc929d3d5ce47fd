//! What is known of one exchange, and what remains to be proved of its fault.

use std::sync::Arc;
use std::time::Duration;

use crate::event::{Lane, StepId};
use crate::models::Passage;
use crate::request::Request;
use crate::state::Server;
use crate::wire::WireProgram;

/// One request on a connection and what is done with it.
pub(crate) struct Exchange {
    pub(crate) number: u32,
    pub(crate) request: Request,
    /// Whether a script answers it; else it is only counted.
    pub(crate) scripted: bool,
    /// When its first byte arrived.
    pub(crate) began: Duration,
    pub(crate) queue: Option<usize>,
    pub(crate) step: Option<StepId>,
    /// The program that models made of it; none: its step's.
    pub(crate) program: Option<Arc<WireProgram>>,
    /// What models decided, until it is answered.
    pub(crate) passage: Option<Passage>,
    pub(crate) malformed: bool,
    pub(crate) ends_connection: bool,
    pub(crate) is_head: bool,
    /// Bytes of the answer that the kernel took.
    pub(crate) sent: u64,
    /// Those of them that belong to interim answers.
    pub(crate) interim: u64,
    /// Those of them that are a `100` which no program holds.
    pub(crate) continued: u64,
    /// Whether the request came with an expectation of `100`.
    pub(crate) expects_continue: bool,
    /// Just before the last of them were handed over.
    pub(crate) handed: Duration,
    pub(crate) answered: bool,
    /// When the last of its bytes that were looked at had arrived.
    pub(crate) arrived: Duration,
    /// The next step of its program.
    pub(crate) place: usize,
    /// From when on that step was due.
    pub(crate) due: Duration,
}

/// The proof to leave once a fault is a fact.
#[derive(Clone, Copy)]
pub(crate) struct Proof {
    /// Whose fault it is.
    pub(crate) lane: Lane,
    /// What the maker of the program says of it.
    pub(crate) words: &'static str,
}

/// Something that takes time and proves a fault. If it is cut off, what it
/// would have proved is decided by what is known then.
#[derive(Clone, Copy)]
pub(crate) struct Underway {
    pub(crate) exchange: Option<u32>,
    pub(crate) proof: Proof,
    pub(crate) part: Part,
    /// When it began.
    pub(crate) since: Duration,
}

/// What takes time.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// Doing this; it counts as fired from its beginning, unless the client is
    /// being stopped.
    Doing(&'static str),
    /// Waiting for an acknowledgement; it counts if that has come. The words say
    /// of what.
    Acknowledgement(&'static str),
    /// The same, with silence behind it that only the client ends; it counts if the
    /// client has met that.
    Silence,
    /// Waiting for the acknowledgement of a FIN.
    Fin {
        /// Nothing else was in flight when it was sent.
        alone: bool,
    },
}

impl Exchange {
    /// Whether a script answers it and its step is not chosen yet.
    pub(super) fn awaits_step(&self) -> bool {
        self.scripted && self.step.is_none()
    }

    /// Takes the step that is due for it.
    pub(super) fn choose(&self, server: &Server, queue: usize) -> Option<StepId> {
        server.take_step(queue, &self.request, self.number > 1, self.began)
    }
}
