//! `junit`: JUnit XML for CI systems.
//!
//! A suite is a client, and a test case's name holds both case and client,
//! because GitLab keeps only the first of two equal names. No dialect knows an
//! expected failure: known ones are `skipped` with the reason, and what got
//! better is a failure until the baseline says so.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use scenarios::verdict::Verdict;

use super::{Format, View};
use crate::detail;
use crate::harmless::{lines, one_line};
use crate::record::{Cell, Disposition, RunRecord};
use crate::words;

/// This format.
pub const FORMAT: Format = Format {
    word: "junit",
    summary: "JUnit XML, a test case a cell, for CI systems",
    render,
};

fn render(record: &RunRecord, _: &View) -> Vec<u8> {
    let mut suites: Vec<(&str, Vec<TestCase>)> = Vec::new();
    for cell in &record.cells {
        put(&mut suites, &cell.client, of_cell(cell));
    }
    for entry in &record.stale {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type("stale");
        status.set_message(one_line(&format!(
            "{}: no such case any more, remove the entry",
            entry.place
        )));
        let case = case(&entry.case, &entry.client, " (baseline entry)", status);
        put(&mut suites, &entry.client, case);
    }
    for cell in &record.missing {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("missing");
        status.set_message("planned, and there is no result");
        let case = case(&cell.case, &cell.client, &repeat(cell.repeat), status);
        put(&mut suites, &cell.client, case);
    }
    let mut report = Report::new("wirefault");
    for (client, cases) in suites {
        let mut suite = TestSuite::new(one_line(client));
        suite.add_test_cases(cases);
        report.add_test_suite(suite);
    }
    let mut bytes = Vec::new();
    // Writing into memory has nothing to fail at.
    let _ = report.serialize(&mut bytes);
    bytes
}

fn put<'a>(suites: &mut Vec<(&'a str, Vec<TestCase>)>, client: &'a str, case: TestCase) {
    match suites.iter_mut().find(|(name, _)| *name == client) {
        Some((_, cases)) => cases.push(case),
        None => suites.push((client, vec![case])),
    }
}

fn case(name: &str, client: &str, suffix: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(one_line(&format!("{name} [{client}]{suffix}")), status);
    case.set_classname(one_line(client));
    case
}

fn repeat(number: u32) -> String {
    match number {
        1 => String::new(),
        n => format!(" repeat {n}"),
    }
}

fn of_cell(cell: &Cell) -> TestCase {
    let status = match kind(cell) {
        Kind::Success => TestCaseStatus::success(),
        Kind::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(one_line(&why_skipped(cell)));
            status
        }
        Kind::Bad(kind, word) => {
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(word);
            status.set_message(one_line(&headline(cell, word)));
            status.set_description(text(cell));
            status
        }
    };
    let mut case = case(&cell.case(), &cell.client, &repeat(cell.repeat), status);
    case.set_time(Duration::from_millis(cell.judged.elapsed_ms));
    case
}

enum Kind {
    Success,
    Skipped,
    Bad(NonSuccessKind, &'static str),
}

fn kind(cell: &Cell) -> Kind {
    use NonSuccessKind::{Error, Failure};
    match (cell.judged.verdict, cell.disposition) {
        (Verdict::Error, _) => Kind::Bad(Error, "error"),
        (_, Disposition::Flaky) => Kind::Bad(Failure, "flaky"),
        (_, Disposition::Fixed) => Kind::Bad(Failure, "fixed"),
        (Verdict::Inconclusive, Disposition::Regression | Disposition::Changed) => {
            Kind::Bad(Error, "inconclusive")
        }
        (_, Disposition::Regression) => Kind::Bad(Failure, "regression"),
        (_, Disposition::Changed) => Kind::Bad(Failure, "changed"),
        (Verdict::Pass, Disposition::Expected) => Kind::Success,
        (_, Disposition::Expected) => Kind::Skipped,
    }
}

fn why_skipped(cell: &Cell) -> String {
    let verdict = words::verdict(cell.judged.verdict);
    let known = cell.baseline.as_ref().map(|entry| entry.reason.as_str());
    match (cell.judged.verdict, known, &cell.judged.reason) {
        (Verdict::Fail | Verdict::Inconclusive, Some(reason), _) => {
            format!("known: {verdict}: {reason}")
        }
        (_, _, Some(reason)) => format!("{verdict}: {reason}"),
        (_, _, None) => verdict.to_owned(),
    }
}

fn headline(cell: &Cell, word: &str) -> String {
    let mut names: Vec<String> = cell.judged.findings.iter().map(|f| f.name.word()).collect();
    names.sort();
    names.dedup();
    let what = match (&cell.judged.reason, names.as_slice()) {
        (Some(reason), _) => reason.clone(),
        (None, []) => words::verdict(cell.judged.verdict).to_owned(),
        (None, names) => names.join(", "),
    };
    format!("{word}: {what}")
}

/// All that is known about the cell, as text.
fn text(cell: &Cell) -> String {
    let mut out = String::from("\n");
    facts(&detail::of_cell(cell), &mut out);
    for finding in &cell.judged.findings {
        let detail = detail::of_finding(cell, finding);
        out.push_str(&one_line(&detail.title));
        out.push('\n');
        facts(&detail.facts, &mut out);
    }
    out
}

fn facts(facts: &[(&'static str, String)], out: &mut String) {
    for (label, text) in facts {
        for line in lines(text) {
            out.push_str(&format!("  {label}: {line}\n"));
        }
    }
}
