//! What was seen of a cell, in short: the facts that decide its verdict and do
//! not change from run to run. No times, no ports, no texts.

use std::collections::{BTreeMap, BTreeSet};

use reports::words::word;
use scenarios::verdict::{
    Axis, CallVerdict, CellVerdict, EndedBy, Finding, Level, Outcome, Verdict,
};

/// The fingerprint; empty for a cell that did not run.
pub fn fingerprint(judged: &CellVerdict) -> String {
    if matches!(judged.verdict, Verdict::Skipped | Verdict::Unsupported) {
        return String::new();
    }
    let parts = facts(judged).into_iter();
    let mut parts: Vec<String> = parts.map(|(word, seen)| format!("{word} {seen}")).collect();
    let must = |axis| {
        let found = judged.findings.iter();
        names(found.filter(move |finding| finding.level == Level::Must && finding.axis == axis))
    };
    let departures = judged.findings.iter().filter(|f| f.level == Level::Should);
    for (word, found) in [
        ("safety", must(Axis::Safety)),
        ("conformance", must(Axis::Conformance)),
        ("departs", names(departures)),
    ] {
        if !found.is_empty() {
            parts.push(format!("{word} {found}"));
        }
    }
    parts.join("; ")
}

/// What was counted and shown, each with its word. Nothing that is not so is told.
pub fn facts(judged: &CellVerdict) -> Vec<(&'static str, String)> {
    let mut facts = vec![("delivered", delivered(judged))];
    if judged.applied.values().any(|count| *count > 0) {
        facts.push(("applied", counts(&judged.applied)));
    }
    facts.push(("outcome", outcome(judged)));
    if judged.calls.iter().any(|call| call.code.is_some()) {
        facts.push(("code", codes(&judged.calls)));
    }
    facts
}

/// Counts are exact, except where the harness stopped a client that would have
/// gone on: how far it got by then is chance.
fn delivered(judged: &CellVerdict) -> String {
    match judged.ended_by {
        Some(EndedBy::Enough) => "enough".to_owned(),
        Some(EndedBy::Cap) => "up to the cap".to_owned(),
        _ => counts(&judged.delivered),
    }
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let parts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{name}={count}"))
        .collect();
    if parts.is_empty() {
        return "none".to_owned();
    }
    parts.join(" ")
}

fn outcome(judged: &CellVerdict) -> String {
    if judged.outcome != Outcome::Mixed {
        return word(&judged.outcome);
    }
    let calls = in_order(&judged.calls).into_iter();
    let calls: Vec<String> = calls.map(|call| word(&call.outcome)).collect();
    format!("mixed ({})", calls.join(" "))
}

fn codes(calls: &[CallVerdict]) -> String {
    let calls = in_order(calls).into_iter();
    let codes: Vec<&str> = calls
        .map(|call| call.code.as_deref().unwrap_or("-"))
        .collect();
    codes.join(" ")
}

/// The calls as they were made. Of those that were made at the same time chance
/// decides which ended how, so they are in the order of their ends.
fn in_order(calls: &[CallVerdict]) -> Vec<&CallVerdict> {
    let beside =
        |one: &CallVerdict, next: &CallVerdict| one.beside > 0 && one.beside == next.beside;
    let groups = calls.chunk_by(beside);
    let in_order = groups.flat_map(|group| {
        let mut group: Vec<_> = group.iter().collect();
        group.sort_by_key(|call| (call.outcome, call.code.clone()));
        group
    });
    in_order.collect()
}

fn names<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let names: BTreeSet<String> = findings.map(|finding| finding.name.word()).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use scenarios::verdict::FindingName;

    #[test]
    fn a_failure_shows_counts_outcome_code_and_findings_by_axis() {
        let mut judged = samples::verdict(Verdict::Fail, &[("api", 3), ("dead", 0)]);
        judged.outcome = Outcome::NotSent;
        judged.calls[0].code = Some("ECONNREFUSED".to_owned());
        judged.applied.insert("order".to_owned(), 3);
        for (name, axis, level) in [
            (FindingName::Masquerade, Axis::Safety, Level::Must),
            (FindingName::DuplicateDelivery, Axis::Safety, Level::Must),
            (FindingName::DuplicateDelivery, Axis::Safety, Level::Must),
            (FindingName::OverBudget, Axis::Conformance, Level::Must),
            (FindingName::LateRetry, Axis::Conformance, Level::Should),
        ] {
            judged.findings.push(samples::finding(name, axis, level));
        }
        assert_eq!(
            fingerprint(&judged),
            "delivered api=3; applied order=3; outcome not-sent; code ECONNREFUSED; safety \
             duplicate-delivery masquerade; conformance over-budget; departs late-retry"
        );
    }

    #[test]
    fn calls_that_differ_are_told_one_by_one() {
        let mut judged = samples::verdict(Verdict::Pass, &[("api", 1)]);
        judged.outcome = Outcome::Mixed;
        let mut second = judged.calls[0].clone();
        second.outcome = Outcome::Unknown;
        second.code = Some("ECONNRESET".to_owned());
        judged.calls.push(second);
        assert_eq!(
            fingerprint(&judged),
            "delivered api=1; outcome mixed (success unknown); code - ECONNRESET"
        );
    }

    #[test]
    fn which_of_the_calls_at_the_same_time_ended_how_is_chance() {
        let mut judged = samples::verdict(Verdict::Pass, &[("api", 1)]);
        judged.outcome = Outcome::Mixed;
        let call = |beside, outcome, code: Option<&str>| CallVerdict {
            beside,
            outcome,
            code: code.map(str::to_owned),
            ..judged.calls[0].clone()
        };
        let alone = call(0, Outcome::Unknown, Some("B"));
        let good = call(1, Outcome::Success, None);
        let full = call(1, Outcome::NotSent, Some("A"));
        let one = vec![alone.clone(), good.clone(), full.clone()];
        let other = vec![alone, full, good];
        let of = |calls| {
            let judged = CellVerdict {
                calls,
                ..judged.clone()
            };
            fingerprint(&judged)
        };
        assert_eq!(
            of(one.clone()),
            "delivered api=1; outcome mixed (unknown success not-sent); code B - A"
        );
        assert_eq!(of(one), of(other));
    }

    #[test]
    fn times_texts_and_what_was_drained_leave_no_trace() {
        let judged = samples::verdict(Verdict::Pass, &[("api", 1)]);
        let mut other = judged.clone();
        other.elapsed_ms += 1000;
        other.drained.insert("api".to_owned(), 1);
        other.calls[0].shown = "127.0.0.1:40001".to_owned();
        other.notes.push("x".to_owned());
        assert_eq!(fingerprint(&judged), fingerprint(&other));
    }

    #[test]
    fn a_cell_that_did_not_run_has_none() {
        for verdict in [Verdict::Skipped, Verdict::Unsupported] {
            assert_eq!(fingerprint(&samples::verdict(verdict, &[])), "");
        }
    }

    #[test]
    fn a_client_that_was_stopped_has_no_exact_count() {
        let mut judged = samples::verdict(Verdict::Pass, &[("api", 20)]);
        judged.ended_by = Some(EndedBy::Enough);
        assert_eq!(fingerprint(&judged), "delivered enough; outcome success");
    }
}
