//! Scenarios that are right, and the Plans they become.

use std::collections::BTreeSet;
use std::time::Duration;

use scenarios::document::{Source, render};
use scenarios::faults::Fault;
use scenarios::faults::respond::{Framing, Respond, ResponsePoint, RetryAfter};
use scenarios::manifest::Ability;
use scenarios::plan::{Content, LanesRequired, Plan, Request, StepPlan, Then};
use scenarios::template::{Piece, Template};
use scenarios::validate::{Known, scenario};
use scripted_servers::script::{ConnectionUse, Listen, PathPattern, Times};
use scripted_servers::wire::{Effect, End, IdleEnd, Position, RequestPoint};

/// The cases of a scenario; `text` leaves out `title` and `why`.
fn plans(text: &str) -> Vec<Plan> {
    let source = Source {
        path: "a.yaml".to_owned(),
        text: format!("title: t\nwhy: w\n{text}"),
    };
    let defects = BTreeSet::from(["accepts-short-body".to_owned()]);
    scenario(&source, "area/name", 7, &Known { defects })
        .unwrap_or_else(|found| panic!("{}", render(&found, &source, false)))
}

fn plan(text: &str) -> Plan {
    let mut plans = plans(text);
    assert_eq!(plans.len(), 1);
    plans.remove(0)
}

fn step(plan: &Plan, at: usize) -> &StepPlan {
    &plan.servers[0].queues[0].steps[at]
}

fn respond(plan: &Plan, at: usize) -> &Respond {
    match &step(plan, at).fault {
        Fault::Respond(respond) => respond,
        other => panic!("{other:?}"),
    }
}

fn names(plans: &[Plan]) -> Vec<String> {
    plans.iter().map(|plan| plan.case.to_string()).collect()
}

fn url(server: &str, path: &str) -> Template {
    Template(vec![
        Piece::Url(server.to_owned()),
        Piece::Text(path.to_owned()),
    ])
}

const HONEST: &str = "expect: { must: [ { honest: true } ] }\n";

#[test]
fn a_redirect_to_a_closed_port_requires_both_faults() {
    let plan = plan(
        r#"
refs: ["RFC 9110 9.2.2", "RFC 9110 15.4.8"]
tags: [redirect, billing]
servers:
  api:
    script:
      - applies: task
        respond: { status: 307, headers: { Location: "{dead}/submit" } }
  dead: { listen: refuse }
call: { method: POST, url: "{api}/submit", body: { json: { audio: a.wav } } }
expect:
  must:
    - honest: true
"#,
    );
    assert_eq!(plan.case.to_string(), "area/name");
    assert_eq!((plan.title.as_str(), plan.why.as_str()), ("t", "w"));
    assert_eq!(plan.refs.len(), 2);
    assert_eq!(
        (plan.deadline, plan.quiet),
        (Duration::from_secs(30), Duration::from_millis(300))
    );
    assert_eq!(plan.cap, 200);
    let first = step(&plan, 0);
    assert!(first.required);
    assert_eq!((first.times, first.line), (Times::Count(1), 9));
    let effect = Effect {
        name: "task".to_owned(),
        key: None,
    };
    assert_eq!(first.applies, Some(effect));
    let location = ("Location".to_owned(), url("dead", "/submit"));
    assert_eq!(respond(&plan, 0).headers, [location]);
    let dead = &plan.servers[1];
    assert_eq!(
        (dead.listen.clone(), dead.queues.len()),
        (Listen::Refuse, 0)
    );
    let required = LanesRequired {
        listen: true,
        connection: None,
    };
    assert_eq!(dead.required, required);
    let Request::Literal {
        method,
        url: to,
        body,
        ..
    } = &plan.calls[0].request
    else {
        panic!("a literal call")
    };
    assert_eq!((method.as_str(), to), ("POST", &url("api", "/submit")));
    let json = Content::Json(Template::text(r#"{"audio":"a.wav"}"#));
    assert_eq!(body.as_ref(), Some(&json));
    assert_eq!(plan.needs, BTreeSet::from([Ability::Literal]));
    assert_eq!(plan.expect[0].line, 15);
}

#[test]
fn a_sweep_makes_a_case_of_each_value() {
    let plans = plans(
        r#"
servers:
  api:
    script:
      - respond: { status: 200, body: { bytes: 100KiB }, cut: { after: { body: "{at}" }, with: reset } }
      - applies: file
        respond: { status: 200, body: { bytes: 100KiB } }
call: { url: "{api}/file" }
sweep: { at: [0, 1, half, last] }
expect: { must: [ { honest: true } ] }
proves: { defect: accepts-short-body, finding: false-success, when: { at: [half, 1] } }
"#,
    );
    let expected =
        ["[at=0]", "[at=1]", "[at=half]", "[at=last]"].map(|at| format!("area/name{at}"));
    assert_eq!(names(&plans), expected);
    let cuts: Vec<_> = plans.iter().map(|plan| respond(plan, 0).cut).collect();
    let cut = |at| Some((ResponsePoint::Body(at), End::Reset));
    let positions = [
        Position::Bytes(0),
        Position::Bytes(1),
        Position::Half,
        Position::Last,
    ];
    assert_eq!(cuts, positions.map(cut));
    let proved: Vec<_> = plans.iter().map(|plan| plan.proves.is_some()).collect();
    assert_eq!(proved, [false, true, true, false]);
    assert!(
        plans
            .iter()
            .all(|plan| step(plan, 0).required && !step(plan, 1).required)
    );
    let seeds: BTreeSet<_> = plans.iter().map(|plan| plan.seed).collect();
    assert_eq!(seeds.len(), 4, "each case has a seed of its own");
}

#[test]
fn a_bare_page_has_no_framing() {
    let text = format!(
        r#"
servers: {{ api: {{ script: [ {{ applies: job, respond: {{ status: 502, framing: close, body: {{ text: "<html>bad gateway</html>" }} }} }} ] }} }}
call: {{ url: "{{api}}/jobs/1" }}
{HONEST}"#
    );
    let plan = plan(&text);
    let page = respond(&plan, 0);
    assert_eq!((page.status, page.framing), (502, Framing::Close));
    assert!(step(&plan, 0).required);
}

#[test]
fn a_table_may_hold_maps() {
    let plans = plans(
        r#"
servers:
  api:
    script:
      - applies: job
        respond: { status: 429, retry_after: "{form}", body: { text: "{least}" } }
      - respond: { status: 200 }
call: { url: "{api}/x" }
needs: [retries]
table:
  - { form: { seconds: 1 }, least: 1s }
  - { form: { date_in: 2s }, least: 2s }
  - { form: { text: "0.5" }, least: 0s }
expect: { must: [ { honest: true } ] }
"#,
    );
    assert_eq!(
        names(&plans),
        [
            "area/name[form=seconds:1,least=1s]",
            "area/name[form=date_in:2s,least=2s]",
            "area/name[form=text:0.5,least=0s]",
        ]
    );
    let forms: Vec<_> = plans
        .iter()
        .map(|plan| respond(plan, 0).retry_after.clone())
        .collect();
    let expected = [
        RetryAfter::Seconds(1),
        RetryAfter::DateIn(Duration::from_secs(2)),
        RetryAfter::Text("0.5".to_owned()),
    ];
    assert_eq!(forms, expected.map(Some));
    assert!(plans[0].needs.contains(&Ability::Retries));
}

#[test]
fn a_cut_inside_the_head_is_taken_at_the_first_byte() {
    let plans = plans(
        r#"
servers: { api: { script: [ { cut: { after: { head: "{at}" }, with: reset } }, { applies: order, respond: { status: 200 } } ] } }
call: { method: POST, url: "{api}/orders", body: { json: { a: 1 } } }
sweep: { at: [1, half, last] }
expect: { must: [ { honest: true } ] }
"#,
    );
    let points: Vec<_> = plans
        .iter()
        .map(|plan| step(plan, 0).request_point())
        .collect();
    let positions = [Position::Bytes(1), Position::Half, Position::Last];
    assert_eq!(points, positions.map(RequestPoint::Head));
    assert!(plans.iter().all(|plan| step(plan, 0).is_inside_head()));
}

#[test]
fn two_columns_make_a_product_and_a_swept_zero_is_a_cut() {
    let plans = plans(
        r#"
servers: { api: { script: [ { applies: order, respond: { status: 200, cut: { after: { head: "{at}" }, with: "{end}" } } } ] } }
call: { method: POST, url: "{api}/orders", body: { json: { a: 1 } } }
sweep: { at: [0, 9, half], end: [reset, close] }
expect: { must: [ { honest: true } ] }
"#,
    );
    assert_eq!(plans.len(), 6);
    assert_eq!(names(&plans)[1], "area/name[at=0,end=close]");
    let cut = Some((ResponsePoint::Head(Position::Bytes(0)), End::Close));
    assert_eq!(respond(&plans[1], 0).cut, cut);
}

#[test]
fn a_length_that_lies_goes_with_an_end() {
    let text = format!(
        r#"
servers:
  api:
    script:
      - applies: x
        respond: {{ status: 200, body: {{ text: "12345" }}, says_length: 20, cut: {{ after: {{ body: 5 }}, with: close }} }}
call: {{ url: "{{api}}/x" }}
{HONEST}"#
    );
    let plan = plan(&text);
    assert_eq!(respond(&plan, 0).says_length, Some(20));
}

#[test]
fn chunks_are_cut_between_and_inside() {
    let plans = plans(
        r#"
servers:
  api:
    script: [ { applies: x, respond: { status: 200, framing: chunked, chunks: [5, 5], body: { text: "helloworld" }, cut: { after: "{at}", with: close } } } ]
call: { url: "{api}/x" }
table: [ { at: { chunks: 1 } }, { at: { chunks: 2 } }, { at: { wire: last } } ]
expect: { must: [ { honest: true } ] }
"#,
    );
    let points: Vec<_> = plans
        .iter()
        .map(|plan| respond(plan, 0).cut.map(|(point, _)| point))
        .collect();
    let expected = [
        ResponsePoint::Chunks(1),
        ResponsePoint::Chunks(2),
        ResponsePoint::Wire(Position::Last),
    ];
    assert_eq!(points, expected.map(Some));
}

#[test]
fn an_idle_end_is_a_fault_and_a_swept_pause_keeps_its_type() {
    let plans = plans(
        r#"
servers:
  api:
    script:
      - { respond: { status: 200 }, then: { close: 0s } }
      - { applies: order, respond: { status: 200 } }
calls: [ { url: "{api}/warm" }, { method: POST, url: "{api}/orders", pause: "{pause}", body: { text: "x" } } ]
sweep: { pause: [0s, 20ms, 500ms] }
needs: [reuses-connections]
expect: { must: [ { of: { call: 2 }, honest: true } ] }
"#,
    );
    let first = step(&plans[0], 0);
    assert_eq!(
        (first.then.clone(), first.required),
        (Some(Then::ends(IdleEnd::Close, Duration::ZERO)), true)
    );
    let pauses: Vec<_> = plans
        .iter()
        .map(|plan| plan.calls[1].pause.as_millis())
        .collect();
    assert_eq!(pauses, [0, 20, 500]);
    assert!(plans[0].needs.contains(&Ability::Calls));
    assert_eq!(plans[0].expect[0].of.call, Some(2));
}

#[test]
fn a_reused_connection_is_asked_for_and_needed() {
    let plan = plan(
        r#"
servers:
  api:
    script:
      - respond: { status: 200 }
      - { when: { connection: reused }, applies: order, cut: { after: request, with: reset } }
      - { applies: order, respond: { status: 200 } }
calls: [ { url: "{api}/warm" }, { method: POST, url: "{api}/orders", body: { json: { a: 1 } } } ]
expect: { must: [ { of: { call: 2 }, honest: true } ] }
"#,
    );
    let required: Vec<_> = (0..3).map(|at| step(&plan, at).required).collect();
    assert_eq!(required, [false, true, false]);
    assert_eq!(step(&plan, 1).when.connection, Some(ConnectionUse::Reused));
    assert!(plan.needs.contains(&Ability::ReusesConnections));
}

#[test]
fn a_loop_of_redirects_implies_following_them() {
    let text = format!(
        r#"
servers: {{ api: {{ script: [ {{ applies: x, respond: {{ status: 302, headers: {{ Location: "/again" }} }} }} ] }} }}
call: {{ url: "{{api}}/again" }}
limits: {{ redirects: 5 }}
{HONEST}"#
    );
    let plan = plan(&text);
    assert_eq!(plan.limits.redirects, Some(5));
    let needs = [
        Ability::Literal,
        Ability::Redirects,
        Ability::FollowsRedirects,
    ];
    assert_eq!(plan.needs, BTreeSet::from(needs));
}

#[test]
fn each_limit_is_an_ability_that_is_needed() {
    let text = format!(
        r#"
servers: {{ api: {{ script: [ {{ applies: x, respond: {{ status: 503 }} }} ] }} }}
calls: [ {{ url: "{{api}}/{{n}}", repeat: 100, at_once: 8 }} ]
limits:
  {{ layers: {{ gateway: 1, sdk: 2 }}, per_attempt: 1s, backoff: 500ms, backoff_cap: 30s, jitter: full,
    retry_after_cap: 30s, wait: 60s, retry_share: 10, in_flight: 4, queue: 30, breaker_failures: 5,
    breaker_open: 1s, hedge_after: 200ms, error_body: 2KiB }}
{HONEST}"#
    );
    let plan = plan(&text);
    let layers = plan.limits.layers.iter();
    let layers: Vec<_> = layers
        .map(|layer| (layer.name.as_str(), layer.retries))
        .collect();
    assert_eq!(layers, [("gateway", 1), ("sdk", 2)]);
    assert_eq!(plan.limits.error_body, Some(2048));
    assert_eq!(plan.limits.backoff_cap, Some(Duration::from_secs(30)));
    let told: BTreeSet<_> = plan.limits.abilities().collect();
    assert_eq!(told.len(), 14);
    let work = [Ability::Literal, Ability::Calls, Ability::AtOnce];
    let needs: BTreeSet<_> = told.into_iter().chain(work).collect();
    assert_eq!(plan.needs, needs);
}

#[test]
fn which_statuses_are_sent_again_is_a_sweep() {
    let plans = plans(
        r#"
servers: { api: { script: [ { applies: x, respond: { status: "{code}", body: { text: "no" } } } ] } }
call: { url: "{api}/x" }
sweep: { code: [500, 502, 503, 504, 529, 408, 409, 425, 400, 401, 402, 403, 404, 413, 422] }
expect: { must: [ { honest: true } ] }
"#,
    );
    let codes: Vec<_> = plans.iter().map(|plan| respond(plan, 0).status).collect();
    assert_eq!(codes.len(), 15);
    assert_eq!(codes[4], 529);
}

#[test]
fn lanes_of_several_words_and_routes_are_queues_of_their_own() {
    let plan = plan(
        r#"
servers:
  api:
    connections: [reset, reset, serve]
    routes:
      "POST /jobs": [ { applies: job, key: { json: /id }, respond: { status: 202 } } ]
      "/jobs/*": [ { times: always, respond: { status: 502 } } ]
calls:
  - { method: POST, url: "{api}/jobs", body: { json: { id: "{n}" } } }
  - { url: "{api}/jobs/{n}", repeat: 2 }
expect: { must: [ { honest: true } ] }
"#,
    );
    let server = &plan.servers[0];
    assert_eq!(server.required.connection, Some(0));
    assert_eq!(server.queues[0].route.method.as_deref(), Some("POST"));
    assert_eq!(
        server.queues[1].route.path,
        PathPattern::Prefix("/jobs/".to_owned())
    );
    assert!(!server.queues[0].steps[0].required && server.queues[1].steps[0].required);
    let urls: Vec<_> = plan
        .calls
        .iter()
        .map(|call| match &call.request {
            Request::Literal { url, .. } => url.clone(),
            Request::Operation { .. } => panic!("a literal call"),
        })
        .collect();
    assert_eq!(
        urls,
        [
            url("api", "/jobs"),
            url("api", "/jobs/2"),
            url("api", "/jobs/3")
        ]
    );
}

#[test]
fn an_operation_names_a_server_and_a_shape() {
    let plan = plan(
        r#"
servers: { api: { script: [ { applies: order, cut: { after: request, with: reset } }, { applies: order, respond: { status: 200, body: { shape: ok } } } ] } }
call: { operation: create, at: "{api}" }
expect: { must: [ { of: { call: 1 }, honest: true } ] }
"#,
    );
    assert!(matches!(&plan.calls[0].request, Request::Operation { at, .. } if at == "api"));
    assert!(plan.needs.is_empty());
}

#[test]
fn required_moves_the_mark_of_a_step() {
    let plan = plan(
        r#"
servers:
  api:
    script:
      - { required: false, applies: x, respond: { status: 503 } }
      - { required: true, applies: x, respond: { status: 429 } }
call: { url: "{api}/x" }
expect: { must: [ { honest: true } ] }
"#,
    );
    assert_eq!(
        (step(&plan, 0).required, step(&plan, 1).required),
        (false, true)
    );
}

#[test]
fn a_step_that_one_case_reaches_is_no_mistake() {
    let plans = plans(
        r#"
servers: { api: { listen: "{listen}", script: [ { applies: x, cut: { after: request, with: "{end}" } } ] } }
call: { url: "{api}/x" }
table: [ { listen: refuse, end: close }, { listen: open, end: close }, { listen: open, end: reset } ]
expect: { must: [ { honest: true } ] }
"#,
    );
    let required: Vec<_> = plans
        .iter()
        .map(|plan| (plan.servers[0].required.listen, step(plan, 0).required))
        .collect();
    assert_eq!(required, [(true, false), (false, true), (false, true)]);
}

#[test]
fn braces_that_are_no_names_stay_and_doubled_ones_lose_a_pair() {
    let text = format!(
        r#"
servers: {{ api: {{ script: [ {{ applies: x, respond: {{ status: 500, body: {{ text: '{{"a": {{}}}} {{{{api}}}} {{api.port}}' }} }} }} ] }} }}
call: {{ url: "{{api}}/x" }}
{HONEST}"#
    );
    let plan = plan(&text);
    let body = Template(vec![
        Piece::Text(r#"{"a": {}} {api} "#.to_owned()),
        Piece::Port("api".to_owned()),
    ]);
    assert_eq!(respond(&plan, 0).body, Some(Content::Text(body)));
}

#[test]
fn the_same_seed_gives_the_same_plans() {
    let text = format!(
        r#"
servers: {{ api: {{ script: [ {{ applies: x, respond: {{ status: 500 }} }} ] }} }}
call: {{ url: "{{api}}/x" }}
{HONEST}"#
    );
    assert_eq!(plans(&text), plans(&text));
}

#[test]
fn coded_content_needs_a_client_that_decodes_it() {
    let plans = plans(
        r#"
servers: { api: { script: [ { applies: order, respond: { status: 200, body: { text: hello }, br: half } } ] } }
call: { method: POST, url: "{api}/orders", body: { json: { a: 1 } } }
expect: { must: [ { honest: true } ] }
"#,
    );
    assert!(plans[0].needs.contains(&Ability::DecodesBr));
    assert!(!plans[0].needs.contains(&Ability::DecodesGzip));
}
