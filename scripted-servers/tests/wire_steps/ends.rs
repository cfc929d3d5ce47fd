//! Ends of a connection: RST, FIN, hanging.

use std::io::{Read, Write};

use scripted_servers::event::{Ending, What};
use scripted_servers::script::Step;
use scripted_servers::wire::{End, Position, RequestPoint, WireStep};

use crate::support::*;
use crate::{READ, millis, send};

#[test]
fn a_reset_after_the_request_sends_nothing_and_the_request_is_delivered() {
    let served = serve_wire(vec![
        READ,
        WireStep::Fired("reset"),
        WireStep::End(End::Reset),
    ]);
    let mut client = served.send(POST);
    assert_eq!(read_to_end(&mut client), (vec![], Ended::Reset));
    let happened = served.end();
    assert_eq!(happened.counts.delivered, 1);
    assert_eq!(
        happened.fired(),
        ["reset: RST sent, all that was sent before it taken"]
    );
    assert!(happened.any(|what| *what == What::Ended { how: Ending::Reset }));
    assert!(!happened.any(|what| matches!(what, What::PeerEnded { .. })));
}

#[test]
fn a_small_request_is_delivered_wherever_in_it_the_cut_lies() {
    let points = [
        RequestPoint::Head(Position::Bytes(1)),
        RequestPoint::Head(Position::Half),
        RequestPoint::Head(Position::Last),
        RequestPoint::Head(Position::All),
        RequestPoint::Body(Position::Bytes(0)),
        RequestPoint::Body(Position::Bytes(1)),
        RequestPoint::Body(Position::Last),
    ];
    for (end, ended) in [(End::Reset, Ended::Reset), (End::Close, Ended::Fin)] {
        for point in points {
            let cut = Step {
                inside_head: matches!(point, RequestPoint::Head(_)),
                ..program(vec![
                    WireStep::ReadUntil(point),
                    WireStep::Fired("cut"),
                    WireStep::End(end),
                ])
            };
            let served = serve_steps(vec![cut]);
            let mut client = served.connect();
            // In three writes, so that the point can be reached before the rest
            // has been sent.
            let (start, rest) = POST.as_bytes().split_at(3);
            let (head, body) = rest.split_at(rest.len() - 5);
            for piece in [start, head, body] {
                client.write_all(piece).unwrap();
            }
            assert_eq!(
                read_to_end(&mut client),
                (vec![], ended_as(&ended)),
                "{point:?}"
            );
            drop(client);
            let happened = served.end();
            assert_eq!(happened.counts.delivered, 1, "{point:?} {end:?}");
            assert_eq!(happened.counts.started, 1, "{point:?} {end:?}");
            assert_eq!(happened.fired().len(), 1, "{point:?} {end:?}");
        }
    }
}

pub(crate) fn ended_as(ended: &Ended) -> Ended {
    match ended {
        Ended::Fin => Ended::Fin,
        Ended::Reset => Ended::Reset,
    }
}

#[test]
fn a_large_upload_that_is_cut_is_not_delivered() {
    for end in [End::Reset, End::Close] {
        for position in [Position::Bytes(0), Position::Bytes(65536), Position::Half] {
            let served = serve_wire(vec![
                WireStep::ReadUntil(RequestPoint::Body(position)),
                WireStep::Fired("cut"),
                WireStep::End(end),
            ]);
            let mut client = served.connect();
            let size = 8 * 1024 * 1024;
            let head = format!("PUT /f HTTP/1.1\r\nContent-Length: {size}\r\n\r\n");
            client.write_all(head.as_bytes()).unwrap();
            // The client's own kernel may take all that is left to send.
            let _ = client.write_all(&vec![7; size]);
            served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
            drop(client);
            let happened = served.end();
            assert_eq!(happened.counts.head, 1);
            assert_eq!(happened.counts.delivered, 0, "{end:?} {position:?}");
            assert_eq!(happened.counts.drained, 0, "{end:?} {position:?}");
            assert_eq!(happened.fired().len(), 1, "{end:?} {position:?}");
        }
    }
}

#[test]
fn a_reset_after_response_bytes_keeps_all_of_them() {
    for size in [1, 100, 2_000_000] {
        let body: Vec<u8> = (0..size).map(|place: u32| place as u8).collect();
        let served = serve_wire(vec![
            READ,
            WireStep::Send(bytes(&body)),
            WireStep::AwaitTaken,
            WireStep::Fired("reset mid-body"),
            WireStep::End(End::Reset),
        ]);
        let mut client = served.send(GET);
        let (got, ended) = read_to_end(&mut client);
        assert_eq!(got.len(), body.len());
        assert_eq!(got, body);
        assert_eq!(ended, Ended::Reset);
        let happened = served.end();
        assert_eq!(happened.counts.delivered, 1);
        assert_eq!(happened.fired().len(), 1);
        assert!(
            happened.any(
                |what| matches!(what, What::Answered { bytes, .. } if *bytes == u64::from(size))
            )
        );
    }
}

#[test]
fn a_reset_waits_until_the_client_has_read_what_was_sent_before() {
    let served = serve_wire(vec![
        READ,
        send("bytes"),
        WireStep::Fired("reset"),
        WireStep::End(End::Reset),
    ]);
    let mut client = served.send(GET);
    client.peek(&mut [0; 5]).unwrap();
    served.wait_for("the answer", |what| matches!(what, What::Answered { .. }));
    let_pass(millis(60));
    assert!(
        !served
            .record
            .events()
            .iter()
            .any(|event| matches!(event.what, What::Ended { .. }))
    );
    assert_eq!(read_to_end(&mut client), (b"bytes".to_vec(), Ended::Reset));
    assert_eq!(served.end().fired().len(), 1);
}

#[test]
fn a_close_ends_in_fin_and_is_proved_by_its_acknowledgement() {
    let served = serve_wire(vec![
        READ,
        send("to the end"),
        WireStep::Fired("close"),
        WireStep::End(End::Close),
    ]);
    let mut client = served.send(POST);
    assert_eq!(
        read_to_end(&mut client),
        (b"to the end".to_vec(), Ended::Fin)
    );
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert_eq!(happened.fired(), ["close: FIN acknowledged"]);
    assert!(happened.any(|what| *what == What::Ended { how: Ending::Fin }));
    assert!(happened.any(|what| matches!(
        what,
        What::PeerEnded {
            how: Ending::Fin,
            ..
        }
    )));
    assert_eq!(happened.counts.delivered, 1);
}

#[test]
fn no_client_is_fast_enough_to_come_between_the_last_bytes_and_the_fin() {
    for round in 0..100 {
        let served = serve_wire(vec![
            READ,
            send("HTTP/1.1 502 Bad Gateway\r\n\r\n"),
            send("no, and that is all"),
            WireStep::AwaitAcknowledged,
            WireStep::Fired("close"),
            WireStep::End(End::Close),
        ]);
        let mut client = served.send(GET);
        read_exactly(&mut client, "HTTP/1.1 502 Bad Gateway\r\n\r\nno, and".len());
        client.set_nonblocking(true).unwrap();
        let mut rest = Vec::new();
        // Would block, if the FIN were not there with the last bytes.
        client.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b" that is all", "round {round}");
        drop(client);
        assert_eq!(served.end().fired(), ["close: FIN acknowledged"]);
    }
}

#[test]
fn what_comes_after_a_close_is_counted_takes_no_step_and_is_answered_by_rst() {
    let served = serve_wire(vec![READ, send("x"), WireStep::End(End::Close)]);
    let mut client = served.send(GET);
    assert_eq!(read_to_end(&mut client), (b"x".to_vec(), Ended::Fin));
    client.write_all(POST.as_bytes()).unwrap();
    client.write_all(&GET.as_bytes()[..10]).unwrap();
    served.wait_for("the reset", |what| {
        *what == What::Ended { how: Ending::Reset }
    });
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let mut other = served.send(GET);
    assert_eq!(read_exactly(&mut other, NEXT.len()), NEXT.as_bytes());
    let happened = served.end();
    assert_eq!(happened.counts.started, 4);
    assert_eq!(happened.counts.delivered, 3);
    let taken = happened
        .events
        .iter()
        .filter(|event| event.what.step().is_some());
    assert_eq!(taken.count(), 2);
}

#[test]
fn a_hang_neither_reads_nor_writes_and_has_fired_from_its_beginning() {
    let served = serve_wire(vec![
        READ,
        WireStep::Fired("hang"),
        WireStep::End(End::Hang),
    ]);
    let mut client = served.send(POST);
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    client.set_read_timeout(Some(millis(50))).unwrap();
    let nothing = std::io::Read::read(&mut client, &mut [0; 1]).unwrap_err();
    assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert_eq!(
        happened.fired(),
        ["hang: left hanging, the connection open"]
    );
    assert_eq!(happened.counts.delivered, 1);
}

#[test]
fn a_request_that_comes_while_a_connection_hangs_is_delivered() {
    let served = serve_wire(vec![
        READ,
        WireStep::Fired("hang"),
        WireStep::End(End::Hang),
    ]);
    let mut client = served.send(POST);
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    client.write_all(POST.as_bytes()).unwrap();
    let sent_at = served.clock.now().as_micros() as u64;
    let_pass(millis(60));
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert_eq!(happened.counts.delivered, 2);
    let arrived = happened.delivered_at()[1];
    assert!(arrived <= sent_at + 10_000, "{arrived} after {sent_at}");
}

/// As clients do that give a connection up as soon as it is half of one.
#[test]
fn a_fin_that_is_answered_by_a_reset_was_sent() {
    for _ in 0..20 {
        let served = serve_wire(vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Fired("closed"),
            WireStep::End(End::Close),
        ]);
        let mut client = served.send(POST);
        // The kernel acknowledges a FIN late, where it has nothing else to say.
        assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
        socket2::SockRef::from(&client)
            .set_linger(Some(millis(0)))
            .unwrap();
        drop(client);
        served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
        let fired = served.end().fired();
        let proofs = [
            "closed: FIN sent, and answered by RST",
            "closed: FIN acknowledged",
        ];
        assert!(
            fired.len() == 1 && proofs.contains(&fired[0].as_str()),
            "{fired:?}"
        );
    }
}
