//! What came of looking at one expectation.

use std::collections::BTreeMap;

use crate::verdict::{Axis, Finding, FindingName, Level};

/// Entries that are named as proof at most: a record must stay readable, however
/// many requests there were.
const MOST_EVENTS: usize = 1000;

/// Findings of one kind, doubts, or notes of one expectation that are kept at
/// most. The rest is counted.
const MOST_KEPT: usize = 100;

/// Something wrong, before it is known under which expectation it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    /// What is wrong.
    pub name: FindingName,
    /// What was expected.
    pub expected: String,
    /// What was seen.
    pub observed: String,
    /// The entries that prove it, of very many the first.
    pub events: Vec<u64>,
    /// How many more entries prove it.
    pub more_events: u64,
    /// True for what is too much whether or not a fault happened: a duplicate,
    /// a leak, a request after the report.
    pub in_any_case: bool,
}

impl Raised {
    /// Something that is wrong if the faults happened.
    pub(crate) fn new(
        name: FindingName,
        expected: impl Into<String>,
        observed: impl Into<String>,
        events: impl IntoIterator<Item = u64>,
    ) -> Self {
        let mut events: Vec<u64> = events.into_iter().collect();
        events.sort_unstable();
        events.dedup();
        let more_events = events.len().saturating_sub(MOST_EVENTS) as u64;
        events.truncate(MOST_EVENTS);
        events.shrink_to_fit();
        Self {
            name,
            expected: expected.into(),
            observed: observed.into(),
            events,
            more_events,
            in_any_case: false,
        }
    }

    /// The same, wrong whether or not a fault happened.
    #[must_use]
    pub(crate) fn in_any_case(self, in_any_case: bool) -> Self {
        Self {
            in_any_case,
            ..self
        }
    }

    /// As a finding of an expectation.
    pub(crate) fn finding(self, place: &Stated) -> Finding {
        Finding {
            name: self.name,
            axis: place.axis,
            assertion: place.text.clone(),
            level: place.level,
            expected: self.expected,
            observed: self.observed,
            line: place.line,
            events: self.events,
            more_events: self.more_events,
        }
    }
}

/// Where it is stated what should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    /// Which question it belongs to.
    pub axis: Axis,
    /// How much it weighs.
    pub level: Level,
    /// The expectation as written, or the name of a rule.
    pub text: String,
    /// Line of the scenario's file.
    pub line: Option<u32>,
}

impl Stated {
    /// A rule that holds without being written down.
    pub(crate) fn rule(text: &str) -> Self {
        Self {
            axis: Axis::Safety,
            level: Level::Must,
            text: text.to_owned(),
            line: None,
        }
    }
}

/// What came of looking at one expectation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// What is wrong.
    pub raised: Vec<Raised>,
    /// Why nothing can be said for sure, where that is so.
    pub doubts: Vec<String>,
    /// Values and reasoning for people.
    pub notes: Vec<String>,
    /// How many values were looked at; none: shown as `-`.
    pub judged: usize,
    /// Findings by name and whether they are wrong in any case, and how many of
    /// them there were.
    found: BTreeMap<(FindingName, bool), usize>,
    more_doubts: usize,
    more_notes: usize,
}

impl Checked {
    /// One value was looked at, and it is good.
    pub(crate) fn good(&mut self) {
        self.judged += 1;
    }

    /// One value was looked at, and it is wrong.
    pub(crate) fn wrong(&mut self, raised: Raised) {
        self.judged += 1;
        let kind = (raised.name, raised.in_any_case);
        let number = self.found.entry(kind).or_default();
        *number += 1;
        if *number <= MOST_KEPT {
            self.raised.push(raised);
        }
    }

    /// Nothing can be said for sure, for this reason.
    pub(crate) fn doubt(&mut self, why: impl Into<String>) {
        keep(why.into(), &mut self.doubts, &mut self.more_doubts);
    }

    /// Something to show.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        keep(note.into(), &mut self.notes, &mut self.more_notes);
    }

    /// What was counted and not kept, in words.
    pub(crate) fn left_out(&self) -> Vec<String> {
        let found = self.found.iter();
        let mut by_name: BTreeMap<FindingName, usize> = BTreeMap::new();
        for ((name, _), number) in found {
            *by_name.entry(*name).or_default() += number.saturating_sub(MOST_KEPT);
        }
        let by_name = by_name.into_iter();
        let findings = by_name.map(|(name, more)| (more, format!("findings `{}`", name.word())));
        let others = [
            (self.more_doubts, "doubts".to_owned()),
            (self.more_notes, "notes".to_owned()),
        ];
        let all = findings.chain(others).filter(|(more, _)| *more > 0);
        all.map(|(more, what)| format!("{more} more {what} are left out"))
            .collect()
    }
}

/// Keeps a text that is new, unless there are many already.
fn keep(text: String, kept: &mut Vec<String>, more: &mut usize) {
    if kept.contains(&text) {
        return;
    }
    if kept.len() < MOST_KEPT {
        kept.push(text);
    } else {
        *more += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(n: u64, in_any_case: bool) -> Raised {
        let raised = Raised::new(FindingName::OverBudget, "a", "b", [n]);
        raised.in_any_case(in_any_case)
    }

    #[test]
    fn of_very_many_findings_the_first_of_each_weight_are_kept() {
        let mut checked = Checked::default();
        for n in 0..MOST_KEPT as u64 + 7 {
            checked.wrong(wrong(n, false));
        }
        assert_eq!(checked.raised.len(), MOST_KEPT);
        assert_eq!(
            checked.left_out(),
            ["7 more findings `over-budget` are left out"]
        );
        checked.wrong(wrong(1000, true));
        assert!(checked.raised.last().unwrap().in_any_case);
        assert_eq!(checked.judged, MOST_KEPT + 8);
    }

    #[test]
    fn of_very_many_notes_and_doubts_the_first_are_kept() {
        let mut checked = Checked::default();
        for n in 0..MOST_KEPT + 2 {
            checked.note(n.to_string());
            checked.note("0");
            checked.doubt(n.to_string());
        }
        assert_eq!(checked.notes.len(), MOST_KEPT);
        assert_eq!(checked.doubts.len(), MOST_KEPT);
        let left_out = ["2 more doubts are left out", "2 more notes are left out"];
        assert_eq!(checked.left_out(), left_out);
    }

    #[test]
    fn of_very_many_proofs_the_first_are_named() {
        let raised = Raised::new(FindingName::Hung, "a", "b", (1..=1003).rev().chain([1]));
        assert_eq!((raised.events.len(), raised.more_events), (MOST_EVENTS, 3));
        assert_eq!(raised.events.last(), Some(&1000));
    }
}
