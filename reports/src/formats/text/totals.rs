//! Totals by disposition, and what the run was. No score: counts of cells say
//! nothing about which client is better.

use std::collections::BTreeMap;

use scenarios::verdict::Verdict;

use super::paint::wrap;
use crate::formats::View;
use crate::harmless::one_line;
use crate::record::{Disposition, RunRecord};
use crate::table::Table;
use crate::words;

/// Why clients or cells did not run: one line for each client and reason.
pub(super) fn not_run(table: &Table<'_>, view: &View) -> String {
    let mut reasons: Vec<(&str, &str, &str, usize)> = Vec::new();
    for (place, client) in table.clients.iter().enumerate() {
        for cell in table.rows.iter().flat_map(|row| &row.groups[place]) {
            let (Verdict::Skipped | Verdict::Unsupported) = cell.judged.verdict else {
                continue;
            };
            let word = words::verdict(cell.judged.verdict);
            let reason = cell.judged.reason.as_deref().unwrap_or("no reason given");
            let same = |known: &&mut (&str, &str, &str, usize)| {
                (known.0, known.1, known.2) == (client, word, reason)
            };
            match reasons.iter_mut().find(same) {
                Some(known) => known.3 += 1,
                None => reasons.push((client, word, reason, 1)),
            }
        }
    }
    let mut out = String::new();
    for (client, word, reason, count) in reasons {
        let cells = if count == 1 { "cell" } else { "cells" };
        let text = one_line(&format!("{client}: {count} {cells} {word}: {reason}"));
        for (place, line) in wrap(&text, view.width.saturating_sub(2)).iter().enumerate() {
            let indent = if place == 0 { "" } else { "  " };
            out.push_str(&format!("{indent}{line}\n"));
        }
    }
    out
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
        let verdicts = match disposition {
            Disposition::Expected => format!(" ({})", verdicts(record)),
            _ => String::new(),
        };
        let word = match (disposition, count) {
            (Disposition::Regression, 2..) => "regressions",
            _ => disposition.word(),
        };
        parts.push(format!("{count} {word}{verdicts}"));
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
    if parts.is_empty() {
        parts.push("nothing ran".to_owned());
    }
    let cells = record.cells.len() + record.missing.len();
    let noun = if cells == 1 { "cell" } else { "cells" };
    let text = format!("{cells} {noun}: {}.", parts.join(", "));
    let digest = record
        .suite_digest
        .get(..12)
        .unwrap_or(&record.suite_digest);
    let what = format!(
        "wirefault {}, suite {digest}, seed {}.",
        record.tool_version, record.seed
    );
    let mut out = String::new();
    for line in wrap(&one_line(&text), view.width) {
        out.push_str(&line);
        out.push('\n');
    }
    out.push_str(&one_line(&what));
    out.push('\n');
    out
}

/// Verdicts of the cells that are as expected.
fn verdicts(record: &RunRecord) -> String {
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    for cell in &record.cells {
        if cell.disposition == Disposition::Expected {
            *counts.entry(cell.judged.verdict).or_default() += 1;
        }
    }
    let known = |verdict: Verdict| match verdict {
        Verdict::Fail => "known to fail".to_owned(),
        Verdict::Inconclusive => "known to be inconclusive".to_owned(),
        other => words::verdict(other).to_owned(),
    };
    let parts: Vec<_> = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {}", known(*verdict)))
        .collect();
    parts.join(", ")
}
