//! The list of assertions against the folder and their own examples.

use std::collections::BTreeSet;

use super::{Assertion, LIST, NOT_YET, words};
use crate::document::{Diagnostics, Source, Value, parse, render};
use crate::plan::Limits;
use crate::scope::Scope;
use crate::testing::{plan, redirect, respond, server, url};
use crate::verdict::{Axis, Level};

#[test]
fn every_file_of_the_folder_is_in_the_list() {
    let listed: BTreeSet<String> = words().map(str::to_owned).collect();
    let folder = std::fs::read_dir("src/assertions").unwrap();
    let files: BTreeSet<String> = folder
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "mod" && name != "tests")
        .collect();
    assert_eq!(files, listed);
    assert_eq!(LIST.len(), listed.len());
    assert!(NOT_YET.iter().all(|word| !listed.contains(*word)));
}

/// Decodes one line as an expectation of a case that has what the examples
/// name.
fn decoded(text: &str, level: Level) -> Result<Assertion, String> {
    let source = Source {
        path: "example.yaml".to_owned(),
        text: text.to_owned(),
    };
    let mut order = respond(200).applies("order");
    if let Some(effect) = &mut order.applies {
        effect.key = Some(scripted_servers::wire::KeySource::PathLast);
    }
    let mut moved = redirect(307, url("api", "/end"));
    moved.name = Some("moved".to_owned());
    let api = server("api").step(moved).step(order);
    let plan = plan([api]).call("POST", "api", "/start");
    let mut out = Diagnostics::new(&source);
    let node = parse(&source, &mut out);
    let assertion = node.and_then(|node| {
        let Value::Map(entries) = &node.value else {
            return None;
        };
        let mut scope = Scope {
            servers: &plan.servers,
            calls: &plan.calls,
            limits: &Limits::default(),
            treatment: crate::scope::Treatment::default(),
            level,
            out: &mut out,
        };
        super::decode(&entries[0].0, &entries[0].1, &mut scope)
    });
    let found = out.finish();
    match assertion {
        Some(assertion) if found.is_empty() => Ok(assertion),
        _ => Err(render(&found, &source, false)),
    }
}

#[test]
fn every_example_decodes_and_survives_as_json() {
    for entry in LIST {
        assert!(entry.example.starts_with(&format!("{}:", entry.word)));
        let assertion =
            decoded(entry.example, Level::Must).unwrap_or_else(|error| panic!("{error}"));
        let text = serde_json::to_string(&assertion).unwrap();
        assert_eq!(serde_json::from_str::<Assertion>(&text).unwrap(), assertion);
    }
}

#[test]
fn every_form_of_the_language_decodes() {
    for text in [
        "delivered: { api: by-policy }",
        "delivered: { \"api POST /start\": [0, 1], \"api /end\": { at_least: 1 } }",
        "outcome: by-policy",
        "outcome: not-sent",
        "gap: by-policy",
        "gap: { at_most: 200ms }",
        "error: { code: [A, B], keeps: [status, body-start, reason], says: text }",
        "status: { at_least: 400, at_most: 499 }",
        "body: whole",
        "body: empty",
        "header: { counter: api, name: X, equals: \"1\" }",
        "header: { counter: \"api /end\", name: X, is: absent }",
        "sent_method: { \"api /end\": GET, api: POST }",
        "sent_body: { \"api /end\": empty, api: same }",
        "in_flight: { \"api /end\": 1 }",
        "rate: { counter: api, from: report, per: 1s, peak: 1 }",
        "window: { counter: api, from: { after: 1s }, to: report, delivered: [0, 1] }",
        "client_closed: { server: api, how: fin, from: { after: 2s }, within: 1s }",
        "client_closed: { server: api, how: reset, from: { delivered: { server: api, count: 2 } }, within: 1s }",
        "client_closed: { server: api, how: any, from: { fired: moved }, within: 1s }",
        "client_read: { api: 512, \"api /end\": { at_least: 1KiB } }",
    ] {
        assert!(decoded(text, Level::Must).is_ok(), "{text}");
    }
    for text in [
        "delivered: { api: {} }",
        "connections: { api: {} }",
        "applied: { order: {} }",
        "outcome: {}",
        "error: {}",
        "status: {}",
        "body: {}",
        "elapsed: {}",
        "gap: {}",
        "header: { counter: api, name: X }",
        "sent_method: { api: {} }",
        "sent_body: { api: {} }",
        "client_read: { api: {} }",
        "client_closed: { server: api }",
        "in_flight: { api: {} }",
        "rate: { counter: api, per: 1s, peak: {} }",
        "window: { counter: api, from: report, for: 1s, delivered: {} }",
    ] {
        assert!(decoded(text, Level::Info).is_ok(), "{text}");
        assert!(decoded(text, Level::Must).is_err(), "{text}");
    }
}

#[test]
fn by_policy_belongs_to_conformance_and_all_else_to_safety() {
    let axis = |text: &str| decoded(text, Level::Must).unwrap().axis();
    assert_eq!(axis("delivered: { api: by-policy }"), Axis::Conformance);
    assert_eq!(axis("outcome: by-policy"), Axis::Conformance);
    assert_eq!(axis("gap: by-policy"), Axis::Conformance);
    assert_eq!(axis("delivered: { api: 1 }"), Axis::Safety);
    assert_eq!(axis("honest: true"), Axis::Safety);
}
