//! What becomes of a connection that is idle after its answer.

use std::io::Write;
use std::time::Duration;

use scripted_servers::clock::RealClock;
use scripted_servers::event::What;
use scripted_servers::wire::{IdleEnd, WireStep};

use crate::ends::ended_as;
use crate::support::*;
use crate::{READ, millis, send};

#[test]
fn an_idle_connection_is_ended_after_its_time() {
    for (how, ended) in [(IdleEnd::Close, Ended::Fin), (IdleEnd::Reset, Ended::Reset)] {
        for time in [0, 60] {
            let served = serve_wire(vec![
                READ,
                send("answer"),
                WireStep::Fired("idle"),
                WireStep::EndWhenIdle(millis(time), how),
            ]);
            let began = RealClock::start();
            let mut client = served.send(GET);
            read_exactly(&mut client, 6);
            assert_eq!(read_to_end(&mut client), (vec![], ended_as(&ended)));
            assert!(began.now() >= millis(time), "{:?}", began.now());
            served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
            drop(client);
            let happened = served.end();
            assert_eq!(happened.fired().len(), 1);
            assert_eq!(happened.counts.delivered, 1);
        }
    }
}

#[test]
fn a_request_that_begins_before_the_idle_end_is_served_and_nothing_fired() {
    for how in [IdleEnd::Close, IdleEnd::Reset] {
        let served = serve_wire(vec![
            READ,
            send("answer"),
            WireStep::Fired("idle"),
            WireStep::EndWhenIdle(Duration::from_secs(600), how),
        ]);
        let mut client = served.send(GET);
        read_exactly(&mut client, 6);
        client.write_all(&GET.as_bytes()[..1]).unwrap();
        client.write_all(&GET.as_bytes()[1..]).unwrap();
        assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
        let happened = served.end();
        assert!(happened.fired().is_empty());
        assert_eq!(happened.counts.delivered, 2);
    }
}

#[test]
fn a_client_that_closes_an_idle_connection_first_leaves_nothing_fired() {
    let served = serve_wire(vec![
        READ,
        send("answer"),
        WireStep::Fired("idle"),
        WireStep::EndWhenIdle(Duration::from_secs(600), IdleEnd::Reset),
    ]);
    let mut client = served.send(GET);
    read_exactly(&mut client, 6);
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    assert!(served.end().fired().is_empty());
}

const UNASKED: &str = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";

/// An answer, these bytes after an idle time, and then an end or none.
fn answer_then(time: Duration, end: Option<IdleEnd>) -> Served {
    let mut steps = vec![
        READ,
        send("answer"),
        WireStep::AwaitAcknowledged,
        WireStep::SendWhenIdle(time, bytes(UNASKED.as_bytes())),
        WireStep::Fired("idle"),
    ];
    steps.extend(end.map(|how| WireStep::EndWhenIdle(Duration::ZERO, how)));
    serve_wire(steps)
}

fn is_unsolicited(what: &What) -> bool {
    matches!(what, What::Unsolicited { bytes, .. } if *bytes == UNASKED.len() as u64)
}

#[test]
fn bytes_come_on_an_idle_connection_and_it_goes_on_serving() {
    for time in [0, 60] {
        let served = answer_then(millis(time), None);
        let began = RealClock::start();
        let mut client = served.send(GET);
        assert_eq!(read_exactly(&mut client, 6), b"answer");
        let unasked = read_exactly(&mut client, UNASKED.len());
        assert_eq!(unasked, UNASKED.as_bytes());
        assert!(began.now() >= millis(time), "{:?}", began.now());
        served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
        client.write_all(GET.as_bytes()).unwrap();
        assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
        let happened = served.end();
        assert_eq!(happened.fired(), ["idle"]);
        assert!(happened.any(is_unsolicited));
        assert_eq!(happened.counts.delivered, 2);
    }
}

#[test]
fn bytes_that_an_idle_client_never_reads_are_proved_all_the_same() {
    for (end, ended) in [
        (None, None),
        (Some(IdleEnd::Close), Some(Ended::Fin)),
        (Some(IdleEnd::Reset), Some(Ended::Reset)),
    ] {
        let served = answer_then(millis(20), end);
        let mut client = served.send(GET);
        assert_eq!(read_exactly(&mut client, 6), b"answer");
        served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
        match ended {
            Some(ended) => {
                let all = (UNASKED.as_bytes().to_vec(), ended);
                assert_eq!(read_to_end(&mut client), all);
            }
            None => assert_eq!(read_exactly(&mut client, 12), &UNASKED.as_bytes()[..12]),
        }
        drop(client);
        assert_eq!(served.end().fired().len(), 1, "{end:?}");
    }
}

#[test]
fn no_client_is_fast_enough_to_come_between_unsolicited_bytes_and_the_fin() {
    for _ in 0..50 {
        let served = answer_then(Duration::ZERO, Some(IdleEnd::Close));
        let mut client = served.send(GET);
        assert_eq!(read_exactly(&mut client, 6), b"answer");
        // It acts as soon as it has them; by then the end must be there.
        read_exactly(&mut client, UNASKED.len());
        drop(client);
        served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
        let happened = served.end();
        assert_eq!(happened.fired(), ["idle: FIN acknowledged"]);
    }
}

#[test]
fn a_client_that_leaves_because_of_unsolicited_bytes_has_met_them_whoever_is_faster() {
    for end in [None, Some(IdleEnd::Reset)] {
        for _ in 0..25 {
            let served = answer_then(Duration::ZERO, end);
            let mut client = served.send(GET);
            assert_eq!(read_exactly(&mut client, 6), b"answer");
            read_exactly(&mut client, UNASKED.len());
            drop(client);
            served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
            assert_eq!(served.end().fired().len(), 1, "{end:?}");
        }
    }
}

#[test]
fn a_request_that_begins_before_the_unsolicited_bytes_is_served_and_gets_none() {
    for end in [None, Some(IdleEnd::Close), Some(IdleEnd::Reset)] {
        let served = answer_then(Duration::from_secs(600), end);
        let mut client = served.send(GET);
        read_exactly(&mut client, 6);
        served.wait_until_waiting();
        client.write_all(GET.as_bytes()).unwrap();
        assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
        let happened = served.end();
        assert!(happened.fired().is_empty());
        assert!(!happened.any(is_unsolicited));
        assert_eq!(happened.counts.delivered, 2);
    }
}

#[test]
fn unsolicited_bytes_wait_until_the_answer_is_read() {
    let served = answer_then(Duration::ZERO, None);
    let mut client = served.send(GET);
    served.wait_for("the answer", |what| matches!(what, What::Answered { .. }));
    let_pass(millis(60));
    assert!(
        !served
            .record
            .events()
            .iter()
            .any(|event| is_unsolicited(&event.what))
    );
    assert_eq!(read_exactly(&mut client, 6), b"answer");
    assert_eq!(read_exactly(&mut client, 4), b"HTTP");
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    assert_eq!(served.end().fired(), ["idle"]);
}

#[test]
fn a_client_that_leaves_an_idle_connection_first_gets_no_unsolicited_bytes() {
    let served = answer_then(Duration::from_secs(600), None);
    let mut client = served.send(GET);
    read_exactly(&mut client, 6);
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert!(happened.fired().is_empty() && !happened.any(is_unsolicited));
}
