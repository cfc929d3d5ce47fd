//! The judge: evidence in, verdict out.
//!
//! Pure: the same Plan, manifest and evidence give the same verdict a year
//! later. It reads no clock, no file and no socket.

pub mod answers;
mod attribution;
mod bounded;
mod broken;
pub mod case;
pub mod checked;
pub mod client;
pub mod content;
pub mod counts;
pub mod effects;
pub mod exchange;
pub mod facts;
mod fired;
mod lifetime;
mod rules;
pub mod time;
mod verdict;

pub use attribution::CALL_HEADER;
pub use verdict::{judge, not_run};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
