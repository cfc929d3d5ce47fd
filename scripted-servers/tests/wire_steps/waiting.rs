//! Waiting, and the client's end meanwhile.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use scripted_servers::clock::RealClock;
use scripted_servers::event::What;
use scripted_servers::wire::{End, Position, RequestPoint, WireStep};

use crate::support::*;
use crate::{READ, millis, send};

#[test]
fn a_wait_lasts_at_least_as_long_as_stated() {
    let served = serve_wire(vec![READ, WireStep::Wait(millis(80)), send("late")]);
    let began = RealClock::start();
    let mut client = served.send(GET);
    assert_eq!(read_exactly(&mut client, 4), b"late");
    assert!(began.now() >= millis(80), "{:?}", began.now());
}

#[test]
fn a_wait_that_the_client_ends_counts_as_fired_and_nothing_is_sent() {
    let served = serve_wire(vec![
        READ,
        WireStep::Wait(Duration::from_secs(600)),
        send("never"),
        WireStep::AwaitAcknowledged,
        WireStep::Fired("late answer"),
    ]);
    let client = served.send(GET);
    served.wait_until_waiting();
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert_eq!(
        happened.fired(),
        ["late answer: ended from outside while the server was waiting"]
    );
    assert!(happened.any(|what| matches!(what, What::Closed { sent: 0, .. })));
    assert!(!happened.any(|what| matches!(what, What::Answered { .. })));
}

#[test]
fn a_wait_that_the_end_of_the_cell_cuts_off_counts_as_fired() {
    let served = serve_wire(vec![
        READ,
        WireStep::Wait(Duration::from_secs(600)),
        WireStep::Fired("reset, late"),
        WireStep::End(End::Reset),
    ]);
    let client = served.send(GET);
    served.wait_until_waiting();
    let happened = served.end();
    assert_eq!(happened.fired().len(), 1);
    drop(client);
}

#[test]
fn a_point_that_can_not_be_known_in_time_is_not_proved_and_says_so() {
    let chunked =
        |place: &str| format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{place}");
    let whole = chunked("4\r\nabcd\r\n4\r\nefgh\r\n0\r\n\r\n");
    let missed = [
        (Position::Half, whole.as_str(), "is chunked"),
        (Position::Last, &whole, "is chunked"),
        (Position::Bytes(9), &whole, "ended before the point"),
        (Position::Bytes(6), POST, "ended before the point"),
    ];
    let exact = [
        (Position::Bytes(8), whole.as_str()),
        (Position::All, &whole),
        (Position::Half, POST),
        (Position::Last, POST),
    ];
    let run = |position, request: &str| {
        let served = serve_wire(vec![
            WireStep::ReadUntil(RequestPoint::Body(position)),
            WireStep::Fired("cut"),
            WireStep::End(End::Reset),
        ]);
        let mut client = served.send(request);
        assert_eq!(read_to_end(&mut client), (vec![], Ended::Reset));
        served.end()
    };
    for (position, request, why) in missed {
        let happened = run(position, request);
        assert_eq!(happened.fired(), [""; 0], "{position:?}");
        let says =
            |what: &What| matches!(what, What::Unproven { reason, .. } if reason.contains(why));
        assert!(happened.any(says), "{position:?}");
        assert_eq!(happened.counts.delivered, 1);
    }
    for (position, request) in exact {
        assert_eq!(run(position, request).fired().len(), 1, "{position:?}");
    }
}

#[test]
fn the_end_of_a_client_is_dated_by_the_kernel_and_not_by_the_servers_turn() {
    for (turn, reset) in [(0, false), (120, false), (120, true)] {
        let served = serve_wire(vec![READ, WireStep::End(End::Hang)]);
        let client = served.send(GET);
        served.wait_for("the request", |what| matches!(what, What::Delivered { .. }));
        let_pass(millis(50));
        served.hold_up();
        let_pass(millis(10));
        if reset {
            socket2::SockRef::from(&client)
                .set_linger(Some(Duration::ZERO))
                .unwrap();
        }
        let before = served.clock.now();
        drop(client);
        let after = served.clock.now();
        let_pass(millis(turn));
        served.let_go();
        served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
        let happened = served.end();
        let arrived = happened.events.iter().find_map(|event| match &event.what {
            What::PeerEnded { arrived_us, .. } => Some(*arrived_us),
            _ => None,
        });
        let Some(Some(arrived)) = arrived else {
            assert!(reset && arrived == Some(None), "{arrived:?}");
            continue;
        };
        assert!(!reset);
        let arrived = Duration::from_micros(arrived);
        // Never too late, and too early by a few ticks of at most 10 ms.
        assert!(arrived <= after, "{arrived:?} is later than {after:?}");
        assert!(arrived + millis(30) >= before, "{arrived:?}, {before:?}");
    }
}

#[test]
fn an_end_that_the_server_sees_with_the_end_of_the_cell_is_dated_too() {
    let served = serve_steps(vec![
        program(vec![READ, WireStep::End(End::Hang)]),
        program(vec![READ, WireStep::End(End::Hang)]),
    ]);
    let client = served.send(GET);
    served.wait_for("the request", |what| matches!(what, What::Delivered { .. }));
    served.hold_up();
    // The server stands still with this one, and sees neither end before the other.
    let other = served.send(GET);
    let_pass(millis(100));
    let before = served.clock.now();
    drop((client, other));
    served.let_go_soon();
    let happened = served.end();
    let arrived = happened.events.iter().find_map(|event| match &event.what {
        What::PeerEnded { arrived_us, .. } => *arrived_us,
        _ => None,
    });
    let arrived = Duration::from_micros(arrived.expect("its end is dated"));
    assert!(arrived + millis(30) >= before, "{arrived:?}, {before:?}");
}

#[test]
fn a_wait_that_is_cut_off_because_the_client_is_stopped_has_not_fired() {
    for client_leaves_first in [true, false] {
        let served = serve_wire(vec![
            READ,
            WireStep::Wait(Duration::from_secs(600)),
            WireStep::Fired("reset, late"),
            WireStep::End(End::Reset),
        ]);
        let client = served.send(GET);
        served.wait_until_waiting();
        let happened = if client_leaves_first {
            // The server sees the killed client's FIN before it is told.
            served.stopping();
            drop(client);
            served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
            served.end()
        } else {
            served.stop()
        };
        assert_eq!(happened.counts.delivered, 1);
        assert!(happened.fired().is_empty(), "{:?}", happened.fired());
    }
}

#[test]
fn a_client_that_left_behind_bytes_that_are_not_read_is_seen_to_have_left() {
    let served = serve_wire(vec![
        WireStep::ReadUntil(RequestPoint::Head(Position::All)),
        WireStep::Wait(millis(1500)),
        WireStep::Fired("reset, late"),
        WireStep::End(End::Reset),
    ]);
    let head = "POST / HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n";
    let mut client = served.send(head);
    client.write_all(&vec![1; 3_000_000]).unwrap();
    // Its FIN waits in its kernel, behind bytes for which there is no room.
    drop(client);
    served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert!(!happened.any(|what| matches!(what, What::Ended { .. })));
    // The wait is what it ended, if it still saw the wait begin.
    let waiting = "reset, late: ended from outside while the server was waiting";
    assert!(happened.fired().iter().all(|proof| proof == waiting));
}

#[test]
fn a_client_that_only_ended_its_own_direction_is_still_served() {
    let served = serve_wire(vec![READ, WireStep::Wait(millis(60)), send("answer")]);
    let mut client = served.send(GET);
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_to_end(&mut client), (b"answer".to_vec(), Ended::Fin));
    assert_eq!(served.end().counts.delivered, 1);
}

#[test]
fn a_part_that_begins_after_the_client_left_has_not_fired() {
    let served = serve_wire(vec![
        READ,
        send("bytes"),
        WireStep::AwaitTaken,
        WireStep::Fired("hang"),
        WireStep::End(End::Hang),
    ]);
    // The client ends the connection, with the answer unread, by RST.
    let client = served.send(GET);
    client.peek(&mut [0; 5]).unwrap();
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    assert!(served.end().fired().is_empty());
}
