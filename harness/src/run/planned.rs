//! What a run is going to do, written down before it begins, and the record
//! that comes of it. A run that is killed leaves the first, so that what is
//! missing can be named.

use std::collections::BTreeMap;

use reports::record::{
    BaselineEntry, Cell, MissingCell, RunRecord, SCHEMA_VERSION, StaleEntry, UnusedEntry,
};
use reports::redact::redact;
use reports::time::Time;
use scenarios::plan::CaseName;
use scenarios::verdict::{CellVerdict, Verdict};
use serde::{Deserialize, Serialize};

use crate::baseline::{dispose_repeats, fingerprint};
use crate::run::CellDone;

/// The file in the run's folder.
pub const FILE: &str = "planned.json";

/// A run before it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// Version of the form.
    pub schema_version: u32,
    /// Version of wirefault.
    pub tool_version: String,
    /// Digest of all scenario files and manifests that take part.
    pub suite_digest: String,
    /// The seed.
    pub seed: u64,
    /// The day on which the run began, in UTC; none of a run that does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// All cells, in the order of the record.
    pub cells: Vec<PlannedCell>,
    /// Baseline entries whose case is not there any more.
    pub stale: Vec<StaleEntry>,
    /// Baseline entries of which that can not be told.
    #[serde(default)]
    pub unused: Vec<UnusedEntry>,
}

/// A cell before it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCell {
    /// A slug and a short hash.
    pub id: String,
    /// The case.
    pub case: CaseName,
    /// The scenario's file.
    pub file: String,
    /// The client.
    pub client: String,
    /// Its version.
    pub client_version: String,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// What the baseline says of it.
    pub baseline: Option<BaselineEntry>,
    /// The verdict of a cell that is not going to run.
    pub not_run: Option<CellVerdict>,
}

impl Planned {
    /// Nothing planned yet.
    pub fn new(suite_digest: String, seed: u64) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            suite_digest,
            seed,
            date: None,
            cells: Vec::new(),
            stale: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// The record of what was planned, with these cells done. `stderr` gives the
    /// end of what the client of a cell wrote there.
    pub fn record(
        &self,
        done: Vec<CellDone>,
        stderr: &dyn Fn(&str) -> Option<String>,
    ) -> RunRecord {
        let done = done.into_iter().map(|done| (done.id.clone(), done));
        let mut done: BTreeMap<String, CellDone> = done.collect();
        let mut cells = Vec::new();
        let mut missing = Vec::new();
        for planned in &self.cells {
            let not_run = planned.not_run.clone().map(|judged| (judged, None));
            let ran = || {
                done.remove(&planned.id)
                    .map(|done| (done.verdict, done.time))
            };
            match not_run.or_else(ran) {
                Some((judged, time)) => cells.push(cell(planned, judged, time, stderr)),
                None => missing.push(MissingCell {
                    id: planned.id.clone(),
                    case: planned.case.to_string(),
                    client: planned.client.clone(),
                    repeat: planned.repeat,
                }),
            }
        }
        dispose_all(&mut cells);
        RunRecord {
            schema_version: self.schema_version,
            tool_version: self.tool_version.clone(),
            suite_digest: self.suite_digest.clone(),
            seed: self.seed,
            date: self.date.clone(),
            cells,
            stale: self.stale.clone(),
            unused: self.unused.clone(),
            missing,
        }
    }
}

fn cell(
    planned: &PlannedCell,
    judged: CellVerdict,
    time: Option<Time>,
    stderr: &dyn Fn(&str) -> Option<String>,
) -> Cell {
    use scenarios::verdict::Outcome;
    let broke = matches!(judged.verdict, Verdict::Error | Verdict::Inconclusive)
        || (judged.verdict == Verdict::Fail && judged.outcome == Outcome::Crashed);
    Cell {
        id: planned.id.clone(),
        scenario: planned.case.scenario.clone(),
        file: planned.file.clone(),
        columns: planned.case.columns.clone(),
        client: planned.client.clone(),
        client_version: planned.client_version.clone(),
        repeat: planned.repeat,
        // Set once all repeats are known.
        disposition: reports::record::Disposition::Expected,
        baseline: planned.baseline.clone(),
        fingerprint: fingerprint(&judged),
        stderr: broke
            .then(|| stderr(&planned.id))
            .flatten()
            .map(|text| redact(&text)),
        time,
        judged: redacted(judged),
    }
}

/// Without the credentials that clients, servers and scenarios may have said.
fn redacted(mut judged: CellVerdict) -> CellVerdict {
    judged.reason = judged.reason.map(|text| redact(&text));
    for call in &mut judged.calls {
        call.shown = redact(&call.shown);
        call.error_type = call.error_type.as_deref().map(redact);
    }
    for finding in &mut judged.findings {
        for text in [
            &mut finding.assertion,
            &mut finding.expected,
            &mut finding.observed,
        ] {
            *text = redact(text);
        }
    }
    for note in &mut judged.notes {
        *note = redact(note);
    }
    judged
}

fn dispose_all(cells: &mut [Cell]) {
    let key = |cell: &Cell| (cell.case(), cell.client.clone());
    let mut groups: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (place, cell) in cells.iter().enumerate() {
        groups.entry(key(cell)).or_default().push(place);
    }
    for places in groups.into_values() {
        let seen: Vec<(Verdict, &str)> = places
            .iter()
            .map(|place| {
                (
                    cells[*place].judged.verdict,
                    cells[*place].fingerprint.as_str(),
                )
            })
            .collect();
        let entry = cells[places[0]].baseline.as_ref();
        let found = dispose_repeats(entry, &seen);
        for (place, disposition) in places.into_iter().zip(found) {
            cells[place].disposition = disposition;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use reports::record::Disposition;

    fn planned(ids: &[(&str, u32)]) -> Planned {
        let mut planned = Planned::new("0".to_owned(), 1);
        for (id, repeat) in ids {
            planned.cells.push(PlannedCell {
                id: (*id).to_owned(),
                case: CaseName {
                    scenario: "area/name".to_owned(),
                    columns: Vec::new(),
                },
                file: "x.yaml".to_owned(),
                client: "curl".to_owned(),
                client_version: "1".to_owned(),
                repeat: *repeat,
                baseline: None,
                not_run: None,
            });
        }
        planned
    }

    fn done(id: &str, verdict: CellVerdict) -> CellDone {
        CellDone {
            id: id.to_owned(),
            verdict,
            time: None,
        }
    }

    #[test]
    fn a_cell_without_a_verdict_is_missing() {
        let pass = samples::verdict(Verdict::Pass, &[("api", 1)]);
        let record = planned(&[("a", 1), ("b", 2)]).record(vec![done("a", pass)], &|_| None);
        assert_eq!(record.cells.len(), 1);
        assert_eq!(record.missing.len(), 1);
        assert_eq!(
            (record.missing[0].id.as_str(), record.missing[0].repeat),
            ("b", 2)
        );
    }

    #[test]
    fn repeats_that_count_differently_are_flaky() {
        let counts = |id, n| done(id, samples::verdict(Verdict::Pass, &[("api", n)]));
        let both = vec![counts("a", 1), counts("b", 2)];
        let record = planned(&[("a", 1), ("b", 2)]).record(both, &|_| None);
        let found: Vec<_> = record.cells.iter().map(|cell| cell.disposition).collect();
        assert_eq!(found, [Disposition::Flaky; 2]);
    }

    #[test]
    fn credentials_never_reach_the_record() {
        let mut judged = samples::verdict(Verdict::Error, &[]);
        let secret = "authorization: Bearer sk-123456789";
        judged.reason = Some(secret.to_owned());
        judged.notes.push(secret.to_owned());
        judged.calls[0].shown = secret.to_owned();
        let record =
            planned(&[("a", 1)]).record(vec![done("a", judged)], &|_| Some(secret.to_owned()));
        let json = serde_json::to_string(&record).unwrap();
        assert!(!json.contains("sk-"), "{json}");
        assert!(json.contains(reports::redact::REDACTED), "{json}");
    }
}
