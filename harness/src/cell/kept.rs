//! What a client printed, kept up to a size.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::client::command::Seen;

/// Bytes kept of each stream.
const LARGEST: u64 = 256 * 1024;

/// One stream of a client: the start goes to a file, and of all of it there is
/// the length, the digest and the end.
pub(super) struct Kept {
    file: File,
    written: u64,
    seen: Seen,
}

impl Kept {
    /// Keeps a stream in a new file.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::create_new(path)?,
            written: 0,
            seen: Seen::default(),
        })
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.seen.take(bytes);
        let room = usize::try_from(LARGEST - self.written).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        self.written += kept.len() as u64;
        self.file.write_all(kept)
    }

    /// All that went by.
    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// The stream has ended: leaves a note of what was dropped.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let dropped = self.seen.bytes() - self.written;
        if dropped == 0 {
            return Ok(());
        }
        writeln!(
            self.file,
            "\n[wirefault: {dropped} more bytes were dropped]"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_stream_is_kept_as_it_is() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("stdout");
        let mut kept = Kept::create(&path).unwrap();
        kept.take(b"a\x1b[0m").unwrap();
        kept.end().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"a\x1b[0m");
    }

    #[test]
    fn a_long_stream_is_cut_with_a_note() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("stdout");
        let mut kept = Kept::create(&path).unwrap();
        for _ in 0..5 {
            kept.take(&[b'x'; 100_000]).unwrap();
        }
        kept.end().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let dropped = 500_000 - 256 * 1024;
        let note = format!("\n[wirefault: {dropped} more bytes were dropped]\n");
        assert!(text.ends_with(&note));
        assert_eq!(text.len(), 256 * 1024 + note.len());
        assert_eq!(kept.seen().bytes(), 500_000);
    }
}
