//! What differs from the baseline, cell by cell, with what proves it.

use scenarios::verdict::{Finding, Level, Verdict};

use super::paint::{Color, Painter};
use super::undocumented;
use crate::detail;
use crate::formats::View;
use crate::harmless::{lines, one_line};
use crate::layout::wrap;
use crate::record::{Cell, Disposition, RunRecord};
use crate::table::Table;
use crate::words;

/// Cells without a result that are named; after an interrupt there are many.
const MISSING_SHOWN: usize = 10;

/// Unused entries of the baseline that are named.
const UNUSED_SHOWN: usize = 10;

/// Rows of a fact that are shown where it has more than these together.
const FIRST_ROWS: usize = 12;

/// Those at its end.
const LAST_ROWS: usize = 4;

/// Columns of the labels.
const LABEL: usize = 10;

/// All that differs; with `all` also the known differences.
pub(super) fn render(record: &RunRecord, table: &Table<'_>, view: &View) -> String {
    let groups: Vec<&Vec<&Cell>> = table.rows.iter().flat_map(|row| &row.groups).collect();
    let mut out = String::new();
    let painter = Painter { color: view.color };
    out.push_str(&painter.paint(Color::Bold, "What differs from the baseline"));
    out.push('\n');
    let differs =
        |group: &&&Vec<&Cell>| group.iter().any(|c| c.disposition != Disposition::Expected);
    let mut nothing = true;
    let differing: Vec<&Vec<&Cell>> = groups.iter().copied().filter(|g| differs(&g)).collect();
    let gathered = match view.all {
        true => Vec::new(),
        false => undocumented::gather(&differing),
    };
    let is_gathered = |group: &&&Vec<&Cell>| gathered.iter().any(|gap| gap.has(group));
    for group in differing.iter().filter(|group| !is_gathered(group)) {
        nothing = false;
        render_group(group, view, &mut out);
    }
    for gap in &gathered {
        nothing = false;
        let heading = ("inconclusive", Color::Yellow);
        title(heading, &gap.cells(), gap.client, "", view, &mut out);
        facts(&gap.facts(), 4, view, &mut out);
    }
    nothing &= render_gaps(record, view, &mut out);
    if nothing {
        out.push_str("  Nothing.\n");
    }
    render_unused(record, view, &mut out);
    let known: Vec<_> = groups.iter().filter(|group| is_known(group)).collect();
    if !view.all && !known.is_empty() {
        let listed = match known.len() {
            1 => "1 known difference: --all shows it with its reason and its evidence.".to_owned(),
            n => format!("{n} known differences: --all lists them with reasons and evidence."),
        };
        for line in wrap(&listed, view.width) {
            out.push_str(&format!("\n{line}"));
        }
        out.push('\n');
    }
    if view.all && !known.is_empty() {
        out.push('\n');
        out.push_str(&painter.paint(Color::Bold, "Known differences"));
        out.push('\n');
        for group in known {
            render_known(group, view, &mut out);
        }
    }
    out
}

fn is_known(group: &[&Cell]) -> bool {
    let expected = group.iter().all(|c| c.disposition == Disposition::Expected);
    let verdict = group.iter().map(|c| c.judged.verdict).max();
    expected && matches!(verdict, Some(Verdict::Fail | Verdict::Inconclusive))
}

/// One cell with its repeats: the first repeat of each kind is shown.
fn render_group(group: &[&Cell], view: &View, out: &mut String) {
    let painter = Painter { color: view.color };
    let mut kinds: Vec<(&Cell, usize)> = Vec::new();
    for cell in group {
        let same = |(known, _): &&mut (&Cell, usize)| {
            known.fingerprint == cell.fingerprint && known.judged.verdict == cell.judged.verdict
        };
        match kinds.iter_mut().find(same) {
            Some((_, times)) => *times += 1,
            None => kinds.push((cell, 1)),
        }
    }
    for (cell, times) in kinds {
        let repeats = match group.len() {
            1 => String::new(),
            all => format!(" ({times} of {all} repeats)"),
        };
        title(
            heading(cell),
            &cell.case(),
            &cell.client,
            &repeats,
            view,
            out,
        );
        facts(&detail::of_cell(cell), 4, view, out);
        for finding in shown(cell) {
            let detail = detail::of_finding(cell, finding);
            out.push_str(&format!(
                "    {}\n",
                painter.paint(Color::Bold, &detail.title)
            ));
            facts(&detail.facts, 6, view, out);
        }
    }
}

/// A known difference: why it is known, and what is seen.
fn render_known(group: &[&Cell], view: &View, out: &mut String) {
    let Some(cell) = group.first() else { return };
    let reason = cell.baseline.as_ref().map_or("", |entry| &entry.reason);
    title(heading(cell), &cell.case(), &cell.client, "", view, out);
    let seen = format!(
        "{}; {}",
        words::verdict(cell.judged.verdict),
        cell.fingerprint
    );
    facts(
        &[
            ("known as", reason.to_owned()),
            ("seen", seen),
            ("evidence", detail::evidence(cell)),
        ],
        4,
        view,
        out,
    );
}

/// `regression  case [client]`; the client goes below where it does not fit.
fn title(
    (word, color): (&str, Color),
    case: &str,
    client: &str,
    rest: &str,
    view: &View,
    out: &mut String,
) {
    let painter = Painter { color: view.color };
    let indent = 4 + word.len();
    let name = format!("{} [{}]{rest}", one_line(case), one_line(client));
    let lines = wrap(&name, view.width.saturating_sub(indent));
    let below = format!("\n{:indent$}", "");
    out.push_str(&format!(
        "\n  {}  {}\n",
        painter.paint(color, word),
        lines.join(&below)
    ));
}

fn heading(cell: &Cell) -> (&'static str, Color) {
    match (cell.judged.verdict, cell.disposition) {
        (Verdict::Error, _) => ("error", Color::Red),
        (Verdict::Inconclusive, Disposition::Regression) => ("inconclusive", Color::Yellow),
        (_, Disposition::Regression) => ("regression", Color::Red),
        (_, Disposition::Changed) => ("changed", Color::Yellow),
        (_, Disposition::Flaky) => ("flaky", Color::Yellow),
        (_, Disposition::Fixed) => ("fixed", Color::Cyan),
        (_, Disposition::Expected) => ("known", Color::Dim),
    }
}

/// The findings that weigh, the heaviest first. Departures from a should are
/// told too, since the cell's mark has a star for them.
fn shown(cell: &Cell) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = cell
        .judged
        .findings
        .iter()
        .filter(|finding| finding.level != Level::Info)
        .collect();
    findings.sort_by_key(|finding| finding.level);
    findings
}

fn facts(facts: &[(&'static str, String)], indent: usize, view: &View, out: &mut String) {
    let room = view.width.saturating_sub(indent + LABEL + 1).max(20);
    for (label, text) in facts {
        let mut label = *label;
        let rows = lines(text).into_iter().flat_map(|line| wrap(&line, room));
        for part in shortened(rows.collect()) {
            let row = format!("{:indent$}{label:LABEL$} {part}", "");
            out.push_str(row.trim_end());
            out.push('\n');
            label = "";
        }
    }
}

/// Without the middle of what would hide all else: a thousand calls, or a
/// hundred faults that did not happen. How a text ends often says why.
fn shortened(mut rows: Vec<String>) -> Vec<String> {
    let Some(left_out) = rows.len().checked_sub(FIRST_ROWS + LAST_ROWS) else {
        return rows;
    };
    if left_out > 1 {
        let instead = format!("... {left_out} lines more, see run.json ...");
        rows.splice(FIRST_ROWS..FIRST_ROWS + left_out, [instead]);
    }
    rows
}

/// Entries without a cell and cells without a result. True: there are none.
fn render_gaps(record: &RunRecord, view: &View, out: &mut String) -> bool {
    for entry in &record.stale {
        title(
            ("stale", Color::Cyan),
            &entry.case,
            &entry.client,
            "",
            view,
            out,
        );
        let text = format!(
            "{}: its scenario has no such case any more, remove the entry",
            entry.place
        );
        facts(&[("baseline", text)], 4, view, out);
    }
    for cell in record.missing.iter().take(MISSING_SHOWN) {
        let repeat = match cell.repeat {
            1 => String::new(),
            n => format!(" repeat {n}"),
        };
        title(
            ("missing", Color::Red),
            &cell.case,
            &cell.client,
            &repeat,
            view,
            out,
        );
    }
    if record.missing.len() > MISSING_SHOWN {
        let more = record.missing.len() - MISSING_SHOWN;
        out.push_str(&format!(
            "\n  and {more} more {} without a result, see run.json\n",
            if more == 1 { "cell" } else { "cells" }
        ));
    }
    record.stale.is_empty() && record.missing.is_empty()
}

/// Entries of which nothing is known. They are no differences.
fn render_unused(record: &RunRecord, view: &View, out: &mut String) {
    for entry in record.unused.iter().take(UNUSED_SHOWN) {
        let (case, client) = (&entry.case, &entry.client);
        title(("unused", Color::Dim), case, client, "", view, out);
        let text = format!("{}: {}", entry.place, entry.why);
        facts(&[("baseline", text)], 4, view, out);
    }
    if let Some(more @ 1..) = record.unused.len().checked_sub(UNUSED_SHOWN) {
        let entries = if more == 1 { "entry" } else { "entries" };
        out.push_str(&format!(
            "\n  and {more} more unused {entries} of the baseline, see run.json\n"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_of_a_thousand_lines_shows_its_begin_and_its_end() {
        let rows = |n: usize| (0..n).map(|row| row.to_string()).collect::<Vec<_>>();
        for short in [0, 1, 16, 17] {
            assert_eq!(shortened(rows(short)), rows(short));
        }
        let shown = shortened(rows(1000));
        assert_eq!(shown.len(), 17);
        assert_eq!(
            shown[11..14],
            ["11", "... 984 lines more, see run.json ...", "996"]
        );
    }
}
