//! An answer as bytes, with the places in it that points name.
//!
//! Lays out the head, the content and its framing (RFC 9112); which bytes are
//! sent when is not decided here.

use std::time::Duration;

use scripted_servers::wire::Position;

use super::{CodingState, Framing, Interim, Respond, ResponsePoint, RetryAfter};
use crate::plan::Content;
use crate::rendering::{Rendered, Rendering};

/// Bytes of an HTTP-date (RFC 9110 section 5.6.7).
const DATE_LENGTH: usize = 29;
/// What an endless content repeats in one go where nothing is dripped.
const ENDLESS_PIECE: usize = 16 << 10;

/// An answer, laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// Head and content as they go on the wire; of an endless content as much
    /// as is needed to reach the points of the step.
    pub(super) bytes: Vec<u8>,
    /// Length of the head.
    pub(super) head: usize,
    /// Where an HTTP-date stands, and how far from now it is.
    pub(super) date: Option<(usize, Duration)>,
    /// What is repeated behind the bytes without end.
    pub(super) endless: Option<Vec<u8>>,
    /// After how many bytes a client has a whole message; none: only an end of
    /// the connection, or nothing, makes it whole.
    pub(super) complete: Option<usize>,
    /// What follows the end of the message.
    pub(super) surplus: Vec<u8>,
    /// The content as a client that decodes it sees it, where it is coded.
    pub(super) decoded: Option<Vec<u8>>,
    /// The content as it is framed.
    pub(super) content: Vec<u8>,
    /// The pieces of content: where each begins in the bytes, and its length.
    pieces: Vec<(usize, usize)>,
    /// Where each chunk ends in the bytes.
    chunk_ends: Vec<usize>,
    /// Where each event ends in the content.
    event_ends: Vec<usize>,
}

/// An interim answer as it goes on the wire.
pub(super) fn interim(interim: &Interim, with: &Rendering<'_>) -> Vec<u8> {
    let status = interim.status;
    let mut text = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in &interim.headers {
        text.push_str(&format!("{name}: {}\r\n", value.render(with.bindings)));
    }
    text.push_str("\r\n");
    text.into_bytes()
}

impl Message {
    /// Lays out an answer.
    pub(super) fn new(respond: &Respond, with: &Rendering<'_>) -> Self {
        let rendered = match &respond.body {
            Some(body) => body.render(with),
            None => Rendered::default(),
        };
        Self::of(respond, rendered, with)
    }

    fn of(respond: &Respond, rendered: Rendered, with: &Rendering<'_>) -> Self {
        let endless = respond.is_endless();
        let mut message = Self {
            bytes: Vec::new(),
            head: 0,
            date: None,
            endless: None,
            complete: None,
            surplus: respond
                .surplus
                .as_ref()
                .map_or_else(Vec::new, |surplus| surplus.render(with).bytes),
            decoded: None,
            content: rendered.bytes,
            pieces: Vec::new(),
            chunk_ends: Vec::new(),
            event_ends: event_ends(respond),
        };
        if let Some(coding) = respond.coding {
            let coded = coding.encode(&message.content);
            let content = std::mem::replace(&mut message.content, coded);
            message.decoded = Some(match coding.state {
                CodingState::Empty => Vec::new(),
                _ => content,
            });
        }
        message.add_head(respond, rendered.media, with);
        if endless {
            message.add_endless(respond);
        } else if respond.framing == Framing::Chunked {
            message.add_chunks(respond, with);
            message.complete = Some(message.bytes.len());
        } else {
            message.add_piece_of(0..message.content.len());
            message.complete = complete_by_length(respond, &message);
        }
        message
    }

    fn add_head(&mut self, respond: &Respond, media: Option<&str>, with: &Rendering<'_>) {
        let status = respond.status;
        self.line(&format!("HTTP/1.1 {status} {}", reason(status)));
        for (name, value) in &respond.headers {
            self.line(&format!("{name}: {}", value.render(with.bindings)));
        }
        let has_type = respond
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if let Some(media) = media.filter(|_| !has_type) {
            self.line(&format!("Content-Type: {media}"));
        }
        if let Some(coding) = respond.coding {
            self.line(&format!("Content-Encoding: {}", coding.scheme.name()));
        }
        match &respond.retry_after {
            None => {}
            Some(RetryAfter::Seconds(seconds)) => self.line(&format!("Retry-After: {seconds}")),
            Some(RetryAfter::Text(text)) => self.line(&format!("Retry-After: {text}")),
            Some(RetryAfter::DateIn(from_now)) => {
                self.bytes.extend_from_slice(b"Retry-After: ");
                self.date = Some((self.bytes.len(), *from_now));
                self.line(&"?".repeat(DATE_LENGTH));
            }
        }
        match (respond.framing, respond.says_length) {
            (Framing::Length, Some(length)) => self.line(&format!("Content-Length: {length}")),
            (Framing::Length, None) if !respond.has_no_content() => {
                self.line(&format!("Content-Length: {}", self.content.len()));
            }
            (Framing::Chunked, _) => self.line("Transfer-Encoding: chunked"),
            (Framing::Length | Framing::Close, _) => {}
        }
        self.line("");
        self.head = self.bytes.len();
    }

    fn line(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn add_chunks(&mut self, respond: &Respond, with: &Rendering<'_>) {
        let mut sizes: Vec<usize> = respond.chunks.iter().map(|size| to_usize(*size)).collect();
        if let (true, Some((bytes, _))) = (sizes.is_empty(), respond.drip) {
            // One chunk a write.
            sizes = vec![to_usize(bytes); self.content.len() / to_usize(bytes).max(1)];
        }
        let mut at = 0_usize;
        for size in sizes.into_iter().chain([usize::MAX]) {
            let end = at.saturating_add(size).min(self.content.len());
            if at < end {
                self.add_chunk(at..end);
            }
            at = end;
        }
        self.line("0");
        for (name, value) in &respond.trailers {
            self.line(&format!("{name}: {}", value.render(with.bindings)));
        }
        self.line("");
    }

    fn add_chunk(&mut self, part: std::ops::Range<usize>) {
        self.bytes
            .extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        self.add_piece_of(part);
        self.bytes.extend_from_slice(b"\r\n");
        self.chunk_ends.push(self.bytes.len());
    }

    fn add_piece_of(&mut self, part: std::ops::Range<usize>) {
        self.pieces.push((self.bytes.len(), part.len()));
        self.bytes.extend_from_slice(&self.content[part]);
    }

    fn add_endless(&mut self, respond: &Respond) {
        let text = std::mem::take(&mut self.content);
        let piece = respond
            .drip
            .map_or(ENDLESS_PIECE, |(bytes, _)| to_usize(bytes));
        let unit = text.repeat((piece / text.len().max(1)).max(1));
        let chunked = respond.framing == Framing::Chunked;
        let mut framed = Vec::new();
        if chunked {
            framed.extend_from_slice(format!("{:x}\r\n", unit.len()).as_bytes());
        }
        framed.extend_from_slice(&unit);
        if chunked {
            framed.extend_from_slice(b"\r\n");
        }
        let points = [
            respond.cut.map(|(point, _)| point),
            respond.stall.map(|(point, _)| point),
        ];
        let needed = |point: ResponsePoint| match point {
            ResponsePoint::Body(Position::Bytes(bytes)) => to_usize(bytes) / unit.len() + 1,
            ResponsePoint::Wire(Position::Bytes(bytes)) => to_usize(bytes) / framed.len() + 1,
            ResponsePoint::Chunks(count) => to_usize(count),
            _ => 0,
        };
        let units = points.into_iter().flatten().map(needed).max().unwrap_or(0);
        self.content = unit.repeat(units);
        for at in 0..units {
            let part = at * unit.len()..(at + 1) * unit.len();
            if chunked {
                self.add_chunk(part);
            } else {
                self.add_piece_of(part);
            }
        }
        self.endless = Some(framed);
    }

    /// How many bytes are sent up to a point; never more than there are.
    pub(super) fn offset(&self, point: ResponsePoint) -> usize {
        let at = match point {
            ResponsePoint::Head(position) => place(position, self.head),
            ResponsePoint::Wire(position) => {
                self.head + place(position, self.bytes.len() - self.head)
            }
            ResponsePoint::Chunks(count) => match to_usize(count).checked_sub(1) {
                None => self.head,
                Some(last) => {
                    let end = self.chunk_ends.get(last).or(self.chunk_ends.last());
                    end.copied().unwrap_or(self.head)
                }
            },
            ResponsePoint::Body(position) => self.content_offset(position),
            ResponsePoint::Events(count) => self.content_up_to(self.event_end(count)),
            ResponsePoint::InsideEvent(number) => {
                let begin = self.event_end(number.saturating_sub(1));
                let length = self.event_end(number) - begin;
                self.content_up_to(begin + length / 2)
            }
        };
        match self.date {
            // A date is written whole or not at all.
            Some((date, _)) if date < at && at < date + DATE_LENGTH => date,
            _ => at,
        }
    }

    fn content_offset(&self, position: Position) -> usize {
        self.content_up_to(place(position, self.content.len()))
    }

    /// Where so many events end in the content.
    fn event_end(&self, count: u64) -> usize {
        let Some(last) = to_usize(count).checked_sub(1) else {
            return 0;
        };
        let end = self.event_ends.get(last).or(self.event_ends.last());
        end.copied().unwrap_or(0)
    }

    /// How many bytes are sent with so many of the content.
    fn content_up_to(&self, mut left: usize) -> usize {
        let mut at = self.head;
        for (start, length) in &self.pieces {
            if left == 0 {
                break;
            }
            let taken = left.min(*length);
            at = start + taken;
            left -= taken;
        }
        at
    }

    /// Whether a point lies beyond the end.
    pub(super) fn is_beyond(&self, point: ResponsePoint) -> bool {
        let beyond = |position: Position, whole: usize| match position {
            Position::Bytes(bytes) => to_usize(bytes) > whole,
            Position::Last => whole == 0,
            Position::Half | Position::All => false,
        };
        match point {
            ResponsePoint::Head(position) => beyond(position, self.head),
            ResponsePoint::Body(position) => beyond(position, self.content.len()),
            ResponsePoint::Wire(position) => beyond(position, self.bytes.len() - self.head),
            ResponsePoint::Chunks(count) => to_usize(count) > self.chunk_ends.len(),
            ResponsePoint::Events(count) | ResponsePoint::InsideEvent(count) => {
                to_usize(count) > self.event_ends.len()
            }
        }
    }

    /// Length of the first chunk as it goes on the wire.
    pub(super) fn first_chunk(&self) -> Option<usize> {
        self.chunk_ends.first().map(|end| end - self.head)
    }

    /// The bytes from one place to another, with what stands before and behind
    /// a date that lies between.
    pub(super) fn part(&self, from: usize, to: usize) -> Part<'_> {
        match self.date {
            Some((at, from_now)) if from <= at && at + DATE_LENGTH <= to => Part::Dated {
                before: &self.bytes[from..at],
                from_now,
                after: &self.bytes[at + DATE_LENGTH..to],
            },
            _ => Part::Bytes(&self.bytes[from..to]),
        }
    }
}

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'m> {
    /// Just bytes.
    Bytes(&'m [u8]),
    /// Bytes with a date between them.
    Dated {
        /// Up to the date.
        before: &'m [u8],
        /// How far from now.
        from_now: Duration,
        /// Behind the date.
        after: &'m [u8],
    },
}

/// Where each event of a list ends.
fn event_ends(respond: &Respond) -> Vec<usize> {
    let Some(Content::Events(events)) = &respond.body else {
        return Vec::new();
    };
    let lengths = events.iter().map(|event| event.text().len());
    let ends = lengths.scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    ends.collect()
}

fn complete_by_length(respond: &Respond, message: &Message) -> Option<usize> {
    if respond.has_no_content() {
        return Some(message.head);
    }
    match (respond.framing, respond.says_length) {
        (Framing::Length, None) => Some(message.bytes.len()),
        (Framing::Length, Some(length)) => {
            let end = message.head.checked_add(to_usize(length))?;
            (end <= message.bytes.len()).then_some(end)
        }
        _ => None,
    }
}

fn place(position: Position, whole: usize) -> usize {
    match position {
        Position::Bytes(bytes) => to_usize(bytes).min(whole),
        Position::Half => whole / 2,
        Position::Last => whole.saturating_sub(1),
        Position::All => whole,
    }
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The standard reason phrase; empty where there is none.
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => "",
    }
}
