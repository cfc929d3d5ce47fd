//! The mark of one cell in the matrix: a glyph, a count, and letters.
//!
//! Every difference shows in the glyph; colour only repeats it.

use std::collections::BTreeSet;

use scenarios::verdict::{Axis, Level, Verdict};

use super::paint::Color;
use crate::record::{Cell, Disposition};

/// What the matrix says of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::formats) enum Mark {
    Pass,
    KnownFail,
    KnownInconclusive,
    Fail,
    Changed,
    Inconclusive,
    Error,
    Flaky,
    Fixed,
    Unsupported,
    Skipped,
    Missing,
}

/// What stands behind the count of a cell.
pub(super) const LETTERS: [(&str, &str); 3] = [SAFETY, CONFORMANCE, DEPARTS];

/// Safety failed.
pub(in crate::formats) const SAFETY: (&str, &str) = ("S", "on safety: duplicates, lies, hangs");
/// Conformance failed.
pub(in crate::formats) const CONFORMANCE: (&str, &str) =
    ("C", "on conformance: not what its documentation says");
/// A should does not hold.
pub(in crate::formats) const DEPARTS: (&str, &str) = ("*", "departs from a should");

impl Mark {
    /// All of them, in the order of the legend.
    pub(super) const ALL: [Self; 12] = [
        Self::Pass,
        Self::KnownFail,
        Self::KnownInconclusive,
        Self::Fail,
        Self::Changed,
        Self::Inconclusive,
        Self::Error,
        Self::Flaky,
        Self::Fixed,
        Self::Unsupported,
        Self::Skipped,
        Self::Missing,
    ];

    /// The mark of a cell with its repeats.
    pub(in crate::formats) fn of(group: &[&Cell]) -> Self {
        let Some(worst) = group.iter().max_by_key(|cell| cell.judged.verdict) else {
            return Self::Missing;
        };
        match (worst.disposition, worst.judged.verdict) {
            (_, Verdict::Error) => Self::Error,
            (Disposition::Flaky, _) => Self::Flaky,
            (Disposition::Fixed, _) => Self::Fixed,
            (Disposition::Changed, _) => Self::Changed,
            (_, Verdict::Pass) => Self::Pass,
            (_, Verdict::Skipped) => Self::Skipped,
            (_, Verdict::Unsupported) => Self::Unsupported,
            (Disposition::Expected, Verdict::Inconclusive) => Self::KnownInconclusive,
            (Disposition::Expected, Verdict::Fail) => Self::KnownFail,
            (Disposition::Regression, Verdict::Inconclusive) => Self::Inconclusive,
            (Disposition::Regression, Verdict::Fail) => Self::Fail,
        }
    }

    /// Its glyph, one column wide.
    pub(in crate::formats) const fn glyph(self) -> &'static str {
        match self {
            Self::Pass => "✓",
            Self::KnownFail => "x",
            Self::KnownInconclusive => "~",
            Self::Fail => "✗",
            Self::Changed => "≠",
            Self::Inconclusive => "?",
            Self::Error => "!",
            Self::Flaky => "≈",
            Self::Fixed => "↑",
            Self::Unsupported => "u",
            Self::Skipped => "–",
            Self::Missing => "·",
        }
    }

    /// Its line in the legend.
    pub(in crate::formats) const fn meaning(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::KnownFail => "fails, as the baseline says",
            Self::KnownInconclusive => "inconclusive, as the baseline says",
            Self::Fail => "FAILS, and the baseline expects a pass",
            Self::Changed => "CHANGED from what the baseline says",
            Self::Inconclusive => "INCONCLUSIVE, and the baseline does not expect it",
            Self::Error => "ERROR of the harness or the client's adapter",
            Self::Flaky => "FLAKY, repeats differ",
            Self::Fixed => "FIXED, the baseline expects worse",
            Self::Unsupported => "unsupported by the client",
            Self::Skipped => "skipped, can not run here",
            Self::Missing => "no result",
        }
    }

    /// Its colour.
    pub(super) const fn color(self) -> Color {
        match self {
            Self::Pass => Color::Green,
            Self::KnownFail
            | Self::KnownInconclusive
            | Self::Unsupported
            | Self::Skipped
            | Self::Missing => Color::Dim,
            Self::Fail | Self::Error => Color::Red,
            Self::Changed | Self::Inconclusive | Self::Flaky => Color::Yellow,
            Self::Fixed => Color::Cyan,
        }
    }

    /// Whether a count says something about it.
    const fn counts(self) -> bool {
        !matches!(
            self,
            Self::Unsupported | Self::Skipped | Self::Error | Self::Missing
        )
    }
}

/// The text of a cell: glyph, deliveries, and letters for the axes that failed
/// and for a departure from a should.
pub(in crate::formats) fn text(group: &[&Cell]) -> String {
    let mark = Mark::of(group);
    let mut text = mark.glyph().to_owned();
    if mark.counts() {
        text.push(' ');
        let counts: BTreeSet<String> = group.iter().map(|cell| deliveries(cell)).collect();
        text.push_str(&counts.into_iter().collect::<Vec<_>>().join("|"));
    }
    let letters = letters(group);
    if !letters.is_empty() && letters != DEPARTS.0 {
        text.push(' ');
    }
    text.push_str(&letters);
    text
}

/// The letters of a cell, or of several: for the axes on which any of them
/// fails, and for a departure from a should.
pub(in crate::formats) fn letters(group: &[&Cell]) -> String {
    let fails = |axis| group.iter().any(|cell| fails_on(cell, axis));
    let departs = group.iter().any(|cell| departs(cell));
    let stand = [fails(Axis::Safety), fails(Axis::Conformance), departs];
    let letters = LETTERS.into_iter().zip(stand);
    letters
        .filter_map(|((letter, _), stands)| stands.then_some(letter))
        .collect()
}

/// Whether a finding at level should is there.
pub(in crate::formats) fn departs(cell: &Cell) -> bool {
    let mut findings = cell.judged.findings.iter();
    findings.any(|finding| finding.level == Level::Should)
}

/// Whether a finding at level must on this axis is there.
pub(in crate::formats) fn fails_on(cell: &Cell, axis: Axis) -> bool {
    match axis {
        Axis::Conformance => cell.judged.conformance == Verdict::Fail,
        Axis::Safety => cell.judged.safety == Verdict::Fail,
    }
}

/// Deliveries of a cell, one number for each server that took any.
pub(in crate::formats) fn deliveries(cell: &Cell) -> String {
    let counts: Vec<String> = cell
        .judged
        .delivered
        .values()
        .filter(|count| **count > 0)
        .map(u64::to_string)
        .collect();
    if counts.is_empty() {
        return "0".to_owned();
    }
    counts.join("+")
}
