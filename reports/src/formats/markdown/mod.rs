//! `markdown`: the comparison of clients, to be published on a forge.
//!
//! For a reader who chooses or upgrades a client: what is dangerous, what is
//! otherwise than documented, the matrix, where codes of errors sit. It gives
//! no score and no ranking, and it adds up nothing over the two axes.

mod calls;
mod codes;
mod counts;
mod escape;
mod findings;
mod head;
mod matrix;
mod meanings;
mod rule;

use scenarios::verdict::Axis;

use super::{Format, View};
use crate::record::RunRecord;
use crate::table::Table;

/// This format.
pub const FORMAT: Format = Format {
    word: "markdown",
    summary: "the comparison of clients, to be published",
    render,
};

fn render(record: &RunRecord, _: &View) -> Vec<u8> {
    let table = Table::of(record);
    let mut parts = vec![head::render(record, &table)];
    if !table.rows.is_empty() {
        parts.push(findings::render(&table, Axis::Safety));
        parts.push(findings::render(&table, Axis::Conformance));
        parts.push(matrix::render(&table));
        parts.push(codes::render(&table));
        parts.push(rule::render(&table));
    }
    parts.join("\n").into_bytes()
}
