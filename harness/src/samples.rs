//! Verdicts and records made by hand, for the tests of this crate.

use std::collections::BTreeMap;

use reports::record::{Cell, Disposition, RunRecord, SCHEMA_VERSION};
use scenarios::verdict::{
    Axis, CallVerdict, CellVerdict, Claim, EndedBy, Finding, FindingName, Level, Outcome, Verdict,
};

/// A verdict of one call that was shown a success.
pub(crate) fn verdict(verdict: Verdict, delivered: &[(&str, u64)]) -> CellVerdict {
    let delivered: BTreeMap<String, u64> = delivered
        .iter()
        .map(|(server, count)| ((*server).to_owned(), *count))
        .collect();
    CellVerdict {
        conformance: verdict,
        safety: verdict,
        verdict,
        reason: None,
        connections: delivered.clone(),
        delivered,
        other: BTreeMap::new(),
        drained: BTreeMap::new(),
        applied: BTreeMap::new(),
        outcome: Outcome::Success,
        calls: vec![CallVerdict {
            id: 1,
            beside: 0,
            shown: "200, 0 bytes".to_owned(),
            code: None,
            code_at: None,
            error_type: None,
            claim: Claim::Applied,
            unmapped: false,
            outcome: Outcome::Success,
            delivered: 1,
            applied: 0,
        }],
        ended_by: Some(EndedBy::Exit),
        elapsed_ms: 5,
        findings: Vec::new(),
        notes: Vec::new(),
    }
}

/// A Plan of which tests change what they are about.
pub(crate) fn plan() -> scenarios::plan::Plan {
    let source = scenarios::document::Source {
        path: "area/name.yaml".to_owned(),
        text: SCENARIO.to_owned(),
    };
    let known = scenarios::validate::Known::default();
    match scenarios::validate::scenario(&source, "area/name", 1, &known) {
        Ok(mut plans) => plans.remove(0),
        Err(found) => panic!("{}", scenarios::document::render(&found, &source, false)),
    }
}

const SCENARIO: &str = r#"title: The connection ends after the request
why: Nobody can tell whether the work was done.
servers: { api: { script: [ { cut: { after: request, with: close } } ] } }
call: { url: "{api}/" }
expect: { must: [ { delivered: { api: 1 } } ] }
"#;

/// A finding with texts that say nothing.
pub(crate) fn finding(name: FindingName, axis: Axis, level: Level) -> Finding {
    Finding {
        name,
        axis,
        assertion: "delivered: {api: 1}".to_owned(),
        level,
        expected: "1".to_owned(),
        observed: "2".to_owned(),
        line: Some(9),
        events: vec![4, 7],
        more_events: 0,
    }
}

/// A cell without an entry, as expected.
pub(crate) fn cell(case: &str, client: &str, judged: CellVerdict) -> Cell {
    Cell {
        id: format!("{}-{client}-00000000", case.replace('/', "-")),
        scenario: case.to_owned(),
        file: format!("scenarios/suite/{case}.yaml"),
        columns: Vec::new(),
        client: client.to_owned(),
        client_version: "1".to_owned(),
        repeat: 1,
        disposition: Disposition::Expected,
        baseline: None,
        fingerprint: String::new(),
        stderr: None,
        time: None,
        judged,
    }
}

/// A record of these cells.
pub(crate) fn record(cells: Vec<Cell>) -> RunRecord {
    RunRecord {
        schema_version: SCHEMA_VERSION,
        tool_version: "0".to_owned(),
        suite_digest: "0".to_owned(),
        seed: 1,
        date: None,
        cells,
        stale: Vec::new(),
        unused: Vec::new(),
        missing: Vec::new(),
    }
}
