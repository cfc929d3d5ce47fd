//! The scenario language of wirefault.
//!
//! Data flows one way: text -> [`document`] (values with positions) ->
//! [`validate`] -> [`plan::Plan`] -> (the harness runs it) ->
//! [`evidence::Evidence`] -> [`judge`] -> [`verdict::CellVerdict`].
//! Nothing here opens a socket or starts a program.

pub mod apis;
pub mod assertions;
pub mod document;
pub mod evidence;
pub mod faults;
pub mod judge;
mod language;
pub mod manifest;
pub mod models;
mod operation;
pub mod policy;
mod reading;
pub mod resolve;
pub mod schema;
pub mod secrets;
pub mod validate;
pub mod verdict;

pub(crate) use language::scope;
pub use language::{counter, expected, matcher, moment, plan, template};
pub use resolve::{rendering, target};

#[cfg(test)]
mod testing;
