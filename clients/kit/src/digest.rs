//! Describes a body for a report without keeping it.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::protocol::ShownResponse;

/// Bytes of a body that a report quotes.
const START: usize = 256;

/// Takes the bytes of a body as they come.
#[derive(Clone, Default)]
pub struct BodyDigest {
    bytes: u64,
    hash: Sha256,
    start: Vec<u8>,
}

impl BodyDigest {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash.update(bytes);
        let room = START.saturating_sub(self.start.len());
        self.start.extend(bytes.iter().take(room));
    }

    /// How many bytes came.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first bytes as text, invalid UTF-8 replaced.
    pub fn start(&self) -> String {
        String::from_utf8_lossy(&self.start).into_owned()
    }

    /// The report of an answer whose body is whole.
    pub fn whole(self, status: u16) -> ShownResponse {
        let body_start = Some(self.start());
        ShownResponse {
            status: Some(status),
            body_bytes: Some(self.bytes),
            body_sha256: Some(hex(&self.hash.finalize())),
            body_start,
        }
    }

    /// The report of an answer of whose body only the start was read: it has no
    /// length and no digest, since neither is known.
    pub fn only_start(&self, status: u16) -> ShownResponse {
        ShownResponse {
            status: Some(status),
            body_bytes: None,
            body_sha256: None,
            body_start: Some(self.start()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_body_has_the_digest_of_nothing() {
        let shown = BodyDigest::new().whole(204);
        assert_eq!(shown.body_bytes, Some(0));
        assert_eq!(
            shown.body_sha256.as_deref(),
            Some("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        );
    }

    #[test]
    fn pieces_count_as_one_body() {
        let mut pieces = BodyDigest::new();
        pieces.add(b"a");
        pieces.add(b"bc");
        let mut whole = BodyDigest::new();
        whole.add(b"abc");
        assert_eq!(pieces.whole(200), whole.whole(200));
    }

    #[test]
    fn a_report_quotes_no_more_than_256_bytes() {
        let mut digest = BodyDigest::new();
        digest.add(&[b'x'; 200]);
        digest.add(&[b'y'; 200]);
        let shown = digest.whole(500);
        assert_eq!(shown.body_bytes, Some(400));
        assert_eq!(shown.body_start.map(|start| start.len()), Some(256));
    }

    #[test]
    fn a_body_read_in_part_claims_no_length() {
        let mut digest = BodyDigest::new();
        digest.add(b"no no");
        let shown = digest.only_start(500);
        assert_eq!((shown.body_bytes, shown.body_sha256), (None, None));
        assert_eq!(shown.body_start.as_deref(), Some("no no"));
    }
}
