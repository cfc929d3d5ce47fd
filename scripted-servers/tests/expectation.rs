//! `Expect: 100-continue`, byte by byte, with a plain socket.

mod support;

use std::io::Write;
use std::time::Duration;

use scripted_servers::clock::RealClock;
use scripted_servers::event::What;
use scripted_servers::script::Step;
use scripted_servers::wire::{Answer, Continue, Position, RequestPoint, WireProgram, WireStep};
use support::*;

const HEAD: &str =
    "PUT /f HTTP/1.1\r\nHost: api\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
const HUNDRED: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

fn answering(point: RequestPoint, continues: Continue) -> Served {
    let answer = Answer {
        status: Some(200),
        body_bytes: 0,
        body_sha256: None,
        whole: true,
        events: scripted_servers::wire::SentEvents::default(),
    };
    let first = Step::new(WireProgram {
        steps: vec![
            WireStep::ReadUntil(point),
            WireStep::Send(bytes(OK)),
            WireStep::AwaitAcknowledged,
            WireStep::Fired("answered"),
        ],
        answer: Some(answer),
        continues,
        ..WireProgram::default()
    });
    serve_steps(vec![first, Step::answer(200, "next")])
}

/// Ends the cell once the fault is told of, one way or the other.
fn end(served: Served) -> Happened {
    served.wait_for("word of the fault", |what| {
        matches!(what, What::Fired { .. } | What::Unproven { .. })
    });
    served.end()
}

fn unproven(happened: &Happened) -> bool {
    happened.any(|what| matches!(what, What::Unproven { .. }))
}

#[test]
fn a_server_that_wants_the_content_says_so_and_the_answer_is_not_taken_for_it() {
    let served = answering(RequestPoint::Request, Continue::Sent);
    let mut client = served.send(HEAD);
    assert_eq!(read_exactly(&mut client, HUNDRED.len()), HUNDRED);
    let early = |what: &What| matches!(what, What::Answering { .. } | What::Answered { .. });
    assert!(
        !served
            .record
            .events()
            .iter()
            .any(|event| early(&event.what))
    );
    client.write_all(b"abcde").unwrap();
    assert_eq!(read_exactly(&mut client, OK.len()), OK);
    let happened = served.end();
    let told = OK.len() as u64;
    assert!(happened.any(|what| matches!(what, What::Answered { bytes, .. } if *bytes == told)));
    assert!(happened.any(|what| matches!(what, What::Continued { .. })));
    assert_eq!(happened.counts.delivered, 1);
}

#[test]
fn content_that_has_come_already_changes_nothing() {
    let served = answering(RequestPoint::Request, Continue::Sent);
    let mut client = served.send(format!("{HEAD}abcde"));
    let all = [HUNDRED, OK].concat();
    assert_eq!(read_exactly(&mut client, all.len()), all);
}

#[test]
fn no_100_goes_to_http_1_0_nor_without_content_nor_before_an_answer_that_reads_none() {
    let none = |request: &str, point| {
        let served = answering(point, Continue::Sent);
        let mut client = served.send(request);
        assert_eq!(read_exactly(&mut client, OK.len()), OK, "{request}");
        let happened = served.end();
        assert!(!happened.any(|what| matches!(what, What::Continued { .. })));
    };
    let old = HEAD.replace("HTTP/1.1", "HTTP/1.0");
    none(&format!("{old}abcde"), RequestPoint::Request);
    none(&HEAD.replace(": 5", ": 0"), RequestPoint::Request);
    none(HEAD, RequestPoint::Head(Position::All));
}

#[test]
fn a_client_that_goes_on_without_a_100_is_served_and_the_fault_has_fired() {
    let served = answering(RequestPoint::Request, Continue::Never);
    let mut client = served.send(HEAD);
    served.wait_for("the head", |what| matches!(what, What::Head { .. }));
    client.write_all(b"abcde").unwrap();
    assert_eq!(read_exactly(&mut client, OK.len()), OK);
    assert_eq!(end(served).fired(), ["answered"]);
}

#[test]
fn a_client_that_waits_for_ever_has_met_the_fault_when_it_leaves() {
    for continues in [Continue::Never, Continue::After(Duration::from_secs(600))] {
        let served = answering(RequestPoint::Request, continues);
        let client = served.send(HEAD);
        served.wait_for("the head", |what| matches!(what, What::Head { .. }));
        let_pass(Duration::from_millis(50));
        drop(client);
        served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
        let happened = end(served);
        let fired = happened.fired();
        assert_eq!(fired.len(), 1, "{fired:?}");
        assert!(fired[0].contains("100 (Continue)"), "{fired:?}");
        assert_eq!(happened.counts.delivered, 0);
        assert!(happened.any(|what| matches!(what, What::Closed { sent: 0, .. })));
    }
}

#[test]
fn a_late_100_comes_late_and_is_one_only_for_a_client_that_waits() {
    let late = Continue::After(Duration::from_millis(80));
    let served = answering(RequestPoint::Request, late);
    let began = RealClock::start();
    let mut client = served.send(HEAD);
    assert_eq!(read_exactly(&mut client, HUNDRED.len()), HUNDRED);
    assert!(began.now() >= Duration::from_millis(80));
    client.write_all(b"abcde").unwrap();
    assert_eq!(read_exactly(&mut client, OK.len()), OK);
    let happened = end(served);
    assert_eq!(happened.fired(), ["answered"]);

    let served = answering(RequestPoint::Request, late);
    let mut client = served.send(format!("{HEAD}abcde"));
    assert_eq!(read_exactly(&mut client, OK.len()), OK);
    let happened = end(served);
    assert!(happened.fired().is_empty() && unproven(&happened));
}

#[test]
fn nothing_is_proved_by_a_request_that_expects_nothing() {
    let served = answering(RequestPoint::Request, Continue::Never);
    let mut client = served.send(POST);
    assert_eq!(read_exactly(&mut client, OK.len()), OK);
    let happened = end(served);
    assert!(happened.fired().is_empty() && unproven(&happened));
}
