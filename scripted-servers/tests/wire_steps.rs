//! Every wire step, byte by byte, with a plain socket: what came, when, and how
//! it ended.

mod support;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, SystemTime};

use scripted_servers::clock::RealClock;
use scripted_servers::event::{Ending, Taken, What};
use scripted_servers::script::Step;
use scripted_servers::wire::{
    Answer, Effect, End, IdleEnd, KeySource, Position, RequestPoint, WireProgram, WireStep,
};
use support::*;

const READ: WireStep = WireStep::ReadUntil(RequestPoint::Request);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn send(text: &str) -> WireStep {
    WireStep::Send(bytes(text.as_bytes()))
}

#[test]
fn bytes_are_sent_as_they_stand_and_the_connection_is_kept() {
    let served = serve_wire(vec![
        READ,
        send("HTTP/1.1 200 OK\r\n"),
        send("X: \0\r\n\r\n"),
    ]);
    let mut client = served.send(GET);
    assert_eq!(
        read_exactly(&mut client, 25),
        b"HTTP/1.1 200 OK\r\nX: \0\r\n\r\n"
    );
    client.write_all(POST.as_bytes()).unwrap();
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    drop(client);
    let happened = served.end();
    assert_eq!(happened.counts.connected, 1);
    assert_eq!(happened.counts.delivered, 2);
    assert!(happened.any(|what| matches!(what, What::Started { reused: true, .. })));
    assert!(happened.any(|what| matches!(
        what,
        What::PeerEnded {
            how: Ending::Fin,
            ..
        }
    )));
    let sent = 25 + NEXT.len() as u64;
    let received = (GET.len() + POST.len()) as u64;
    let (at_least, at_most) = (sent, sent);
    let taken = Some(Taken { at_least, at_most });
    assert!(happened.any(|what| *what
        == What::Closed {
            received,
            sent,
            taken
        }));
}

#[test]
fn an_answer_is_told_with_its_first_and_its_last_byte() {
    let answer = Answer {
        status: Some(200),
        body_bytes: 4,
        body_sha256: None,
        whole: true,
    };
    let steps = vec![
        READ,
        send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"),
        send("body"),
    ];
    let program = WireProgram {
        steps,
        answer: Some(answer.clone()),
        ..WireProgram::default()
    };
    let served = serve_steps(vec![Step::new(program)]);
    let mut client = served.send(GET);
    read_exactly(&mut client, 42);
    let happened = served.end();
    let told: Vec<&What> = happened
        .events
        .iter()
        .map(|event| &event.what)
        .filter(|what| matches!(what, What::Answering { .. } | What::Answered { .. }))
        .collect();
    assert_eq!(told.len(), 2);
    assert_eq!(*told[0], What::Answering { answer });
    assert!(matches!(told[1], What::Answered { bytes: 42, handed_us } if *handed_us > 0));
}

#[test]
fn a_date_is_that_of_the_moment_it_is_sent() {
    let served = serve_wire(vec![
        READ,
        WireStep::SendDated {
            before: bytes(b"Retry-After: "),
            date_in: Duration::from_secs(60),
            after: bytes(b"\r\n"),
        },
    ]);
    let before = SystemTime::now();
    let mut client = served.send(GET);
    let line = String::from_utf8(read_exactly(&mut client, 13 + 29 + 2)).unwrap();
    let date = httpdate::parse_http_date(line[13..].trim()).unwrap();
    let ahead = date.duration_since(before).unwrap();
    assert!(ahead >= Duration::from_secs(60), "{ahead:?}");
    assert!(ahead < Duration::from_secs(61) + PATIENCE, "{ahead:?}");
}

#[test]
fn a_drip_comes_whole_and_never_faster_than_stated() {
    let text: Vec<u8> = (0..41).collect();
    let served = serve_wire(vec![
        READ,
        WireStep::Drip {
            bytes: bytes(&text),
            size: 4,
            every: millis(10),
        },
    ]);
    let began = RealClock::start();
    let mut client = served.send(GET);
    let first = read_exactly(&mut client, 1);
    let rest = read_exactly(&mut client, 40);
    assert!(began.now() >= millis(100), "{:?}", began.now());
    assert_eq!([first, rest].concat(), text);
}

#[test]
fn an_endless_part_goes_on_until_the_client_leaves_and_has_then_fired() {
    for every in [None, Some((3, millis(3)))] {
        let served = serve_wire(vec![
            READ,
            send("head"),
            WireStep::Endless {
                unit: bytes(b"no "),
                every,
            },
            WireStep::Fired("endless"),
        ]);
        let mut client = served.send(GET);
        let got = read_exactly(&mut client, 304);
        assert_eq!(&got[..4], b"head");
        assert_eq!(got[4..], *b"no ".repeat(100));
        drop(client);
        served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
        let happened = served.end();
        assert_eq!(happened.fired(), ["endless: its endless part began"]);
        assert!(happened.any(|what| matches!(what, What::Answered { bytes, .. } if *bytes >= 304)));
    }
}

#[test]
fn an_endless_part_that_nobody_reads_is_held_back_and_ends_with_the_cell() {
    let served = serve_wire(vec![
        READ,
        WireStep::Endless {
            unit: bytes(&[b'x'; 1000]),
            every: None,
        },
        WireStep::Fired("endless"),
    ]);
    let client = served.send(GET);
    served.wait_for("the answer", |what| matches!(what, What::Fired { .. }));
    let happened = served.end();
    assert_eq!(happened.fired().len(), 1);
    drop(client);
}

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
fn an_answer_to_head_has_no_content_and_nothing_happens_inside_that() {
    const HEAD: &[u8] = b"HEAD / HTTP/1.1\r\nHost: api\r\n\r\n";
    const INTERIM: &str = "HTTP/1.1 103 Early Hints\r\n\r\n";
    const START: &str = "HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\n";
    let whole = |whole| Answer {
        status: Some(503),
        body_bytes: 5,
        body_sha256: None,
        whole,
    };
    let drip = WireStep::Drip {
        bytes: bytes(b"hello"),
        size: 1,
        every: millis(3),
    };
    let end = [WireStep::Fired("fault"), WireStep::End(End::Reset)];
    let all = send(&[INTERIM, START, "hello"].concat());
    let cut = send(&[INTERIM, START, "he"].concat());
    let start = send(&[INTERIM, START].concat());
    let fired = || WireStep::Fired("fault");
    let programs = [
        (true, vec![all, WireStep::AwaitAcknowledged, fired()], 1),
        (false, [&[cut][..], &end].concat(), 0),
        (true, vec![start.clone(), drip, fired()], 0),
        (
            true,
            vec![start, WireStep::Wait(millis(3)), send("hello"), fired()],
            0,
        ),
    ];
    for (is_whole, steps, proofs) in programs {
        let first = Step::new(WireProgram {
            steps: [vec![READ], steps.clone()].concat(),
            answer: Some(whole(is_whole)),
            ..WireProgram::default()
        });
        let served = serve_steps(vec![first, Step::answer(200, "next")]);
        let mut client = served.send(HEAD);
        // The very next bytes are those of the next answer.
        client.write_all(GET.as_bytes()).unwrap();
        let expected = [INTERIM, START, NEXT].concat();
        let got = read_exactly(&mut client, expected.len());
        assert_eq!(String::from_utf8_lossy(&got), expected, "{steps:?}");
        let happened = served.end();
        assert_eq!(happened.fired().len(), proofs, "{steps:?}");
        assert!(happened.any(|what| matches!(
            what,
            What::Answering { answer } if answer.whole && answer.body_bytes == 0
        )));
    }
}

#[test]
fn a_program_that_is_sent_as_it_stands_is_so_to_head_as_well() {
    const ALL: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let content = Answer {
        status: Some(200),
        body_bytes: 5,
        body_sha256: None,
        whole: true,
    };
    for (verbatim, sent, proofs) in [(true, ALL, 1), (false, &ALL[..ALL.len() - 5], 0)] {
        let first = Step::new(WireProgram {
            steps: vec![
                READ,
                send(&ALL[..ALL.len() - 2]),
                WireStep::Wait(millis(3)),
                send("lo"),
                WireStep::AwaitAcknowledged,
                WireStep::Fired("sent"),
            ],
            answer: Some(content.clone()),
            verbatim,
            ..WireProgram::default()
        });
        let served = serve_steps(vec![first, Step::answer(200, "next")]);
        let mut client = served.send("HEAD / HTTP/1.1\r\nHost: api\r\n\r\n");
        client.write_all(GET.as_bytes()).unwrap();
        let expected = [sent, NEXT].concat();
        let got = read_exactly(&mut client, expected.len());
        assert_eq!(String::from_utf8_lossy(&got), expected);
        let happened = served.end();
        assert_eq!(happened.fired().len(), proofs);
        // Whatever is sent behind it, the answer to HEAD has no content.
        assert!(happened.any(|what| matches!(
            what,
            What::Answering { answer } if answer.whole && answer.body_bytes == 0
        )));
    }
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

fn ended_as(ended: &Ended) -> Ended {
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

#[test]
fn acknowledged_bytes_prove_an_answer() {
    let served = serve_wire(vec![
        READ,
        send("answer"),
        WireStep::AwaitAcknowledged,
        WireStep::Fired("answered"),
    ]);
    let mut client = served.send(GET);
    read_exactly(&mut client, 6);
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    client.write_all(GET.as_bytes()).unwrap();
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    assert_eq!(served.end().fired(), ["answered"]);
}

#[test]
fn an_answer_that_the_client_never_got_is_not_proved() {
    let served = serve_wire(vec![
        READ,
        WireStep::Send(bytes(&vec![b'x'; 64 * 1024 * 1024])),
        WireStep::AwaitAcknowledged,
        WireStep::Fired("answered"),
    ]);
    let mut client = served.send(GET);
    read_exactly(&mut client, 1000);
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert!(happened.fired().is_empty());
    assert!(happened.any(|what| matches!(
        what,
        What::PeerEnded {
            how: Ending::Reset,
            ..
        }
    )));
}

#[test]
fn an_answer_may_begin_before_the_request_is_complete() {
    let served = serve_wire(vec![
        WireStep::ReadUntil(RequestPoint::Head(Position::All)),
        send("HTTP/1.1 417 \r\nContent-Length: 0\r\n\r\n"),
    ]);
    let (head, body) = POST.split_at(POST.len() - 5);
    let mut client = served.send(head);
    read_exactly(&mut client, 36);
    assert!(served.record.ledger().server("api").delivered == 0);
    client.write_all(body.as_bytes()).unwrap();
    client.write_all(GET.as_bytes()).unwrap();
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    assert_eq!(served.end().counts.delivered, 2);
}

#[test]
fn effects_are_told_with_the_key_they_name() {
    let effect = |name: &str, key| {
        WireStep::Effect(Effect {
            name: name.into(),
            key,
        })
    };
    let served = serve_wire(vec![
        READ,
        effect("header", Some(KeySource::Header("idempotency-key".into()))),
        effect("text", Some(KeySource::Json("/a/0".into()))),
        effect("number", Some(KeySource::Json("/b".into()))),
        effect("missing", Some(KeySource::Json("/c".into()))),
        effect("path", Some(KeySource::PathLast)),
        effect("none", None),
        send("done"),
    ]);
    let mut client = served.send(
        "POST /orders/77/?q=/x HTTP/1.1\r\nIdempotency-Key: k1\r\nContent-Length: 18\r\n\r\n{\"a\":[\"x\"],\"b\":12}",
    );
    read_exactly(&mut client, 4);
    let happened = served.end();
    let keys: Vec<(String, Option<String>)> = happened.counts.effects.into_keys().collect();
    let expected = [
        ("header", Some("k1")),
        ("missing", None),
        ("none", None),
        ("number", Some("12")),
        ("path", Some("77")),
        ("text", Some("x")),
    ];
    let expected: Vec<_> = expected
        .map(|(name, key)| (name.to_owned(), key.map(str::to_owned)))
        .into();
    assert_eq!(keys, expected);
}

#[test]
fn an_effect_behind_a_point_that_is_not_reached_is_not_told() {
    let served = serve_wire(vec![
        READ,
        WireStep::Effect(Effect {
            name: "order".into(),
            key: None,
        }),
        send("x"),
    ]);
    let client = served.send(&POST[..POST.len() - 1]);
    served.wait_for("the head", |what| matches!(what, What::Head { .. }));
    drop(client);
    let happened = served.end();
    assert_eq!(happened.counts.effects_named("order"), 0);
    assert_eq!((happened.counts.head, happened.counts.delivered), (1, 0));
}

/// What is known to be taken of the first connection.
fn taken(happened: &Happened) -> Option<Taken> {
    happened.events.iter().find_map(|event| match &event.what {
        What::Closed { taken, .. } => *taken,
        _ => None,
    })
}

#[test]
fn what_a_client_has_read_is_known_to_the_byte_when_it_leaves_nothing_unread() {
    for (end, ends) in [(None, 0), (Some(End::Close), 1), (Some(End::Reset), 1)] {
        let steps = [READ, send("answer"), WireStep::AwaitAcknowledged];
        let steps = steps.into_iter().chain([WireStep::Fired("answered")]);
        let served = serve_wire(steps.chain(end.map(WireStep::End)).collect());
        let mut client = served.send(GET);
        assert_eq!(read_exactly(&mut client, 6), b"answer");
        served.wait_for("its end", |what| {
            ends == 0 || matches!(what, What::Ended { .. })
        });
        drop(client);
        served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
        let exact = Taken {
            at_least: 6,
            at_most: 6,
        };
        assert_eq!(taken(&served.end()), Some(exact), "{end:?}");
    }
}

#[test]
fn what_a_client_leaves_unread_when_it_resets_is_between_bounds() {
    let served = serve_wire(vec![READ, send("12345"), WireStep::AwaitAcknowledged]);
    let mut client = served.send(GET);
    assert_eq!(read_exactly(&mut client, 2), b"12");
    client.peek(&mut [0; 3]).unwrap();
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let Taken { at_least, at_most } = taken(&served.end()).unwrap();
    assert!(at_least <= 2 && at_most == 5, "{at_least} to {at_most}");
}

#[test]
fn of_an_endless_answer_at_least_what_was_read_at_some_look_is_known_to_be_taken() {
    let every = Some((200, millis(5)));
    let unit = bytes(b"0123456789");
    let served = serve_wire(vec![
        READ,
        WireStep::Fired("endless"),
        WireStep::Endless { unit, every },
    ]);
    let mut client = served.send(GET);
    let read = read_exactly(&mut client, 20_000).len() as u64;
    // The server looks before it sends, so one more piece makes it look.
    client.peek(&mut [0; 1]).unwrap();
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let Taken { at_least, at_most } = taken(&served.end()).unwrap();
    assert!(at_least + 6000 >= read, "{at_least} of {read}");
    assert!(at_most >= read, "{at_most} of {read}");
}
