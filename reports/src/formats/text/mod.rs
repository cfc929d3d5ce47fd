//! `text`: the matrix, what differs from the baseline, and the totals.

mod drift;
pub(in crate::formats) mod mark;
mod matrix;
mod paint;
mod rows;
mod totals;
mod undocumented;

use super::{Format, View};
use crate::record::RunRecord;
use crate::table::Table;

/// This format.
pub const FORMAT: Format = Format {
    word: "text",
    summary: "the matrix and what differs from the baseline, for people",
    render,
};

/// Every glyph and letter that a cell of the matrix can have, with what it
/// means.
pub fn legend() -> impl Iterator<Item = (&'static str, &'static str)> {
    let marks = mark::Mark::ALL.iter();
    marks
        .map(|mark| (mark.glyph(), mark.meaning()))
        .chain(mark::LETTERS)
}

fn render(record: &RunRecord, view: &View) -> Vec<u8> {
    let table = Table::of(record);
    let mut parts = Vec::new();
    if !table.rows.is_empty() {
        parts.push(matrix::render(&table, view));
        parts.push(matrix::legend(&table, view));
    }
    parts.push(totals::not_run(&table, view));
    parts.push(drift::render(record, &table, view));
    parts.push(totals::render(record, view));
    parts.retain(|part| !part.is_empty());
    parts.join("\n").into_bytes()
}
