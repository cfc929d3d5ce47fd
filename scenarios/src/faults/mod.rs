//! The behaviours of a step, a file each: parameters, decoding, and a pure
//! function to a wire program.

pub mod cut;
pub mod raw;
pub mod respond;

use serde::{Deserialize, Serialize};

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
