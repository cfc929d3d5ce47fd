//! `respond`: an answer, with any of the faults an answer can have.

mod check;
mod decode;

use std::time::Duration;

use scripted_servers::wire::{Answer, End, Position, WireProgram, WireStep};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(super) use decode::decode;

use super::Listed;
use crate::message::{Message, Part};
use crate::plan::{Content, StepPlan};
use crate::program::Program;
use crate::rendering::Rendering;
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

pub(super) const LISTED: Listed = Listed {
    place: "step",
    word: "respond",
    summary: "an answer: any status, headers and body, and the faults below",
    example: "respond: { status: 503, body: { text: \"busy\" } }",
};

/// What can be wrong with an answer, key by key.
pub(super) const KEYS_LISTED: &[Listed] = &[
    of_respond(
        "retry_after",
        "a Retry-After header in seconds, as a date or as any text",
        "respond: { status: 429, retry_after: { date_in: 2s } }",
    ),
    of_respond(
        "framing",
        "how the end of the content is told: `length`, `chunked` or `close`",
        "respond: { status: 502, framing: close, body: { text: \"bad gateway\" } }",
    ),
    of_respond(
        "says_length",
        "a Content-Length that lies",
        "respond: { status: 200, body: { text: \"12345\" }, says_length: 20 }",
    ),
    of_respond(
        "chunks",
        "sizes of the chunks",
        "respond: { status: 200, framing: chunked, chunks: [5, 5], body: { text: helloworld } }",
    ),
    of_respond(
        "drip",
        "the body in small pieces, one after the other",
        "respond: { status: 200, body: { bytes: 200 }, drip: { bytes: 10, every: 10ms } }",
    ),
    of_respond(
        "stall",
        "a pause after a point of the answer",
        "respond: { status: 200, body: { bytes: 1KiB }, stall: { after: { body: half }, for: 2s } }",
    ),
    of_respond(
        "cut",
        "the connection ends after a point of the answer: `reset`, `close` or `hang`",
        "respond: { status: 200, body: { bytes: 1KiB }, cut: { after: { body: half }, with: reset } }",
    ),
    of_respond(
        "body.endless",
        "content that never ends",
        "respond: { status: 500, framing: chunked, body: { endless: \"no \" } }",
    ),
];

const fn of_respond(word: &'static str, summary: &'static str, example: &'static str) -> Listed {
    Listed {
        place: "respond",
        word,
        summary,
        example,
    }
}

impl Respond {
    /// A plain empty 200.
    pub fn plain() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            retry_after: None,
            body: None,
            framing: Framing::Length,
            says_length: None,
            chunks: Vec::new(),
            drip: None,
            stall: None,
            cut: None,
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        let only_parts = Self {
            status: 200,
            headers: self.headers.clone(),
            body: self.body.clone(),
            ..Self::plain()
        };
        let same = Self {
            status: 200,
            ..self.clone()
        };
        (200..300).contains(&self.status) && !self.is_endless() && same == only_parts
    }

    /// Whether the content never ends.
    pub fn is_endless(&self) -> bool {
        matches!(self.body, Some(Content::Endless(_)))
    }

    /// Whether an answer with this status never has content (RFC 9110 section
    /// 6.4.1).
    pub fn has_no_content(&self) -> bool {
        matches!(self.status, 204 | 304)
    }

    pub(super) fn ends_connection(&self) -> bool {
        self.cut.is_some() || self.framing == Framing::Close
    }

    pub(super) fn program(&self, step: &StepPlan, with: &Rendering<'_>) -> WireProgram {
        let message = Message::new(self, with);
        let answer = self.answer(&message);
        let mut writer = Writer {
            drip: self.drip_of(&message),
            message: &message,
            at: 0,
            program: Program::begin(step, scripted_servers::wire::RequestPoint::Request),
        };
        if let Some((point, pause)) = self.stall {
            writer.send_until(message.offset(point));
            writer.program.steps.push(WireStep::AwaitAcknowledged);
            writer.program.steps.push(WireStep::Wait(pause));
        }
        let steps = match self.cut {
            Some((point, end)) => writer.cut(message.offset(point), end),
            None => writer.rest(self),
        };
        WireProgram {
            steps,
            answer: Some(answer),
            verbatim: false,
        }
    }

    fn answer(&self, message: &Message) -> Answer {
        let endless = message.endless.is_some();
        let content = self.promised(&message.content);
        let digest = Sha256::digest(content);
        let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Answer {
            status: Some(self.status),
            body_bytes: if endless {
                0
            } else {
                u64::try_from(content.len()).unwrap_or(u64::MAX)
            },
            body_sha256: (!endless).then_some(hex),
            whole: !endless && self.cut.is_none() && self.keeps_its_length(content),
        }
    }

    /// The content as a reader must see it: where the head promises less than
    /// is sent, it ends there (RFC 9112 section 6.3).
    fn promised<'c>(&self, content: &'c [u8]) -> &'c [u8] {
        let says = self
            .says_length
            .and_then(|says| usize::try_from(says).ok())
            .unwrap_or(usize::MAX);
        content.get(..says).unwrap_or(content)
    }

    /// Whether a reader can get as much as the head promises; true where the
    /// length is not known here.
    pub(crate) fn promises_no_more_than_it_sends(&self) -> bool {
        let sent = self.body.as_ref().map_or(Some(0), Content::length);
        self.has_no_content()
            || self
                .says_length
                .is_none_or(|says| sent.is_none_or(|sent| says <= sent))
    }

    /// Whether as much is sent as the head promises. A status without content
    /// promises none, whatever its fields say.
    fn keeps_its_length(&self, content: &[u8]) -> bool {
        let sent = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.has_no_content() || self.says_length.is_none_or(|says| says <= sent)
    }

    /// Bytes on the wire a piece: where each piece is a chunk of its own, the
    /// chunk with its framing.
    fn drip_of(&self, message: &Message) -> Option<(usize, Duration)> {
        let (bytes, every) = self.drip?;
        let size = match (self.framing, &message.endless, self.chunks.is_empty()) {
            (_, Some(unit), _) => unit.len(),
            (Framing::Chunked, None, true) => message.first_chunk().unwrap_or(1),
            _ => usize::try_from(bytes).unwrap_or(usize::MAX),
        };
        Some((size.max(1), every))
    }
}

/// Writes a message in the order of its bytes.
struct Writer<'m, 's> {
    message: &'m Message,
    drip: Option<(usize, Duration)>,
    at: usize,
    program: Program<'s>,
}

impl Writer<'_, '_> {
    fn send_until(&mut self, to: usize) {
        let head = self.message.head;
        match self.drip {
            Some((size, every)) if to > head => {
                self.send(head);
                if self.at < to {
                    let bytes = self.message.bytes[self.at..to].into();
                    self.program
                        .steps
                        .push(WireStep::Drip { bytes, size, every });
                    self.at = to;
                }
            }
            _ => self.send(to),
        }
    }

    fn send(&mut self, to: usize) {
        if to <= self.at {
            return;
        }
        self.program
            .steps
            .push(match self.message.part(self.at, to) {
                Part::Bytes(bytes) => WireStep::Send(bytes.into()),
                Part::Dated {
                    before,
                    from_now,
                    after,
                } => WireStep::SendDated {
                    before: before.into(),
                    date_in: from_now,
                    after: after.into(),
                },
            });
        self.at = to;
    }

    fn cut(mut self, to: usize, end: End) -> Vec<WireStep> {
        self.send_until(to);
        self.program.steps.push(WireStep::AwaitAcknowledged);
        // RST throws away what the client has not read yet, so that it would
        // see one error or another by chance.
        if end == End::Reset {
            self.program.steps.push(WireStep::AwaitTaken);
        }
        let proof = match end {
            End::Reset => "the bytes before it were taken, then RST",
            End::Close => "the bytes before it were acknowledged, then FIN",
            End::Hang => "the bytes before it were acknowledged, then silence",
        };
        self.program.end(proof, end)
    }

    fn rest(mut self, respond: &Respond) -> Vec<WireStep> {
        self.send_until(self.message.bytes.len());
        if let Some(unit) = &self.message.endless {
            self.program.steps.push(WireStep::Endless {
                unit: unit.as_slice().into(),
                every: respond.drip.map(|(_, every)| (1, every)),
            });
            return self.program.end("content without end", End::Close);
        }
        if respond.framing == Framing::Close {
            self.program.steps.push(WireStep::AwaitAcknowledged);
            let proof = "all its bytes were acknowledged, then FIN";
            return self.program.end(proof, End::Close);
        }
        self.program.keep()
    }
}
