//! The report formats, a file each, and the one list of them.
//!
//! A new format is one file and its two lines here: the module and its place in
//! [`ALL`]. Help and errors of the command line come from this list.

pub mod json;
pub mod junit;
pub mod markdown;
pub mod text;

use crate::record::RunRecord;

/// All formats, in the order of help.
pub const ALL: &[Format] = &[text::FORMAT, json::FORMAT, junit::FORMAT, markdown::FORMAT];

/// One way to render a record.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The word of the command line.
    pub word: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// The function; it gives the whole file.
    pub render: fn(&RunRecord, &View) -> Vec<u8>,
}

/// How a reader looks at a report. Formats for machines do not care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether escape sequences for colour are wanted.
    pub color: bool,
    /// Whether everything is wanted: each case in a row of its own, and the
    /// known differences with their reasons.
    pub all: bool,
}

/// The format with this word.
pub fn find(word: &str) -> Option<&'static Format> {
    ALL.iter().find(|format| format.word == word)
}
