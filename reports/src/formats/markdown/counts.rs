//! What counts, and how often: a cell counts once, however often it was run.
//!
//! A cell fails if any of its repeats fails. It is judged if it passes or
//! fails; of no other cell is any finding or any call counted.

use scenarios::verdict::{Axis, Verdict};

use super::calls::{FailedCall, Told};
use crate::record::{Cell, Disposition};
use crate::table::Table;

/// A cell with its repeats.
#[derive(Debug)]
pub(super) struct Standing<'a> {
    /// `area/name`.
    pub(super) scenario: &'a str,
    /// What it comes to: a failure if any repeat fails, else the worst.
    pub(super) verdict: Verdict,
    /// The repeats that pass or fail; none unless that is what it comes to.
    pub(super) judged: Vec<&'a Cell>,
    /// Whether its repeats differ.
    pub(super) differs: bool,
}

impl<'a> Standing<'a> {
    /// What the repeats of a cell come to; none where there is no result.
    pub(super) fn of(group: &[&'a Cell]) -> Option<Self> {
        let first = group.first()?;
        let verdicts = || group.iter().map(|cell| cell.judged.verdict);
        let verdict = match verdicts().find(|verdict| *verdict == Verdict::Fail) {
            Some(fail) => fail,
            None => verdicts().max()?,
        };
        let is_judged = |verdict| matches!(verdict, Verdict::Pass | Verdict::Fail);
        let repeats = group.iter().copied();
        Some(Self {
            scenario: &first.scenario,
            verdict,
            judged: repeats
                .filter(|cell| is_judged(verdict) && is_judged(cell.judged.verdict))
                .collect(),
            differs: verdicts().min() != verdicts().max()
                || group.iter().any(|c| c.disposition == Disposition::Flaky),
        })
    }

    /// Whether it passes or fails, so that it proves something.
    pub(super) fn is_judged(&self) -> bool {
        !self.judged.is_empty()
    }

    /// Whether any repeat fails on this axis.
    pub(super) fn fails_on(&self, axis: Axis) -> bool {
        self.judged.iter().any(|cell| match axis {
            Axis::Safety => cell.judged.safety == Verdict::Fail,
            Axis::Conformance => cell.judged.conformance == Verdict::Fail,
        })
    }

    /// The calls that ended in an error, of the one repeat that counts for them:
    /// the one in which the six-code rule is wrong most often, of these the
    /// worst, of these the first.
    pub(super) fn failed_calls(&self) -> Vec<FailedCall<'a>> {
        let wrong = |cell: &Cell| {
            let calls = FailedCall::of(cell);
            let wrong = calls.filter(|call| Told::of(call) == Told::Wrong);
            wrong.count()
        };
        let worst = self.judged.iter().copied().rev();
        let worst = worst.max_by_key(|cell| (wrong(cell), cell.judged.verdict));
        worst.map_or_else(Vec::new, |cell| FailedCall::of(cell).collect())
    }
}

/// The cells of the client in this column, in the order of the table.
pub(super) fn of_client<'a>(
    table: &'a Table<'_>,
    column: usize,
) -> impl Iterator<Item = Standing<'a>> {
    let groups = table.rows.iter().map(move |row| &row.groups[column]);
    groups.filter_map(|group| Standing::of(group))
}

/// The versions of the client in this column, mostly one.
pub(super) fn versions(table: &Table<'_>, column: usize) -> String {
    let mut versions: Vec<&str> = Vec::new();
    for cell in table.rows.iter().flat_map(|row| &row.groups[column]) {
        if !cell.client_version.is_empty() && !versions.contains(&cell.client_version.as_str()) {
            versions.push(&cell.client_version);
        }
    }
    versions.join("; ")
}
