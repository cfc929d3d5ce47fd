//! The behaviours of a step, a file each: parameters, decoding, and a pure
//! function to a wire program.
//!
//! A fault decides, the interpreter of the servers acts. A new one is a file
//! here, its variant, and its lines in the functions below.

pub mod cut;
pub mod raw;
pub mod respond;

use scripted_servers::wire::{RequestPoint, WireProgram};
use serde::{Deserialize, Serialize};

use crate::document::Node;
use crate::plan::StepPlan;
use crate::rendering::Rendering;
use crate::validate::Reading;

/// What the wire shows in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// An answer, faults included.
    Respond(respond::Respond),
    /// Read up to a point, answer nothing, end.
    Cut(cut::Cut),
    /// Exact bytes instead of an answer.
    Raw(raw::Raw),
}

/// A word of the lanes of a server, for `wirefault list faults`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Where it is written: `step`, `respond`, `then`, `connections`, `listen`.
    pub place: &'static str,
    /// The word.
    pub word: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// How it is written, in one line.
    pub example: &'static str,
}

/// The behaviours of a step.
pub const BEHAVIOURS: &[Listed] = &[respond::LISTED, cut::LISTED, raw::LISTED];

/// Everything that can go wrong at a server, by place.
pub fn all() -> impl Iterator<Item = Listed> {
    let lanes = crate::validate::LANES.iter();
    BEHAVIOURS
        .iter()
        .chain(respond::KEYS_LISTED)
        .chain(lanes)
        .copied()
}

/// Decodes a behaviour: its word, and the value that stands behind it.
pub(crate) fn decode(word: &str, value: &Node, reading: &mut Reading<'_>) -> Option<Fault> {
    match word {
        "respond" => respond::decode(value, reading).map(Fault::Respond),
        "cut" => cut::decode(value, reading).map(Fault::Cut),
        "raw" => raw::decode(value, reading).map(Fault::Raw),
        _ => None,
    }
}

impl Fault {
    /// The wire program of a step with this fault.
    pub fn program(&self, step: &StepPlan, with: &Rendering<'_>) -> WireProgram {
        match self {
            Self::Respond(respond) => respond.program(step, with),
            Self::Cut(cut) => cut.program(step),
            Self::Raw(raw) => raw.program(step, with),
        }
    }

    /// What stands in its place when it is switched off: a plain empty answer.
    pub fn plain() -> Self {
        Self::Respond(respond::Respond::plain())
    }

    /// Whether it shows nothing but headers and a body with a 2xx.
    pub fn is_plain(&self) -> bool {
        match self {
            Self::Respond(respond) => respond.is_plain(),
            Self::Cut(_) | Self::Raw(_) => false,
        }
    }

    /// Whether the act lies inside the head, so that the step is taken at the
    /// first byte of a request.
    pub fn is_inside_head(&self) -> bool {
        matches!(self, Self::Cut(cut) if cut.is_inside_head())
    }

    /// How far a request is read.
    pub fn request_point(&self) -> RequestPoint {
        match self {
            Self::Cut(cut) => cut.after,
            Self::Respond(_) | Self::Raw(_) => RequestPoint::Request,
        }
    }

    /// Whether it ends the connection itself.
    pub fn ends_connection(&self) -> bool {
        match self {
            Self::Respond(respond) => respond.ends_connection(),
            Self::Cut(_) => true,
            Self::Raw(_) => false,
        }
    }
}

impl StepPlan {
    /// Whether the step is a fault, and not a plain answer.
    pub fn is_fault(&self) -> bool {
        !self.fault.is_plain() || !self.delay.is_zero() || self.then.is_some()
    }
}
