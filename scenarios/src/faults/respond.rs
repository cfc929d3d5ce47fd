//! `respond`: an answer, with any of the faults an answer can have.

use std::time::Duration;

use scripted_servers::wire::{End, Position};
use serde::{Deserialize, Serialize};

use crate::plan::Content;
use crate::template::Template;

/// `respond: {status: 200, ...}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Respond {
    /// Status code.
    pub status: u16,
    /// Header fields in order; a repeated one stands here repeatedly.
    pub headers: Vec<(String, Template)>,
    /// Retry-After (RFC 9110 section 10.2.3).
    pub retry_after: Option<RetryAfter>,
    /// Content; none: empty.
    pub body: Option<Content>,
    /// How the end of the content is told.
    pub framing: Framing,
    /// A Content-Length that lies.
    pub says_length: Option<u64>,
    /// Sizes of the chunks; the rest is one more. Empty: one chunk a write.
    pub chunks: Vec<u64>,
    /// Bytes a piece and time between pieces.
    pub drip: Option<(u64, Duration)>,
    /// Pause after a point, then go on.
    pub stall: Option<(ResponsePoint, Duration)>,
    /// End after a point.
    pub cut: Option<(ResponsePoint, End)>,
}

/// Forms of Retry-After.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAfter {
    /// So many seconds.
    Seconds(u64),
    /// The HTTP-date this far from now, rounded up to a whole second.
    DateIn(Duration),
    /// This text.
    Text(String),
}

/// How the end of the content is told (RFC 9112 section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// Content-Length.
    #[default]
    Length,
    /// Transfer-Encoding: chunked.
    Chunked,
    /// No framing header; the end of the connection.
    Close,
}

/// A place in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponsePoint {
    /// So many bytes of the head.
    Head(Position),
    /// So many bytes of the content.
    Body(Position),
    /// So many bytes after the head, framing included.
    Wire(Position),
    /// So many whole chunks.
    Chunks(u64),
}
