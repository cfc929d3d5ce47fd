//! What went by on a stream, without keeping it: length, digest, the start and
//! the end.

use sha2::{Digest, Sha256};

/// Bytes kept of the start.
const START: usize = 256;

/// Bytes kept of the end.
const END: usize = 8 * 1024;

/// A stream that went by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    bytes: u64,
    digest: Sha256,
    start: Vec<u8>,
    end: Vec<u8>,
}

impl Seen {
    /// Takes the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.digest.update(bytes);
        let wanted = START - self.start.len();
        self.start.extend(bytes.iter().take(wanted));
        self.end.extend_from_slice(bytes);
        self.end.drain(..self.end.len().saturating_sub(END));
    }

    /// How many there were.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Their SHA-256 in lower-case hex.
    pub(crate) fn sha256(&self) -> String {
        crate::id::hex(&self.digest.clone().finalize())
    }

    /// The first of them as text, invalid UTF-8 replaced.
    pub(crate) fn start(&self) -> String {
        String::from_utf8_lossy(&self.start).into_owned()
    }

    /// The last word.
    pub(crate) fn last_word(&self) -> Option<String> {
        let end = String::from_utf8_lossy(&self.end);
        end.split_whitespace().next_back().map(str::to_owned)
    }

    /// The last line that is not blank.
    pub(crate) fn last_line(&self) -> Option<String> {
        let end = String::from_utf8_lossy(&self.end);
        let line = end.lines().rfind(|line| !line.trim().is_empty())?;
        Some(line.trim().to_owned())
    }
}
