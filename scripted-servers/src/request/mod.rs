//! Reads one request as its bytes come: the head, then the content by its
//! framing (RFC 9112 section 6), telling how far the request has arrived.
//!
//! Content is counted and hashed as it passes, never collected; only where a
//! script looks into it is a bounded start of it kept. Nothing here waits or
//! touches a socket.

mod body;
mod head;

use sha2::{Digest, Sha256};

use crate::wire::{Position, RequestPoint};
use body::{Body, Framing};
pub(crate) use head::Head;

/// Content that scripts can look into is kept up to here.
pub(crate) const KEPT_CONTENT: usize = 1024 * 1024;

/// Requests up to this size are waited for whole before a fault acts, however
/// early in them its point lies.
pub(crate) const SMALL: u64 = 16 * 1024;

/// Why a request can not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

/// What the bytes just taken brought.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Milestone {
    /// Nothing new yet.
    None,
    /// The head is complete; without content the request is, too.
    Head,
    /// The request is complete.
    Complete,
}

/// One request, as far as it has arrived.
#[derive(Default)]
pub(crate) struct Request {
    head_bytes: head::Partial,
    head: Option<Head>,
    head_length: u64,
    body: Body,
    content: u64,
    digest: Option<Sha256>,
    kept: Option<Vec<u8>>,
}

impl Request {
    /// Takes bytes up to the next milestone: how many, and which.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Milestone), Malformed> {
        if self.head_length == 0 {
            return self.feed_head(bytes);
        }
        let mut used = 0;
        while used < bytes.len() && !self.body.is_complete() {
            let piece = self.body.feed(&bytes[used..])?;
            let content = &bytes[used..used + piece.used][piece.content];
            self.take_content(content);
            used += piece.used;
        }
        let milestone = if used > 0 && self.body.is_complete() {
            Milestone::Complete
        } else {
            Milestone::None
        };
        Ok((used, milestone))
    }

    fn feed_head(&mut self, bytes: &[u8]) -> Result<(usize, Milestone), Malformed> {
        let Some((used, head)) = self.head_bytes.feed(bytes)? else {
            return Ok((bytes.len(), Milestone::None));
        };
        self.body = Body::new(Framing::of(&head)?);
        self.head_length = self.head_bytes.length();
        self.head = Some(head);
        Ok((used, Milestone::Head))
    }

    fn take_content(&mut self, content: &[u8]) {
        if content.is_empty() {
            return;
        }
        self.content += content.len() as u64;
        self.digest.get_or_insert_with(Sha256::new).update(content);
        if let Some(kept) = &mut self.kept {
            let room = KEPT_CONTENT.saturating_sub(kept.len());
            kept.extend_from_slice(&content[..content.len().min(room)]);
        }
    }

    /// From here on content is kept, up to [`KEPT_CONTENT`].
    pub(crate) fn keep_content(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// The head, when it is complete and was not taken away.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Gives the head away.
    pub(crate) fn take_head(&mut self) -> Option<Head> {
        self.head.take()
    }

    /// Whether the head is complete.
    pub(crate) fn has_head(&self) -> bool {
        self.head_length > 0
    }

    /// Whether all of it has arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.has_head() && self.body.is_complete()
    }

    /// Bytes of content so far.
    pub(crate) fn content_bytes(&self) -> u64 {
        self.content
    }

    /// SHA-256 of the content in lower-case hex; none when there is none. Ends
    /// the counting.
    pub(crate) fn take_digest(&mut self) -> Option<String> {
        self.digest
            .take()
            .map(|digest| crate::digest::hex(&digest.finalize()))
    }

    /// The content as JSON, where it was kept, is whole and is JSON.
    pub(crate) fn json(&self) -> Option<serde_json::Value> {
        let kept = self.kept.as_ref()?;
        let whole = self.is_complete() && kept.len() as u64 == self.content;
        whole.then(|| serde_json::from_slice(kept).ok()).flatten()
    }

    /// Whether the point has been reached. A position counted from the end of
    /// content whose length is not told is reached with its end.
    pub(crate) fn reached(&self, point: RequestPoint) -> bool {
        match point {
            RequestPoint::Request => self.is_complete(),
            RequestPoint::Head(Position::Bytes(bytes)) => {
                self.has_head() || self.head_bytes.length() >= bytes
            }
            RequestPoint::Head(_) => self.has_head(),
            RequestPoint::Body(position) => {
                self.is_complete()
                    || self.has_head()
                        && self
                            .content_at(position)
                            .is_some_and(|at| self.content >= at)
            }
        }
    }

    /// Why a point that was reached is not where it was meant to be, if so.
    pub(crate) fn missed(&self, point: RequestPoint) -> Option<&'static str> {
        let RequestPoint::Body(position) = point else {
            return None;
        };
        match (position, self.content_at(position)) {
            (Position::Half | Position::Last, None) => Some(
                "the request is chunked: half of its content, or all but one byte, was known only \
                 at its end; `after` a number of bytes of the body would be exact",
            ),
            (_, Some(at)) if self.content < at => {
                Some("the request's content ended before the point")
            }
            _ => None,
        }
    }

    /// How many bytes may be read at once so that content beyond the point is
    /// not pulled in.
    pub(crate) fn bytes_to(&self, point: RequestPoint) -> usize {
        let left = match point {
            RequestPoint::Body(position) if self.has_head() => self
                .content_at(position)
                .map(|at| at.saturating_sub(self.content)),
            RequestPoint::Request => None,
            _ => Some(SMALL),
        };
        left.map_or(usize::MAX, |left| left.clamp(64, SMALL) as usize)
    }

    fn content_at(&self, position: Position) -> Option<u64> {
        match position {
            Position::Bytes(bytes) => Some(bytes),
            Position::Half => self.body.length().map(|length| length / 2),
            Position::Last => self.body.length().map(|length| length.saturating_sub(1)),
            Position::All => self.body.length(),
        }
    }

    /// Whether it expects a `100` for content that has not been looked at yet.
    pub(crate) fn awaits_continue(&self) -> bool {
        self.has_head() && !self.is_complete() && self.body.awaits_continue()
    }

    /// The `100` is sent, or nobody waits for it any more.
    pub(crate) fn continues(&mut self) {
        self.body.continues();
    }

    /// Whether the rest may well be on its way: it is not complete, it is small
    /// as far as one can tell, and the client is not waiting for a `100`.
    pub(crate) fn rest_is_due(&self) -> bool {
        if self.is_complete() {
            return false;
        }
        if !self.has_head() {
            return self.head_bytes.length() <= SMALL;
        }
        !self.body.awaits_continue() && self.body.length().unwrap_or(self.content) <= SMALL
    }
}

#[cfg(test)]
mod tests;
