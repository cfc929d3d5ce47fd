//! Content that is read slowly.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use scripted_servers::clock::RealClock;
use scripted_servers::event::What;
use scripted_servers::wire::{Position, RequestPoint, WireStep};

use crate::support::*;
use crate::{millis, send};

/// More than the sockets of both ends hold.
const LARGE: usize = 24 << 20;

fn slowly(point: RequestPoint, bytes: usize, every: Duration) -> Vec<WireStep> {
    vec![
        WireStep::ReadSlowly {
            point,
            bytes,
            every,
        },
        send("read"),
        WireStep::Fired("slow"),
    ]
}

fn upload(length: usize) -> Vec<u8> {
    let mut upload = format!("PUT /x HTTP/1.1\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    upload.resize(upload.len() + length, b'x');
    upload
}

#[test]
fn content_is_taken_piece_by_piece_with_the_stated_time_between() {
    let served = serve_wire(slowly(RequestPoint::Request, 1000, millis(10)));
    let began = RealClock::start();
    let mut client = served.send(upload(5000));
    assert_eq!(read_exactly(&mut client, 4), b"read");
    assert!(began.now() >= millis(40), "{:?}", began.now());
    client.write_all(GET.as_bytes()).unwrap();
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    let happened = served.end();
    assert_eq!(happened.fired(), ["slow"]);
    assert_eq!(happened.counts.delivered, 2);
    assert!(happened.any(|what| matches!(
        what,
        What::Delivered {
            body_bytes: 5000,
            ..
        }
    )));
}

#[test]
fn chunked_content_is_read_slowly_as_well() {
    let served = serve_wire(slowly(RequestPoint::Request, 8, millis(10)));
    let chunked = "PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = "5\r\nabcde\r\n".repeat(3);
    let mut client = served.send(format!("{chunked}{chunks}0\r\n\r\n"));
    assert_eq!(read_exactly(&mut client, 4), b"read");
    let happened = served.end();
    assert_eq!(happened.fired(), ["slow"]);
    assert!(happened.any(|what| matches!(what, What::Delivered { body_bytes: 15, .. })));
}

#[test]
fn content_that_ends_with_its_first_piece_proves_nothing_and_says_so() {
    for length in [0, 5] {
        let served = serve_wire(slowly(RequestPoint::Request, 5, millis(10)));
        let mut client = served.send(upload(length));
        assert_eq!(read_exactly(&mut client, 4), b"read");
        let happened = served.end();
        assert!(happened.fired().is_empty());
        assert!(happened.any(|what| matches!(
            what,
            What::Unproven { reason, .. } if reason.contains("none of it was read slowly")
        )));
    }
}

#[test]
fn a_point_inside_the_content_ends_the_slow_reading() {
    let half = RequestPoint::Body(Position::Half);
    let served = serve_wire(slowly(half, 100, millis(5)));
    let upload = upload(1000);
    let (first, rest) = upload.split_at(upload.len() - 500);
    let mut client = served.send(first);
    assert_eq!(read_exactly(&mut client, 4), b"read");
    assert_eq!(served.record.ledger().server("api").delivered, 0);
    client.write_all(rest).unwrap();
    served.wait_for("the rest", |what| matches!(what, What::Delivered { .. }));
    assert_eq!(served.end().fired(), ["slow"]);
}

#[test]
fn a_client_feels_that_nobody_takes_its_content() {
    let served = serve_wire(slowly(
        RequestPoint::Request,
        1000,
        Duration::from_secs(600),
    ));
    let upload = upload(LARGE);
    let mut client = served.connect();
    client.set_write_timeout(Some(millis(300))).unwrap();
    let mut sent = 0;
    let stopped = loop {
        match client.write(&upload[sent..]) {
            Ok(written) => sent += written,
            Err(error) => break error,
        }
    };
    assert!(matches!(
        stopped.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut
    ));
    assert!(sent < LARGE, "{sent}");
    drop(client);
    let happened = served.end();
    let fired = "slow: ended from outside while the server was reading slowly";
    assert_eq!(happened.fired(), [fired]);
    assert_eq!(happened.counts.delivered, 0);
}

#[test]
fn a_client_that_leaves_before_the_first_pause_has_met_nothing_slow() {
    let served = serve_wire(slowly(RequestPoint::Request, 1000, millis(5)));
    let whole = upload(1000);
    let client = served.send(&whole[..whole.len() - 10]);
    served.wait_for("the head", |what| matches!(what, What::Head { .. }));
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    assert!(served.end().fired().is_empty());
}
