//! The text report, from hand-made records.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod samples;

use reports::formats::{View, text::FORMAT};
use reports::record::{Disposition, RunRecord};
use scenarios::verdict::{EndedBy, Verdict};

fn text(record: &RunRecord, view: View) -> String {
    String::from_utf8((FORMAT.render)(record, &view)).unwrap()
}

const PLAIN: View = View {
    width: 100,
    color: false,
    all: false,
};

#[test]
fn a_run_without_differences_is_short() {
    insta::assert_snapshot!(text(&samples::quiet(), PLAIN));
}

#[test]
fn all_rows_of_a_sweep_are_shown_when_wanted() {
    insta::assert_snapshot!(text(&samples::quiet(), View { all: true, ..PLAIN }));
}

#[test]
fn one_of_everything_reads_well_on_a_wide_terminal() {
    insta::assert_snapshot!(text(
        &samples::eventful(),
        View {
            width: 140,
            ..PLAIN
        }
    ));
}

#[test]
fn columns_go_into_blocks_on_a_narrow_terminal() {
    insta::assert_snapshot!(text(&samples::eventful(), View { width: 60, ..PLAIN }));
}

#[test]
fn known_differences_are_listed_when_all_is_wanted() {
    insta::assert_snapshot!(text(&samples::eventful(), View { all: true, ..PLAIN }));
}

#[test]
fn an_empty_run_says_so() {
    insta::assert_snapshot!(text(&samples::record(Vec::new()), PLAIN));
}

#[test]
fn hostile_text_shows_as_escapes() {
    insta::assert_snapshot!(text(&samples::hostile(), PLAIN));
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    let record = samples::eventful();
    let plain = text(&record, PLAIN);
    let colored = text(
        &record,
        View {
            color: true,
            ..PLAIN
        },
    );
    assert_ne!(plain, colored);
    let mut bare = colored;
    for code in ["1", "2", "32", "1;31", "33", "36", "0"] {
        bare = bare.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(bare, plain);
}

#[test]
fn no_line_of_the_matrix_is_wider_than_the_terminal() {
    for width in [60, 80, 100, 160] {
        let report = text(&samples::eventful(), View { width, ..PLAIN });
        let matrix = report.split("What differs").next().unwrap();
        for line in matrix.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn the_totals_say_in_how_many_cells_the_harness_made_the_end() {
    let mut record = samples::quiet();
    let all = text(&record, PLAIN);
    assert!(!all.contains("Bounded"), "{all}");
    record.cells[0].judged.ended_by = Some(EndedBy::Finish);
    record.cells[1].judged.ended_by = Some(EndedBy::Deadline);
    let all = text(&record, PLAIN);
    let line = "Bounded: 1 stopped at the deadline, 1 told to finish; requests after that end are not ruled out.\n";
    assert!(all.contains(line), "{all}");
}

#[test]
fn a_cell_that_differs_says_what_bounds_it() {
    let mut record = samples::eventful();
    assert!(!text(&record, PLAIN).contains("    bounded"));
    for cell in &mut record.cells {
        cell.judged.ended_by = Some(EndedBy::Cap);
    }
    let all = text(&record, PLAIN);
    let fact = "    bounded    stopped at the cap; later requests are not ruled out\n";
    assert!(all.contains(fact), "{all}");
}

#[test]
fn a_line_for_cases_that_are_no_product_does_not_read_as_one() {
    let rows = |odd: &[(&str, &str)]| {
        let mut cells = Vec::new();
        for at in ["9", "half"] {
            for end in ["reset", "close"] {
                let judged = if odd.contains(&(at, end)) {
                    samples::verdict(Verdict::Pass, &[("api", 2)])
                } else {
                    samples::verdict(Verdict::Pass, &[("api", 1)])
                };
                let columns = [("at", at), ("end", end)];
                cells.push(samples::cell("cuts/ends", &columns, "curl", judged));
            }
        }
        text(&samples::record(cells), PLAIN)
    };
    let three = rows(&[("half", "close")]);
    assert!(
        three.contains("at=9 end=reset … at=half end=reset (3 cases)"),
        "{three}"
    );
    let diagonal = rows(&[("9", "reset"), ("half", "close")]);
    assert!(
        diagonal.contains("at=9 end=close; at=half end=reset (2 cases)"),
        "{diagonal}"
    );
    let product = rows(&[("half", "reset"), ("half", "close")]);
    assert!(
        product.contains("at=9 end=reset,close (2 cases)"),
        "{product}"
    );
}

#[test]
fn a_policy_that_says_next_to_nothing_takes_one_entry_a_client() {
    let record = samples::undocumented();
    let short = text(&record, PLAIN);
    let entries = |report: &str| report.matches("\n  inconclusive  ").count();
    // Three of `bare` together, the one with another doubt, and the only one of
    // `other`.
    assert_eq!(entries(&short), 3, "{short}");
    insta::assert_snapshot!(short.split("What differs").nth(1).unwrap());
    let all = text(&record, View { all: true, ..PLAIN });
    assert_eq!(entries(&all), 5, "{all}");
}

#[test]
fn a_known_difference_says_where_its_evidence_is() {
    let short = text(&samples::eventful(), PLAIN);
    assert!(short.contains("known differences: --all"), "{short}");
    let all = text(&samples::eventful(), View { all: true, ..PLAIN });
    let known = all.split("Known differences").nth(1).unwrap();
    let entries = known.matches("\n  known  ").count();
    assert!(entries > 0, "{all}");
    assert_eq!(known.matches("    evidence   cells/").count(), entries);
}

#[test]
fn a_run_in_which_nothing_ran_says_so_and_why() {
    let said = "Nothing ran, so nothing is proved: ";
    let mut record = samples::record(Vec::new());
    assert!(text(&record, PLAIN).contains(&format!("{said}no case was chosen")));
    for verdict in [Verdict::Skipped, Verdict::Unsupported] {
        let judged = samples::verdict(verdict, &[]);
        record.cells.push(samples::cell("a/b", &[], "curl", judged));
        assert!(text(&record, PLAIN).contains(&format!("{said}no client here can do any")));
    }
    record.missing = samples::eventful().missing;
    assert!(text(&record, PLAIN).contains(&format!("{said}the run was stopped")));
    let judged = samples::verdict(Verdict::Pass, &[]);
    record
        .cells
        .push(samples::cell("a/b", &[], "other", judged));
    assert!(!text(&record, PLAIN).contains("Nothing ran"));
}

#[test]
fn every_sign_that_a_cell_can_have_is_in_the_legend() {
    let known: Vec<(&str, &str)> = reports::formats::text::legend().collect();
    let mut seen = std::collections::BTreeSet::new();
    for verdict in [
        Verdict::Pass,
        Verdict::Skipped,
        Verdict::Unsupported,
        Verdict::Inconclusive,
        Verdict::Fail,
        Verdict::Error,
    ] {
        for disposition in Disposition::ALL {
            let judged = samples::verdict(verdict, &[]);
            let mut cell = samples::cell("a/b", &[], "curl", judged);
            cell.disposition = disposition;
            let report = text(&samples::record(vec![cell]), PLAIN);
            let row = report
                .lines()
                .find(|line| line.starts_with("  b "))
                .unwrap();
            let glyph = row.split_whitespace().nth(1).unwrap();
            let (_, meaning) = known.iter().find(|(sign, _)| *sign == glyph).unwrap();
            assert!(report.contains(&format!("{glyph} {meaning}")), "{report}");
            seen.insert(glyph.to_owned());
        }
    }
    // A case that one client has and another has not.
    let judged = samples::verdict(Verdict::Pass, &[]);
    let cells = [("a/b", "curl"), ("a/c", "node")]
        .map(|(scenario, client)| samples::cell(scenario, &[], client, judged.clone()));
    assert!(text(&samples::record(cells.to_vec()), PLAIN).contains("· no result"));
    seen.extend(["·", "S", "C", "*"].map(str::to_owned));
    let all = known.iter().map(|(sign, _)| (*sign).to_owned()).collect();
    assert_eq!(seen, all);
}
