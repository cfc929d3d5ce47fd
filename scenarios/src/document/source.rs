//! Reading a document's text: bounded, and as UTF-8.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::diagnostic::Diagnostics;
use super::{Diagnostic, Source, ids};

/// The largest document. Far above what a person writes.
pub const MAX_BYTES: usize = 1 << 20;

/// Why a document could not be read.
#[derive(Debug)]
pub enum Unreadable {
    /// The file system says no.
    Io(std::io::Error),
    /// It is no text that a document could be; to be rendered with this source.
    Rejected(Source, Vec<Diagnostic>),
}

impl Source {
    /// Reads a file, never more of it than the largest document has.
    ///
    /// # Errors
    /// When the file cannot be read, is too large or is not UTF-8.
    pub fn read(path: &Path) -> Result<Self, Unreadable> {
        let mut bytes = Vec::new();
        regular(path)
            .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
            .map_err(Unreadable::Io)?;
        Self::from_bytes(&path.display().to_string(), bytes)
            .map_err(|(source, found)| Unreadable::Rejected(source, found))
    }

    /// Makes a document of bytes.
    ///
    /// # Errors
    /// When they are too many or not UTF-8: what to show, and of which source.
    pub fn from_bytes(path: &str, bytes: Vec<u8>) -> Result<Self, (Self, Vec<Diagnostic>)> {
        let source = |text: String| Self {
            path: path.to_owned(),
            text,
        };
        if bytes.len() > MAX_BYTES {
            let source = source(String::new());
            let mut out = Diagnostics::new(&source);
            too_large(&mut out);
            return Err((source, out.finish()));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(source(text)),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let bad = error.as_bytes()[at];
                let source = source(String::from_utf8_lossy(error.as_bytes()).into_owned());
                let mut out = Diagnostics::new(&source);
                out.report(ids::NOT_UTF8, &(at..at + 1), "this is not UTF-8 text")
                    .label(format!("the byte 0x{bad:02x} does not belong here"))
                    .help("save the file as UTF-8");
                Err((source, out.finish()))
            }
        }
    }
}

/// Opens what is a file. A pipe that nobody writes to would be waited for without
/// end, already when it is opened.
fn regular(path: &Path) -> std::io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() {
        return File::open(path);
    }
    let what = if kind.is_dir() {
        "this is a folder; name a file"
    } else {
        "this is not a regular file but a pipe or a device; copy it into a file"
    };
    Err(std::io::Error::other(what))
}

/// Reports the one mistake of a document that is too large.
pub(super) fn too_large(out: &mut Diagnostics) {
    out.report(ids::TOO_LARGE, &(0..0), "the file is too large")
        .label(format!("more than {} KiB", MAX_BYTES / 1024))
        .help("split it: one scenario or manifest a file");
}
