//! Bytes that were read from a connection and that no request has taken yet,
//! with the times at which they arrived.

use std::collections::VecDeque;
use std::time::Duration;

/// An empty buffer larger than this is given back.
const KEPT_ROOM: usize = 4096;

/// Bytes in the order of their arrival.
#[derive(Default)]
pub(crate) struct Pending {
    bytes: Vec<u8>,
    start: usize,
    /// Lengths of the pieces from `start` on, and when each had arrived.
    pieces: VecDeque<(usize, Duration)>,
}

impl Pending {
    /// Appends a piece that had arrived at that time.
    pub(crate) fn push(&mut self, bytes: &[u8], arrived: Duration) {
        if !bytes.is_empty() {
            self.bytes.extend_from_slice(bytes);
            self.pieces.push_back((bytes.len(), arrived));
        }
    }

    /// The first piece.
    pub(crate) fn front(&self) -> Option<(&[u8], Duration)> {
        let (length, arrived) = self.pieces.front()?;
        Some((&self.bytes[self.start..self.start + length], *arrived))
    }

    /// Drops the first bytes of the first piece.
    pub(crate) fn consume(&mut self, bytes: usize) {
        if let Some((length, _)) = self.pieces.front_mut() {
            let bytes = bytes.min(*length);
            *length -= bytes;
            self.start += bytes;
            if *length == 0 {
                self.pieces.pop_front();
            }
        }
        if self.pieces.is_empty() {
            self.clear();
        }
    }

    /// Drops everything.
    pub(crate) fn clear(&mut self) {
        self.start = 0;
        self.pieces.clear();
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_ROOM);
    }

    /// Whether nothing is there.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// When the first byte of the next request had arrived. Line ends before it
    /// are dropped (RFC 9112 section 2.2).
    pub(crate) fn next_request(&mut self) -> Option<Duration> {
        loop {
            let (bytes, arrived) = self.front()?;
            let length = bytes.len();
            let blank = bytes
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'))
                .count();
            self.consume(blank);
            if blank < length {
                return Some(arrived);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_keeps_the_time_of_its_piece() {
        let mut pending = Pending::default();
        pending.push(b"ab", Duration::from_millis(1));
        pending.push(b"c", Duration::from_millis(2));
        pending.consume(1);
        assert_eq!(pending.front(), Some((&b"b"[..], Duration::from_millis(1))));
        pending.consume(1);
        assert_eq!(pending.front(), Some((&b"c"[..], Duration::from_millis(2))));
        pending.consume(1);
        assert!(pending.is_empty());
    }

    #[test]
    fn line_ends_between_requests_begin_nothing() {
        let mut pending = Pending::default();
        pending.push(b"\r\n", Duration::from_millis(1));
        assert_eq!(pending.next_request(), None);
        pending.push(b"\r\n", Duration::from_millis(1));
        pending.push(b"\nGET", Duration::from_millis(2));
        assert_eq!(pending.next_request(), Some(Duration::from_millis(2)));
        assert_eq!(
            pending.front(),
            Some((&b"GET"[..], Duration::from_millis(2)))
        );
    }
}
