//! The lines of the matrix: headings of areas and scenarios, and a line for
//! each case, or for several cases of a scenario that look the same.

use std::collections::BTreeSet;

use super::mark;
use crate::harmless::one_line;
use crate::record::Cell;
use crate::table::{Row, Table};

/// One line of the matrix.
#[derive(Debug)]
pub(super) struct Line<'a> {
    /// What it is about, indented.
    pub(super) label: String,
    /// Whether it is the heading of an area.
    pub(super) area: bool,
    /// The cells, by client; none for a heading.
    pub(super) groups: Option<Vec<&'a [&'a Cell]>>,
}

/// All lines of a table. Unless all are wanted, cases of a scenario whose cells
/// read the same for every client share a line.
pub(super) fn of<'a>(table: &'a Table<'a>, all: bool) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut area = "";
    for rows in table.rows.chunk_by(|a, b| a.scenario == b.scenario) {
        let (head, name) = rows[0]
            .scenario
            .split_once('/')
            .unwrap_or(("", rows[0].scenario));
        if head != area {
            area = head;
            lines.push(Line {
                label: one_line(head),
                area: true,
                groups: None,
            });
        }
        scenario(rows, name, all, &mut lines);
    }
    lines
}

fn scenario<'a>(rows: &'a [Row<'a>], name: &str, all: bool, lines: &mut Vec<Line<'a>>) {
    let folds: Vec<Vec<&Row<'a>>> = if all {
        rows.iter().map(|row| vec![row]).collect()
    } else {
        fold(rows)
    };
    if let [only] = folds.as_slice() {
        let cases = only.len();
        let label = match cases {
            1 if only[0].columns.is_empty() => format!("  {}", one_line(name)),
            1 => format!("  {} {}", one_line(name), values(only)),
            _ => format!("  {} ({cases} cases)", one_line(name)),
        };
        lines.push(line(label, only[0]));
        return;
    }
    lines.push(Line {
        label: format!("  {}", one_line(name)),
        area: false,
        groups: None,
    });
    for fold in folds {
        let cases = match fold.len() {
            1 => String::new(),
            n => format!(" ({n} cases)"),
        };
        lines.push(line(format!("    {}{cases}", values(&fold)), fold[0]));
    }
}

fn line<'a>(label: String, row: &'a Row<'a>) -> Line<'a> {
    Line {
        label,
        area: false,
        groups: Some(row.groups.iter().map(Vec::as_slice).collect()),
    }
}

/// Rows that read the same, in the order of their first.
fn fold<'a>(rows: &'a [Row<'a>]) -> Vec<Vec<&'a Row<'a>>> {
    let mut folds: Vec<(Vec<String>, Vec<&Row<'a>>)> = Vec::new();
    for row in rows {
        let looks: Vec<String> = row.groups.iter().map(|group| mark::text(group)).collect();
        match folds.iter_mut().find(|(known, _)| *known == looks) {
            Some((_, fold)) => fold.push(row),
            None => folds.push((looks, vec![row])),
        }
    }
    folds.into_iter().map(|(_, fold)| fold).collect()
}

/// The columns' values over a fold: `with=reset after=0,1,2`, or first and last
/// where there are more than four. That reads as every value with every other;
/// where some of these are not in the fold, its first and last row are named.
fn values(fold: &[&Row<'_>]) -> String {
    if let ([first, .., last], false) = (fold, is_product(fold)) {
        let between = if fold.len() == 2 { "; " } else { " … " };
        return format!("{}{between}{}", values(&[first]), values(&[last]));
    }
    let names = fold[0].columns.iter().map(|(name, _)| name);
    let parts: Vec<String> = names
        .enumerate()
        .map(|(place, name)| {
            let mut seen: Vec<&str> = Vec::new();
            for row in fold {
                let value = row.columns.get(place).map_or("", |(_, value)| value);
                if !seen.contains(&value) {
                    seen.push(value);
                }
            }
            let shown = match seen.as_slice() {
                [first, _, _, _, .., last] => format!("{first}…{last}"),
                few => few.join(","),
            };
            one_line(&format!("{name}={shown}"))
        })
        .collect();
    parts.join(" ")
}

/// Whether a fold has every value of a column with every value of the others.
fn is_product(fold: &[&Row<'_>]) -> bool {
    let values = |place: usize| {
        let values = fold.iter().filter_map(|row| row.columns.get(place));
        values.collect::<BTreeSet<_>>().len()
    };
    let columns = fold.first().map_or(0, |row| row.columns.len());
    (0..columns).map(values).product::<usize>() == fold.len()
}
