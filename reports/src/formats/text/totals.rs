//! Totals by disposition, and what the run was. No score: counts of cells say
//! nothing about which client is better.

use std::collections::BTreeMap;

use scenarios::verdict::Verdict;

use crate::formats::View;
use crate::harmless::one_line;
use crate::layout::wrap;
use crate::record::{Disposition, RunRecord};
use crate::table::Table;
use crate::time;
use crate::words;

/// What did not run and why: one line for each client and verdict.
pub(super) fn not_run(table: &Table<'_>, view: &View) -> String {
    let mut out = String::new();
    for (place, client) in table.clients.iter().enumerate() {
        let cells = || table.rows.iter().flat_map(|row| &row.groups[place]);
        for verdict in [Verdict::Skipped, Verdict::Unsupported] {
            let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
            for cell in cells().filter(|cell| cell.judged.verdict == verdict) {
                let reason = cell.judged.reason.as_deref().unwrap_or("no reason given");
                *reasons.entry(reason).or_default() += 1;
            }
            if reasons.is_empty() {
                continue;
            }
            let text = format!("{client}: {}", told(verdict, &reasons));
            let lines = wrap(&one_line(&text), view.width.saturating_sub(2));
            out.push_str(&format!("{}\n", lines.join("\n  ")));
        }
    }
    out
}

/// `3 cells skipped: no program (2), no network (1)`.
fn told(verdict: Verdict, reasons: &BTreeMap<&str, usize>) -> String {
    let count: usize = reasons.values().sum();
    let cells = if count == 1 { "cell" } else { "cells" };
    let parts: Vec<String> = match reasons.len() {
        1 => reasons.keys().map(|reason| (*reason).to_owned()).collect(),
        _ => reasons
            .iter()
            .map(|(reason, count)| format!("{reason} ({count})"))
            .collect(),
    };
    format!(
        "{count} {cells} {}: {}",
        words::verdict(verdict),
        parts.join(", ")
    )
}

/// The last lines of the report.
pub(super) fn render(record: &RunRecord, view: &View) -> String {
    let mut parts = Vec::new();
    let totals = record.totals();
    for disposition in Disposition::ALL {
        let count = totals.get(&disposition).copied().unwrap_or(0);
        if count == 0 {
            continue;
        }
        let word = match (disposition, count) {
            (Disposition::Regression, 2..) => "regressions",
            _ => disposition.word(),
        };
        parts.push(format!(
            "{count} {word} ({})",
            verdicts(record, disposition)
        ));
    }
    if !record.missing.is_empty() {
        parts.push(format!("{} missing", record.missing.len()));
    }
    if !record.stale.is_empty() {
        let entries = if record.stale.len() == 1 {
            "entry"
        } else {
            "entries"
        };
        parts.push(format!("{} stale baseline {entries}", record.stale.len()));
    }
    let cells = record.cells.len() + record.missing.len();
    let noun = if cells == 1 { "cell" } else { "cells" };
    let colon = if parts.is_empty() { "" } else { ": " };
    let text = format!("{cells} {noun}{colon}{}.", parts.join(", "));
    let digest = record
        .suite_digest
        .get(..12)
        .unwrap_or(&record.suite_digest);
    let suite = match digest {
        // A cell alone does not know it.
        "" => String::new(),
        digest => format!(" suite {digest},"),
    };
    let what = format!(
        "wirefault {},{suite} seed {}.",
        record.tool_version, record.seed
    );
    let mut out = String::new();
    let times = record.cells.iter().filter_map(|cell| cell.time.as_ref());
    let more = nothing_ran(record).into_iter().chain(bounded(record));
    let more = more.chain(time::summary(times));
    for text in [text].into_iter().chain(more) {
        for line in wrap(&one_line(&text), view.width) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out.push_str(&one_line(&what));
    out.push('\n');
    out
}

/// That nothing ran, and why; none when something did.
fn nothing_ran(record: &RunRecord) -> Option<String> {
    if !record.nothing_ran() {
        return None;
    }
    let why = match (record.missing.is_empty(), record.cells.is_empty()) {
        (false, _) => "the run was stopped before a cell was done",
        (true, true) => "no case was chosen (the suite is empty, or all of it has the tag `slow`)",
        (true, false) => "no client here can do any of these cases, for the reasons told above",
    };
    Some(format!("Nothing ran, so nothing is proved: {why}."))
}

/// In how many cells the harness made the end, and how: of them it is not known
/// what would have come later. None when all clients ended by themselves.
fn bounded(record: &RunRecord) -> Option<String> {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in &record.cells {
        if let Some(how) = cell.judged.ended_by.and_then(words::bounded) {
            *ends.entry(how).or_default() += 1;
        }
    }
    let count: usize = ends.values().sum();
    let parts: Vec<String> = ends
        .iter()
        .map(|(how, count)| format!("{count} {how}"))
        .collect();
    (count > 0).then(|| {
        format!(
            "Bounded: {}; requests after that end are not ruled out.",
            parts.join(", ")
        )
    })
}

/// Verdicts of the cells with this disposition.
fn verdicts(record: &RunRecord, disposition: Disposition) -> String {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for cell in &record.cells {
        if cell.disposition == disposition {
            *counts.entry(cell.judged.verdict).or_default() += 1;
        }
    }
    let told = |verdict: Verdict| match (disposition, verdict) {
        (Disposition::Expected, Verdict::Fail) => "known to fail",
        (Disposition::Expected, Verdict::Inconclusive) => "known to be inconclusive",
        (_, verdict) => words::verdict(verdict),
    };
    let parts: Vec<_> = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {}", told(*verdict)))
        .collect();
    parts.join(", ")
}
