//! Why a call has no answer.

use std::fmt;
use std::io;

/// What went wrong, by what is known of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The call cannot be sent as it was given.
    Unusable,
    /// Too many calls are open and too many wait.
    QueueFull,
    /// The server has failed too often, and is left alone for a while.
    BreakerOpen,
    /// The port refused.
    Refused,
    /// No connection within the limit.
    ConnectTimeout,
    /// No connection for any other reason.
    Unreachable,
    /// The connection was reset before any byte of the answer.
    Reset,
    /// The connection was closed before any byte of the answer.
    Closed,
    /// The connection ended inside the answer.
    Truncated,
    /// Nothing moved within the limit.
    IdleTimeout,
    /// The attempt took too long.
    AttemptTimeout,
    /// The call took too long.
    TotalTimeout,
    /// The answer makes no sense.
    Malformed,
    /// More redirects than allowed.
    TooManyRedirects,
    /// The API says that a job will never be done.
    JobRefused,
    /// The API says that an item of a batch is not taken.
    ItemRefused,
    /// The call was under way when the process before this one was killed.
    Killed,
    /// The caller wants the call no more. No error that is shown: what is shown
    /// says so itself.
    Cancelled,
}

/// What is known of a call that was cancelled.
pub(crate) const CANCELLED: &str = "the caller cancelled the call";

impl Kind {
    /// All that are shown as errors.
    pub(crate) const ALL: [Self; 17] = [
        Self::Unusable,
        Self::QueueFull,
        Self::BreakerOpen,
        Self::Refused,
        Self::ConnectTimeout,
        Self::Unreachable,
        Self::Reset,
        Self::Closed,
        Self::Truncated,
        Self::IdleTimeout,
        Self::AttemptTimeout,
        Self::TotalTimeout,
        Self::Malformed,
        Self::TooManyRedirects,
        Self::JobRefused,
        Self::ItemRefused,
        Self::Killed,
    ];

    /// Whether this can only happen before a byte of a request is sent.
    pub(crate) const fn is_before_sending(self) -> bool {
        self.is_the_clients_own()
            || matches!(
                self,
                Self::Refused | Self::ConnectTimeout | Self::Unreachable
            )
    }

    /// Whether an answer said it.
    const fn is_refusal(self) -> bool {
        matches!(self, Self::JobRefused | Self::ItemRefused)
    }

    /// When it happens, as the manifest names it.
    pub(crate) const fn phase(self) -> &'static str {
        match self {
            kind if kind.is_before_sending() => "before",
            kind if kind.is_refusal() => "refused",
            _ => "after",
        }
    }

    /// Whether the client itself sends nothing: to try again changes nothing.
    pub(crate) const fn is_the_clients_own(self) -> bool {
        matches!(self, Self::Unusable | Self::QueueFull | Self::BreakerOpen)
    }

    /// The code of this client for it.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Unusable => "UNUSABLE_CALL",
            Self::QueueFull => "QUEUE_FULL",
            Self::BreakerOpen => "BREAKER_OPEN",
            Self::Refused => "ECONNREFUSED",
            Self::ConnectTimeout => "CONNECT_TIMEOUT",
            Self::Unreachable => "UNREACHABLE",
            Self::Reset => "ECONNRESET",
            Self::Closed => "CLOSED_BEFORE_ANSWER",
            Self::Truncated => "ANSWER_TRUNCATED",
            Self::IdleTimeout => "IDLE_TIMEOUT",
            Self::AttemptTimeout => "ATTEMPT_TIMEOUT",
            Self::TotalTimeout => "TOTAL_TIMEOUT",
            Self::Malformed => "MALFORMED_ANSWER",
            Self::TooManyRedirects => "TOO_MANY_REDIRECTS",
            Self::JobRefused => "JOB_REFUSED",
            Self::ItemRefused => "ITEM_REFUSED",
            Self::Killed => "KILLED_MEANWHILE",
            Self::Cancelled => "CANCELLED",
        }
    }
}

/// How a connection ended under a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndedBy {
    /// FIN.
    Close,
    /// RST, or another error of the socket.
    Reset,
}

/// Why a call, or an attempt of it, has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What went wrong.
    pub(crate) kind: Kind,
    /// What is known of it, in words.
    pub(crate) note: String,
    /// What the system said.
    pub(crate) cause: Option<io::Error>,
    /// How the connection ended, if that was it.
    pub(crate) ended_by: Option<EndedBy>,
    /// Whether a byte of the request that failed may have been sent.
    pub(crate) sent: bool,
    /// Whether a byte of an answer came.
    pub(crate) answered: bool,
    /// Whether its connection had served a request before.
    pub(crate) reused: bool,
    /// Requests of the same call that were sent before the one that failed.
    pub(crate) sent_before: u32,
    /// Those among them that belong to the same attempt: redirect hops.
    pub(crate) hops_before: u32,
}

impl Failure {
    pub(crate) fn new(kind: Kind, note: impl Into<String>) -> Self {
        Self {
            kind,
            note: note.into(),
            cause: None,
            ended_by: None,
            sent: !kind.is_before_sending(),
            answered: false,
            reused: false,
            sent_before: 0,
            hops_before: 0,
        }
    }

    /// A call that its caller wants no more.
    pub(crate) fn cancelled() -> Self {
        Self {
            sent: false,
            ..Self::new(Kind::Cancelled, CANCELLED)
        }
    }

    /// Adds what the system said.
    pub(crate) fn caused_by(mut self, cause: io::Error) -> Self {
        self.cause = Some(cause);
        self
    }

    /// Whether it is proved that this attempt sent nothing at all: not this
    /// request, and not one to a server that redirected here.
    pub(crate) const fn proves_unsent(&self) -> bool {
        !self.sent && self.hops_before == 0
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.note)
    }
}
