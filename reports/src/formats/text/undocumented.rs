//! Cells that are inconclusive only because the client's policy does not say
//! what it promises: one entry a client, so that a manifest which is not
//! filled in yet does not hide everything else.

use std::collections::BTreeMap;

use scenarios::verdict::Verdict;

use crate::detail;
use crate::record::{Cell, Disposition};

/// How a doubt begins that the client's policy leaves.
const UNDOCUMENTED: &str = "undocumented: ";

/// The cells of one client whose promises are not written down.
#[derive(Debug)]
pub(super) struct Gap<'a> {
    /// The client.
    pub(super) client: &'a str,
    groups: Vec<&'a [&'a Cell]>,
}

/// Gathers such cells by client. One alone is better shown as it is.
pub(super) fn gather<'a>(differing: &[&'a Vec<&'a Cell>]) -> Vec<Gap<'a>> {
    let mut gaps: Vec<Gap<'a>> = Vec::new();
    for group in differing {
        let Some(first) = group.first() else { continue };
        if !group.iter().all(|cell| doubts(cell).is_some()) {
            continue;
        }
        match gaps.iter_mut().find(|gap| gap.client == first.client) {
            Some(gap) => gap.groups.push(group),
            None => gaps.push(Gap {
                client: &first.client,
                groups: vec![group],
            }),
        }
    }
    gaps.retain(|gap| gap.groups.len() > 1);
    gaps
}

impl Gap<'_> {
    /// Whether this is one of its cells.
    pub(super) fn has(&self, group: &[&Cell]) -> bool {
        self.groups.iter().any(|one| std::ptr::eq(*one, group))
    }

    /// How many cells it has.
    pub(super) fn cells(&self) -> String {
        format!("{} cells", self.groups.len())
    }

    /// What is not documented, each with its number of cells, and what to do.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let firsts = || self.groups.iter().filter_map(|group| group.first());
        for cell in firsts() {
            for doubt in doubts(cell).unwrap_or_default() {
                *counts.entry(doubt).or_default() += 1;
            }
        }
        let counts = counts.iter();
        let counted = counts.map(|(doubt, count)| format!("{UNDOCUMENTED}{doubt} ({count})"));
        let mut facts = vec![
            ("reason", counted.collect::<Vec<_>>().join("\n")),
            (
                "to do",
                "write into the `policy` of its manifest what its documentation says; --all shows \
                 each cell"
                    .to_owned(),
            ),
        ];
        if let Some(cell) = firsts().next() {
            let first = format!("{}, the first of them", detail::evidence(cell));
            facts.push(("evidence", first));
        }
        facts
    }
}

/// What is not documented, when that is all that a cell lacks; each thing once.
fn doubts(cell: &Cell) -> Option<Vec<&str>> {
    let unexpected =
        cell.judged.verdict == Verdict::Inconclusive && cell.disposition == Disposition::Regression;
    let reason = cell.judged.reason.as_deref().filter(|_| unexpected)?;
    let mut doubts = Vec::new();
    for part in parts(reason) {
        let doubt = part.split_once(": ")?.1.strip_prefix(UNDOCUMENTED)?;
        if !doubts.contains(&doubt) {
            doubts.push(doubt);
        }
    }
    Some(doubts)
}

/// The parts of a reason, `line 4: ...; line 9: ...`. What stands between may
/// have a semicolon of its own.
fn parts(reason: &str) -> Vec<&str> {
    const BETWEEN: &str = "; line ";
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in reason.match_indices(BETWEEN) {
        parts.push(&reason[from..at]);
        from = at + "; ".len();
    }
    parts.push(&reason[from..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_inside_a_part_does_not_end_it() {
        assert_eq!(
            parts("line 4: a; b; line 19: c; line 20: d"),
            ["line 4: a; b", "line 19: c", "line 20: d"]
        );
        assert_eq!(parts("nothing of the kind"), ["nothing of the kind"]);
    }
}
