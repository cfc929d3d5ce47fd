//! `json`: the record as it stands, for programs.

use super::{Format, View};
use crate::record::RunRecord;

/// This format.
pub const FORMAT: Format = Format {
    word: "json",
    summary: "the run record as it stands (run.json)",
    render,
};

fn render(record: &RunRecord, _: &View) -> Vec<u8> {
    // A record holds maps with text for keys and no numbers that JSON lacks,
    // so writing it into memory has nothing to fail at.
    let mut bytes = serde_json::to_vec_pretty(record).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}
