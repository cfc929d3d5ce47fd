//! The matrix: rows are cases grouped by area and scenario, columns are clients.
//!
//! Columns that do not fit the terminal go into a block below, each block with
//! the row's labels, so that a line never breaks.

use scenarios::verdict::Axis;

use super::mark::{self, Mark};
use super::paint::{Color, Painter};
use super::rows::{self, Line};
use crate::formats::View;
use crate::harmless::one_line;
use crate::layout::{pad, width};
use crate::table::Table;

/// Spaces between two columns.
const GAP: usize = 2;

/// Widest label before it takes a line of its own, as a share of the terminal.
const LABEL_SHARE: (usize, usize) = (2, 5);

/// The matrix with its headings.
pub(super) fn render(table: &Table<'_>, view: &View) -> String {
    let lines = rows::of(table, view.all);
    let columns: Vec<Column> = (0..table.clients.len())
        .map(|place| Column::of(place, table.clients[place], &lines))
        .collect();
    let limit = view.width * LABEL_SHARE.0 / LABEL_SHARE.1;
    let labels = lines.iter().map(|line| width(&line.label));
    let label = labels.filter(|w| *w <= limit).max().unwrap_or(0);
    let mut out = String::new();
    for block in blocks(&columns, view.width.saturating_sub(label)) {
        if !out.is_empty() {
            out.push('\n');
        }
        render_block(
            block,
            &lines,
            label,
            Painter { color: view.color },
            &mut out,
        );
    }
    out
}

/// One client's column.
struct Column {
    place: usize,
    /// The name in lines; the last is the longest needed.
    heading: Vec<String>,
    width: usize,
}

impl Column {
    fn of(place: usize, name: &str, lines: &[Line<'_>]) -> Self {
        let cells = lines.iter().filter_map(|line| line.groups.as_ref());
        let widest = cells.map(|groups| width(&mark::text(groups[place]))).max();
        let heading = heading(&one_line(name), widest.unwrap_or(0).max(8));
        let named = heading.iter().map(|line| width(line)).max().unwrap_or(0);
        Self {
            place,
            heading,
            width: named.max(widest.unwrap_or(0)),
        }
    }
}

/// A client's name in lines of at most `to` columns, broken after hyphens.
fn heading(name: &str, to: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in name.split_inclusive('-') {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() || width(line) + width(part) <= to {
            line.push_str(part);
        } else {
            lines.push(part.to_owned());
        }
    }
    lines
}

/// The columns in runs that fit; each has at least one column.
fn blocks(columns: &[Column], room: usize) -> Vec<&[Column]> {
    let mut blocks = Vec::new();
    let (mut from, mut used) = (0, 0);
    for (place, column) in columns.iter().enumerate() {
        let need = GAP + column.width;
        if place > from && used + need > room {
            blocks.push(&columns[from..place]);
            (from, used) = (place, 0);
        }
        used += need;
    }
    blocks.push(&columns[from..]);
    blocks
}

fn render_block(
    columns: &[Column],
    lines: &[Line<'_>],
    label: usize,
    painter: Painter,
    out: &mut String,
) {
    let height = columns.iter().map(|c| c.heading.len()).max().unwrap_or(0);
    for line in 0..height {
        let mut row = " ".repeat(label);
        for column in columns {
            // Short names stand at the bottom, next to their cells.
            let skip = height - column.heading.len();
            let part = line.checked_sub(skip).map_or("", |n| &column.heading[n]);
            row.push_str(&" ".repeat(GAP));
            row.push_str(&pad(part, column.width));
        }
        push_line(out, &painter.paint(Color::Bold, row.trim_end()));
    }
    for line in lines {
        render_line(line, columns, label, painter, out);
    }
}

fn render_line(
    line: &Line<'_>,
    columns: &[Column],
    label: usize,
    painter: Painter,
    out: &mut String,
) {
    let Some(groups) = &line.groups else {
        let color = if line.area { Color::Bold } else { Color::Plain };
        return push_line(out, &painter.paint(color, &line.label));
    };
    let mut row = String::new();
    if width(&line.label) > label {
        push_line(out, &line.label);
        row.push_str(&" ".repeat(label));
    } else {
        row.push_str(&pad(&line.label, label));
    }
    for column in columns {
        let group = groups[column.place];
        let text = mark::text(group);
        let spaces = column.width.saturating_sub(width(&text));
        row.push_str(&" ".repeat(GAP));
        row.push_str(&painter.paint(Mark::of(group).color(), &text));
        row.push_str(&" ".repeat(spaces));
    }
    push_line(out, row.trim_end());
}

/// What the glyphs and letters mean, as far as the table has them.
pub(super) fn legend(table: &Table<'_>, view: &View) -> String {
    let told = |(sign, meaning): (&str, &str)| format!("{sign} {meaning}");
    let groups = || table.rows.iter().flat_map(|row| &row.groups);
    let mut marks: Vec<Mark> = groups().map(|group| Mark::of(group)).collect();
    marks.sort_unstable();
    marks.dedup();
    let mut parts: Vec<String> = marks
        .iter()
        .map(|mark| told((mark.glyph(), mark.meaning())))
        .collect();
    let cells = || groups().flatten();
    let fails = |axis| cells().any(|cell| mark::fails_on(cell, axis));
    if fails(Axis::Safety) {
        parts.push(told(mark::SAFETY));
    }
    if fails(Axis::Conformance) {
        parts.push(told(mark::CONFORMANCE));
    }
    if cells().any(|cell| mark::departs(cell)) {
        parts.push(told(mark::DEPARTS));
    }
    parts.push("the number: requests delivered (1+2: at two servers)".to_owned());
    let painter = Painter { color: view.color };
    let mut out = String::new();
    for line in join(&parts, view.width) {
        push_line(&mut out, &painter.paint(Color::Dim, &line));
    }
    out
}

/// The parts side by side, in lines that break only between two of them.
fn join(parts: &[String], to: usize) -> Vec<String> {
    const BETWEEN: &str = "   ";
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width(line) + BETWEEN.len() + width(part) <= to => {
                line.push_str(BETWEEN);
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}
