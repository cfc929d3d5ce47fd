//! HTTP clients of the Rust ecosystem, as programs under test.
//!
//! They are used as they come: what they do about faults is theirs, and nothing
//! is added but the client protocol.

mod content;
mod hyper_util_client;
mod locked;

pub use hyper_util_client::hyper_util;
