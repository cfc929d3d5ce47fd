//! `respond`: an answer, with any of the faults an answer can have.

mod by_model;
mod check;
mod coding;
mod decode;
mod message;
mod parts;
mod shows;
mod writer;

use std::time::Duration;

use scripted_servers::digest::sha256;
use scripted_servers::script::Times;
use scripted_servers::wire::{Answer, End, Position, SentEvents, WireProgram, WireStep};
use serde::{Deserialize, Serialize};

pub(crate) use by_model::{denial, denial_kind};
pub use coding::{Coding, CodingState, Scheme};
use message::Message;
use writer::Writer;

use super::common::program::Program;
pub use super::common::shown::RetryAfter;
use super::common::shown::{Met, end_in_words};
use super::{Asker, Behaviour, ByModel, Entry, Fault, Listed, Redirects};
use crate::document::Kind;
use crate::expected::Words;
use crate::manifest::Ability;
use crate::plan::{Content, SentEvent, StepPlan};
use crate::rendering::Rendering;
use crate::template::Template;

/// `respond: {status: 200, ...}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Respond {
    /// Status code.
    pub status: u16,
    /// Whether the status is left to the models of the step; `status` is then that
    /// of what they let pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_model: bool,
    /// Header fields in order; a repeated one stands here repeatedly.
    pub headers: Vec<(String, Template)>,
    /// Retry-After (RFC 9110 section 10.2.3).
    pub retry_after: Option<RetryAfter>,
    /// Interim answers before it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interim: Vec<Interim>,
    /// Content; none: empty.
    pub body: Option<Content>,
    /// How the content is coded; none: as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coding: Option<Coding>,
    /// How the end of the content is told.
    pub framing: Framing,
    /// A Content-Length that lies.
    pub says_length: Option<u64>,
    /// Sizes of the chunks; the rest is one more. Empty: one chunk a write.
    pub chunks: Vec<u64>,
    /// Trailer fields behind the last chunk, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailers: Vec<(String, Template)>,
    /// Bytes behind the end of the message; the connection is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surplus: Option<Content>,
    /// Bytes a piece and time between pieces.
    pub drip: Option<(u64, Duration)>,
    /// Pause after a point, then go on.
    pub stall: Option<(ResponsePoint, Duration)>,
    /// End after a point.
    pub cut: Option<(ResponsePoint, End)>,
}

/// An interim answer (RFC 9110 section 15.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interim {
    /// 100 to 199, but not 101.
    pub status: u16,
    /// Header fields in order.
    pub headers: Vec<(String, Template)>,
    /// How often it is sent; always: the answer never comes.
    pub times: Times,
    /// Time between two of them.
    pub every: Option<Duration>,
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
    /// So many whole events.
    Events(u64),
    /// The middle of the event with this number, from 1.
    InsideEvent(u64),
}

impl ResponsePoint {
    /// Whether it is a place in a list of events.
    fn is_of_events(self) -> bool {
        matches!(self, Self::Events(_) | Self::InsideEvent(_))
    }
}

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        place: "step",
        word: "respond",
        summary: "an answer: any status, headers and body, with any of its faults",
        example: "respond: { status: 503, body: { text: \"busy\" } }",
    },
    kind: || Kind::Map(&decode::KEYS),
    parts: parts::PARTS,
    decode: |node, reading| decode::decode(node, reading).map(Fault::Respond),
};

impl Behaviour for Respond {
    fn program(&self, step: &StepPlan, with: &Rendering<'_>) -> WireProgram {
        let message = Message::new(self, with);
        let answer = self.answer(&message);
        let mut writer = Writer {
            drip: self.drip_of(&message),
            message: &message,
            at: 0,
            program: Program::begin(step),
        };
        if let Some((unit, every)) = writer.interim(self, with) {
            return WireProgram {
                steps: writer.without_end(unit, every),
                answer_from: usize::MAX,
                continues: step.continues,
                ..WireProgram::default()
            };
        }
        let answer_from = writer.program.steps.len();
        if let Some((point, pause)) = self.stall {
            writer.send_until(message.offset(point));
            writer.program.steps.push(WireStep::AwaitAcknowledged);
            writer.program.steps.push(WireStep::Wait(pause));
        }
        let steps = match self.cut {
            Some((point, end)) => writer.cut(message.offset(point), end),
            None => writer.rest(self, with),
        };
        WireProgram {
            steps,
            answer: Some(answer),
            answer_from,
            proves_content: self.coding.is_some()
                || self.surplus.is_some()
                || !self.trailers.is_empty(),
            continues: step.continues,
            ..WireProgram::default()
        }
    }

    fn with_answer(&self, given: &ByModel<'_>) -> Option<Fault> {
        Some(Fault::Respond(self.merged(given)))
    }

    fn is_by_model(&self) -> bool {
        self.by_model
    }

    fn shows(&self, to: &Asker<'_>) -> Result<Met, String> {
        if self.coding.is_some_and(Coding::is_broken) {
            return Err(
                "undocumented: what the client makes of content whose coding is broken".to_owned(),
            );
        }
        Ok(shows::met(self, to.names))
    }

    fn words(&self) -> String {
        let mut words = match self.by_model {
            true => "respond".to_owned(),
            false => format!("respond {}", self.status),
        };
        if let Some((_, time)) = self.stall {
            words.push_str(&format!(", stall {}", time.words()));
        }
        if let Some((_, with)) = self.cut {
            words.push_str(&format!(", cut with {}", end_in_words(with)));
        }
        words
    }

    fn is_plain(&self) -> bool {
        let only_parts = Self {
            status: 200,
            by_model: self.by_model,
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

    fn ends_connection(&self) -> bool {
        self.cut.is_some() || self.framing == Framing::Close || self.is_never_answered()
    }

    fn may_succeed(&self) -> bool {
        (200..300).contains(&self.status)
            && self.cut.is_none()
            && self.promises_no_more_than_it_sends()
            && !self.is_endless()
            && !self.is_never_answered()
            && !self.coding.is_some_and(Coding::is_broken)
    }

    fn succeeds_in_bytes(&self) -> bool {
        (200..300).contains(&self.status) && !matches!(self.body, Some(Content::Shape(_)))
    }

    fn may_hang(&self) -> bool {
        self.is_endless() || self.is_never_answered() || matches!(self.cut, Some((_, End::Hang)))
    }

    fn redirects(&self) -> Redirects {
        if (300..400).contains(&self.status) {
            Redirects::ByItsFields
        } else {
            Redirects::Never
        }
    }

    fn own_time(&self) -> Duration {
        let stall = self.stall.map_or(Duration::ZERO, |(_, pause)| pause);
        let drip = self.drip.map_or(Duration::ZERO, |(bytes, every)| {
            let length = self.body.as_ref().and_then(Content::length);
            let pieces = length.unwrap_or(0) / bytes.max(1);
            every.saturating_mul(u32::try_from(pieces).unwrap_or(u32::MAX))
        });
        stall.saturating_add(drip)
    }

    fn points_at_events(&self) -> bool {
        let points = [
            self.cut.map(|(point, _)| point),
            self.stall.map(|(point, _)| point),
        ];
        points
            .into_iter()
            .flatten()
            .any(ResponsePoint::is_of_events)
    }

    fn ends_a_list_in_order(&self) -> bool {
        let fin =
            matches!(self.cut, Some((point, End::Close | End::HalfClose)) if point.is_of_events());
        fin && self.framing == Framing::Close
    }

    fn headers(&self) -> &[(String, Template)] {
        &self.headers
    }

    fn content(&self) -> Option<&Content> {
        self.body.as_ref()
    }

    fn needs(&self) -> Option<Ability> {
        self.coding.map(|coding| coding.scheme.ability())
    }

    fn texts(&self) -> Vec<&Template> {
        let in_body = self.body.iter().chain(&self.surplus);
        let in_body = in_body.filter_map(|body| match body {
            Content::Text(text) | Content::Json(text) => Some(text),
            _ => None,
        });
        let interim = self.interim.iter().flat_map(|one| &one.headers);
        let in_headers = self.headers.iter().chain(interim).chain(&self.trailers);
        let in_headers = in_headers.map(|(_, value)| value);
        in_body.chain(in_headers).collect()
    }
}

impl Respond {
    /// A plain empty 200.
    pub fn plain() -> Self {
        Self {
            status: 200,
            by_model: false,
            headers: Vec::new(),
            retry_after: None,
            interim: Vec::new(),
            body: None,
            coding: None,
            framing: Framing::Length,
            says_length: None,
            chunks: Vec::new(),
            trailers: Vec::new(),
            surplus: None,
            drip: None,
            stall: None,
            cut: None,
        }
    }

    /// Whether the content never ends.
    pub fn is_endless(&self) -> bool {
        matches!(self.body, Some(Content::Endless(_)))
    }

    /// Whether interim answers go on without end.
    pub fn is_never_answered(&self) -> bool {
        self.interim.iter().any(|one| one.times == Times::Always)
    }

    /// Whether an answer with this status never has content (RFC 9110 section
    /// 6.4.1).
    pub fn has_no_content(&self) -> bool {
        matches!(self.status, 204 | 304)
    }

    fn answer(&self, message: &Message) -> Answer {
        let endless = message.endless.is_some();
        // A client that decodes tells of what it decoded.
        let content = match &message.decoded {
            Some(decoded) => decoded,
            None => self.promised(&message.content),
        };
        Answer {
            status: Some(self.status),
            body_bytes: if endless {
                0
            } else {
                u64::try_from(content.len()).unwrap_or(u64::MAX)
            },
            body_sha256: (!endless).then(|| sha256(content)),
            whole: !endless
                && self.cut.is_none()
                && !self.coding.is_some_and(Coding::is_broken)
                && self.keeps_its_length(content),
            events: self.events(),
        }
    }

    fn events(&self) -> SentEvents {
        let Some(Content::Events(events)) = &self.body else {
            return SentEvents::default();
        };
        let ids = |events: &[SentEvent]| {
            let ids = events.iter().filter_map(|event| event.id.clone());
            ids.collect::<Vec<_>>()
        };
        match self.whole_events(events.len()) {
            Some(whole) => SentEvents {
                whole: ids(&events[..whole.min(events.len())]),
                ..SentEvents::default()
            },
            None => SentEvents {
                perhaps: ids(events),
                ..SentEvents::default()
            },
        }
    }

    /// How many of so many events are sent whole; none: that is not known.
    fn whole_events(&self, all: usize) -> Option<usize> {
        let in_parts = self.drip.is_some() || self.stall.is_some();
        if self.coding.is_some() || self.says_length.is_some() || in_parts {
            return None;
        }
        match self.cut.map(|(point, _)| point) {
            None => Some(all),
            Some(ResponsePoint::Events(count)) => usize::try_from(count).ok(),
            Some(ResponsePoint::InsideEvent(number)) => {
                usize::try_from(number).ok()?.checked_sub(1)
            }
            Some(ResponsePoint::Head(_)) => Some(0),
            Some(_) => None,
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
    fn promises_no_more_than_it_sends(&self) -> bool {
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
