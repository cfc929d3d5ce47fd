//! Sending, byte by byte: whole, dated, in drips, without end, and to HEAD.

use std::io::Write;
use std::time::{Duration, SystemTime};

use scripted_servers::clock::RealClock;
use scripted_servers::event::{Ending, Taken, What};
use scripted_servers::script::Step;
use scripted_servers::wire::{Answer, End, Position, RequestPoint, WireProgram, WireStep};

use crate::support::*;
use crate::{READ, millis, send};

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
        events: scripted_servers::wire::SentEvents::default(),
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
fn an_answer_to_head_has_no_content_and_nothing_happens_inside_that() {
    const HEAD: &[u8] = b"HEAD / HTTP/1.1\r\nHost: api\r\n\r\n";
    const INTERIM: &str = "HTTP/1.1 103 Early Hints\r\n\r\n";
    const START: &str = "HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\n";
    let whole = |whole| Answer {
        status: Some(503),
        body_bytes: 5,
        body_sha256: None,
        whole,
        events: scripted_servers::wire::SentEvents::default(),
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
        events: scripted_servers::wire::SentEvents::default(),
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
