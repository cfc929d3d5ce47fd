//! Requests that go through models, on real sockets.

#![allow(clippy::unwrap_used, reason = "what fails here fails a test")]

#[path = "support/mod.rs"]
mod support;

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use scripted_servers::event::What;
use scripted_servers::models::{Decided, Passage, Rules, Says, Through, idempotency, limiter};
use scripted_servers::script::{ServerScript, Step};
use scripted_servers::wire::{End, RequestPoint, WireProgram, WireStep};
use support::*;

fn store(takes: Duration) -> Rules {
    Rules::Idempotency(idempotency::Rules {
        header: "Idempotency-Key".into(),
        effect: "order".into(),
        busy: 409,
        conflict: 422,
        takes,
    })
}

/// Shows what a model decided, with these steps in the place of a plain answer.
fn through(steps: Option<Vec<WireStep>>) -> Step {
    let program = move |passage: &Passage| match (&steps, passage.end()) {
        (Some(steps), _) => WireProgram {
            steps: steps.clone(),
            ..WireProgram::default()
        },
        (None, Some((_, decision))) => match &decision.says {
            Says::Answers(reply) => WireProgram::answer(reply.status, &reply.content),
            _ => WireProgram::answer(429, b"denied"),
        },
        (None, None) => WireProgram::answer(200, b"passed"),
    };
    Step {
        through: Some(Through {
            models: vec!["it".into()],
            program: Arc::new(program),
        }),
        ..Step::answer(500, "no model was asked")
    }
}

fn order(key: &str, content: &str) -> String {
    let length = content.len();
    format!(
        "POST /orders HTTP/1.1\r\nHost: api\r\nIdempotency-Key: {key}\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{content}"
    )
}

fn answer(served: &Served, request: &str) -> String {
    let (all, _) = read_to_end(&mut served.send(request));
    String::from_utf8(all).unwrap()
}

fn decided(happened: &Happened) -> Vec<Decided> {
    let decided = happened
        .events
        .iter()
        .filter_map(|event| match &event.what {
            What::Model { decided, .. } => Some(decided.clone()),
            _ => None,
        });
    decided.collect()
}

#[test]
fn an_answer_that_is_lost_is_given_again_and_the_effect_is_one() {
    let lost = through(Some(vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Fired("lost"),
        WireStep::End(End::Reset),
    ]));
    let script = ServerScript::new("api").model("it", store(Duration::ZERO));
    let served = serve(script.script(vec![lost, through(None)]));
    let (nothing, ended) = read_to_end(&mut served.send(order("k", "a")));
    assert_eq!((nothing.len(), ended), (0, Ended::Reset));
    let again = answer(&served, &order("k", "a"));
    assert!(again.ends_with(r#"{"order":1}"#), "{again}");
    let other = answer(&served, &order("k", "b"));
    assert!(other.starts_with("HTTP/1.1 422 "), "{other}");
    let happened = served.end();
    assert_eq!(happened.counts.effects_named("order"), 1);
    assert_eq!(
        decided(&happened),
        [Decided::Ran, Decided::Stored, Decided::Conflict]
    );
    assert_eq!(happened.fired().len(), 1);
}

#[test]
fn work_of_a_model_goes_on_and_keeps_its_key_busy() {
    let script = ServerScript::new("api").model("it", store(Duration::from_secs(600)));
    let served = serve(script.script(vec![through(None)]));
    answer(&served, &order("k", "a"));
    let busy = answer(&served, &order("k", "a"));
    assert!(busy.starts_with("HTTP/1.1 409 "), "{busy}");
    let happened = served.end();
    let runs = happened.events.iter().filter_map(|event| match event.what {
        What::Effect {
            began_us: Some(began),
            since_us,
            ..
        } => Some(since_us - began),
        _ => None,
    });
    assert_eq!(runs.collect::<Vec<_>>(), [600_000_000]);
}

#[test]
fn what_arrived_in_time_has_its_effect_whoever_gets_a_turn_first() {
    let script = ServerScript::new("api").model("it", store(Duration::ZERO));
    let served = serve(script.script(vec![through(None)]));
    let client = served.connect();
    served.wait_for("the connection", |what| {
        matches!(what, What::Accepted { .. })
    });
    served.hold_up();
    (&client).write_all(order("k", "a").as_bytes()).unwrap();
    let at = served.clock.now();
    served.let_go();
    let happened = served.end_at(at);
    drop(client);
    assert_eq!(happened.counts.effects_named("order"), 1);
    assert_eq!(decided(&happened), [Decided::Ran]);
}

#[test]
fn what_arrived_after_the_end_goes_through_no_model() {
    let script = ServerScript::new("api").model("it", store(Duration::ZERO));
    let served = serve(script.script(vec![through(None)]));
    let at = served.clock.now();
    let_pass(Duration::from_millis(20));
    drop(served.send(order("k", "a")));
    let happened = served.end_at(at);
    assert_eq!(happened.counts.effects_named("order"), 0);
    assert_eq!(decided(&happened), []);
}

#[test]
fn a_place_of_a_limiter_is_free_again_once_its_request_is_answered_or_given_up() {
    let rules = Rules::Limiter(limiter::Rules {
        rule: limiter::Rule::Concurrency { max: 1 },
        tells: limiter::Tells::default(),
    });
    let hang = through(Some(vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::End(End::Hang),
    ]));
    let script = ServerScript::new("api").model("it", rules);
    let served = serve(script.script(vec![hang, through(None)]));
    let waiting = served.send(order("a", ""));
    served.wait_for("the first request", |what| {
        matches!(what, What::Delivered { .. })
    });
    let denied = answer(&served, &order("b", ""));
    assert!(denied.ends_with("denied"), "{denied}");
    drop(waiting);
    served.wait_for(
        "the end of the first",
        |what| matches!(what, What::Closed { received, .. } if *received > 0),
    );
    for _ in 0..2 {
        let passed = answer(&served, &order("c", ""));
        assert!(passed.ends_with("passed"), "{passed}");
    }
    served.end();
}
