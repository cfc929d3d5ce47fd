//! The scenario language of wirefault.
//!
//! Data flows one way: text -> [`document`] (values with positions) ->
//! [`validate`] -> [`plan::Plan`] -> (the harness runs it) ->
//! [`evidence::Evidence`] -> [`judge`] -> [`verdict::CellVerdict`].
//! Nothing here opens a socket or starts a program.

pub mod assertions;
pub mod counter;
pub mod document;
pub mod errors;
pub mod evidence;
pub mod expected;
pub mod faults;
pub mod judge;
pub mod manifest;
pub mod matcher;
pub mod plan;
pub mod policy;
mod reading;
pub mod rendering;
pub mod resolve;
pub mod scope;
pub mod secrets;
pub mod target;
pub mod template;
pub mod validate;
pub mod verdict;

#[cfg(test)]
mod testing;
