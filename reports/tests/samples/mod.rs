//! Run records made by hand, so that reports are tested without any run.
#![allow(dead_code, reason = "each test file uses some of the samples")]

use std::collections::BTreeMap;

use reports::record::{
    BaselineEntry, Cell, Disposition, MissingCell, RunRecord, SCHEMA_VERSION, StaleEntry,
    UnusedEntry,
};
use scenarios::verdict::{
    Axis, CallVerdict, CellVerdict, Claim, EndedBy, Finding, FindingName, Level, Outcome, Verdict,
};

/// A verdict without findings.
pub(crate) fn verdict(verdict: Verdict, delivered: &[(&str, u64)]) -> CellVerdict {
    let counts: BTreeMap<String, u64> = delivered
        .iter()
        .map(|(server, count)| ((*server).to_owned(), *count))
        .collect();
    CellVerdict {
        conformance: match verdict {
            Verdict::Fail => Verdict::Pass,
            other => other,
        },
        safety: verdict,
        verdict,
        reason: None,
        connections: counts.clone(),
        delivered: counts,
        other: BTreeMap::new(),
        drained: BTreeMap::new(),
        applied: BTreeMap::new(),
        outcome: Outcome::NotSent,
        calls: vec![CallVerdict {
            id: 1,
            beside: 0,
            shown: "ECONNREFUSED: connect ECONNREFUSED 127.0.0.1".to_owned(),
            code: Some("ECONNREFUSED".to_owned()),
            code_at: None,
            error_type: None,
            claim: Claim::NotSent,
            unmapped: false,
            outcome: Outcome::NotSent,
            delivered: 1,
            applied: 0,
        }],
        ended_by: Some(EndedBy::Exit),
        elapsed_ms: 120,
        findings: Vec::new(),
        notes: Vec::new(),
    }
}

/// A cell as expected.
pub(crate) fn cell(
    scenario: &str,
    columns: &[(&str, &str)],
    client: &str,
    judged: CellVerdict,
) -> Cell {
    let columns: Vec<(String, String)> = columns
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let slug = scenario.replace('/', "-");
    let values: Vec<&str> = columns.iter().map(|(_, value)| value.as_str()).collect();
    Cell {
        id: format!("{slug}-{}{client}-0a1b2c3d", values.join("-")),
        scenario: scenario.to_owned(),
        file: format!("scenarios/suite/{scenario}.yaml"),
        columns,
        client: client.to_owned(),
        client_version: "1.2.3".to_owned(),
        repeat: 1,
        disposition: Disposition::Expected,
        baseline: None,
        fingerprint: match judged.verdict {
            Verdict::Skipped | Verdict::Unsupported => String::new(),
            _ => "delivered api=1; outcome not-sent".to_owned(),
        },
        stderr: None,
        time: None,
        judged,
    }
}

/// The finding of the product's first proof.
pub(crate) fn duplicate() -> Finding {
    Finding {
        name: FindingName::DuplicateDelivery,
        axis: Axis::Safety,
        assertion: "delivered: {api: 1}".to_owned(),
        level: Level::Must,
        expected: "1 request delivered at api".to_owned(),
        observed: "3 requests delivered at api: POST /orders came three times in one call, each \
                   on a connection of its own"
            .to_owned(),
        line: Some(31),
        events: vec![12, 31, 47],
        more_events: 0,
    }
}

fn departure() -> Finding {
    Finding {
        name: FindingName::LateRetry,
        level: Level::Should,
        axis: Axis::Conformance,
        assertion: "gap: {at_most: 2s}".to_owned(),
        expected: "at most 2 s between two attempts".to_owned(),
        observed: "2.9 s".to_owned(),
        line: Some(40),
        events: vec![9],
        more_events: 0,
    }
}

fn failing() -> CellVerdict {
    let mut failing = verdict(Verdict::Fail, &[("api", 3)]);
    failing.findings.push(duplicate());
    failing
}

fn with_reason(of: Verdict, reason: &str) -> CellVerdict {
    let mut judged = verdict(of, &[]);
    judged.reason = Some(reason.to_owned());
    judged
}

fn known(mut cell: Cell, expect: Verdict, reason: &str) -> Cell {
    cell.baseline = Some(BaselineEntry {
        expect,
        fingerprint: cell.fingerprint.clone(),
        reason: reason.to_owned(),
        not_with: Vec::new(),
        or: Vec::new(),
    });
    cell
}

fn drifting(mut cell: Cell, disposition: Disposition) -> Cell {
    cell.disposition = disposition;
    cell
}

/// A record with these cells.
pub(crate) fn record(cells: Vec<Cell>) -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".to_owned(),
        suite_digest: "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef".to_owned(),
        seed: 7,
        date: None,
        cells,
        stale: Vec::new(),
        unused: Vec::new(),
        missing: Vec::new(),
    }
}

/// Every client passes everything, and a sweep reads the same throughout.
pub(crate) fn quiet() -> RunRecord {
    let mut cells = Vec::new();
    for client in ["reference", "curl"] {
        cells.push(cell(
            "answers/plain",
            &[],
            client,
            verdict(Verdict::Pass, &[("api", 1)]),
        ));
    }
    for after in ["0", "1", "2", "half", "last"] {
        for client in ["reference", "curl"] {
            let judged = verdict(Verdict::Pass, &[("api", 1)]);
            cells.push(cell(
                "cuts/reset-mid-body",
                &[("after", after)],
                client,
                judged,
            ));
        }
    }
    record(cells)
}

/// One of everything: each verdict, each disposition, stale and missing.
pub(crate) fn eventful() -> RunRecord {
    let mut cells = redirects();
    cells.extend(sweeps());
    cells.extend(breakages());
    let mut record = record(cells);
    record.stale.push(StaleEntry {
        client: "curl-retry".to_owned(),
        case: "redirect/renamed-since".to_owned(),
        place: "baseline/curl-retry.yaml:9".to_owned(),
    });
    record.unused.push(UnusedEntry {
        client: "curl".to_owned(),
        case: "mine/case".to_owned(),
        place: "baseline/curl.yaml:12".to_owned(),
        why: "the suite has no scenario `mine/case`".to_owned(),
    });
    record.missing.push(MissingCell {
        id: "redirect-loop-curl-00000000".to_owned(),
        case: "redirect/loop".to_owned(),
        client: "curl".to_owned(),
        repeat: 2,
    });
    record
}

fn redirects() -> Vec<Cell> {
    let scenario = "redirect/307-to-a-closed-port";
    let pass = || verdict(Verdict::Pass, &[("api", 1)]);
    let mut departs = pass();
    departs.findings.push(departure());
    vec![
        cell(scenario, &[], "reference", pass()),
        cell(scenario, &[], "curl", departs),
        drifting(
            cell(scenario, &[], "node-fetch-retry-follow", failing()),
            Disposition::Regression,
        ),
        known(
            cell(scenario, &[], "python-urllib", failing()),
            Verdict::Fail,
            "urllib follows a 307 of a POST, see its documentation",
        ),
        cell(
            scenario,
            &[],
            "go-http",
            with_reason(Verdict::Skipped, "program go is not in PATH"),
        ),
    ]
}

fn sweeps() -> Vec<Cell> {
    let scenario = "cuts/reset-mid-body";
    let mut cells = Vec::new();
    for after in ["0", "1", "half", "last"] {
        let columns = [("after", after), ("with", "reset")];
        let pass = || verdict(Verdict::Pass, &[("api", 1), ("mirror", 2)]);
        cells.push(cell(scenario, &columns, "reference", pass()));
        let curl = cell(scenario, &columns, "curl", pass());
        cells.push(match after {
            "half" => drifting(
                known(
                    curl,
                    Verdict::Fail,
                    "curl took a short body for whole until 8.1",
                ),
                Disposition::Fixed,
            ),
            _ => curl,
        });
        let node = cell(scenario, &columns, "node-fetch-retry-follow", failing());
        cells.push(match after {
            "last" => {
                let mut node = known(node, Verdict::Fail, "the wrapper sends again");
                node.fingerprint = "delivered api=3; outcome not-sent".to_owned();
                drifting(node, Disposition::Changed)
            }
            _ => known(node, Verdict::Fail, "the wrapper sends again"),
        });
        cells.push(cell(
            scenario,
            &columns,
            "python-urllib",
            with_reason(Verdict::Unsupported, "has no ability `streams-body`"),
        ));
    }
    cells
}

fn breakages() -> Vec<Cell> {
    let scenario = "refused/always";
    let reason = "the fault of api script step 1 (line 12) did not fire: no connection was made";
    let mut broken = cell(
        scenario,
        &[],
        "node-fetch-retry-follow",
        with_reason(
            Verdict::Error,
            "the adapter wrote a line that is no message",
        ),
    );
    broken.stderr =
        Some("\x1b[2Jnode:internal/modules\n::error::Cannot find module 'x'".to_owned());
    let mut first = cell(
        scenario,
        &[],
        "python-urllib",
        verdict(Verdict::Pass, &[("api", 1)]),
    );
    let mut second = cell(scenario, &[], "python-urllib", failing());
    first.disposition = Disposition::Flaky;
    second.disposition = Disposition::Flaky;
    second.repeat = 2;
    second.fingerprint =
        "delivered api=3; outcome not-sent; findings duplicate-delivery".to_owned();
    vec![
        drifting(
            cell(
                scenario,
                &[],
                "reference",
                with_reason(Verdict::Inconclusive, reason),
            ),
            Disposition::Regression,
        ),
        known(
            cell(
                scenario,
                &[],
                "curl",
                with_reason(Verdict::Inconclusive, reason),
            ),
            Verdict::Inconclusive,
            "curl looks the name up itself",
        ),
        drifting(broken, Disposition::Regression),
        first,
        second,
    ]
}

/// A client of whose policy next to nothing is written down.
pub(crate) fn undocumented() -> RunRecord {
    let rule = "undocumented: `policy.rules` has no rule for";
    let reasons = [
        ("a/one", format!("line 4: {rule} status 503")),
        (
            "a/two",
            format!("line 4: {rule} status 503; line 5: {rule} status 503"),
        ),
        (
            "a/three",
            format!(
                "line 9: {rule} status 500; line 9: undocumented: the client's own timeouts; the scenario sets no limit that ends this"
            ),
        ),
        (
            "a/four",
            format!("line 9: {rule} status 500; line 8: the client was starved"),
        ),
    ];
    let cell = |(scenario, reason): &(&str, String), client| {
        let judged = with_reason(Verdict::Inconclusive, reason);
        drifting(cell(scenario, &[], client, judged), Disposition::Regression)
    };
    let mut cells: Vec<_> = reasons.iter().map(|one| cell(one, "bare")).collect();
    cells.push(cell(&reasons[0], "other"));
    record(cells)
}

/// Names and texts that try to do harm.
pub(crate) fn hostile() -> RunRecord {
    let nasty =
        "</failure><script>alert(1)</script>]]>\x1b[31m\u{202e}\0\u{ffff}\r\n::error::pwned";
    let mut bad = failing();
    bad.findings[0].observed = nasty.to_owned();
    bad.findings[0].expected = format!("##[error]{nasty}");
    let mut hostile = drifting(
        cell("area/name", &[("text", nasty)], nasty, bad),
        Disposition::Regression,
    );
    hostile.stderr = Some(nasty.to_owned());
    hostile.client_version = nasty.to_owned();
    record(vec![hostile])
}
