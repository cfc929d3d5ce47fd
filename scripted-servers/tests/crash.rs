//! A client that is killed and comes again: what it had sent counts once, and scripts
//! go on where they were.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use std::net::Shutdown;

use scripted_servers::event::What;
use scripted_servers::script::{ConnectionAct, ServerScript, Step};
use scripted_servers::wire::{RequestPoint, WireStep};
use support::*;

/// A request that is answered only after a long time.
fn slow() -> Step {
    program(vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Wait(std::time::Duration::from_secs(1000)),
        WireStep::Send(bytes(b"HTTP/1.1 204 \r\n\r\n")),
    ])
}

fn closed(served: &Served) -> usize {
    let events = served.record.events();
    let closed = |what: &What| matches!(what, What::Closed { .. });
    events.iter().filter(|event| closed(&event.what)).count()
}

#[test]
fn scripts_go_on_and_what_the_dead_process_sent_counts() {
    let served = serve_steps(vec![slow(), Step::answer(200, "next")]);
    let first = served.send(POST);
    served.wait_until_waiting();
    let idle = served.connect();
    drop((first, idle));
    served.crash();
    assert_eq!(closed(&served), 2, "its connections are over");
    let mut second = served.send(POST);
    assert_eq!(read_exactly(&mut second, NEXT.len()), NEXT.as_bytes());
    served.crash();
    let mut third = served.send(GET);
    assert_eq!(read_exactly(&mut third, NEXT.len()), NEXT.as_bytes());
    drop((second, third));
    let happened = served.end();
    let counts = &happened.counts;
    assert_eq!(
        (counts.connected, counts.delivered, counts.drained),
        (4, 3, 0)
    );
}

#[test]
fn what_only_draining_brings_in_is_told_apart_also_between_two_lives() {
    let script = ServerScript::new("api")
        .script(vec![Step::answer(200, "next")])
        .connections(vec![ConnectionAct::Hang, ConnectionAct::Serve]);
    let served = serve(script);
    let mut upload = served.send("POST / HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n");
    std::io::Write::write_all(&mut upload, &vec![1; 3_000_000]).unwrap();
    drop(upload);
    served.crash();
    let mut second = served.send(POST);
    assert_eq!(read_exactly(&mut second, NEXT.len()), NEXT.as_bytes());
    second.shutdown(Shutdown::Both).unwrap();
    let counts = served.end().counts;
    assert_eq!((counts.delivered, counts.drained), (1, 1));
}

#[test]
fn a_request_that_waits_to_be_accepted_is_of_the_life_that_sent_it() {
    let served = serve_steps(vec![Step::answer(200, "first"), Step::answer(200, "next")]);
    let warm = served.connect();
    served.wait_for("the accept", |what| matches!(what, What::Accepted { .. }));
    served.hold_up();
    drop(served.send(POST));
    drop(warm);
    served.let_go_soon();
    served.crash();
    assert_eq!(closed(&served), 2);
    let mut second = served.send(POST);
    let answer = read_exactly(&mut second, NEXT.len());
    assert_eq!(answer, NEXT.as_bytes(), "the first step was taken");
    drop(second);
    assert_eq!(served.end().counts.delivered, 2);
}

#[test]
fn an_effect_that_takes_time_goes_on_when_its_client_is_gone() {
    let effect = scripted_servers::wire::Effect {
        name: "order".to_owned(),
        key: None,
    };
    let works = program(vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Work(effect, std::time::Duration::from_millis(300)),
        WireStep::Wait(std::time::Duration::from_secs(1000)),
    ]);
    let served = serve_steps(vec![works]);
    let client = served.send(POST);
    served.wait_until_waiting();
    drop(client);
    served.crash();
    let is_effect = |what: &What| matches!(what, What::Effect { .. });
    served.wait_for("the effect", is_effect);
    assert!(served.end().any(is_effect));
}
