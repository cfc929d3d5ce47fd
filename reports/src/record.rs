//! The run record: `run.json`. The JSON report is this, as it stands.

use std::collections::BTreeMap;

use scenarios::plan::CaseName;
use scenarios::verdict::{CellVerdict, Verdict};
use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Version of the record's form. Fields are only added within a version.
pub const SCHEMA_VERSION: u32 = 1;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of wirefault.
    pub tool_version: String,
    /// Digest of all scenario files and manifests that took part.
    pub suite_digest: String,
    /// The seed; `--seed` replays it.
    pub seed: u64,
    /// The day on which the run began, in UTC: `2026-01-31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// All cells, in the order of scenario, columns, client, repeat.
    pub cells: Vec<Cell>,
    /// Baseline entries whose case is not there any more.
    #[serde(default)]
    pub stale: Vec<StaleEntry>,
    /// Baseline entries of which this run can not tell whether their case is
    /// still there. They change no exit code.
    #[serde(default)]
    pub unused: Vec<UnusedEntry>,
    /// Cells that were planned and of which there is no result.
    #[serde(default)]
    pub missing: Vec<MissingCell>,
}

/// One cell: a case with a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// A slug and a short hash; also the folder's name.
    pub id: String,
    /// `area/name`.
    pub scenario: String,
    /// The scenario's file.
    pub file: String,
    /// Columns of a sweep or table and their values, in order.
    pub columns: Vec<(String, String)>,
    /// The client.
    pub client: String,
    /// Its version, as it prints it.
    pub client_version: String,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Against the baseline.
    pub disposition: Disposition,
    /// What the baseline expects when that is not a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineEntry>,
    /// What was seen, in the short form that the baseline keeps.
    pub fingerprint: String,
    /// The end of what the client wrote to stderr, kept where the cell broke or
    /// the client crashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The time that it ran in; none where it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// The judge's words.
    #[serde(flatten)]
    pub judged: CellVerdict,
}

/// A baseline entry, as far as a reader of reports needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// The verdict expected.
    pub expect: Verdict,
    /// What was seen when the entry was written; empty where nothing is seen,
    /// because such a cell does not run.
    pub fingerprint: String,
    /// Why.
    pub reason: String,
    /// The versions of the client with which it is not so: where its version has
    /// one of these texts in it, there is no entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_with: Vec<String>,
    /// What is seen as well, where the client races with itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub or: Vec<KnownSight>,
}

/// What else is known to be seen of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSight {
    /// The verdict.
    pub expect: Verdict,
    /// What was seen.
    pub fingerprint: String,
}

/// An entry whose scenario took part and has no such case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleEntry {
    /// The client.
    pub client: String,
    /// The case.
    pub case: String,
    /// The baseline's file and line.
    pub place: String,
}

/// An entry whose scenario did not take part, or another one of its name did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedEntry {
    /// The client.
    pub client: String,
    /// The case.
    pub case: String,
    /// The baseline's file and line.
    pub place: String,
    /// Why nothing is known of it, and what to do in which case.
    pub why: String,
}

/// A cell that was planned and did not come to a result: the run was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingCell {
    /// Its id.
    pub id: String,
    /// The case.
    pub case: String,
    /// The client.
    pub client: String,
    /// Which repeat, from 1.
    pub repeat: u32,
}

/// A cell against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disposition {
    /// As the baseline says, or a pass without an entry.
    Expected,
    /// Worse, and no entry says so.
    Regression,
    /// An entry says so, but what was seen differs.
    Changed,
    /// An entry expects worse.
    Fixed,
    /// Repeats differ.
    Flaky,
}

impl Disposition {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Expected,
        Self::Regression,
        Self::Changed,
        Self::Fixed,
        Self::Flaky,
    ];

    /// The word that reports use.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Expected => "expected",
            Self::Regression => "regression",
            Self::Changed => "changed",
            Self::Fixed => "fixed",
            Self::Flaky => "flaky",
        }
    }
}

impl Cell {
    /// `area/name[column=value,...]`.
    pub fn case(&self) -> String {
        CaseName {
            scenario: self.scenario.clone(),
            columns: self.columns.clone(),
        }
        .to_string()
    }
}

impl RunRecord {
    /// Whether no cell ran, so that the run proves nothing.
    pub fn nothing_ran(&self) -> bool {
        let not_run =
            |cell: &Cell| matches!(cell.judged.verdict, Verdict::Skipped | Verdict::Unsupported);
        self.cells.iter().all(not_run)
    }

    /// Cells by disposition.
    pub fn totals(&self) -> BTreeMap<Disposition, usize> {
        let mut totals = BTreeMap::new();
        for cell in &self.cells {
            *totals.entry(cell.disposition).or_default() += 1;
        }
        totals
    }
}
