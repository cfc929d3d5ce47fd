//! From Plans to scripts and requests, with and without faults.

use std::collections::BTreeMap;
use std::time::Duration;

use scenarios::apis::Api;
use scenarios::document::{Source, render};
use scenarios::manifest::{Lack, Manifest, Operation, OperationName, Policy, Start, operations_of};
use scenarios::plan::Plan;
use scenarios::resolve::{calls, server_scripts};
use scenarios::template::Bindings;
use scenarios::validate::{Known, scenario};
use scripted_servers::script::{ConnectionAct, Listen, PathPattern, ServerScript};
use scripted_servers::wire::WireStep;

fn plan(text: &str) -> Plan {
    let source = Source {
        path: "a.yaml".to_owned(),
        text: format!("title: t\nwhy: w\n{text}expect: {{ must: [ {{ honest: true }} ] }}\n"),
    };
    let plans = scenario(&source, "area/name", 7, &Known::default());
    plans
        .unwrap_or_else(|found| panic!("{}", render(&found, &source, false)))
        .remove(0)
}

fn manifest() -> Manifest {
    let operation = |method: &str, path: &str, content| Operation {
        method: method.to_owned(),
        path: path.to_owned(),
        content,
    };
    Manifest {
        install: None,
        name: "x".to_owned(),
        title: "x".to_owned(),
        file: "x.yaml".to_owned(),
        build: None,
        start: Start::Adapter(Vec::new()),
        programs: Vec::new(),
        version: Vec::new(),
        abilities: Default::default(),
        api: Api::PlainJson,
        operations: BTreeMap::from([
            (OperationName::Create, operation("POST", "/v1/orders", true)),
            (
                OperationName::Fetch,
                operation("GET", "/v1/orders/1", false),
            ),
            (OperationName::Upload, operation("PUT", "/v1/files/1", true)),
        ]),
        policy: Policy::default(),
        errors: Vec::new(),
        defects: Default::default(),
        soft_threads: Vec::new(),
    }
}

fn bindings() -> Bindings {
    let address = |port: u16| ([127, 0, 0, 1], port).into();
    Bindings(BTreeMap::from([
        ("api".to_owned(), address(1000)),
        ("dead".to_owned(), address(2000)),
    ]))
}

fn scripts(plan: &Plan) -> Vec<ServerScript> {
    server_scripts(plan, &manifest(), &bindings())
}

#[test]
fn a_literal_call_is_sent_as_it_is_written() {
    let plan = plan(
        r#"
servers: { api: { script: [ { applies: x, respond: { status: 503 } } ] } }
calls:
  - { method: PUT, url: "{api}/a?b=1", headers: { X-Port: "{api.port}", X-Two: ["1", "2"] }, body: { bytes: 3 }, body_as: stream, pause: 20ms }
"#,
    );
    let calls = calls(&plan, &manifest(), &bindings());
    let call = &calls[0];
    assert_eq!(
        (call.method.as_str(), call.url.as_str()),
        ("PUT", "http://127.0.0.1:1000/a?b=1")
    );
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = [
        header("X-Port", "1000"),
        header("X-Two", "1"),
        header("X-Two", "2"),
    ];
    assert_eq!(call.headers, headers);
    assert_eq!(call.body.as_ref().map(Vec::len), Some(3));
    assert!(call.stream_body);
    assert_eq!((call.id, call.pause), (1, Duration::from_millis(20)));
}

/// A client of an API that has one operation.
fn client_of(api: Api, operation: OperationName) -> Manifest {
    Manifest {
        api,
        operations: operations_of(api, [operation]),
        ..manifest()
    }
}

/// What the first server sends.
fn sent(plan: &Plan, manifest: &Manifest) -> String {
    let scripts = server_scripts(plan, manifest, &bindings());
    let steps = scripts[0].queues[0].steps.iter();
    let steps = steps.flat_map(|step| &step.program.steps);
    let sent = steps.filter_map(|step| match step {
        WireStep::Send(bytes) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    });
    sent.collect()
}

#[test]
fn an_operation_and_a_shape_are_in_the_words_of_the_clients_api() {
    let plan = plan(
        r#"
servers: { api: { script: [ { applies: order, cut: { after: request, with: reset } }, { respond: { status: 200, body: { shape: ok } } } ] } }
call: { operation: create, at: "{api}" }
"#,
    );
    let manifest = client_of(Api::AnthropicMessages, OperationName::Create);
    let calls = calls(&plan, &manifest, &bindings());
    assert_eq!(calls[0].url, "http://127.0.0.1:1000/v1/messages");
    assert_eq!(manifest.lacks(&plan), None);
    let sent = sent(&plan, &manifest);
    assert!(sent.contains(r#""type":"message""#), "{sent}");
}

#[test]
fn the_same_shape_answers_another_operation_in_another_form() {
    let plan = plan(
        r#"
servers: { api: { script: [ { applies: order, cut: { after: request, with: reset } }, { respond: { status: 200, body: { shape: ok } } } ] } }
call: { operation: fetch, at: "{api}" }
"#,
    );
    let manifest = client_of(Api::AnthropicMessages, OperationName::Fetch);
    let sent = sent(&plan, &manifest);
    assert!(sent.contains(r#""type":"model""#), "{sent}");
}

/// It would fail at the answer's format, and nothing would be learned of it.
#[test]
fn a_client_of_an_api_lacks_what_a_success_in_bytes_needs() {
    let with = |answer: &str| {
        plan(&format!(
            "servers: {{ api: {{ script: [ {{ applies: order, cut: {{ after: request, with: reset }} }}, {{ {answer} }} ] }} }}\ncall: {{ operation: create, at: \"{{api}}\" }}\n"
        ))
    };
    let openai = client_of(Api::OpenaiChat, OperationName::Create);
    let in_bytes = [
        "respond: { status: 200, body: { text: ok } }",
        "respond: { status: 204 }",
        "raw: [ { text: \"HTTP/1.1 200 OK\\r\\n\\r\\n\" } ]",
    ];
    for answer in in_bytes {
        let plan = with(answer);
        assert_eq!(openai.lacks(&plan), Some(Lack::OtherAnswers), "{answer}");
        let plain = client_of(Api::PlainJson, OperationName::Create);
        assert_eq!(plain.lacks(&plan), None, "{answer}");
    }
    let in_any_format = [
        "respond: { status: 503, body: { text: busy } }",
        "cut: { after: request, with: close }",
        "respond: { status: 200, body: { shape: ok }, cut: { after: { body: half }, with: reset } }",
    ];
    for answer in in_any_format {
        assert_eq!(openai.lacks(&with(answer)), None, "{answer}");
    }
}

#[test]
fn an_operation_is_what_the_manifest_binds() {
    let plan = plan(
        r#"
servers: { api: { script: [ { applies: order, cut: { after: request, with: reset } } ] } }
call: { operation: create, at: "{api}" }
"#,
    );
    let calls = calls(&plan, &manifest(), &bindings());
    assert_eq!(calls[0].operation, Some(OperationName::Create));
    assert_eq!(calls[0].url, "http://127.0.0.1:1000/v1/orders");
    assert_eq!(calls[0].headers[0].1, "application/json");
    let body = calls[0].body.as_ref().expect("content");
    let json: serde_json::Value = serde_json::from_slice(body).expect("JSON");
    assert_eq!(json["call"], 1);
    let route = &scripts(&plan)[0].queues[0].route;
    assert_eq!(route.method.as_deref(), Some("POST"));
    assert_eq!(route.path, PathPattern::Exact("/v1/orders".to_owned()));
}

#[test]
fn an_upload_has_its_size() {
    let plan = plan(
        r#"
servers: { api: { script: [ { applies: file, cut: { after: { body: half }, with: reset } } ] } }
call: { operation: upload, at: "{api}", size: 64KiB }
"#,
    );
    let calls = calls(&plan, &manifest(), &bindings());
    assert_eq!(calls[0].body.as_ref().map(Vec::len), Some(64 << 10));
}

#[test]
fn a_script_takes_every_request_where_work_or_redirects_may_lead_anywhere() {
    for rest in [
        // A redirect.
        r#"
servers: { api: { script: [ { applies: x, respond: { status: 307, headers: { Location: "/other" } } } ] } }
call: { operation: create, at: "{api}" }
"#,
        // Two operations.
        r#"
servers: { api: { script: [ { applies: x, respond: { status: 503 } } ] } }
calls: [ { operation: create, at: "{api}" }, { operation: fetch, at: "{api}" } ]
"#,
        // A literal call beside the operation.
        r#"
servers: { api: { script: [ { applies: x, respond: { status: 503 } } ] } }
calls: [ { operation: create, at: "{api}" }, { url: "{api}/x" } ]
"#,
        // The step is taken before the path is known.
        r#"
servers: { api: { script: [ { cut: { after: { head: 1 }, with: reset } }, { applies: x, respond: { status: 200 } } ] } }
call: { operation: create, at: "{api}" }
"#,
    ] {
        let scripts = scripts(&plan(rest));
        assert_eq!(scripts[0].queues[0].route.path, PathPattern::Any, "{rest}");
        assert_eq!(scripts[0].queues[0].route.method, None, "{rest}");
    }
}

#[test]
fn only_a_step_inside_the_head_is_marked() {
    let plan = plan(
        r#"
servers: { api: { script: [ { cut: { after: { head: half }, with: reset } }, { applies: x, cut: { after: { head: all }, with: reset } } ] } }
call: { url: "{api}/x" }
"#,
    );
    let steps = &scripts(&plan)[0].queues[0].steps;
    assert_eq!((steps[0].inside_head, steps[1].inside_head), (true, false));
}

/// Whether a program leaves any proof of a fault.
fn can_fire(step: &scripted_servers::script::Step) -> bool {
    let steps = &step.program.steps;
    steps.iter().any(|step| matches!(step, WireStep::Fired(_)))
}

#[test]
fn without_faults_nothing_required_can_fire_and_the_rest_stays() {
    let plan = plan(
        r#"
servers:
  api:
    connections: [serve, reset, serve]
    script:
      - { applies: x, delay: 5ms, respond: { status: 503 }, then: { close: 1s } }
      - { respond: { status: 429 } }
  dead: { listen: refuse }
calls: [ { url: "{api}/1" }, { url: "{dead}/2" } ]
"#,
    );
    let off = plan.without_faults();
    let scripts = scripts(&off);
    let (api, dead) = (&scripts[0], &scripts[1]);
    assert_eq!(api.connections, [ConnectionAct::Serve; 3]);
    let steps = &api.queues[0].steps;
    assert_eq!((can_fire(&steps[0]), can_fire(&steps[1])), (false, true));
    assert_eq!(dead.listen, Listen::Open);
    assert!(!can_fire(&dead.queues[0].steps[0]));
    // What was required still is, so that a judge sees that it did not fire.
    assert!(off.servers[0].queues[0].steps[0].required);
    assert_eq!(off.servers[0].required, plan.servers[0].required);
    assert_eq!(off.servers[1].required, plan.servers[1].required);
    assert_eq!(off.expect, plan.expect);
}

#[test]
fn without_faults_nothing_is_cancelled_and_a_list_is_whole() {
    let plan = plan(
        r#"
servers:
  api:
    script:
      - applies: x
        respond:
          status: 200
          framing: close
          body: { events: [ { id: "1", data: a }, { data: end } ] }
          cut: { after: { inside_event: 1 }, with: close }
stream: { url: "{api}/x", ends_with: end }
cancel: { when: { after: 100ms } }
"#,
    );
    let off = plan.without_faults();
    assert!(off.cancel.as_ref().is_some_and(|cancel| cancel.withheld));
    let scripts = scripts(&off);
    let step = &scripts[0].queues[0].steps[0];
    assert!(!can_fire(step));
    let sent = step.program.steps.iter().find_map(|step| match step {
        WireStep::Send(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    });
    let sent = sent.expect("an answer");
    assert!(sent.ends_with("id: 1\ndata: a\n\ndata: end\n\n"), "{sent}");
}

#[test]
fn a_plan_survives_being_written_and_read() {
    let plan = plan(
        r#"
servers:
  api:
    routes:
      "POST /x": [ { when: { header: { name: A, equals: "1" }, since: 1ms }, applies: x, key: { path: last }, raw: [ { text: "a" }, { pause: 1ms }, { hex: "00" } ] } ]
  dead: { listen: refuse }
calls: [ { method: POST, url: "{api}/x", headers: { A: "{dead}" }, body: { json: { a: [1, true, "x"] } } } ]
limits: { attempts: 2, idle: 1500ms }
"#,
    );
    let text = serde_json::to_string(&plan).expect("written");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("read"), plan);
}
