//! From facts and findings to the verdict on a cell.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::case::Case;
use super::checked::{Checked, Raised, Stated};
use super::gathering::gather;
use super::{bounded, broken, cancel, crash, fired, rules};
use crate::assertions::Assertion;
use crate::evidence::Entry;
use crate::expected::Expected;
use crate::judge::errors::Meaning;
use crate::manifest::Manifest;
use crate::plan::{Expectation, Plan, ServerPlan};
use crate::verdict::{
    Axis, CallVerdict, CellVerdict, FAULT_DID_NOT_HAPPEN, Finding, FindingName, Level, Outcome,
    Verdict,
};

/// Judges one cell.
///
/// Entries are taken one by one and not kept. Those of the servers come in the
/// order in which they were told.
pub fn judge(
    plan: &Plan,
    manifest: &Manifest,
    entries: impl IntoIterator<Item: Borrow<Entry>>,
) -> CellVerdict {
    let facts = gather(plan, manifest, entries);
    let case = Case::new(plan, manifest, &facts);
    let mut cell = counted(&case);
    if let Some(broken) = broken::why(&case, !facts.any) {
        if broken.servers_are_right
            && let Some(found) = too_much(&case)
        {
            return failed(cell, found, broken.reason);
        }
        return decided(cell, broken.verdict, broken.reason);
    }
    let weighed = Weighed::of(&case);
    cell.conformance = weighed.verdict(Axis::Conformance);
    cell.safety = weighed.verdict(Axis::Safety);
    cell.verdict = cell.conformance.max(cell.safety);
    cell.reason = weighed.reason();
    let proved = weighed.unfired.is_empty() && weighed.untrue.is_empty();
    cell.findings = weighed
        .findings
        .into_iter()
        .filter(|(_, in_any_case)| proved || *in_any_case)
        .map(|(finding, _)| finding)
        .collect();
    cell.notes = weighed.notes;
    cell.notes.extend(bounded::note(&facts.client));
    let all_reported = case.calls.iter().all(|call| call.report.is_some());
    cell.notes.extend(facts.client.notes(all_reported));
    cell
}

/// The verdict on a cell that did not run.
pub fn not_run(plan: &Plan, verdict: Verdict, reason: impl Into<String>) -> CellVerdict {
    let facts = gather(plan, &Manifest::none(), [] as [Entry; 0]);
    let manifest = Manifest::none();
    let mut cell = counted(&Case::new(plan, &manifest, &facts));
    cell.calls.clear();
    cell.outcome = Outcome::Unknown;
    decided(cell, verdict, reason.into())
}

/// What is wrong whatever else happened; none when nothing is.
fn too_much(case: &Case<'_>) -> Option<Vec<Finding>> {
    let findings = Weighed::of(case).findings.into_iter();
    let found: Vec<Finding> = findings
        .filter(|(finding, in_any_case)| *in_any_case && finding.level == Level::Must)
        .map(|(finding, _)| finding)
        .collect();
    (!found.is_empty()).then_some(found)
}

/// A cell of which nothing is known but that there was too much.
fn failed(cell: CellVerdict, findings: Vec<Finding>, reason: String) -> CellVerdict {
    let axis = |axis| {
        if findings.iter().any(|finding| finding.axis == axis) {
            Verdict::Fail
        } else {
            Verdict::Inconclusive
        }
    };
    CellVerdict {
        conformance: axis(Axis::Conformance),
        safety: axis(Axis::Safety),
        verdict: Verdict::Fail,
        reason: Some(reason),
        findings,
        ..cell
    }
}

fn decided(cell: CellVerdict, verdict: Verdict, reason: String) -> CellVerdict {
    CellVerdict {
        conformance: verdict,
        safety: verdict,
        verdict,
        reason: Some(reason),
        ..cell
    }
}

/// All that was found, before it is known what it comes to.
struct Weighed {
    /// Findings, and whether each is wrong whether or not a fault happened.
    findings: Vec<(Finding, bool)>,
    /// Names of what musts found, with the call that they are about; none: all.
    found: Vec<(FindingName, Option<u32>)>,
    /// Required faults that did not happen.
    unfired: Vec<String>,
    /// Why the cell's virtual time was not true: nobody knows which limit ran out
    /// when it should.
    untrue: Vec<String>,
    /// Whether the client was not treated as the case says, a cancel not ordered or
    /// a time not true, so that it may do more than it else would.
    mistreated: bool,
    /// Why a must can not be decided, by axis.
    doubts: Vec<(Axis, String)>,
    notes: Vec<String>,
}

impl Weighed {
    fn of(case: &Case<'_>) -> Self {
        let times = case.facts.client.time_doubts.iter();
        let untrue: Vec<String> = times
            .map(|doubt| format!("virtual time is not to be trusted: {}", doubt.what))
            .collect();
        let mut weighed = Self {
            findings: Vec::new(),
            found: Vec::new(),
            unfired: fired::missing(case),
            mistreated: !untrue.is_empty()
                || cancel::not_given(case).is_some()
                || crash::not_made(case).is_some(),
            untrue,
            doubts: Vec::new(),
            notes: Vec::new(),
        };
        let mut musts = 0;
        let mut judged = 0;
        for expectation in &case.plan.expect {
            let checked = expectation.assertion.judge(&expectation.of, case);
            if expectation.level == Level::Must {
                musts += 1;
                judged += usize::from(checked.judged > 0 || !checked.doubts.is_empty());
            }
            weighed.take(expectation, checked);
        }
        if musts > 0 && judged == 0 {
            let why = "no must found anything to judge".to_owned();
            weighed.doubts.push((Axis::Conformance, why.clone()));
            weighed.doubts.push((Axis::Safety, why));
        }
        weighed.take_rules(case);
        weighed
    }

    fn take(&mut self, expectation: &Expectation, checked: Checked) {
        let left_out = checked.left_out();
        self.notes.extend(checked.notes);
        let place = Stated {
            axis: expectation.axis,
            level: expectation.level,
            text: told(expectation),
            line: Some(expectation.line),
        };
        let line = expectation.line;
        for why in checked.doubts {
            let why = format!("line {line}: {why}");
            if expectation.level == Level::Must {
                self.doubts.push((expectation.axis, why));
            } else {
                self.notes.push(format!("- {why}"));
            }
        }
        for raised in checked.raised {
            if expectation.level == Level::Info {
                self.notes
                    .push(format!("{}: {}", place.text, raised.observed));
                continue;
            }
            if expectation.level == Level::Must {
                self.found.push((raised.name, expectation.of.call));
            }
            let in_any_case = raised.in_any_case && !(self.mistreated && is_allowed_else(&raised));
            self.findings.push((raised.finding(&place), in_any_case));
        }
        for more in left_out {
            self.notes.push(format!("{}: {more}", place.text));
        }
    }

    /// Rules come after expectations: what a must says of the end of a call, or
    /// already found, is not said again.
    fn take_rules(&mut self, case: &Case<'_>) {
        let said = |call: u32, name: FindingName, end: Outcome| {
            let found = self.found.iter();
            expects(&case.plan.expect, call, end)
                || found
                    .clone()
                    .any(|(found, about)| *found == name && about.is_none_or(|about| about == call))
        };
        for (rule, raised) in rules::raised(case, &said) {
            let in_any_case = raised.in_any_case;
            let finding = raised.finding(&Stated::rule(rule));
            self.findings.push((finding, in_any_case));
        }
    }

    /// Too much is a failure whatever else happened. Else a required fault that
    /// did not happen proves nothing, before any other must is looked at.
    fn verdict(&self, axis: Axis) -> Verdict {
        let musts = || {
            self.findings
                .iter()
                .filter(|(finding, _)| finding.axis == axis && finding.level == Level::Must)
        };
        if musts().any(|(_, in_any_case)| *in_any_case) {
            return Verdict::Fail;
        }
        if !self.unfired.is_empty() || !self.untrue.is_empty() {
            return Verdict::Inconclusive;
        }
        if musts().next().is_some() {
            return Verdict::Fail;
        }
        if self.doubts.iter().any(|(doubted, _)| *doubted == axis) {
            return Verdict::Inconclusive;
        }
        Verdict::Pass
    }

    fn reason(&self) -> Option<String> {
        // Ours before the client's: what else is not known may come of it.
        if !self.untrue.is_empty() {
            return Some(self.untrue.join("; "));
        }
        let mut reasons: Vec<&str> = Vec::new();
        if self.unfired.is_empty() {
            for (_, why) in &self.doubts {
                if !reasons.contains(&why.as_str()) {
                    reasons.push(why);
                }
            }
        } else {
            reasons.extend(self.unfired.iter().map(String::as_str));
        }
        if reasons.is_empty() {
            return None;
        }
        let reasons = reasons.join("; ");
        Some(if self.unfired.is_empty() {
            reasons
        } else {
            format!("{FAULT_DID_NOT_HAPPEN}: {reasons}")
        })
    }
}

/// Whether a client that was not told to cancel, or whose limit ran out too early,
/// may do this: what it may send more than once it then sends more often.
fn is_allowed_else(raised: &Raised) -> bool {
    raised.name == FindingName::OverBudget
}

/// An expectation as it is told: as written, but for secrets.
fn told(expectation: &Expectation) -> String {
    let told = expectation.assertion.told();
    told.unwrap_or_else(|| expectation.text.clone())
}

/// Whether a must allows this call to end like this.
fn expects(expectations: &[Expectation], call: u32, end: Outcome) -> bool {
    expectations.iter().any(|one| match &one.assertion {
        Assertion::Outcome(Expected::Fits(matcher)) => {
            let about = one.of.call.is_none_or(|about| about == call);
            one.level == Level::Must && about && matcher.fits(&end)
        }
        _ => false,
    })
}

/// What the ledger says, without any judgement.
fn counted(case: &Case<'_>) -> CellVerdict {
    let facts = case.facts;
    let by_server = |counts: &dyn Fn(&super::exchange::Exchange) -> bool| {
        let mut all: BTreeMap<String, u64> = zero(facts.servers.keys());
        for exchange in facts.exchanges.iter().filter(|one| counts(one)) {
            if let Some(count) = all.get_mut(&*exchange.place.server) {
                *count += 1;
            }
        }
        all
    };
    let servers = facts.servers.iter();
    let connections = servers.map(|(name, server)| (name.clone(), server.accepted.len() as u64));
    let declared = case.plan.servers.iter().flat_map(ServerPlan::effects);
    let declared: Vec<String> = declared.map(|effect| effect.name.to_owned()).collect();
    let mut applied = zero(declared.iter());
    for effect in &facts.effects {
        *applied.entry(effect.name.to_string()).or_default() += 1;
    }
    let calls: Vec<CallVerdict> = case
        .calls
        .iter()
        .map(|view| call(view, case.plan))
        .collect();
    CellVerdict {
        conformance: Verdict::Pass,
        safety: Verdict::Pass,
        verdict: Verdict::Pass,
        reason: None,
        delivered: by_server(&|one| one.delivery().is_some()),
        connections: connections.collect(),
        other: by_server(&|one| one.is_other()),
        drained: by_server(&|one| {
            !one.is_other() && one.delivered().is_some_and(|delivered| delivered.drained)
        }),
        applied,
        outcome: together(&calls),
        calls,
        ended_by: facts.client.end(),
        elapsed_ms: elapsed_ms(case),
        findings: Vec::new(),
        notes: Vec::new(),
    }
}

fn zero<'n>(names: impl Iterator<Item = &'n String>) -> BTreeMap<String, u64> {
    names.map(|name| (name.clone(), 0)).collect()
}

fn call(view: &super::case::CallView<'_>, plan: &Plan) -> CallVerdict {
    let Meaning {
        shown,
        code,
        code_at,
        error_type,
        claim,
        unmapped,
        outcome,
        ..
    } = view.meaning.clone();
    let mut calls = plan.calls.iter();
    let planned = calls.find(|call| call.id == view.id);
    let beside = planned.filter(|call| call.at_once > 1 || plan.is_fleet());
    CallVerdict {
        id: view.id,
        // The calls of all processes of a fleet are made beside each other.
        beside: beside.map_or(0, |call| if plan.is_fleet() { 1 } else { call.group }),
        shown,
        code,
        code_at,
        error_type,
        claim,
        unmapped,
        outcome,
        delivered: view.delivered() as u64,
        applied: view.effects.len() as u64,
    }
}

fn together(calls: &[CallVerdict]) -> Outcome {
    let first = calls.first().map_or(Outcome::Unknown, |call| call.outcome);
    if calls.iter().all(|call| call.outcome == first) {
        first
    } else {
        Outcome::Mixed
    }
}

fn elapsed_ms(case: &Case<'_>) -> u64 {
    let client = &case.facts.client;
    let all = case.calls.iter().all(|call| call.report.is_some());
    let last = client.last_report().filter(|_| all);
    let until = last.map_or(client.last_us, |mark| mark.at_us);
    let from = client.work.map_or(until, |mark| mark.at_us);
    until.saturating_sub(from) / 1000
}
