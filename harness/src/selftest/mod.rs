//! The legs of the selftest: what to run, and what must come of it.
//!
//! Pure but for the Plans it is given: running is the caller's.

mod matrix;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reports::words;
use scenarios::plan::{Plan, Proves};
use scenarios::verdict::{CellVerdict, FAULT_DID_NOT_HAPPEN, FindingName, Level, Verdict};

use crate::id;
use crate::run::plan::Contender;
use crate::run::{CellDone, CellJob, Client};

use matrix::Mark;
pub use matrix::Matrix;

/// What one leg must come to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Leg {
    /// The good client passes.
    Good,
    /// The client with the defect fails with the finding.
    Defective(Proves),
    /// Without its faults the case proves nothing.
    WithoutFaults,
    /// What comes of a defect that the case does not name is only shown.
    Other(String),
}

impl Leg {
    fn word(&self) -> &str {
        match self {
            Self::Good => "good",
            Self::Defective(proves) => &proves.defect,
            Self::WithoutFaults => "without-faults",
            Self::Other(defect) => defect,
        }
    }

    /// The defect of its client, and the finding by which the case catches it.
    fn defect(&self) -> Option<(&str, Option<FindingName>)> {
        match self {
            Self::Good | Self::WithoutFaults => None,
            Self::Defective(proves) => Some((&proves.defect, Some(proves.finding))),
            Self::Other(defect) => Some((defect, None)),
        }
    }
}

/// A selftest.
#[derive(Debug)]
pub struct Selftest {
    jobs: Vec<CellJob>,
    /// Of each cell the case and the leg.
    legs: BTreeMap<String, (String, Leg)>,
    failures: Vec<Failure>,
    matrix: Option<Matrix>,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The case, or the scenario where it is about all its cases.
    pub case: String,
    /// What should be.
    pub should: String,
    /// What was.
    pub but: String,
    /// The cell that shows it.
    pub cell: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// What does not hold, by case.
    pub failures: Vec<Failure>,
    /// Cells without a result.
    pub missing: usize,
    /// Which scenario catches which defect, where that was asked for.
    pub matrix: Option<Matrix>,
}

impl Selftest {
    /// The legs of all these cases with the reference client; for a matrix with each
    /// of its defects.
    pub fn plan(plans: &[&Plan], reference: &Contender, with_matrix: bool) -> Self {
        let defects = &reference.client.manifest.defects;
        let names = plans.iter().map(|plan| plan.case.scenario.as_str());
        let matrix = with_matrix.then(|| Matrix::new(names, defects.iter().map(String::as_str)));
        let mut selftest = Self {
            jobs: Vec::new(),
            legs: BTreeMap::new(),
            failures: unproved(plans),
            matrix,
        };
        for plan in plans {
            if let Some((_, why)) = reference.objection(plan) {
                selftest.failures.push(Failure {
                    case: plan.case.to_string(),
                    should: "be something that the reference client can do".to_owned(),
                    but: why,
                    cell: None,
                });
                continue;
            }
            let good = &reference.client;
            selftest.add(plan, (*plan).clone(), good, Leg::Good);
            selftest.add(plan, plan.without_faults(), good, Leg::WithoutFaults);
            if let Some(proves) = &plan.proves {
                let bad = with_defect(good, &proves.defect);
                selftest.add(plan, (*plan).clone(), &bad, Leg::Defective(proves.clone()));
            }
            if with_matrix {
                selftest.add_others(plan, good);
            }
        }
        selftest
    }

    fn add_others(&mut self, plan: &Plan, good: &Arc<Client>) {
        let named = plan.proves.as_ref().map(|proves| &proves.defect);
        let defects = good.manifest.defects.iter();
        for defect in defects.filter(|defect| Some(*defect) != named) {
            let leg = Leg::Other(defect.clone());
            self.add(plan, plan.clone(), &with_defect(good, defect), leg);
        }
    }

    fn add(&mut self, of: &Plan, plan: Plan, client: &Arc<Client>, leg: Leg) {
        let case = of.case.to_string();
        let id = id::cell(&[&case, leg.word()]);
        self.jobs.push(CellJob {
            id: id.clone(),
            plan: Arc::new(plan),
            client: Arc::clone(client),
            repeat: 1,
        });
        self.legs.insert(id, (case, leg));
    }

    /// The cells to run.
    pub fn take_jobs(&mut self) -> Vec<CellJob> {
        std::mem::take(&mut self.jobs)
    }

    /// Holds what came of the cells against what must come of them.
    pub fn results(mut self, done: Vec<CellDone>) -> Results {
        for done in done {
            let Some((case, leg)) = self.legs.remove(&done.id) else {
                continue;
            };
            if let (Some(matrix), Some((defect, named))) = (&mut self.matrix, leg.defect())
                && let Some(mark) = Mark::of(&done.verdict, named)
            {
                let scenario = case.split('[').next().unwrap_or(&case);
                matrix.set(scenario, defect, mark);
            }
            if let Some((should, but)) = judge(&leg, &done.verdict) {
                self.failures.push(Failure {
                    case,
                    should,
                    but,
                    cell: Some(done.id),
                });
            }
        }
        self.failures.sort_by(|a, b| a.case.cmp(&b.case));
        Results {
            failures: self.failures,
            missing: self.legs.len(),
            matrix: self.matrix,
        }
    }
}

/// A client with a defect switched on.
fn with_defect(client: &Client, defect: &str) -> Arc<Client> {
    Arc::new(Client {
        defects: vec![defect.to_owned()],
        ..client.clone()
    })
}

/// What to write into a scenario that nothing proves.
const UNPROVED: &str = "no case of it has a `proves`. Write for example \
                        `proves: { defect: retries-post-on-reset, finding: duplicate-delivery }`; \
                        `wirefault list words` has all findings, `wirefault list clients --json` \
                        all defects";

/// Scenarios of which no case names a defect: they would pass any client.
fn unproved(plans: &[&Plan]) -> Vec<Failure> {
    let proved: BTreeSet<&str> = plans
        .iter()
        .filter(|plan| plan.proves.is_some())
        .map(|plan| plan.case.scenario.as_str())
        .collect();
    let all: BTreeSet<&str> = plans
        .iter()
        .map(|plan| plan.case.scenario.as_str())
        .collect();
    all.difference(&proved)
        .map(|scenario| Failure {
            case: (*scenario).to_owned(),
            should: "name a defect and the finding that it is caught by".to_owned(),
            but: UNPROVED.to_owned(),
            cell: None,
        })
        .collect()
}

/// What should be and what was, where they differ.
fn judge(leg: &Leg, verdict: &CellVerdict) -> Option<(String, String)> {
    let (should, holds) = match leg {
        Leg::Good => (
            "pass with the good client".to_owned(),
            verdict.verdict == Verdict::Pass,
        ),
        Leg::WithoutFaults => (
            format!("be inconclusive without its faults, because {FAULT_DID_NOT_HAPPEN}"),
            // Any other doubt would not show that the scenario notices the want
            // of its fault.
            verdict.lacks_its_fault(),
        ),
        Leg::Defective(proves) => (
            format!(
                "fail with `{}` at level must when the client has the defect `{}`",
                proves.finding.word(),
                proves.defect
            ),
            verdict.verdict == Verdict::Fail
                && verdict
                    .findings
                    .iter()
                    .any(|f| f.name == proves.finding && f.level == Level::Must),
        ),
        Leg::Other(defect) => (
            format!("be judged when the client has the defect `{defect}`"),
            Mark::of(verdict, None).is_some(),
        ),
    };
    (!holds).then(|| (should, what_was(verdict)))
}

fn what_was(verdict: &CellVerdict) -> String {
    let mut text = format!("it is {}", words::verdict(verdict.verdict));
    if let Some(reason) = &verdict.reason {
        text.push_str(&format!(" ({reason})"));
    }
    let found: Vec<String> = verdict
        .findings
        .iter()
        .map(|f| {
            format!(
                "{} ({}): expected {}, observed {}",
                f.name.word(),
                words::word(&f.level),
                f.expected,
                f.observed
            )
        })
        .collect();
    if !found.is_empty() {
        text.push_str(&format!("; findings: {}", found.join("; ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use scenarios::verdict::Axis;

    fn holds(leg: &Leg, verdict: &CellVerdict) -> bool {
        judge(leg, verdict).is_none()
    }

    #[test]
    fn only_a_pass_is_good_enough_for_the_good_client() {
        for verdict in [
            Verdict::Inconclusive,
            Verdict::Fail,
            Verdict::Error,
            Verdict::Unsupported,
        ] {
            assert!(!holds(&Leg::Good, &samples::verdict(verdict, &[])));
        }
        assert!(holds(&Leg::Good, &samples::verdict(Verdict::Pass, &[])));
    }

    #[test]
    fn a_pass_without_faults_is_what_the_selftest_is_there_to_find() {
        for verdict in [Verdict::Pass, Verdict::Fail, Verdict::Error] {
            assert!(!holds(&Leg::WithoutFaults, &samples::verdict(verdict, &[])));
        }
    }

    #[test]
    fn without_faults_the_reason_must_be_that_a_required_fault_did_not_happen() {
        let mut inconclusive = samples::verdict(Verdict::Inconclusive, &[]);
        assert!(!holds(&Leg::WithoutFaults, &inconclusive));
        inconclusive.reason = Some("line 3: the client was starved".to_owned());
        let (should, _) = judge(&Leg::WithoutFaults, &inconclusive).unwrap();
        assert!(
            should.contains("a required fault did not happen"),
            "{should}"
        );
        inconclusive.reason = Some("a required fault did not happen: line 3".to_owned());
        assert!(holds(&Leg::WithoutFaults, &inconclusive));
    }

    #[test]
    fn a_finding_at_level_should_does_not_catch_a_defect() {
        let leg = Leg::Defective(Proves {
            defect: "retries-post".to_owned(),
            finding: FindingName::DuplicateDelivery,
        });
        let mut failing = samples::verdict(Verdict::Fail, &[]);
        let finding = |name, level| samples::finding(name, Axis::Safety, level);
        failing.findings = vec![
            finding(FindingName::Hung, Level::Must),
            finding(FindingName::DuplicateDelivery, Level::Should),
        ];
        let (should, but) = judge(&leg, &failing).unwrap();
        assert!(should.contains("at level must"), "{should}");
        assert!(but.contains("duplicate-delivery (should): "), "{but}");
        failing.findings[1].level = Level::Must;
        assert!(holds(&leg, &failing));
    }

    #[test]
    fn a_defect_must_be_caught_by_the_finding_that_was_named() {
        let leg = Leg::Defective(Proves {
            defect: "retries-post".to_owned(),
            finding: FindingName::DuplicateDelivery,
        });
        let mut failing = samples::verdict(Verdict::Fail, &[]);
        let finding = |name| samples::finding(name, Axis::Safety, Level::Must);
        failing.findings.push(finding(FindingName::Hung));
        let (should, but) = judge(&leg, &failing).unwrap();
        assert!(should.contains("`duplicate-delivery`"), "{should}");
        assert!(but.contains("hung (must): expected 1, observed 2"), "{but}");
        failing
            .findings
            .push(finding(FindingName::DuplicateDelivery));
        assert!(holds(&leg, &failing));
        failing.verdict = Verdict::Inconclusive;
        assert!(!holds(&leg, &failing));
    }
}
