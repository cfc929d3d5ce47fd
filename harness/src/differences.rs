//! The same cells in virtual and in real time, and where what was seen differs.
//!
//! Pure: two records come in, the comparison comes out. What is compared is what
//! a verdict rests on, and not what changes from run to run anyway.

use std::collections::BTreeMap;
use std::time::Duration;

use reports::harmless::one_line;
use reports::layout::wrap;
use reports::record::{Cell, RunRecord, SCHEMA_VERSION};
use reports::time::Time;
use reports::words::{verdict, word};
use scenarios::document::decode::counted;
use scenarios::verdict::{CellVerdict, Verdict};
use serde::{Deserialize, Serialize};

use crate::baseline::facts;

/// The file in the run's folder.
pub const FILE: &str = "differences.json";

/// What came of comparing two passes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differences {
    /// Version of the form.
    pub schema_version: u32,
    /// Version of wirefault.
    pub tool_version: String,
    /// The seed of both passes.
    pub seed: u64,
    /// How long the pass in virtual time took, in milliseconds.
    pub virtual_ms: u64,
    /// How long the pass in real time took.
    pub real_ms: u64,
    /// Cells that ran in both passes.
    pub compared: usize,
    /// Those of them that ran in real time both times: they prove nothing about
    /// virtual time.
    pub real_both_times: usize,
    /// Cells that ran in neither pass, as their client can not do the case here.
    pub not_run: usize,
    /// Cells without a result in one of the passes.
    pub missing: usize,
    /// Cells of which something other was seen, and both are listed in the baseline:
    /// their client races with itself.
    #[serde(default)]
    pub known_races: usize,
    /// Cells of which something other was seen, in the order of the record.
    pub differences: Vec<Difference>,
}

/// A cell of which something other was seen in the other time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The cell's id, the same in both passes.
    pub id: String,
    /// `area/name`.
    pub scenario: String,
    /// Columns of a sweep or table and their values, in order.
    pub columns: Vec<(String, String)>,
    /// The client.
    pub client: String,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Whether it ran in real time both times, so that time explains nothing.
    pub real_both_times: bool,
    /// What differs.
    pub differs: Vec<Differs>,
}

/// One fact that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differs {
    /// Its word: verdict, delivered, applied, outcome, code or findings.
    pub fact: String,
    /// In the pass in virtual time.
    #[serde(rename = "virtual")]
    pub in_virtual: String,
    /// In the pass in real time.
    #[serde(rename = "real")]
    pub in_real: String,
}

/// The record of a pass, and how long it took.
pub type Pass<'a> = (&'a RunRecord, Duration);

impl Differences {
    /// Compares two passes over the same cells, which took so long.
    pub fn between((in_virtual, took_virtual): Pass<'_>, (in_real, took_real): Pass<'_>) -> Self {
        let cells = in_real.cells.iter();
        let others: BTreeMap<&str, &Cell> = cells.map(|cell| (cell.id.as_str(), cell)).collect();
        let mut all = Self {
            schema_version: SCHEMA_VERSION,
            tool_version: in_real.tool_version.clone(),
            seed: in_real.seed,
            virtual_ms: took_virtual.as_millis() as u64,
            real_ms: took_real.as_millis() as u64,
            compared: 0,
            real_both_times: 0,
            not_run: 0,
            missing: in_virtual.missing.len(),
            known_races: 0,
            differences: Vec::new(),
        };
        for cell in &in_virtual.cells {
            match others.get(cell.id.as_str()) {
                Some(other) => all.compare(cell, other),
                None => all.missing += 1,
            }
        }
        all
    }

    fn compare(&mut self, in_virtual: &Cell, in_real: &Cell) {
        let differs = differing(&in_virtual.judged, &in_real.judged);
        let real_both_times = matches!(in_virtual.time, Some(Time::Real(_)));
        if differs.is_empty() && did_not_run(&in_virtual.judged) {
            self.not_run += 1;
            return;
        }
        self.compared += 1;
        self.real_both_times += usize::from(real_both_times);
        if differs.is_empty() {
            return;
        }
        if is_listed(in_virtual) && is_listed(in_real) {
            self.known_races += 1;
        } else {
            self.differences.push(Difference {
                id: in_virtual.id.clone(),
                scenario: in_virtual.scenario.clone(),
                columns: in_virtual.columns.clone(),
                client: in_virtual.client.clone(),
                repeat: in_virtual.repeat,
                real_both_times,
                differs,
            });
        }
    }

    /// Whether no cell was compared that ran in virtual time.
    pub fn proves_nothing(&self) -> bool {
        self.compared == self.real_both_times
    }

    /// For people: each difference, and a line on what was compared.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::from("Virtual against real time\n");
        for difference in &self.differences {
            text.push_str(&difference.text(width));
        }
        text.push('\n');
        for line in wrap(&self.totals(), width) {
            text.push_str(&format!("{line}\n"));
        }
        text
    }

    fn totals(&self) -> String {
        let differ = match self.differences.len() {
            0 => "none differs".to_owned(),
            1 => "1 differs".to_owned(),
            n => format!("{n} differ"),
        };
        let mut text = format!(
            "{} compared, {differ}; {} of them in real time both times.",
            counted(self.compared, "cell"),
            self.real_both_times
        );
        match self.known_races {
            0 => {}
            1 => text.push_str(" 1 shows by chance one of the things that the baseline lists."),
            n => text.push_str(&format!(
                " {n} show by chance one of the things that the baseline lists."
            )),
        }
        if self.not_run > 0 {
            text.push_str(&format!(" {} did not run.", counted(self.not_run, "cell")));
        }
        if self.missing > 0 {
            let cells = counted(self.missing, "cell");
            text.push_str(&format!(" {cells} without a result in both passes."));
        }
        text.push_str(&format!(
            " Virtual time took {}, real time {}.",
            seconds(self.virtual_ms),
            seconds(self.real_ms)
        ));
        if self.proves_nothing() {
            text.push_str(" Nothing ran in virtual time, so nothing is proved about it.");
        }
        text
    }
}

impl Difference {
    fn text(&self, width: usize) -> String {
        let case = scenarios::plan::CaseName {
            scenario: self.scenario.clone(),
            columns: self.columns.clone(),
        };
        let repeat = match self.repeat {
            1 => String::new(),
            n => format!(" repeat {n}"),
        };
        let real = match self.real_both_times {
            true => ", in real time both times",
            false => "",
        };
        let title = format!("{case} [{}]{repeat}{real}", self.client);
        let title = wrap(&one_line(&title), width.saturating_sub(2));
        let mut text = format!("\n  {}\n", title.join("\n    "));
        for differs in &self.differs {
            let mut label = differs.fact.as_str();
            for (time, seen) in [("virtual", &differs.in_virtual), ("real", &differs.in_real)] {
                let room = width.saturating_sub(24).max(20);
                let seen = wrap(&one_line(seen), room).join(&format!("\n{:24}", ""));
                text.push_str(&format!("    {label:10} {time:8} {seen}\n"));
                label = "";
            }
        }
        text
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms / 100 % 10)
}

/// Whether this is one of the sights that the baseline lists for a client that
/// races with itself.
fn is_listed(cell: &Cell) -> bool {
    let seen = (cell.judged.verdict, cell.fingerprint.as_str());
    cell.baseline.as_ref().is_some_and(|known| {
        let races = !known.or.is_empty();
        let first = (known.expect, known.fingerprint.as_str());
        let mut others = known
            .or
            .iter()
            .map(|or| (or.expect, or.fingerprint.as_str()));
        races && (seen == first || others.any(|other| seen == other))
    })
}

fn did_not_run(judged: &CellVerdict) -> bool {
    matches!(judged.verdict, Verdict::Skipped | Verdict::Unsupported)
}

fn differing(in_virtual: &CellVerdict, in_real: &CellVerdict) -> Vec<Differs> {
    let (left, right) = (seen(in_virtual), seen(in_real));
    let words = [
        "verdict",
        "delivered",
        "applied",
        "outcome",
        "code",
        "findings",
    ];
    let of = |seen: &BTreeMap<&str, String>, word| {
        seen.get(word).cloned().unwrap_or_else(|| "none".to_owned())
    };
    words
        .into_iter()
        .filter(|word| left.get(word) != right.get(word))
        .map(|word| Differs {
            fact: word.to_owned(),
            in_virtual: of(&left, word),
            in_real: of(&right, word),
        })
        .collect()
}

/// All that is compared of a cell.
fn seen(judged: &CellVerdict) -> BTreeMap<&'static str, String> {
    let mut seen = BTreeMap::from([("verdict", verdicts(judged))]);
    if did_not_run(judged) {
        return seen;
    }
    seen.extend(facts(judged));
    if let Some(findings) = findings(judged) {
        seen.insert("findings", findings);
    }
    seen
}

/// The verdict, with both axes where they are not of one mind.
fn verdicts(judged: &CellVerdict) -> String {
    let whole = verdict(judged.verdict);
    if judged.conformance == judged.safety {
        return whole.to_owned();
    }
    let (conformance, safety) = (verdict(judged.conformance), verdict(judged.safety));
    format!("{whole} (conformance {conformance}, safety {safety})")
}

/// The findings and how often there is each.
fn findings(judged: &CellVerdict) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for finding in &judged.findings {
        let (level, axis) = (word(&finding.level), word(&finding.axis));
        let name = format!("{} ({level}, {axis})", finding.name.word());
        *counts.entry(name).or_default() += 1;
    }
    let told = counts.into_iter().map(|(name, times)| match times {
        1 => name,
        n => format!("{name} {n} times"),
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use reports::record::{BaselineEntry, KnownSight, MissingCell};
    use reports::time::{RealTime, VirtualTime};
    use scenarios::verdict::{Axis, EndedBy, FindingName, Level, Outcome};

    fn virtually(mut cell: Cell) -> Cell {
        cell.time = Some(Time::Virtual(VirtualTime::default()));
        cell
    }

    fn really(mut cell: Cell) -> Cell {
        cell.time = Some(Time::Real(RealTime::not_asked()));
        cell
    }

    fn cell(client: &str, judged: CellVerdict) -> Cell {
        samples::cell("a/b", client, judged)
    }

    fn one(in_virtual: CellVerdict, in_real: CellVerdict) -> Differences {
        between(
            &samples::record(vec![virtually(cell("curl", in_virtual))]),
            &samples::record(vec![really(cell("curl", in_real))]),
        )
    }

    fn between(in_virtual: &RunRecord, in_real: &RunRecord) -> Differences {
        let took = |ms| Duration::from_millis(ms);
        Differences::between((in_virtual, took(1290)), (in_real, took(61_000)))
    }

    fn pass() -> CellVerdict {
        samples::verdict(Verdict::Pass, &[("api", 1)])
    }

    #[test]
    fn what_changes_from_run_to_run_anyway_is_no_difference() {
        let mut other = pass();
        other.elapsed_ms += 60_000;
        other.calls[0].shown = "200, by 127.0.0.1:40001".to_owned();
        other.notes.push("x".to_owned());
        let same = one(pass(), other);
        assert_eq!((same.compared, same.real_both_times), (1, 0));
        assert_eq!(same.differences, []);
        assert!(!same.proves_nothing());
    }

    #[test]
    fn each_fact_that_a_verdict_rests_on_is_compared() {
        type Change = fn(&mut CellVerdict);
        let changes: [(&str, Change); 8] = [
            ("verdict", |judged| judged.verdict = Verdict::Fail),
            ("verdict", |judged| judged.safety = Verdict::Inconclusive),
            ("delivered", |judged| {
                judged.delivered.extend([("api".to_owned(), 2)])
            }),
            ("delivered", |judged| judged.ended_by = Some(EndedBy::Cap)),
            ("applied", |judged| {
                judged.applied.extend([("task".to_owned(), 1)])
            }),
            ("outcome", |judged| judged.outcome = Outcome::Hung),
            ("code", |judged| {
                judged.calls[0].code = Some("ECONNRESET".to_owned())
            }),
            ("findings", |judged| {
                let finding = samples::finding(FindingName::Hung, Axis::Safety, Level::Must);
                judged.findings.push(finding);
            }),
        ];
        for (fact, change) in changes {
            let mut other = pass();
            change(&mut other);
            let found = one(pass(), other).differences;
            let facts = found.iter().flat_map(|one| &one.differs);
            let facts: Vec<&str> = facts.map(|one| one.fact.as_str()).collect();
            assert_eq!(facts, [fact]);
        }
    }

    #[test]
    fn what_the_baseline_lists_of_a_race_is_no_difference() {
        let raced = |seen: &str| {
            let mut cell = cell("curl", pass());
            cell.judged.calls[0].code = Some(seen.to_owned());
            cell.fingerprint = seen.to_owned();
            cell.baseline = Some(BaselineEntry {
                expect: Verdict::Pass,
                fingerprint: "EPIPE".to_owned(),
                reason: "two threads".to_owned(),
                not_with: Vec::new(),
                or: vec![KnownSight {
                    expect: Verdict::Pass,
                    fingerprint: "ECONNRESET".to_owned(),
                }],
            });
            cell
        };
        for (other, races, differ) in [("ECONNRESET", 1, 0), ("ENOTCONN", 0, 1)] {
            let found = between(
                &samples::record(vec![virtually(raced("EPIPE"))]),
                &samples::record(vec![really(raced(other))]),
            );
            assert_eq!(
                (found.known_races, found.differences.len()),
                (races, differ)
            );
        }
    }

    #[test]
    fn a_finding_that_is_there_more_often_is_a_difference() {
        let finding = || samples::finding(FindingName::EarlyRetry, Axis::Conformance, Level::Must);
        let (mut once, mut twice) = (pass(), pass());
        once.findings.push(finding());
        twice.findings.extend([finding(), finding()]);
        let text = one(once, twice).text(100);
        assert!(
            text.contains("early-retry (must, conformance) 2 times"),
            "{text}"
        );
    }

    #[test]
    fn cells_in_real_time_both_times_are_counted_apart_and_prove_nothing() {
        let record = samples::record(vec![really(cell("curl", pass()))]);
        let found = between(&record, &record);
        assert_eq!((found.compared, found.real_both_times), (1, 1));
        assert!(found.proves_nothing());
        let text = found.text(200);
        let right = "1 cell compared, none differs; 1 of them in real time both times. \
                     Virtual time took 1.2 s, real time 61.0 s. Nothing ran in virtual time, so nothing is proved about it.";
        assert!(text.contains(right), "{text}");
    }

    #[test]
    fn cells_that_did_not_run_and_cells_without_a_result_are_not_compared() {
        let skipped = samples::verdict(Verdict::Skipped, &[]);
        let (a, b) = (cell("curl", skipped), cell("node", pass()));
        let in_virtual = samples::record(vec![a.clone(), virtually(b.clone())]);
        let mut in_real = samples::record(vec![a]);
        in_real.missing.push(MissingCell {
            id: b.id.clone(),
            case: b.case(),
            client: "node".to_owned(),
            repeat: 1,
        });
        let found = between(&in_virtual, &in_real);
        assert_eq!((found.compared, found.not_run, found.missing), (0, 1, 1));
    }

    #[test]
    fn a_difference_names_its_cell_and_both_values() {
        let other = samples::verdict(Verdict::Pass, &[("api", 2)]);
        let mut found = one(pass(), other);
        found.differences[0].columns = vec![("status".to_owned(), "503".to_owned())];
        let right = "Virtual against real time\n\n  a/b[status=503] [curl]\n    \
                     delivered  virtual  api=1\n               real     api=2\n\n\
                     1 cell compared, 1 differs; 0 of them in real time both times. \
                     Virtual time took 1.2 s, real time 61.0 s.\n";
        assert_eq!(found.text(200), right);
    }
}
