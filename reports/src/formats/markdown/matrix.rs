//! The matrix: a table an area, rows are scenarios, columns are clients, a few
//! at a time, so that a table fits a page.

use std::collections::BTreeMap;

use scenarios::verdict::Axis;

use super::escape::{row, rule, text};
use crate::formats::text::mark::{self, Mark};
use crate::record::Cell;
use crate::table::{Row, Table};

/// Clients beside each other in one table.
const BESIDE: usize = 8;

/// The matrix with its legend.
pub(super) fn render(table: &Table<'_>) -> String {
    let mut out = String::from("## Matrix\n\n");
    legend(table, &mut out);
    let mut areas: Vec<(&str, Vec<&[Row<'_>]>)> = Vec::new();
    for rows in table.rows.chunk_by(|a, b| a.scenario == b.scenario) {
        let (area, _) = parts(rows[0].scenario);
        match areas.iter_mut().find(|(known, _)| *known == area) {
            Some((_, scenarios)) => scenarios.push(rows),
            None => areas.push((area, vec![rows])),
        }
    }
    for (area, scenarios) in areas {
        out.push_str(&format!("\n### {}\n", text(area)));
        for columns in blocks(table.clients.len()) {
            block(table, &scenarios, columns, &mut out);
        }
    }
    out
}

fn parts(scenario: &str) -> (&str, &str) {
    scenario.split_once('/').unwrap_or(("", scenario))
}

/// The columns in runs of nearly the same length.
fn blocks(clients: usize) -> Vec<std::ops::Range<usize>> {
    let count = clients.div_ceil(BESIDE);
    let ends = (0..=count).map(|n| n * clients / count.max(1));
    let ends: Vec<usize> = ends.collect();
    ends.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn block(
    table: &Table<'_>,
    scenarios: &[&[Row<'_>]],
    columns: std::ops::Range<usize>,
    out: &mut String,
) {
    let mut titles = vec!["Scenario".to_owned()];
    titles.extend(table.clients[columns.clone()].iter().map(|name| text(name)));
    out.push('\n');
    out.push_str(&row(&titles));
    out.push_str(&rule(1, columns.len(), ":-:"));
    for rows in scenarios {
        let (_, name) = parts(rows[0].scenario);
        let mut label = text(name);
        if rows.len() > 1 {
            label.push_str(&format!(" ({} cases)", rows.len()));
        }
        let mut cells = vec![label];
        cells.extend(columns.clone().map(|column| of_scenario(rows, column)));
        out.push_str(&row(&cells));
    }
}

/// The mark of all cases of a scenario with one client: the mark of one where
/// they look the same, else how many have which.
fn of_scenario(rows: &[Row<'_>], column: usize) -> String {
    let groups: Vec<&[&Cell]> = rows
        .iter()
        .map(|row| row.groups[column].as_slice())
        .collect();
    let looks: Vec<String> = groups.iter().map(|group| mark::text(group)).collect();
    if let Some(first) = looks
        .first()
        .filter(|first| looks.iter().all(|l| l == *first))
    {
        return marked(first);
    }
    let mut marks: BTreeMap<Mark, usize> = BTreeMap::new();
    for group in &groups {
        *marks.entry(Mark::of(group)).or_default() += 1;
    }
    let counts = marks
        .iter()
        .map(|(mark, count)| format!("{count}{}", mark.glyph()));
    let counts: Vec<String> = counts.collect();
    let all: Vec<&Cell> = groups.concat();
    let letters = mark::letters(&all);
    marked(format!("{} {letters}", counts.join(" ")).trim_end())
}

/// A mark as Markdown, with what is dangerous in bold.
fn marked(mark: &str) -> String {
    let mark = text(mark);
    let Some((before, letters)) = mark.rsplit_once(' ') else {
        return mark;
    };
    match letters.strip_prefix(mark::SAFETY.0) {
        Some(rest) => format!("{before} **{}**{rest}", mark::SAFETY.0),
        None => mark,
    }
}

/// What the marks mean, as far as the table has them.
fn legend(table: &Table<'_>, out: &mut String) {
    let groups = || table.rows.iter().flat_map(|row| &row.groups);
    let mut marks: Vec<Mark> = groups().map(|group| Mark::of(group)).collect();
    marks.sort_unstable();
    marks.dedup();
    let mut line = |sign: &str, meaning: &str| out.push_str(&format!("- {sign}: {meaning}\n"));
    for mark in marks {
        line(&text(mark.glyph()), mark.meaning());
    }
    let cells = || groups().flatten();
    let fails = |axis| cells().any(|cell| mark::fails_on(cell, axis));
    if fails(Axis::Safety) {
        line(&format!("**{}**", mark::SAFETY.0), mark::SAFETY.1);
    }
    if fails(Axis::Conformance) {
        line(mark::CONFORMANCE.0, mark::CONFORMANCE.1);
    }
    if cells().any(|cell| mark::departs(cell)) {
        line(&text(mark::DEPARTS.0), mark::DEPARTS.1);
    }
    out.push_str(
        "\nThe number behind a mark is how many requests were delivered (`1+2`: at two servers). A \
         number before a mark is how many cases of the scenario have it, where they differ; the \
         letters then hold for at least one of them. The baseline is the list of what is known to fail, \
         with the reason of each.\n",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_into_runs_of_nearly_the_same_length() {
        assert_eq!(blocks(0), Vec::<std::ops::Range<usize>>::new());
        assert_eq!(blocks(8).len(), 1);
        assert_eq!(blocks(9), [0..4, 4..9]);
        assert_eq!(blocks(40).len(), 5);
        assert_eq!(blocks(17), [0..5, 5..11, 11..17]);
    }

    #[test]
    fn what_is_dangerous_is_bold_and_what_is_markup_is_not() {
        assert_eq!(marked("x 2 SC*"), "x 2 **S**C\\*");
        assert_eq!(marked("x 2 C"), "x 2 C");
        assert_eq!(marked("~ 0"), "\\~ 0");
        assert_eq!(marked("3✓ 2x"), "3✓ 2x");
    }
}
