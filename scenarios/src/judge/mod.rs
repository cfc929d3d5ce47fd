//! The judge: evidence in, verdict out.
//!
//! Pure: the same Plan, manifest and evidence give the same verdict a year
//! later. It reads no clock, no file and no socket.

pub(crate) mod answers;
mod attribution;
mod bounded;
mod broken;
mod cancel;
pub(crate) mod case;
pub(crate) mod checked;
pub(crate) mod client;
pub(crate) mod content;
pub(crate) mod counts;
mod crash;
pub(crate) mod effects;
pub(crate) mod errors;
pub(crate) mod exchange;
pub(crate) mod facts;
mod fired;
pub(crate) mod gathering;
mod lifetime;
pub(crate) mod mark;
pub(crate) mod moment;
pub(crate) mod overlap;
mod packed;
mod places;
mod rules;
mod run_delay;
pub(crate) mod time;
mod told;
mod verdict;

pub use attribution::CALL_HEADER;
pub use verdict::{judge, not_run};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
