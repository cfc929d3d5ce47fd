//! HTTP/1.1 as bytes (RFC 9112): pure functions and state machines over what
//! has arrived. It reads no socket and knows no time.
//!
//! It is strict: what it cannot understand exactly is [`Malformed`], and what
//! ends too soon is never whole.

mod body;
mod chunked;
mod coding;
mod encode;
mod fields;
mod head;

use std::fmt;

pub(crate) use body::{Body, Framing, Shortfall};
pub(crate) use coding::Coding;
pub(crate) use encode::{Content, Outgoing, encode, is_token, is_value};
pub(crate) use fields::Fields;
pub(crate) use head::{Head, Lenience};

/// Bytes that do not make sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl Malformed {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}
