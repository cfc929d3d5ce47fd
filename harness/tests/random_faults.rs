//! Over random scripts of faults, the good reference client keeps its budget
//! and never tells a lie; and where its orders have keys that the server knows,
//! none is carried out twice. The scripts go the whole way: YAML, Plan, servers,
//! process, evidence, judge.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::run::{CellJob, Client, run_cells};
use proptest::prelude::*;
use scenarios::document::Source;
use scenarios::plan::Plan;
use scenarios::validate::{self, Known};
use scenarios::verdict::{CellVerdict, Claim, Verdict};
use support::cells::options;
use tempfile::TempDir;

/// What one script may cost.
const ATTEMPTS: u64 = 3;
const REDIRECTS: u64 = 2;
const BUDGET: u64 = ATTEMPTS * (1 + REDIRECTS);

#[derive(Clone, Debug)]
struct Scripted {
    connections: Vec<&'static str>,
    steps: Vec<String>,
    methods: Vec<&'static str>,
    /// Whether every call has a key, by which the server does its work once.
    keyed: bool,
}

impl Scripted {
    fn yaml(&self) -> String {
        let steps: String = self
            .steps
            .iter()
            .map(|step| format!("      - {step}\n"))
            .collect();
        let calls: String = self
            .methods
            .iter()
            .enumerate()
            .map(|(n, method)| {
                let body = match *method {
                    "POST" | "PUT" => ", body: { text: \"order\" }",
                    _ => "",
                };
                let key = match self.keyed {
                    true => format!(", headers: {{ Idempotency-Key: key-{n} }}"),
                    false => String::new(),
                };
                format!("  - {{ method: {method}, url: \"{{api}}/{n}\"{key}{body} }}\n")
            })
            .collect();
        let dead = match steps.contains("{dead}") {
            true => "  dead: { listen: refuse }\n",
            false => "",
        };
        let models = match self.keyed {
            true => {
                "    models: { store: { idempotency: { header: Idempotency-Key, effect: order } } }\n"
            }
            false => "",
        };
        format!(
            "title: Random faults\nwhy: They come as they come.\nservers:\n  api:\n{models}    \
             connections: [{}]\n    script:\n{steps}{dead}calls:\n{calls}\
             limits: {{ attempts: {ATTEMPTS}, redirects: {REDIRECTS}, idle: 400ms, total: 3s }}\n\
             deadline: 25s\nexpect:\n  must:\n    - honest: true\n    \
             - delivered: {{ api: {{ at_most: {} }} }}\n",
            self.connections.join(", "),
            BUDGET * self.methods.len() as u64,
        )
    }

    /// The case, when the language lets it pass.
    fn plan(&self) -> Option<Plan> {
        let source = Source {
            path: "random.yaml".to_owned(),
            text: self.yaml(),
        };
        let known = Known {
            defects: BTreeSet::new(),
        };
        let plans = validate::scenario(&source, "random/faults", 7, &known).ok()?;
        plans.into_iter().next()
    }
}

fn end() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just("reset"), 3 => Just("close"), 1 => Just("half-close"), 1 => Just("hang")]
}

fn behaviour() -> impl Strategy<Value = String> {
    let status = prop::sample::select(vec![200, 201, 204, 400, 408, 429, 500, 502, 503, 504]);
    let framing = prop::sample::select(vec!["length", "chunked", "close"]);
    let point = prop::sample::select(vec!["request", "{ head: 1 }", "{ head: all }"]);
    let location = prop::sample::select(vec!["/again", "{dead}/x"]);
    let coding = prop::sample::select(vec!["gzip", "deflate", "br"]);
    let state = prop::sample::select(vec!["whole", "half", "empty", "corrupt"]);
    prop_oneof![
        status
            .clone()
            .prop_map(|status| format!("respond: {{ status: {status} }}")),
        (status.clone(), 0..2_u8).prop_map(|(status, wait)| format!(
            "respond: {{ status: {status}, retry_after: {{ seconds: {} }} }}",
            u64::from(wait) * 86_400
        )),
        (framing, 0..64_u8, end()).prop_map(|(framing, at, end)| format!(
            "respond: {{ status: 200, framing: {framing}, body: {{ bytes: 64 }}, \
             cut: {{ after: {{ body: {at} }}, with: {end} }} }}"
        )),
        (1..20_u8, end()).prop_map(|(at, end)| format!(
            "respond: {{ status: 200, body: {{ text: \"ok\" }}, \
             cut: {{ after: {{ head: {at} }}, with: {end} }} }}"
        )),
        (point.clone(), end())
            .prop_map(|(point, end)| format!("cut: {{ after: {point}, with: {end} }}")),
        (300..309_u16, location).prop_map(|(status, to)| format!(
            "respond: {{ status: {status}, headers: {{ Location: \"{to}\" }} }}"
        )),
        (1..4_u8, status).prop_map(|(times, status)| format!(
            "respond: {{ status: {status}, interim: [ {{ status: 103, times: {times} }} ] }}"
        )),
        (point.clone(), 200..600_u16).prop_map(|(point, status)| format!(
            "reads: {point}\n        respond: {{ status: {status} }}"
        )),
        Just(
            "respond: { status: 200, framing: chunked, body: { text: \"ok\" }, \
             trailers: { X-Sum: \"1\" } }"
                .to_owned()
        ),
        Just("respond: { status: 200, surplus: { text: \"more\" } }".to_owned()),
        (coding, state).prop_map(|(coding, state)| format!(
            "respond: {{ status: 200, body: {{ text: \"coded\" }}, {coding}: {state} }}"
        )),
        Just("slow_read: { bytes: 1, every: 3ms }\n        respond: { status: 200 }".to_owned()),
        Just("continue: never\n        respond: { status: 200 }".to_owned()),
        Just("raw: [ { text: \"HTTP/1.1 2x0 OK\\r\\n\\r\\n\" } ]".to_owned()),
        Just(
            "respond: { status: 200, body: { text: \"whole\" } }\n        then: { close: 0s }"
                .to_owned()
        ),
    ]
}

fn scripted() -> impl Strategy<Value = Scripted> {
    let connection = prop::sample::select(vec!["serve", "serve", "reset", "close"]);
    let method = prop::sample::select(vec!["GET", "POST", "PUT", "DELETE"]);
    let applies = prop::sample::select(vec![
        "",
        "applies: order\n        ",
        "applies: order\n        takes: 600ms\n        ",
    ]);
    (
        prop::collection::vec(connection, 0..3),
        prop::collection::vec((applies, behaviour()), 1..5),
        prop::collection::vec(method, 1..4),
    )
        .prop_map(|(mut connections, steps, methods)| {
            connections.push("serve");
            Scripted {
                connections,
                steps: steps
                    .into_iter()
                    .map(|(applies, behaviour)| match may_apply(&behaviour) {
                        true => format!("{applies}{behaviour}"),
                        false => behaviour,
                    })
                    .collect(),
                methods,
                keyed: false,
            }
        })
}

/// What becomes of an answer that the server has worked for.
fn lost_answer() -> impl Strategy<Value = String> {
    let status = prop::sample::select(vec![200, 201, 500, 502, 503, 504]);
    let framing = prop::sample::select(vec!["length", "chunked", "close"]);
    prop_oneof![
        end().prop_map(|end| format!("cut: {{ after: request, with: {end} }}")),
        status.prop_map(|status| format!("respond: {{ status: {status} }}")),
        (1..20_u8, end()).prop_map(|(at, end)| format!(
            "respond: {{ cut: {{ after: {{ head: {at} }}, with: {end} }} }}"
        )),
        (framing, prop::sample::select(vec!["reset", "hang"])).prop_map(|(framing, end)| format!(
            "respond: {{ framing: {framing}, cut: {{ after: {{ body: half }}, with: {end} }} }}"
        )),
        Just("respond: { surplus: { text: \"more\" } }".to_owned()),
        Just("respond: { gzip: half }".to_owned()),
        Just("respond: {}\n        then: { close: 0s }".to_owned()),
    ]
}

fn keyed() -> impl Strategy<Value = Scripted> {
    let connection = prop::sample::select(vec!["serve", "serve", "reset", "close"]);
    let step = lost_answer().prop_map(|step| format!("through: [store]\n        {step}"));
    (
        prop::collection::vec(connection, 0..3),
        prop::collection::vec(step, 1..5),
        prop::collection::vec(Just("POST"), 1..4),
    )
        .prop_map(|(mut connections, steps, methods)| {
            connections.push("serve");
            Scripted {
                connections,
                steps,
                methods,
                keyed: true,
            }
        })
}

/// A redirect that also applies asks for two orders, and a refusal that applies
/// is the server's lie: no client is to blame for either.
fn may_apply(behaviour: &str) -> bool {
    !behaviour.contains("Location") && !behaviour.contains("status: 4")
}

fn reference() -> Client {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let source = Source::read(&root.join("clients/reference/reference.yaml")).unwrap();
    Client {
        manifest: scenarios::manifest::decode(&source).unwrap(),
        version: "1".to_owned(),
        defects: Vec::new(),
    }
}

fn keeps_to_the_truth(script: &Scripted, verdict: &CellVerdict) -> Result<(), TestCaseError> {
    let told = format!("{}\n{verdict:#?}", script.yaml());
    prop_assert!(
        matches!(verdict.verdict, Verdict::Pass | Verdict::Inconclusive),
        "a finding or an error: {told}"
    );
    prop_assert_eq!(verdict.calls.len(), script.methods.len(), "{}", &told);
    for (call, method) in verdict.calls.iter().zip(&script.methods) {
        prop_assert!(call.delivered <= BUDGET, "over its budget: {told}");
        prop_assert!(
            call.claim != Claim::NotSent || call.delivered == 0,
            "says not-sent of a delivered request: {told}"
        );
        prop_assert!(
            !call.unmapped,
            "an error that no table entry matches: {told}"
        );
        prop_assert!(
            *method != "POST" || call.applied <= call.delivered,
            "applied without being delivered: {told}"
        );
    }
    Ok(())
}

/// Runs cells of random scripts, and holds what came of each against what must be.
fn over(
    scripts: impl Strategy<Value = Scripted>,
    holds: impl Fn(&Scripted, &CellVerdict) -> Result<(), TestCaseError>,
) {
    let client = Arc::new(reference());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 12,
        max_shrink_iters: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let ran = runner.run(&prop::collection::vec(scripts, 8..16), |scripts| {
        let run = TempDir::new().unwrap();
        let planned: Vec<(&Scripted, Plan)> = scripts
            .iter()
            .filter_map(|script| Some((script, script.plan()?)))
            .collect();
        let jobs = planned.iter().enumerate().map(|(n, (_, plan))| CellJob {
            id: format!("cell-{n}"),
            plan: Arc::new(plan.clone()),
            client: Arc::clone(&client),
            repeat: 1,
        });
        let done = run_cells(jobs.collect(), &options(run.path()), &mut |_| {}).unwrap();
        for ((script, _), done) in planned.iter().zip(&done) {
            holds(script, &done.verdict)?;
        }
        Ok(())
    });
    if let Err(failed) = ran {
        panic!("{failed}");
    }
}

#[test]
fn the_good_client_keeps_its_budget_and_never_lies() {
    let judged = AtomicUsize::new(0);
    over(scripted(), |script, verdict| {
        judged.fetch_add(1, Ordering::Relaxed);
        keeps_to_the_truth(script, verdict)
    });
    // A property over scripts that the language all refuses would prove nothing.
    let judged = judged.into_inner();
    assert!(judged >= 50, "only {judged} scripts were run");
}

#[test]
fn the_good_client_with_keys_never_causes_a_second_effect() {
    let again = AtomicUsize::new(0);
    over(keyed(), |script, verdict| {
        keeps_to_the_truth(script, verdict)?;
        let orders = verdict.applied.get("order").copied().unwrap_or(0);
        let told = format!("{}\n{verdict:#?}", script.yaml());
        prop_assert!(orders <= script.methods.len() as u64, "{told}");
        for call in &verdict.calls {
            prop_assert!(call.applied <= 1, "a second effect: {told}");
            let sent_again = call.applied == 1 && call.delivered > 1;
            again.fetch_add(usize::from(sent_again), Ordering::Relaxed);
        }
        Ok(())
    });
    // Only an order that arrived again could have been carried out again.
    let again = again.into_inner();
    assert!(again >= 20, "only {again} orders arrived again");
}
