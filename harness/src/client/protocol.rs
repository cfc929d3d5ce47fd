//! The harness's side of the client protocol: the work goes out as a line,
//! messages come in as lines, from a program that may print anything.
//!
//! Pure: bytes in, events out. What is not of the protocol becomes
//! [`ClientEvent::Garbage`], never an error of ours.

use std::collections::BTreeSet;

use client_kit::protocol::{Control, Message, Work};
use scenarios::evidence::ClientEvent;

/// The longest line that is read as a message. Of a longer one the start is
/// kept as garbage and the rest is passed over.
const LONGEST_LINE: usize = 1024 * 1024;

/// Characters of a line that are kept when it is garbage.
const KEPT: usize = 200;

/// Lines of garbage that are kept; the last says that there were more.
const MOST_GARBAGE: usize = 50;

/// Lines of progress that are kept; further ones are garbage.
const MOST_PROGRESS: usize = 10_000;

/// The work as it goes over the wire.
pub(crate) fn work_line(work: &Work) -> serde_json::Result<Vec<u8>> {
    line(serde_json::to_vec(work))
}

/// A later line as it goes over the wire.
pub(crate) fn control_line(control: &Control) -> serde_json::Result<Vec<u8>> {
    line(serde_json::to_vec(control))
}

fn line(json: serde_json::Result<Vec<u8>>) -> serde_json::Result<Vec<u8>> {
    json.map(|mut json| {
        json.push(b'\n');
        json
    })
}

/// What a client has said so far.
#[derive(Debug)]
pub(crate) struct Conversation {
    lines: Lines,
    calls: BTreeSet<u32>,
    reported: BTreeSet<u32>,
    /// Calls that another process reported, which was killed; this one may report them
    /// again, once.
    reported_before: BTreeSet<u32>,
    unsupported: bool,
    garbage: usize,
    progress: usize,
}

impl Conversation {
    /// A conversation about these calls.
    pub(crate) fn about(calls: impl IntoIterator<Item = u32>) -> Self {
        Self {
            lines: Lines::default(),
            calls: calls.into_iter().collect(),
            reported: BTreeSet::new(),
            reported_before: BTreeSet::new(),
            unsupported: false,
            garbage: 0,
            progress: 0,
        }
    }

    /// Of a process that was killed: as it goes on with the one in its place.
    pub(crate) fn again(&self) -> Self {
        Self {
            reported: self.reported.clone(),
            reported_before: self.reported.clone(),
            ..Self::about(self.calls.iter().copied())
        }
    }

    /// Takes bytes from the client's stdout; the events that they complete.
    pub(crate) fn hear(&mut self, bytes: &[u8]) -> Vec<ClientEvent> {
        let lines = self.lines.feed(bytes);
        lines.iter().filter_map(|line| self.line(line)).collect()
    }

    /// The client's stdout has ended; the event of a last line without an end.
    pub(crate) fn end(&mut self) -> Option<ClientEvent> {
        let rest = self.lines.rest()?;
        self.line(&rest)
    }

    /// Whether nothing more is owed: each call has its report, or the client
    /// has said that it can not do this.
    pub(crate) fn is_complete(&self) -> bool {
        self.unsupported || self.calls == self.reported
    }

    /// Whether a call of the work has no report yet.
    pub(crate) fn is_open(&self, call: u32) -> bool {
        !self.unsupported && self.calls.contains(&call) && !self.reported.contains(&call)
    }

    fn line(&mut self, line: &Line) -> Option<ClientEvent> {
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong(start) => {
                return self.garbage(start, "longer than 1 MiB; the rest was passed over");
            }
        };
        if bytes.trim_ascii().is_empty() {
            return None;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return self.garbage(bytes, "not UTF-8");
        };
        match serde_json::from_str(text) {
            Ok(message) => self.message(message, bytes),
            Err(error) => {
                let reason = if error.is_data() {
                    format!("no message of the protocol: {error}")
                } else {
                    format!("not JSON: {error}")
                };
                self.garbage(bytes, &reason)
            }
        }
    }

    fn message(&mut self, message: Message, bytes: &[u8]) -> Option<ClientEvent> {
        match message {
            Message::Progress(progress) if !self.calls.contains(&progress.call) => {
                self.unknown_call(progress.call, bytes)
            }
            Message::Progress(_) if self.progress == MOST_PROGRESS => {
                self.garbage(bytes, "more lines of progress than are kept")
            }
            Message::Progress(progress) => {
                self.progress += 1;
                Some(ClientEvent::Progress {
                    call: progress.call,
                    state: harmless(&progress.state),
                })
            }
            Message::Report(report) if !self.calls.contains(&report.call) => {
                self.unknown_call(report.call, bytes)
            }
            Message::Report(report) if self.reported_before.remove(&report.call) => {
                Some(ClientEvent::Report(report))
            }
            Message::Report(report) if !self.reported.insert(report.call) => {
                let reason = format!("a second report of call {}", report.call);
                self.garbage(bytes, &reason)
            }
            Message::Report(report) => Some(ClientEvent::Report(report)),
            Message::Unsupported { reason } => {
                self.unsupported = true;
                let reason = harmless(&reason);
                Some(ClientEvent::Unsupported { reason })
            }
        }
    }

    fn unknown_call(&mut self, call: u32, bytes: &[u8]) -> Option<ClientEvent> {
        self.garbage(bytes, &format!("the work has no call {call}"))
    }

    fn garbage(&mut self, bytes: &[u8], reason: &str) -> Option<ClientEvent> {
        self.garbage += 1;
        let reason = match self.garbage {
            ..MOST_GARBAGE => reason.to_owned(),
            MOST_GARBAGE => format!("{reason}; further lines like this are not kept"),
            _ => return None,
        };
        let line = harmless(&String::from_utf8_lossy(bytes));
        Some(ClientEvent::Garbage { line, reason })
    }
}

/// The start of a text from a client, with control characters written out, so
/// that no terminal and no log obeys it.
pub(crate) fn harmless(text: &str) -> String {
    harmless_start(text, KEPT)
}

/// As [`harmless`], with so many characters kept.
pub(crate) fn harmless_start(text: &str, kept: usize) -> String {
    let end = text
        .char_indices()
        .nth(kept)
        .map_or(text.len(), |(at, _)| at);
    scenarios::document::harmless(&text[..end])
}

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
struct Lines {
    open: Vec<u8>,
    skipping: bool,
}

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Whole(Vec<u8>),
    /// The start of a line that was too long.
    TooLong(Vec<u8>),
}

impl Lines {
    fn feed(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (content, ended) = match piece.strip_suffix(b"\n") {
                Some(content) => (content, true),
                None => (piece, false),
            };
            if !self.skipping {
                self.open.extend_from_slice(content);
                if self.open.len() > LONGEST_LINE {
                    // Four bytes are the most that a character takes.
                    self.open.truncate(KEPT * 4);
                    lines.push(Line::TooLong(std::mem::take(&mut self.open)));
                    self.skipping = true;
                }
            }
            if ended && !std::mem::take(&mut self.skipping) {
                lines.push(Line::Whole(std::mem::take(&mut self.open)));
            }
        }
        lines
    }

    fn rest(&mut self) -> Option<Line> {
        let open = std::mem::take(&mut self.open);
        (!open.is_empty()).then_some(Line::Whole(open))
    }
}

#[cfg(test)]
mod tests;
