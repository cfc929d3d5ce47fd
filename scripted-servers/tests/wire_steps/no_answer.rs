//! Bytes that are no answer, or not all of one, and what comes behind them.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use scripted_servers::event::What;
use scripted_servers::wire::{IdleEnd, WireStep};

use crate::support::*;
use crate::{READ, millis, send};

/// No status line, as of HTTP/0.9.
const BARE: &str = "<html>hello</html>";

fn then_close(sends: &str) -> Vec<WireStep> {
    vec![
        READ,
        send(sends),
        WireStep::AwaitAcknowledged,
        WireStep::Fired("closed"),
        WireStep::EndWhenIdle(Duration::ZERO, IdleEnd::Close),
    ]
}

#[test]
fn an_answer_without_a_status_line_ends_with_the_fin_that_comes_with_it() {
    for _ in 0..50 {
        let served = serve_wire(then_close(BARE));
        let mut client = served.send(GET);
        // It acts as soon as it has the bytes; by then the end must be there.
        assert_eq!(read_exactly(&mut client, BARE.len()), BARE.as_bytes());
        drop(client);
        served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
        let happened = served.end();
        assert_eq!(happened.fired(), ["closed: FIN acknowledged"]);
        assert_eq!(happened.counts.delivered, 1);
    }
}

#[test]
fn a_next_request_that_came_with_the_first_gets_its_answer_and_no_fin_comes() {
    let served = serve_wire(then_close("first"));
    let mut client = served.send([GET, GET].concat());
    let both = ["first", NEXT].concat();
    assert_eq!(read_exactly(&mut client, both.len()), both.as_bytes());
    client.write_all(GET.as_bytes()).unwrap();
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    let happened = served.end();
    assert!(happened.fired().is_empty());
    assert_eq!(happened.counts.delivered, 3);
}

#[test]
fn a_part_of_an_answer_leaves_its_client_waiting_on_an_open_connection() {
    for part in [
        "HTTP/1.1 200 OK\r\nContent-Len",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
    ] {
        let served = serve_wire(vec![
            READ,
            send(part),
            WireStep::AwaitAcknowledged,
            WireStep::Fired("all its bytes"),
        ]);
        let mut client = served.send(GET);
        assert_eq!(read_exactly(&mut client, part.len()), part.as_bytes());
        served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
        client.set_read_timeout(Some(millis(60))).unwrap();
        let waits = client.read(&mut [0; 1]).unwrap_err();
        assert!(matches!(
            waits.kind(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut
        ));
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(GET.as_bytes()).unwrap();
        assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
        drop(client);
        let happened = served.end();
        assert_eq!(happened.fired(), ["all its bytes"]);
        assert!(!happened.any(|what| matches!(what, What::Ended { .. })));
    }
}
