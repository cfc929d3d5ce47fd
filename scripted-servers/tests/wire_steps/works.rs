//! Effects that take time: they go on whatever becomes of the connection.

use std::time::Duration;

use scripted_servers::event::What;
use scripted_servers::wire::{Effect, End, KeySource, WireStep};

use crate::support::*;
use crate::{READ, millis, send};

fn work(takes: Duration) -> WireStep {
    let effect = Effect {
        name: "order".into(),
        key: Some(KeySource::PathLast),
    };
    WireStep::Work(effect, takes)
}

/// From when to when each order was worked on, in microseconds.
fn runs(happened: &Happened) -> Vec<(u64, u64)> {
    let run = |what: &What| match what {
        What::Effect {
            key,
            since_us,
            began_us: Some(began),
            ..
        } => {
            assert_eq!(key.as_deref(), Some("orders"));
            Some((*began, *since_us))
        }
        _ => None,
    };
    happened
        .events
        .iter()
        .filter_map(|event| run(&event.what))
        .collect()
}

#[test]
fn work_goes_on_behind_a_cut_and_is_counted_at_its_end() {
    for end in [End::Reset, End::Close] {
        let served = serve_wire(vec![
            READ,
            work(millis(150)),
            WireStep::Fired("cut"),
            WireStep::End(end),
        ]);
        let mut client = served.send(POST);
        let _ = read_to_end(&mut client);
        drop(client);
        let is_effect = |what: &What| matches!(what, What::Effect { .. });
        served.wait_for("the effect", is_effect);
        let happened = served.end();
        assert_eq!(happened.fired().len(), 1);
        let runs = runs(&happened);
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].1 - runs[0].0, 150_000);
        assert_eq!(runs[0].0, happened.delivered_at()[0]);
        assert_eq!(happened.counts.effects_named("order"), 1);
    }
}

#[test]
fn what_is_not_through_when_the_client_has_ended_is_told_with_the_time_of_its_end() {
    let takes = Duration::from_secs(600);
    let served = serve_wire(vec![READ, work(takes), send("at work")]);
    let mut client = served.send(POST);
    assert_eq!(read_exactly(&mut client, 7), b"at work");
    drop(client);
    let happened = served.end();
    let runs = runs(&happened);
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].1 - runs[0].0, 600_000_000);
}

#[test]
fn runs_that_overlap_are_told_so() {
    let step = program(vec![READ, work(Duration::from_secs(600)), send("x")]);
    let served = serve_steps(vec![step]);
    for _ in 0..2 {
        let mut client = served.send(POST);
        read_exactly(&mut client, 1);
    }
    let happened = served.end();
    let runs = runs(&happened);
    assert_eq!(runs.len(), 2);
    assert!(runs[0].0 <= runs[1].0 && runs[1].0 < runs[0].1, "{runs:?}");
}

#[test]
fn work_on_what_arrived_in_time_begins_whoever_gets_a_turn_first() {
    let served = serve_wire(vec![READ, work(Duration::from_secs(5)), send("x")]);
    let client = served.connect();
    served.wait_for("the connection", |what| {
        matches!(what, What::Accepted { .. })
    });
    served.hold_up();
    std::io::Write::write_all(&mut &client, POST.as_bytes()).unwrap();
    let at = served.clock.now();
    served.let_go();
    let happened = served.end_at(at);
    drop(client);
    let runs = runs(&happened);
    assert_eq!(runs.len(), 1);
    assert!(Duration::from_micros(runs[0].0) <= at);
}

#[test]
fn work_on_what_arrived_after_the_end_does_not_begin() {
    let served = serve_wire(vec![READ, work(millis(10)), send("x")]);
    let at = served.clock.now();
    let_pass(millis(20));
    let client = served.send(POST);
    drop(client);
    let happened = served.end_at(at);
    assert_eq!(runs(&happened), []);
}
