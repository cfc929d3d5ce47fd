//! The markdown report, from hand-made records.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod samples;

use reports::formats::{View, markdown::FORMAT};
use reports::record::{Cell, RunRecord};
use scenarios::verdict::{Axis, CallVerdict, CellVerdict, FindingName, Level, Outcome, Verdict};

fn markdown(record: &RunRecord) -> String {
    let view = View {
        width: 80,
        color: false,
        all: false,
    };
    String::from_utf8((FORMAT.render)(record, &view)).unwrap()
}

/// The text between a heading and the next of its level.
fn section<'a>(report: &'a str, title: &str) -> &'a str {
    let after = report.split(&format!("\n## {title}\n")).nth(1).unwrap();
    after.split("\n## ").next().unwrap()
}

/// What follows the client in its row of the first table of a section.
fn numbers(section: &str, client: &str) -> Vec<String> {
    let begin = format!("| `{client}` |");
    let row = section
        .lines()
        .find(|line| line.starts_with(&begin))
        .unwrap();
    let cells = row
        .trim_matches('|')
        .split('|')
        .map(|cell| cell.trim().to_owned());
    cells.skip(1).collect()
}

/// A call that ended in an error.
fn failed(code: Option<&str>, at: Option<&str>, kind: &str, delivered: u64) -> CallVerdict {
    CallVerdict {
        code: code.map(str::to_owned),
        code_at: at.map(str::to_owned),
        error_type: Some(kind.to_owned()),
        outcome: Outcome::Unknown,
        delivered,
        ..samples::verdict(Verdict::Pass, &[]).calls.remove(0)
    }
}

fn judged(verdict: Verdict, calls: Vec<CallVerdict>) -> CellVerdict {
    CellVerdict {
        calls,
        ..samples::verdict(verdict, &[("api", 1)])
    }
}

fn cell(scenario: &str, verdict: Verdict, call: CallVerdict) -> Cell {
    samples::cell(scenario, &[], "node", judged(verdict, vec![call]))
}

fn repeat(number: u32, cell: Cell) -> Cell {
    Cell {
        repeat: number,
        ..cell
    }
}

/// What the rule tells of these cells: errors, right, wrong, missed, held back,
/// code below, no code.
fn rule(cells: Vec<Cell>) -> Vec<String> {
    let report = markdown(&samples::record(cells));
    numbers(section(&report, "The six-code rule"), "node")
}

const REFUSED: Option<&str> = Some("ECONNREFUSED");
const CAUSE: Option<&str> = Some("error.cause");

#[test]
fn one_of_everything() {
    insta::assert_snapshot!(markdown(&samples::eventful()));
}

#[test]
fn hostile_text_stays_text() {
    insta::assert_snapshot!(markdown(&samples::hostile()));
}

#[test]
fn an_empty_run_says_so() {
    insta::assert_snapshot!(markdown(&samples::record(Vec::new())));
}

#[test]
fn a_run_without_findings_says_so_on_both_axes() {
    let report = markdown(&samples::quiet());
    for axis in ["Safety", "Conformance"] {
        let found = section(&report, axis);
        assert!(
            found.contains("Nothing was found on this axis in any judged cell."),
            "{found}"
        );
    }
}

#[test]
fn the_date_is_told_where_the_record_has_one() {
    let mut record = samples::quiet();
    assert!(!markdown(&record).contains("- Date:"));
    record.date = Some("2026-01-31".to_owned());
    assert!(markdown(&record).contains("\n- Date: 2026-01-31\n"));
}

#[test]
fn the_rule_is_right_wrong_missed_or_held_back() {
    let none = || failed(None, None, "Error", 0);
    let cells = vec![
        cell(
            "a/right",
            Verdict::Pass,
            failed(REFUSED, CAUSE, "TypeError", 0),
        ),
        cell(
            "a/wrong",
            Verdict::Fail,
            failed(REFUSED, CAUSE, "TypeError", 1),
        ),
        cell(
            "a/wrong-too",
            Verdict::Fail,
            failed(Some("EAI_AGAIN"), Some("error"), "Error", 2),
        ),
        cell(
            "a/missed",
            Verdict::Pass,
            failed(Some("EPIPE"), Some("error"), "Error", 0),
        ),
        cell("a/missed-too", Verdict::Pass, none()),
        cell(
            "a/held-back",
            Verdict::Pass,
            failed(Some("ECONNRESET"), CAUSE, "TypeError", 1),
        ),
    ];
    let report = markdown(&samples::record(cells));
    let section = section(&report, "The six-code rule");
    assert_eq!(
        numbers(section, "node"),
        ["6", "1", "**2**", "2", "1", "2", "1"]
    );
    let wrong = "- `node`: `a/wrong` (1 call), `a/wrong-too` (1 call)\n";
    assert!(section.contains(wrong), "{section}");
}

#[test]
fn exactly_six_codes_are_a_proof_and_what_looks_like_one_is_none() {
    let of = |code| {
        rule(vec![cell(
            "a/b",
            Verdict::Pass,
            failed(Some(code), Some("error"), "E", 0),
        )])
    };
    for code in [
        "UND_ERR_CONNECT_TIMEOUT",
        "ECONNREFUSED",
        "EHOSTUNREACH",
        "ENETUNREACH",
        "ENOTFOUND",
        "EAI_AGAIN",
    ] {
        assert_eq!(of(code), ["1", "1", "0", "0", "0", "0", "0"], "{code}");
    }
    for code in [
        "ECONNRESET",
        "ETIMEDOUT",
        "UND_ERR_SOCKET",
        "econnrefused",
        "CURLE_COULDNT_CONNECT",
    ] {
        assert_eq!(of(code), ["1", "0", "0", "1", "0", "0", "0"], "{code}");
    }
}

#[test]
fn only_errors_of_judged_cells_count() {
    let call = || failed(REFUSED, CAUSE, "TypeError", 1);
    let mut cells = Vec::new();
    for verdict in [
        Verdict::Error,
        Verdict::Inconclusive,
        Verdict::Unsupported,
        Verdict::Skipped,
    ] {
        cells.push(cell(&format!("verdict/{verdict:?}"), verdict, call()));
    }
    for outcome in [
        Outcome::Success,
        Outcome::Rejected,
        Outcome::Cancelled,
        Outcome::Held,
        Outcome::Hung,
        Outcome::Crashed,
    ] {
        let call = CallVerdict { outcome, ..call() };
        cells.push(cell(&format!("outcome/{outcome:?}"), Verdict::Pass, call));
    }
    let mut too_much = cell("a/too-much", Verdict::Fail, call());
    too_much.judged.reason = Some("the client was starved".to_owned());
    cells.push(too_much);
    assert_eq!(rule(cells.clone())[0], "0");
    cells.push(cell("a/counts", Verdict::Pass, call()));
    assert_eq!(rule(cells), ["1", "0", "**1**", "0", "0", "1", "0"]);
}

#[test]
fn a_request_that_went_elsewhere_makes_it_unclear() {
    for late in [true, false] {
        let mut one = cell("a/b", Verdict::Pass, failed(REFUSED, CAUSE, "TypeError", 0));
        let strays = if late {
            &mut one.judged.drained
        } else {
            &mut one.judged.other
        };
        strays.insert("api".to_owned(), 1);
        assert_eq!(rule(vec![one]), ["1", "0", "0", "0", "0", "1", "1", "0"]);
    }
}

#[test]
fn of_repeats_the_one_counts_in_which_the_rule_is_wrong() {
    let right = || cell("a/b", Verdict::Fail, failed(REFUSED, CAUSE, "TypeError", 0));
    let wrong = || cell("a/b", Verdict::Pass, failed(REFUSED, CAUSE, "TypeError", 1));
    let broken = || {
        cell(
            "a/b",
            Verdict::Inconclusive,
            failed(REFUSED, CAUSE, "TypeError", 1),
        )
    };
    for cells in [
        vec![right(), repeat(2, wrong()), repeat(3, right())],
        vec![wrong(), repeat(2, right())],
    ] {
        assert_eq!(rule(cells), ["1", "0", "**1**", "0", "0", "1", "0"]);
    }
    assert_eq!(rule(vec![right(), repeat(2, broken())])[1], "1");
    // A pass beside an inconclusive repeat proves nothing.
    assert_eq!(rule(vec![wrong(), repeat(2, broken())])[0], "0");
}

#[test]
fn the_head_counts_a_cell_once_and_both_axes_apart() {
    let mut both = samples::verdict(Verdict::Fail, &[("api", 2)]);
    both.conformance = Verdict::Fail;
    let of = |scenario: &str, judged: CellVerdict| samples::cell(scenario, &[], "node", judged);
    let plain = |verdict| samples::verdict(verdict, &[]);
    let cells = vec![
        of("a/both", both),
        repeat(2, of("a/both", plain(Verdict::Pass))),
        repeat(3, of("a/both", plain(Verdict::Error))),
        of("a/safety", plain(Verdict::Fail)),
        of("a/pass", plain(Verdict::Pass)),
        repeat(2, of("a/pass", plain(Verdict::Pass))),
        of("a/inconclusive", plain(Verdict::Inconclusive)),
        repeat(2, of("a/inconclusive", plain(Verdict::Pass))),
        of("a/unsupported", plain(Verdict::Unsupported)),
    ];
    let report = markdown(&samples::record(cells));
    let head = section(&report, "Clients");
    assert_eq!(
        numbers(head, "node")[1..],
        ["5", "1", "2", "1", "1", "1", "2"]
    );
    assert!(head.contains("Unsupported | Repeats differ |"), "{head}");
    assert!(
        report.contains("- Cells: 5: 5 cases of 5 scenarios with 1 client\n"),
        "{report}"
    );
    assert!(
        report.contains("- Runs of cells, repeats included: 9\n"),
        "{report}"
    );
}

#[test]
fn a_finding_counts_once_a_cell_and_under_its_axis_with_what_was_delivered() {
    let sweep = |at: &str, delivered, findings| {
        let mut judged = samples::verdict(Verdict::Fail, &[("api", delivered)]);
        judged.findings = findings;
        samples::cell("cuts/a", &[("at", at)], "node", judged)
    };
    let found = samples::duplicate;
    let departs = || {
        let mut finding = found();
        finding.level = Level::Should;
        finding
    };
    let mut conforms = found();
    conforms.axis = Axis::Conformance;
    conforms.name = FindingName::GaveUpEarly;
    let mut info = found();
    info.level = Level::Info;
    let report = markdown(&samples::record(vec![
        sweep("1", 2, vec![departs(), found(), found()]),
        repeat(2, sweep("1", 3, vec![found()])),
        sweep("2", 2, vec![departs(), conforms]),
        sweep("3", 9, vec![info]),
    ]));
    let safety = section(&report, "Safety");
    let row = "| duplicate-delivery | 1 | 1 | `cuts/a`: 2 of 3 cases; 1 departs only; delivered 2 or 3 |\n";
    assert!(safety.contains(row), "{safety}");
    assert!(
        safety.contains("  - Cells that fail: `node` 1\n  - Cells that depart: `node` 1\n"),
        "{safety}"
    );
    let summary =
        "<b>node</b>: fails by duplicate-delivery 1; departs by duplicate-delivery 1</summary>";
    assert!(safety.contains(summary), "{safety}");
    assert!(!safety.contains("gave-up-early"), "{safety}");
    let conformance = section(&report, "Conformance");
    let row = "| gave-up-early | 1 | 0 | `cuts/a`: 1 of 3 cases; delivered 2 |\n";
    assert!(conformance.contains(row), "{conformance}");
    assert!(!conformance.contains("duplicate-delivery"), "{conformance}");
}

#[test]
fn cases_of_a_sweep_share_a_row_that_says_how_many_have_which_mark() {
    let sweep = |at: &str, verdict, delivered| {
        let judged = samples::verdict(verdict, &[("api", delivered)]);
        samples::cell("cuts/a", &[("at", at)], "node", judged)
    };
    let row = |cells| {
        let report = markdown(&samples::record(cells));
        let matrix = section(&report, "Matrix");
        let row = matrix
            .lines()
            .find(|line| line.starts_with("| a ("))
            .unwrap();
        row.to_owned()
    };
    let same = vec![sweep("1", Verdict::Pass, 1), sweep("2", Verdict::Pass, 1)];
    assert_eq!(row(same), "| a (2 cases) | ✓ 1 |");
    let counts = vec![sweep("1", Verdict::Pass, 1), sweep("2", Verdict::Pass, 2)];
    assert_eq!(row(counts), "| a (2 cases) | 2✓ |");
    let mixed = vec![
        sweep("1", Verdict::Pass, 1),
        sweep("2", Verdict::Fail, 2),
        sweep("3", Verdict::Pass, 1),
    ];
    assert_eq!(row(mixed), "| a (3 cases) | 2✓ 1x **S** |");
}

#[test]
fn each_kind_of_error_says_where_its_code_sits() {
    let cells = vec![
        cell(
            "a/1",
            Verdict::Pass,
            failed(Some("ECONNRESET"), CAUSE, "TypeError", 1),
        ),
        cell(
            "a/2",
            Verdict::Pass,
            failed(Some("ECONNRESET"), CAUSE, "TypeError", 0),
        ),
        cell(
            "a/3",
            Verdict::Pass,
            failed(Some("ECONNRESET"), Some("error"), "Error", 1),
        ),
        cell("a/4", Verdict::Pass, failed(None, None, "a|b", 1)),
        cell(
            "a/5",
            Verdict::Pass,
            failed(Some("CURLE_GOT_NOTHING"), None, "exit", 1),
        ),
        cell("a/6", Verdict::Pass, failed(Some("OLD"), None, "E", 1)),
    ];
    let report = markdown(&samples::record(cells));
    let section = section(&report, "Where the code sits");
    assert_eq!(numbers(section, "node"), ["6", "1", "2", "1", "1", "1"]);
    for row in [
        "| `TypeError` | `ECONNRESET` | `error.cause` | 2 | 1 |\n",
        "| `Error` | `ECONNRESET` | `error` | 1 | 1 |\n",
        "| a\\|b | none | – | 1 | 1 |\n",
        "| `exit` | `CURLE_GOT_NOTHING` | the command's exit code | 1 | 1 |\n",
        "| `E` | `OLD` | not recorded | 1 | 1 |\n",
    ] {
        assert!(section.contains(row), "{row}{section}");
    }
}

#[test]
fn every_row_of_a_table_has_as_many_cells_as_its_head() {
    for record in [samples::eventful(), samples::hostile(), samples::quiet()] {
        let report = markdown(&record).replace("\\\\", "").replace("\\|", "");
        let mut width = None;
        let mut tables = 0;
        for line in report.lines() {
            if line.starts_with('|') {
                let cells = line.matches('|').count();
                tables += usize::from(width.is_none());
                assert_eq!(cells, *width.get_or_insert(cells), "{line}");
            } else {
                width = None;
            }
        }
        assert!(tables >= 4, "{tables} tables");
    }
}
