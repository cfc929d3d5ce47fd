//! Content of a request, whole or as a stream.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// Bytes of a piece of a stream.
const PIECE: usize = 16 * 1024;

/// Content in pieces. A stream does not say how long it is.
#[derive(Debug)]
pub(crate) struct Content {
    pieces: VecDeque<Bytes>,
    streamed: bool,
}

impl Content {
    pub(crate) fn new(bytes: Vec<u8>, streamed: bool) -> Self {
        let mut rest = Bytes::from(bytes);
        let mut pieces = VecDeque::new();
        while !rest.is_empty() {
            let size = if streamed { PIECE } else { rest.len() };
            pieces.push_back(rest.split_to(size.min(rest.len())));
        }
        Self { pieces, streamed }
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.streamed && !self.pieces.is_empty() {
            return SizeHint::new();
        }
        SizeHint::with_exact(self.pieces.iter().map(|piece| piece.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_content_says_how_long_it_is() {
        let bytes = vec![7; 40_000];
        let whole = Content::new(bytes.clone(), false);
        assert_eq!(
            (whole.pieces.len(), whole.size_hint().exact()),
            (1, Some(40_000))
        );
        let stream = Content::new(bytes, true);
        assert_eq!((stream.pieces.len(), stream.size_hint().exact()), (3, None));
        assert!(Content::new(Vec::new(), true).is_end_stream());
    }
}
