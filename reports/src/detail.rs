//! What there is to say about one cell beyond its mark, as titles and labelled
//! facts. The formats for people lay it out; none of them words it anew.

use scenarios::verdict::{Finding, Verdict};

use crate::record::{Cell, Disposition};
use crate::time::Time;
use crate::words;

/// A title with labelled facts under it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// What it is about.
    pub title: String,
    /// Label and text; a text may have several lines.
    pub facts: Vec<(&'static str, String)>,
}

/// Facts of the whole cell: why it has its verdict, and what the baseline says.
pub fn of_cell(cell: &Cell) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let now = match cell.fingerprint.as_str() {
        "" => words::verdict(cell.judged.verdict).to_owned(),
        seen => format!("{}; {seen}", words::verdict(cell.judged.verdict)),
    };
    if let Some(entry) = &cell.baseline {
        let expect = words::verdict(entry.expect);
        let was = match entry.fingerprint.as_str() {
            "" => expect.to_owned(),
            seen => format!("{expect}; {seen}"),
        };
        if cell.disposition != Disposition::Expected {
            facts.push(("baseline", was));
            facts.push(("now", now));
        }
        facts.push(("known as", entry.reason.clone()));
    } else {
        facts.push(("now", now));
    }
    if let Some(reason) = &cell.judged.reason {
        facts.push(("reason", reason.clone()));
    }
    if let Some(stderr) = &cell.stderr {
        facts.push(("stderr", stderr.clone()));
    }
    if let Some(how) = cell.judged.ended_by.and_then(words::bounded) {
        facts.push((
            "bounded",
            format!("{how}; later requests are not ruled out"),
        ));
    }
    match &cell.time {
        Some(Time::Virtual(time)) => facts.push(("time", time.told())),
        Some(Time::Real(time)) => facts.push(("time", format!("real, because {}", time.reason))),
        None => {}
    }
    if !matches!(cell.judged.verdict, Verdict::Skipped | Verdict::Unsupported) {
        facts.push(("evidence", evidence(cell)));
    }
    facts
}

/// Where the evidence of a cell lies, in the run's folder.
pub fn evidence(cell: &Cell) -> String {
    format!("cells/{}/events.jsonl", cell.id)
}

/// One finding, with the place that expects it and the events that prove it.
pub fn of_finding(cell: &Cell, finding: &Finding) -> Detail {
    let mut facts = vec![
        ("asserts", finding.assertion.clone()),
        ("expected", finding.expected.clone()),
        ("observed", finding.observed.clone()),
    ];
    if let Some(line) = finding.line {
        facts.push(("stated at", format!("{}:{line}", cell.file)));
    }
    if !finding.events.is_empty() {
        let numbers: Vec<_> = finding.events.iter().map(u64::to_string).collect();
        let mut events = numbers.join(", ");
        if finding.more_events > 0 {
            events.push_str(&format!(", and {} more", finding.more_events));
        }
        facts.push(("events", events));
    }
    Detail {
        title: format!(
            "{} ({}, {})",
            finding.name.word(),
            words::word(&finding.level),
            words::word(&finding.axis),
        ),
        facts,
    }
}
