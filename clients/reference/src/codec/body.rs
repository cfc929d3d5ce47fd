//! The content of an answer: where it ends, and what is missing if it does not.

use super::Malformed;
use super::chunked::Decoder;

/// How the end of content is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// By the last chunk.
    Chunked,
    /// By the end of the connection.
    Close,
}

/// What an answer lacks when nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shortfall {
    /// Nothing: its end is the connection's end.
    Nothing,
    /// So many bytes of a stated length.
    Bytes(u64),
    /// The last chunk or its end.
    LastChunk,
    /// The rest of a chunk.
    InsideChunk,
}

/// Reads content.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// So many bytes are still to come.
    Length(u64),
    /// Chunks.
    Chunked(Box<Decoder>),
    /// All that comes.
    Close,
}

impl Body {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Box::new(Decoder::new())),
            Framing::Close => Self::Close,
        }
    }

    /// Takes what has arrived and hands out the content in it; says how many
    /// bytes it took. What it did not take lies behind the content.
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        content: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Malformed> {
        match self {
            Self::Length(left) => {
                let size = usize::try_from(*left).map_or(input.len(), |n| n.min(input.len()));
                content(input.get(..size).unwrap_or_default());
                *left -= size as u64;
                Ok(size)
            }
            Self::Chunked(decoder) => decoder.take(input, content),
            Self::Close => {
                content(input);
                Ok(input.len())
            }
        }
    }

    /// Whether the framing says that this was all.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(decoder) => decoder.is_done(),
            Self::Close => false,
        }
    }

    /// What is missing if nothing more comes.
    pub(crate) fn shortfall(&self) -> Shortfall {
        match self {
            Self::Length(0) | Self::Close => Shortfall::Nothing,
            Self::Length(left) => Shortfall::Bytes(*left),
            Self::Chunked(decoder) if decoder.is_done() => Shortfall::Nothing,
            Self::Chunked(decoder) if decoder.is_between_chunks() => Shortfall::LastChunk,
            Self::Chunked(_) => Shortfall::InsideChunk,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_takes_its_bytes_and_leaves_the_rest() {
        let mut body = Body::new(Framing::Length(5));
        let mut content = Vec::new();
        let mut add = |data: &[u8]| content.extend_from_slice(data);
        assert_eq!(body.take(b"hel", &mut add), Ok(3));
        assert_eq!(body.shortfall(), Shortfall::Bytes(2));
        assert_eq!(body.take(b"lo, next", &mut add), Ok(2));
        assert!(body.is_complete());
        assert_eq!(content, b"hello");
    }

    #[test]
    fn close_framing_is_never_complete_by_itself() {
        let mut body = Body::new(Framing::Close);
        assert_eq!(body.take(b"all", &mut |_| {}), Ok(3));
        assert!(!body.is_complete());
        assert_eq!(body.shortfall(), Shortfall::Nothing);
    }

    #[test]
    fn chunks_tell_a_missing_end_from_a_missing_middle() {
        let mut body = Body::new(Framing::Chunked);
        body.take(b"5\r\nhello\r\n", &mut |_| {}).unwrap();
        assert_eq!(body.shortfall(), Shortfall::LastChunk);
        body.take(b"5\r\nwo", &mut |_| {}).unwrap();
        assert_eq!(body.shortfall(), Shortfall::InsideChunk);
    }
}
