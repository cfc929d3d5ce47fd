//! Exit codes: one list, with what each means and which one wins.

use std::process::ExitCode;

use reports::record::{Cell, Disposition, RunRecord};
use scenarios::verdict::Verdict;

/// What the program ends with. Codes are part of the interface and never
/// change their meaning; none of them is a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All as expected.
    AsExpected,
    /// An assertion failed against expectation.
    Failed,
    /// The command line is wrong.
    Usage,
    /// A scenario, a manifest or a baseline is invalid.
    Invalid,
    /// Inconclusive against expectation, or nothing ran.
    Inconclusive,
    /// What differs is better than expected.
    Better,
    /// A planned cell has no result.
    Incomplete,
    /// The harness or an adapter broke in a cell.
    CellError,
    /// The program itself failed.
    Internal,
}

impl Exit {
    /// All of them, in the order in which one wins over those after it.
    pub const ALL: [Self; 9] = [
        Self::Usage,
        Self::Internal,
        Self::Invalid,
        Self::Incomplete,
        Self::Failed,
        Self::CellError,
        Self::Inconclusive,
        Self::Better,
        Self::AsExpected,
    ];

    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::AsExpected => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Invalid => 3,
            Self::Inconclusive => 4,
            Self::Better => 5,
            Self::Incomplete => 6,
            Self::CellError => 7,
            Self::Internal => 70,
        }
    }

    /// What it means, in one line.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::AsExpected => "all as expected",
            Self::Failed => {
                "an assertion failed against expectation (regression, changed, flaky), or both times differ"
            }
            Self::Usage => "the command line is wrong",
            Self::Invalid => "a scenario, a manifest or a baseline is invalid",
            Self::Inconclusive => {
                "inconclusive where the baseline does not expect it, or nothing ran"
            }
            Self::Better => "only better than expected (fixed, stale entries of the baseline)",
            Self::Incomplete => "incomplete: a planned cell has no result",
            Self::CellError => "the harness or a client's adapter broke in a cell",
            Self::Internal => "wirefault itself failed",
        }
    }

    /// Which of several is told.
    pub fn winner(all: impl IntoIterator<Item = Self>) -> Self {
        let place = |exit: &Self| Self::ALL.iter().position(|other| other == exit);
        all.into_iter()
            .min_by_key(place)
            .unwrap_or(Self::AsExpected)
    }

    /// What a run's record comes to.
    pub fn of_record(record: &RunRecord) -> Self {
        let mut all: Vec<Self> = record.cells.iter().map(Self::of_cell).collect();
        if !record.missing.is_empty() {
            all.push(Self::Incomplete);
        }
        if !record.stale.is_empty() {
            all.push(Self::Better);
        }
        if record.nothing_ran() {
            all.push(Self::Inconclusive);
        }
        Self::winner(all)
    }

    fn of_cell(cell: &Cell) -> Self {
        match (cell.judged.verdict, cell.disposition) {
            (Verdict::Error, _) => Self::CellError,
            (_, Disposition::Flaky) => Self::Failed,
            (_, Disposition::Expected) => Self::AsExpected,
            (_, Disposition::Fixed) => Self::Better,
            (Verdict::Inconclusive, Disposition::Regression | Disposition::Changed) => {
                Self::Inconclusive
            }
            (_, Disposition::Regression | Disposition::Changed) => Self::Failed,
        }
    }

    /// The list for help texts, by number.
    pub fn help() -> String {
        let mut all = Self::ALL;
        all.sort_by_key(|exit| exit.code());
        let mut text = String::from("Exit codes:\n");
        for exit in all {
            text.push_str(&format!("  {:>2}  {}\n", exit.code(), exit.meaning()));
        }
        let order: Vec<String> = Self::ALL[1..]
            .iter()
            .map(|e| e.code().to_string())
            .collect();
        text.push_str(&format!("Where several hold: {}.", order.join(", ")));
        text
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_worse_of_two_codes_wins_in_the_documented_order() {
        let codes: Vec<u8> = Exit::ALL[1..].iter().map(|exit| exit.code()).collect();
        assert_eq!(codes, [70, 3, 6, 1, 7, 4, 5, 0]);
        for (place, worse) in Exit::ALL.iter().enumerate() {
            for better in &Exit::ALL[place..] {
                assert_eq!(Exit::winner([*better, *worse]), *worse);
                assert_eq!(Exit::winner([*worse, *better]), *worse);
            }
        }
    }

    #[test]
    fn nothing_at_all_is_as_expected_only_for_a_list_of_codes() {
        assert_eq!(Exit::winner([]), Exit::AsExpected);
    }

    #[test]
    fn a_record_ends_with_what_weighs_most_in_it() {
        use Disposition::{Changed, Expected, Fixed, Flaky, Regression};
        use Verdict::{Error, Fail, Inconclusive, Pass, Skipped, Unsupported};
        let of = |cells: &[(Verdict, Disposition)]| {
            let cells = cells.iter().map(|(verdict, disposition)| Cell {
                disposition: *disposition,
                ..samples::cell("a/b", "curl", samples::verdict(*verdict, &[]))
            });
            Exit::of_record(&samples::record(cells.collect()))
        };
        let known = [(Pass, Expected), (Fail, Expected), (Inconclusive, Expected)];
        assert_eq!(of(&known), Exit::AsExpected);
        for (verdict, disposition, right) in [
            (Fail, Regression, Exit::Failed),
            (Fail, Changed, Exit::Failed),
            (Unsupported, Changed, Exit::Failed),
            (Pass, Flaky, Exit::Failed),
            (Error, Regression, Exit::CellError),
            (Error, Flaky, Exit::CellError),
            (Inconclusive, Regression, Exit::Inconclusive),
            (Inconclusive, Changed, Exit::Inconclusive),
            (Pass, Fixed, Exit::Better),
        ] {
            let mut cells = known.to_vec();
            cells.push((verdict, disposition));
            assert_eq!(of(&cells), right, "{verdict:?} {disposition:?}");
        }
        assert_eq!(
            of(&[(Skipped, Expected), (Unsupported, Expected)]),
            Exit::Inconclusive
        );
        assert_eq!(of(&[]), Exit::Inconclusive);
        assert_eq!(
            of(&[(Pass, Fixed), (Fail, Regression), (Error, Regression)]),
            Exit::Failed
        );
    }

    #[test]
    fn missing_cells_and_stale_entries_count_too() {
        use reports::record::{MissingCell, StaleEntry};
        let pass = samples::cell("a/b", "curl", samples::verdict(Verdict::Pass, &[]));
        let mut record = samples::record(vec![pass]);
        record.stale.push(StaleEntry {
            client: "curl".to_owned(),
            case: "a/c".to_owned(),
            place: "baseline/curl.yaml:3".to_owned(),
        });
        assert_eq!(Exit::of_record(&record), Exit::Better);
        record.missing.push(MissingCell {
            id: "a-c".to_owned(),
            case: "a/c".to_owned(),
            client: "curl".to_owned(),
            repeat: 1,
        });
        assert_eq!(Exit::of_record(&record), Exit::Incomplete);
    }

    #[test]
    fn help_names_every_code_once() {
        let help = Exit::help();
        for exit in Exit::ALL {
            let line = format!("  {:>2}  {}\n", exit.code(), exit.meaning());
            assert_eq!(help.matches(&line).count(), 1, "{help}");
        }
    }
}
