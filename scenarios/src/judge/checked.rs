//! What came of looking at one expectation.

use crate::verdict::{Axis, Finding, FindingName, Level};

/// Something wrong, before it is known under which expectation it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    /// What is wrong.
    pub name: FindingName,
    /// What was expected.
    pub expected: String,
    /// What was seen.
    pub observed: String,
    /// The entries that prove it.
    pub events: Vec<u64>,
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
        Self {
            name,
            expected: expected.into(),
            observed: observed.into(),
            events,
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
}

impl Checked {
    /// One value was looked at, and it is good.
    pub(crate) fn good(&mut self) {
        self.judged += 1;
    }

    /// One value was looked at, and it is wrong.
    pub(crate) fn wrong(&mut self, raised: Raised) {
        self.judged += 1;
        self.raised.push(raised);
    }

    /// Nothing can be said for sure, for this reason.
    pub(crate) fn doubt(&mut self, why: impl Into<String>) {
        let why = why.into();
        if !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }

    /// Something to show.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
