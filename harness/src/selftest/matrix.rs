//! Which scenario catches which defect: a row each, a column each.
//!
//! A row without a mark would pass any client; a column without one is a defect that
//! nobody would notice.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reports::harmless::one_line;
use reports::layout::{pad, width, wrap};
use scenarios::verdict::{CellVerdict, FindingName, Level, Verdict};

/// How a scenario takes a client with a defect. Of several cases the last of these
/// that one of them shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// It passes.
    Passes,
    /// It is inconclusive.
    Unclear,
    /// It fails.
    Fails,
    /// It fails with the finding that the scenario names for this defect.
    Proved,
}

impl Mark {
    /// What a verdict on a client with a defect shows; nothing where no client of
    /// ours was judged.
    pub(super) fn of(verdict: &CellVerdict, named: Option<FindingName>) -> Option<Self> {
        let is_named = |name| {
            let mut findings = verdict.findings.iter();
            findings.any(|found| found.name == name && found.level == Level::Must)
        };
        match verdict.verdict {
            Verdict::Pass => Some(Self::Passes),
            Verdict::Inconclusive => Some(Self::Unclear),
            Verdict::Fail if named.is_some_and(is_named) => Some(Self::Proved),
            Verdict::Fail => Some(Self::Fails),
            _ => None,
        }
    }

    fn sign(self) -> char {
        match self {
            Self::Passes => '·',
            Self::Unclear => '?',
            Self::Fails => 'x',
            Self::Proved => '#',
        }
    }
}

/// The table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    defects: Vec<String>,
    /// By scenario and defect.
    marks: BTreeMap<String, BTreeMap<String, Mark>>,
}

impl Matrix {
    /// An empty table.
    pub(super) fn new<'a>(
        scenarios: impl Iterator<Item = &'a str>,
        defects: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self {
            defects: defects.map(str::to_owned).collect(),
            marks: scenarios
                .map(|name| (name.to_owned(), BTreeMap::new()))
                .collect(),
        }
    }

    pub(super) fn set(&mut self, scenario: &str, defect: &str, mark: Mark) {
        let Some(row) = self.marks.get_mut(scenario) else {
            return;
        };
        let known = row.entry(defect.to_owned()).or_insert(mark);
        *known = mark.max(*known);
    }

    /// Scenarios that catch no defect.
    pub fn empty_rows(&self) -> impl Iterator<Item = &str> {
        let is_empty = |row: &BTreeMap<String, Mark>| row.values().all(|mark| !catches(*mark));
        let rows = self.marks.iter();
        rows.filter_map(move |(name, row)| is_empty(row).then_some(name.as_str()))
    }

    /// Defects that no scenario catches.
    pub fn empty_columns(&self) -> impl Iterator<Item = &str> {
        let names = self.defects.iter().map(String::as_str);
        names.filter(|defect| self.caught_by(defect) == 0)
    }

    fn mark(&self, scenario: &str, defect: &str) -> Option<Mark> {
        self.marks.get(scenario)?.get(defect).copied()
    }

    fn caught_by(&self, defect: &str) -> usize {
        let rows = self.marks.values();
        rows.filter(|row| row.get(defect).is_some_and(|mark| catches(*mark)))
            .count()
    }

    /// The table in blocks of columns that fit, and what the columns are.
    pub fn text(&self, room: usize) -> String {
        let names: Vec<String> = self.marks.keys().map(|name| one_line(name)).collect();
        let label = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let fit = room.saturating_sub(label + 2).max(LEAST_COLUMNS);
        let mut out = String::new();
        for from in (0..self.defects.len()).step_by(fit) {
            let to = self.defects.len().min(from + fit);
            self.block(from..to, label, &mut out);
            out.push('\n');
        }
        for line in wrap(LEGEND, room) {
            let _ = writeln!(out, "{line}");
        }
        out.push('\n');
        self.columns(&mut out);
        out
    }

    fn block(&self, columns: std::ops::Range<usize>, label: usize, out: &mut String) {
        for place in [100, 10, 1] {
            if place > columns.end {
                continue;
            }
            let digits: String = columns.clone().map(|at| digit(at + 1, place)).collect();
            push_line(out, &format!("{}  {digits}", pad("", label)));
        }
        for scenario in self.marks.keys() {
            let signs: String = columns
                .clone()
                .map(|at| {
                    self.mark(scenario, &self.defects[at])
                        .map_or(' ', Mark::sign)
                })
                .collect();
            let name = pad(&one_line(scenario), label);
            push_line(out, &format!("{name}  {signs}"));
        }
    }

    fn columns(&self, out: &mut String) {
        let number = self.defects.len().to_string().len();
        let names = self.defects.iter().map(|name| width(name));
        let name = names.max().unwrap_or(0);
        for (at, defect) in self.defects.iter().enumerate() {
            let count = self.caught_by(defect);
            let scenarios = if count == 1 { "scenario" } else { "scenarios" };
            let shown = pad(&one_line(defect), name);
            let at = at + 1;
            push_line(
                out,
                &format!("{at:>number$}  {shown}  {count:>3} {scenarios}"),
            );
        }
    }
}

/// Columns of a block, however narrow the terminal.
const LEAST_COLUMNS: usize = 10;

const LEGEND: &str = "# fails with the finding that the scenario names for this defect, \
                      x fails, ? inconclusive, · passes; of several cases the first of these";

fn catches(mark: Mark) -> bool {
    mark >= Mark::Fails
}

/// The digit of a number at a place; none in front of it.
fn digit(number: usize, place: usize) -> char {
    let digit = u32::try_from(number / place % 10).unwrap_or(0);
    let is_there = number >= place;
    let digit = char::from_digit(digit, 10).filter(|_| is_there);
    digit.unwrap_or(' ')
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use scenarios::verdict::Axis;

    fn sample() -> Matrix {
        let defects = ["drops-cause", "never-retries", "retries-post"];
        let mut matrix = Matrix::new(
            ["area/one", "area/other", "area/third"].into_iter(),
            defects.into_iter(),
        );
        matrix.set("area/one", "drops-cause", Mark::Passes);
        matrix.set("area/one", "retries-post", Mark::Proved);
        matrix.set("area/one", "retries-post", Mark::Passes);
        matrix.set("area/other", "drops-cause", Mark::Unclear);
        matrix.set("area/other", "retries-post", Mark::Fails);
        matrix
    }

    #[test]
    fn the_table_has_a_row_for_each_scenario_and_a_column_for_each_defect() {
        insta::assert_snapshot!(sample().text(80));
    }

    #[test]
    fn columns_that_do_not_fit_stand_in_a_block_below() {
        let defects: Vec<String> = (1..=12).map(|at| format!("defect-{at}")).collect();
        let names = defects.iter().map(String::as_str);
        let mut matrix = Matrix::new(["area/one"].into_iter(), names);
        matrix.set("area/one", "defect-11", Mark::Proved);
        insta::assert_snapshot!(matrix.text(10));
    }

    #[test]
    fn what_nobody_catches_and_what_catches_nobody_is_told() {
        let matrix = sample();
        assert_eq!(matrix.empty_rows().collect::<Vec<_>>(), ["area/third"]);
        let empty: Vec<_> = matrix.empty_columns().collect();
        assert_eq!(
            empty,
            ["drops-cause", "never-retries"],
            "unclear is not caught"
        );
    }

    #[test]
    fn only_the_named_finding_at_level_must_proves_a_defect() {
        let mut failing = samples::verdict(Verdict::Fail, &[]);
        let name = FindingName::DuplicateDelivery;
        assert_eq!(Mark::of(&failing, Some(name)), Some(Mark::Fails));
        failing.findings = vec![samples::finding(name, Axis::Safety, Level::Should)];
        assert_eq!(Mark::of(&failing, Some(name)), Some(Mark::Fails));
        failing.findings = vec![samples::finding(name, Axis::Safety, Level::Must)];
        assert_eq!(Mark::of(&failing, Some(name)), Some(Mark::Proved));
        assert_eq!(Mark::of(&failing, None), Some(Mark::Fails));
        let error = samples::verdict(Verdict::Error, &[]);
        assert_eq!(Mark::of(&error, None), None);
    }
}
