//! The content of a request in its framing (RFC 9112 section 6): none, by
//! length, or chunked.

use std::ops::Range;

use super::{Head, Malformed};

const LONGEST_LINE: usize = 16 * 1024;

/// How the end of the content is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Framing {
    length: Option<u64>,
    awaits_continue: bool,
}

impl Framing {
    /// As the head tells it. Chunked wins over a length (section 6.3).
    pub(super) fn of(head: &Head) -> Result<Self, Malformed> {
        Ok(Self {
            length: length(head)?,
            awaits_continue: head.minor > 0 && head.lists("expect", "100-continue"),
        })
    }
}

/// The length of the content; none: chunked.
fn length(head: &Head) -> Result<Option<u64>, Malformed> {
    let codings = head
        .values("transfer-encoding")
        .flat_map(|value| value.split(','));
    if let Some(last) = codings.last() {
        return if last.trim().eq_ignore_ascii_case("chunked") {
            Ok(None)
        } else {
            Err(Malformed(format!(
                "the last transfer coding is {last:?}, not chunked"
            )))
        };
    }
    let mut told = None;
    for value in head
        .values("content-length")
        .flat_map(|value| value.split(','))
    {
        let value = value.trim();
        let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| value.parse::<u64>().ok()).flatten();
        let Some(number) = number else {
            return Err(Malformed(format!(
                "Content-Length is {value:?}, not a number"
            )));
        };
        if told.is_some_and(|told| told != number) {
            return Err(Malformed("two values of Content-Length differ".into()));
        }
        told = Some(number);
    }
    Ok(Some(told.unwrap_or(0)))
}

/// Content that is still arriving.
#[derive(Default)]
pub(super) struct Body {
    /// As told by the head; none: chunked.
    length: Option<u64>,
    awaits_continue: bool,
    state: State,
    line: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// So many bytes of content follow, then the end (by length).
    Length(u64),
    /// A line with the size of the next chunk.
    Size,
    /// So many bytes of this chunk follow.
    Chunk(u64),
    /// The line end behind a chunk.
    ChunkEnd,
    /// Trailer fields, up to an empty line.
    Trailer,
    /// All is there.
    #[default]
    Complete,
}

/// What was taken of some bytes, and which part of it is content.
pub(super) struct Piece {
    pub(super) used: usize,
    pub(super) content: Range<usize>,
}

impl Body {
    pub(super) fn new(framing: Framing) -> Self {
        Self {
            length: framing.length,
            awaits_continue: framing.awaits_continue,
            state: match framing.length {
                Some(0) => State::Complete,
                Some(length) => State::Length(length),
                None => State::Size,
            },
            line: Vec::new(),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// The length of the content, where the head tells it.
    pub(super) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Whether the client may wait for a `100` before it sends any content.
    pub(super) fn awaits_continue(&self) -> bool {
        self.awaits_continue
    }

    /// The client need not wait any longer.
    pub(super) fn continues(&mut self) {
        self.awaits_continue = false;
    }

    /// Takes the next piece of bytes that are not empty.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Piece, Malformed> {
        self.awaits_continue = false;
        match self.state {
            State::Length(left) => {
                let used = left.min(bytes.len() as u64);
                self.state = match left - used {
                    0 => State::Complete,
                    left => State::Length(left),
                };
                Ok(Piece {
                    used: used as usize,
                    content: 0..used as usize,
                })
            }
            State::Chunk(left) => {
                let used = left.min(bytes.len() as u64);
                self.state = match left - used {
                    0 => State::ChunkEnd,
                    left => State::Chunk(left),
                };
                Ok(Piece {
                    used: used as usize,
                    content: 0..used as usize,
                })
            }
            State::Complete => Ok(Piece {
                used: 0,
                content: 0..0,
            }),
            State::Size | State::ChunkEnd | State::Trailer => {
                let used = self.feed_line(bytes)?;
                Ok(Piece {
                    used,
                    content: 0..0,
                })
            }
        }
    }

    /// Takes bytes up to the end of the line, and the line when it is whole.
    fn feed_line(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(bytes.len(), |end| end + 1);
        self.line.extend_from_slice(&bytes[..used]);
        if self.line.len() > LONGEST_LINE {
            return Err(Malformed(format!(
                "a line between chunks is longer than {LONGEST_LINE} bytes"
            )));
        }
        if end.is_some() {
            let line = std::mem::take(&mut self.line);
            self.state = next(self.state, line.trim_ascii_end())?;
        }
        Ok(used)
    }
}

fn next(state: State, line: &[u8]) -> Result<State, Malformed> {
    match state {
        State::Size => chunk_size(line).map(|size| match size {
            0 => State::Trailer,
            size => State::Chunk(size),
        }),
        State::ChunkEnd if line.is_empty() => Ok(State::Size),
        State::ChunkEnd => Err(Malformed("a chunk is longer than its size".into())),
        State::Trailer if line.is_empty() => Ok(State::Complete),
        state => Ok(state),
    }
}

fn chunk_size(line: &[u8]) -> Result<u64, Malformed> {
    let size = line.split(|byte| *byte == b';').next().unwrap_or(line);
    let size = size.trim_ascii();
    let digits = !size.is_empty() && size.iter().all(u8::is_ascii_hexdigit);
    std::str::from_utf8(size)
        .ok()
        .filter(|_| digits)
        .and_then(|size| u64::from_str_radix(size, 16).ok())
        .ok_or_else(|| {
            let line = String::from_utf8_lossy(line).into_owned();
            Malformed(format!(
                "a chunk's size is {line:?}, not a hexadecimal number"
            ))
        })
}
