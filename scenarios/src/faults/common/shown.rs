//! What a request meets, as a client that keeps to its policy would take it:
//! whether it arrives, how long the answer takes, and what comes in the end.

use std::time::Duration;

use scripted_servers::wire::End;
use serde::{Deserialize, Serialize};

use crate::manifest::ErrorKind;
use crate::template::Template;

/// Whether a request arrives as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrives {
    Yes,
    No,
    Perhaps,
}

/// A time in which an answer is on its way; without end where it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Period {
    /// Not a byte.
    Silent(Option<Duration>),
    /// Bytes all the time.
    Busy(Option<Duration>),
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

/// What becomes of a connection that stays idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Idle {
    /// After so long.
    pub(crate) after: Duration,
    /// Whether bytes come on it that nobody asked for; else it only ends.
    pub(crate) speaks: bool,
}

/// What comes in the end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Comes {
    Answer {
        status: u16,
        location: Option<Template>,
        retry_after: Option<RetryAfter>,
        /// Whether the connection is kept, and what becomes of it when it stays
        /// idle.
        kept: Option<Option<Idle>>,
    },
    Fails(Vec<ErrorKind>),
    /// Nothing that a client could tell from a slow answer.
    Nothing,
}

/// What a request meets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Met {
    pub(crate) arrives: Arrives,
    /// Whether a route expects it.
    pub(crate) routed: bool,
    pub(crate) periods: Vec<Period>,
    pub(crate) comes: Comes,
}

impl Met {
    pub(crate) fn new(arrives: Arrives, comes: Comes) -> Self {
        Self {
            arrives,
            routed: true,
            periods: Vec::new(),
            comes,
        }
    }

    pub(crate) fn silent(arrives: Arrives) -> Self {
        Self {
            periods: vec![Period::Silent(None)],
            ..Self::new(arrives, Comes::Nothing)
        }
    }
}

/// Up to this size a request is in the server's kernel as a whole, wherever it
/// is cut.
pub(crate) const WHOLE_IN_KERNEL: u64 = 16 << 10;

/// With so much still to come at the point of a cut, the request can not be.
pub(crate) const TOO_MUCH_FOR_KERNEL: u64 = 1 << 20;

/// A client that is still sending when the server closes gets a reset for it,
/// and may see either.
pub(crate) fn closed(content: u64) -> Vec<ErrorKind> {
    if content <= WHOLE_IN_KERNEL {
        vec![ErrorKind::Closed]
    } else {
        vec![ErrorKind::Closed, ErrorKind::Reset]
    }
}

/// The value of a header field as the language would say it.
pub(in crate::faults) fn retry_after(value: String) -> RetryAfter {
    match value.parse() {
        Ok(seconds) => RetryAfter::Seconds(seconds),
        Err(_) => RetryAfter::Text(value),
    }
}

/// An end of a connection, as the language says it.
pub(in crate::faults) fn end_in_words(end: End) -> &'static str {
    match end {
        End::Reset => "reset",
        End::Close => "close",
        End::HalfClose => "half-close",
        End::Hang => "hang",
    }
}
