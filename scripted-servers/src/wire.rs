//! Wire programs: what a fault comes down to.
//!
//! A fault is a pure function to a [`WireProgram`]; the interpreter runs it on
//! one exchange of one connection. Programs are data, so a fault is tested
//! without a socket.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes that many steps and repeats share.
pub type Bytes = Arc<[u8]>;

/// What the server does with one exchange, from its first byte on.
///
/// A program stops where it is as soon as the peer has ended the connection
/// (RST, or FIN with no process holding the socket any more; a client that only
/// ended its own direction is still served) and when the cell ends. An answer to
/// HEAD ends where its content would begin, unless the program is sent as it
/// stands; a part inside that content does not happen and has not fired.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct WireProgram {
    /// Run in order. When they are through without a [`WireStep::End`] the rest
    /// of the request is read and the connection is kept for the next one,
    /// unless the client asked for its end (RFC 9112 section 9.6).
    pub steps: Vec<WireStep>,
    /// What this answers, as the program's maker sees it; logged when the first
    /// byte of the answer goes out.
    pub answer: Option<Answer>,
    /// Whether every byte goes out as it stands, whatever the request's method.
    /// Then also an answer to HEAD is sent to its end.
    pub verbatim: bool,
    /// Place of the first step that belongs to the answer. What the steps before
    /// it send are interim answers (1xx, RFC 9110 section 15.2), of which
    /// `answer`, `Answering` and `Answered` say nothing.
    pub answer_from: usize,
    /// Whether what this program proves lies in the content of its answer, which
    /// an answer to HEAD does not have.
    pub proves_content: bool,
    /// What is done when a request expects `100` before it sends its content.
    pub continues: Continue,
}

/// What a server does with `Expect: 100-continue` (RFC 9110 section 10.1.1).
///
/// The rule: a server that is about to read the content of a request that
/// expects it sends `100 Continue` first, at once, whether some of the content
/// has come already or not. So it does not depend on who is faster. It sends none
/// to a request without content, none to HTTP/1.0, and none when it answers or
/// ends the connection before it wants any content: then its answer is the only
/// one. A step can say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Continue {
    /// `100` is sent at once.
    #[default]
    Sent,
    /// It is never sent; the content is waited for. A client that leaves while it
    /// waits has met the fault.
    Never,
    /// It is sent so long after the head has arrived, unless content comes first;
    /// then nothing was late, and nothing is proved.
    After(Duration),
}

impl WireProgram {
    /// Reads the request and answers it with this status and content, framed by
    /// its length; 204 and 304 have none.
    pub fn answer(status: u16, body: &[u8]) -> Self {
        let body = if matches!(status, 204 | 304) {
            &[]
        } else {
            body
        };
        let mut message = format!("HTTP/1.1 {status} \r\n").into_bytes();
        if !matches!(status, 204 | 304) {
            message.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        message.extend_from_slice(b"\r\n");
        message.extend_from_slice(body);
        Self {
            steps: vec![
                WireStep::ReadUntil(RequestPoint::Request),
                WireStep::Send(message.into()),
            ],
            answer: Some(Answer {
                status: Some(status),
                body_bytes: body.len() as u64,
                body_sha256: Some(crate::digest::sha256(body)),
                whole: true,
                events: SentEvents::default(),
            }),
            ..Self::default()
        }
    }
}

/// The facts of an answer that the wire alone does not tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Status code on the wire; none where the bytes are no status line.
    pub status: Option<u16>,
    /// Length of the content (RFC 9110 section 6.4), as scripted when whole.
    pub body_bytes: u64,
    /// SHA-256 of the whole content in lower-case hex; none for an endless one.
    pub body_sha256: Option<String>,
    /// Whether a whole, well-framed message goes out. False for every cut.
    pub whole: bool,
    /// The events that it lists.
    #[serde(default, skip_serializing_if = "SentEvents::is_empty")]
    pub events: SentEvents,
}

/// Events of an answer, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentEvents {
    /// Those that go out whole.
    pub whole: Vec<String>,
    /// Those of which nobody knows whether they do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub perhaps: Vec<String>,
    /// Those that it leaves out, as the client says that it has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl SentEvents {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.perhaps.is_empty() && self.left_out.is_empty()
    }
}

/// One thing the interpreter can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireStep {
    /// Read the request up to the point. When the request has no such point, or
    /// it could not be known in time, it is read to its end, and what the program
    /// would prove is told as unproven. So it is with `Half` and `Last` of
    /// content that comes chunked, and with more bytes than the content has.
    ReadUntil(RequestPoint),
    /// As `ReadUntil`, but the content in pieces of so many bytes, with so much time
    /// between them. Bytes that the socket has no room for stay with the client.
    /// Content that ends with its first piece was not read slowly, and then what
    /// the program would prove is told as unproven.
    ReadSlowly {
        /// How far.
        point: RequestPoint,
        /// Bytes a piece, framing included.
        bytes: usize,
        /// Time from piece to piece.
        every: Duration,
    },
    /// Wait on the clock (a step's `delay`).
    Wait(Duration),
    /// The application did something: count it under its name and key.
    Effect(Effect),
    /// The application begins to work on an effect, which takes so long and is
    /// counted at its end; the program goes on at once. The work is the
    /// application's: it goes on whatever becomes of the connection. What is not
    /// through when the client has ended is told then, with the time of its end.
    Work(Effect, Duration),
    /// Write these bytes, as one write where the kernel takes them whole.
    Send(Bytes),
    /// As `Send`, with an HTTP-date (RFC 9110 section 5.6.7) between the two
    /// parts: the clock's wall time when it is sent plus `date_in`, rounded up
    /// to a whole second.
    SendDated {
        /// Up to the date.
        before: Bytes,
        /// How far from now.
        date_in: Duration,
        /// From the date on.
        after: Bytes,
    },
    /// Write `bytes` in pieces of `size`, one every `every`.
    Drip {
        /// All that is to be written.
        bytes: Bytes,
        /// Bytes a piece.
        size: usize,
        /// Time from piece to piece, at least 3 ms.
        every: Duration,
    },
    /// Write `unit` again and again until the peer or the deadline ends it.
    Endless {
        /// What is repeated.
        unit: Bytes,
        /// Units a piece and time from piece to piece; none: as fast as the
        /// peer reads.
        every: Option<(usize, Duration)>,
    },
    /// Wait until all bytes written so far are acknowledged by the peer's
    /// kernel (send queue empty).
    AwaitAcknowledged,
    /// Wait until all bytes written so far were also read by the peer's
    /// process (its receive queue is empty). Needed before a reset at an exact
    /// byte: RST throws away what is unsent, and an unread rest makes clients
    /// report by chance.
    AwaitTaken,
    /// The fault of this step happened: leave the proof, in words.
    ///
    /// It stands where the fault's point is, and is left
    /// - directly before an [`WireStep::End`] or [`WireStep::EndWhenIdle`]: once
    ///   that end is a fact. RST: sent while a process still held the other
    ///   end. FIN: acknowledged. Hang: when it begins. An idle end that another
    ///   request forestalls leaves nothing.
    /// - directly before a `Wait`, `Drip` or `Endless`: when that begins, if the
    ///   client is still there.
    /// - anywhere else: when it is reached. There it stands behind the
    ///   `AwaitAcknowledged` or `AwaitTaken` that makes it true.
    ///
    /// A `Wait`, `Drip` or `ReadSlowly` that the client ends by leaving, or that
    /// the end of the cell cuts off, counts as fired from its beginning, which of
    /// slow reading is the end of the first piece: the first `Fired` behind it is
    /// left then. Not so when the client is stopped because of what
    /// was counted (`Running::stopping`). `Endless` and a hang have no end of their own, so
    /// the first `Fired` behind them is left as they begin.
    Fired(&'static str),
    /// Stay idle for this long after the answer, until the peer's process has
    /// read all of it, then write these bytes, which no request asked for, and
    /// wait until they are in the peer's kernel. Directly before a `Fired` and a
    /// closing `EndWhenIdle` they arrive together with the FIN instead.
    ///
    /// If another request begins first, that request is served, nothing that
    /// stands behind this happens, and nothing fired. A client that acts on the
    /// bytes and ends the connection before a RST comes has met the fault. Only a `Fired` and an
    /// `EndWhenIdle` may stand behind it.
    SendWhenIdle(Duration, Bytes),
    /// Stay idle for this long after what was sent last, then end the connection;
    /// if another request begins first, that request is served and nothing fired.
    /// After no time at all a FIN arrives together with the bytes that an
    /// `AwaitAcknowledged` right before it is about. Always the last step.
    EndWhenIdle(Duration, IdleEnd),
    /// End the connection. Always the last step.
    End(End),
}

/// How far a request is read before a program goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestPoint {
    /// The complete request.
    Request,
    /// So many bytes of the head.
    Head(Position),
    /// So many bytes of the content, after a whole head.
    Body(Position),
}

/// A place in something whose length may be known only when it arrives. `Half`
/// and `Last` of a request's head are reached with its end, as nothing tells its
/// length before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// So many bytes from the start.
    Bytes(u64),
    /// Half of it, rounded down.
    Half,
    /// All but one byte.
    Last,
    /// All of it.
    All,
}

/// How a connection is ended by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// RST, once what the client has in flight has arrived and settled, and
    /// what was sent to it was taken. What had arrived by then is counted.
    Reset,
    /// FIN, once what the client has in flight has arrived and settled; later
    /// bytes are counted, then answered by RST. Bytes that an `AwaitAcknowledged`
    /// right before it is about arrive together with it.
    Close,
    /// As `Close`, but what comes later is read and counted, to the peer's end.
    HalfClose,
    /// From here on neither read nor write, until the client or the cell ends.
    Hang,
}

/// How an idle connection is ended by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleEnd {
    /// RST.
    Reset,
    /// FIN; later bytes are counted, then answered by RST.
    Close,
}

/// An effect of the server's application, counted when its step is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// The name that assertions count by.
    pub name: String,
    /// Where the business key is found; none: the effect has no key.
    pub key: Option<KeySource>,
}

/// Where a business key is found in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// The value of the header field with this name.
    Header(String),
    /// A JSON pointer (RFC 6901) into the content.
    Json(String),
    /// The last segment of the path.
    PathLast,
}
