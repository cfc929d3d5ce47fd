//! The end of a cell: nothing that arrived is left uncounted, what only draining
//! brought in is told apart, and it never takes long.

mod support;

use std::io::Write;
use std::time::Duration;

use scripted_servers::clock::RealClock;
use scripted_servers::event::{ServerEvent, What};
use scripted_servers::script::{ConnectionAct, ServerScript, Step};
use scripted_servers::wire::{Effect, End, RequestPoint, WireStep};
use support::*;

const SOON: Duration = Duration::from_secs(5);

#[test]
fn a_post_unread_in_the_accept_queue_is_delivered_at_its_arrival_time() {
    for linger in [true, false] {
        let (armed, address, record, clock) = armed();
        let mut client = std::net::TcpStream::connect(address).unwrap();
        client.write_all(POST.as_bytes()).unwrap();
        let sent_at = clock.now();
        let_pass(Duration::from_millis(100));
        if linger {
            socket2::SockRef::from(&client)
                .set_linger(Some(Duration::ZERO))
                .unwrap();
        }
        drop(client);
        let running = armed
            .serve(vec![
                ServerScript::new("api").script(vec![Step::answer(200, "x")]),
            ])
            .unwrap();
        running.client_ended();
        running.close().unwrap();
        let happened = Happened::of(&record);
        let counts = &happened.counts;
        assert_eq!(
            (counts.connected, counts.delivered, counts.drained),
            (1, 1, 0)
        );
        let arrived = Duration::from_micros(happened.delivered_at()[0]);
        let slack = Duration::from_millis(10);
        assert!(
            arrived <= sent_at + slack,
            "{arrived:?}, sent at {sent_at:?}"
        );
        assert!(
            arrived + slack >= sent_at.saturating_sub(slack),
            "{arrived:?}, sent at {sent_at:?}"
        );
    }
}

#[test]
fn a_request_that_only_draining_completes_is_drained_and_not_delivered() {
    // The client leaves before its connection is accepted, and the server learns
    // of that before the end or with it; or it leaves a connection that hangs.
    for (accepted, noticed) in [(false, true), (false, false), (true, false)] {
        let (armed, address, record, _) = armed();
        let script = ServerScript::new("api")
            .script(vec![Step::answer(200, "x")])
            .connections(vec![ConnectionAct::Hang]);
        let upload = || {
            let mut client = std::net::TcpStream::connect(address).unwrap();
            let head = "POST / HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n";
            client.write_all(head.as_bytes()).unwrap();
            client.write_all(&vec![1; 3_000_000]).unwrap();
        };
        if !accepted {
            upload();
        }
        let running = armed.serve(vec![script]).unwrap();
        if accepted {
            upload();
        }
        while noticed && closed(&record.events()) == 0 {
            std::thread::yield_now();
        }
        running.client_ended();
        running.close().unwrap();
        let happened = Happened::of(&record);
        let counts = &happened.counts;
        assert_eq!((counts.head, counts.delivered, counts.drained), (1, 0, 1));
        assert!(happened.any(|what| matches!(
            what,
            What::Delivered {
                drained: true,
                body_bytes: 3_000_000,
                ..
            }
        )));
    }
}

#[test]
fn a_post_cut_inside_the_head_by_the_end_of_the_cell_is_delivered() {
    // The server hangs after one byte of the head; all of the small request is
    // in its kernel.
    let inside = Step {
        inside_head: true,
        ..program(vec![
            WireStep::ReadUntil(RequestPoint::Head(scripted_servers::wire::Position::Bytes(
                1,
            ))),
            WireStep::Fired("hang"),
            WireStep::End(End::Hang),
        ])
    };
    let served = serve_steps(vec![inside]);
    let mut client = served.send(&POST[..1]);
    served.wait_for("the hang", |what| matches!(what, What::Fired { .. }));
    client.write_all(&POST.as_bytes()[1..]).unwrap();
    drop(client);
    let counts = served.end().counts;
    assert_eq!((counts.started, counts.head, counts.delivered), (1, 1, 1));
}

/// The client's kernel delays the acknowledgement of a FIN while it is kept from
/// sending, and LWP ended before it came.
#[test]
fn a_fin_whose_acknowledgement_only_draining_brings_in_was_carried_out() {
    for _ in 0..10 {
        let served = serve_wire(vec![
            WireStep::ReadUntil(RequestPoint::Head(scripted_servers::wire::Position::All)),
            WireStep::Fired("fault"),
            WireStep::End(End::Close),
        ]);
        let mut client = served.connect();
        let head = "POST / HTTP/1.1\r\nContent-Length: 99000000\r\n\r\n";
        client.write_all(head.as_bytes()).unwrap();
        client.set_nonblocking(true).unwrap();
        while client.write(&[1; 65_536]).is_ok() {}
        client.set_nonblocking(false).unwrap();
        assert_eq!(std::io::Read::read(&mut client, &mut [0]).unwrap(), 0);
        drop(client);
        assert_eq!(served.end().fired(), ["fault: FIN acknowledged"]);
    }
}

#[test]
fn an_incomplete_request_is_started_and_not_delivered() {
    let served = serve_steps(vec![Step::answer(200, "x")]);
    let client = served.send(&POST[..POST.len() - 1]);
    served.wait_for("the head", |what| matches!(what, What::Head { .. }));
    drop(client);
    let counts = served.end().counts;
    assert_eq!((counts.started, counts.head, counts.delivered), (1, 1, 0));
}

fn order() -> Step {
    program(vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Effect(Effect {
            name: "order".into(),
            key: None,
        }),
        WireStep::Send(bytes(b"x")),
    ])
}

/// The times of effects, in microseconds.
fn effects_at(happened: &Happened) -> Vec<u64> {
    let at = |event: &ServerEvent| match &event.what {
        What::Effect { since_us, .. } => Some(*since_us),
        _ => None,
    };
    happened.events.iter().filter_map(at).collect()
}

#[test]
fn what_arrived_in_time_has_its_effect_whoever_gets_a_turn_first() {
    // Read by the script, left in the accept queue, or behind a first answer.
    for (turn, answers) in [("script", 0), ("queue", 0), ("second", 1)] {
        let (armed, address, record, clock) = armed();
        let script = ServerScript::new("api").script(vec![order()]);
        let mut client = std::net::TcpStream::connect(address).unwrap();
        let armed = if turn == "queue" {
            client.write_all(POST.as_bytes()).unwrap();
            let running = armed.serve(vec![script]).unwrap();
            running.client_ended_at(clock.now());
            running
        } else {
            let running = armed.serve(vec![script]).unwrap();
            for _ in 0..answers {
                client.write_all(POST.as_bytes()).unwrap();
                read_exactly(&mut client, 1);
            }
            client.write_all(POST.as_bytes()).unwrap();
            running.client_ended_at(clock.now());
            running
        };
        let ended = clock.now().as_micros() as u64;
        armed.close().unwrap();
        let happened = Happened::of(&record);
        let all = 1 + answers;
        assert_eq!(happened.counts.delivered, all, "{turn}");
        assert_eq!(happened.counts.effects_named("order"), all, "{turn}");
        let delivered_at = happened.delivered_at();
        assert_eq!(effects_at(&happened), delivered_at, "{turn}");
        assert!(delivered_at.iter().all(|at| *at <= ended), "{turn}");
        drop(client);
    }
}

#[test]
fn what_is_served_before_the_servers_know_of_an_earlier_end_says_so_by_its_times() {
    let (armed, address, record, clock) = armed();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    let ended = clock.now();
    let_pass(Duration::from_millis(2));
    client.write_all(POST.as_bytes()).unwrap();
    let script = ServerScript::new("api").script(vec![order()]);
    let running = armed.serve(vec![script]).unwrap();
    read_exactly(&mut client, 1);
    running.client_ended_at(ended);
    running.close().unwrap();
    let happened = Happened::of(&record);
    let ended = ended.as_micros() as u64;
    for told in [happened.delivered_at(), effects_at(&happened)] {
        assert!(matches!(told[..], [at] if at > ended), "{told:?} {ended}");
    }
    drop(client);
}

#[test]
fn what_an_unserved_connection_leaves_takes_no_step() {
    let (armed, address, record, _) = armed();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    client.write_all(POST.as_bytes()).unwrap();
    let running = armed
        .serve(vec![
            ServerScript::new("api").connections(vec![ConnectionAct::Hang]),
        ])
        .unwrap();
    running.client_ended();
    running.close().unwrap();
    let happened = Happened::of(&record);
    assert_eq!(happened.counts.other, 1);
    assert!(!happened.any(|what| what.step().is_some() || matches!(what, What::Answered { .. })));
    drop(client);
}

#[test]
fn ending_is_quick_with_hundreds_of_connections_in_every_state() {
    let endless = |every| WireStep::Endless {
        unit: bytes(b"x"),
        every,
    };
    let served = serve_steps(vec![
        program(vec![WireStep::Wait(Duration::from_secs(600))]),
        program(vec![WireStep::End(End::Hang)]),
        program(vec![endless(None)]),
        program(vec![endless(Some((1, Duration::from_millis(3))))]),
        program(vec![WireStep::AwaitTaken, WireStep::End(End::Close)]),
        program(vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::End(End::Reset),
        ]),
    ]);
    let clients: Vec<_> = (0..300)
        .map(|place| {
            served.send(if place % 2 == 0 {
                POST
            } else {
                &POST[..POST.len() - 1]
            })
        })
        .collect();
    let began = RealClock::start();
    let happened = served.end();
    assert!(began.now() < SOON, "{:?}", began.now());
    assert_eq!(
        (happened.counts.connected, happened.counts.started),
        (300, 300)
    );
    assert_eq!(
        (happened.counts.head, happened.counts.delivered),
        (300, 150)
    );
    assert_eq!(closed(&happened.events), 300);
    drop(clients);
}

fn closed(events: &[ServerEvent]) -> usize {
    let is_closed = |event: &&ServerEvent| matches!(event.what, What::Closed { .. });
    events.iter().filter(is_closed).count()
}

#[test]
fn a_client_that_goes_on_sending_does_not_keep_a_cell_open() {
    let served = serve_steps(vec![program(vec![WireStep::End(End::Hang)])]);
    let mut client = served.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    served.wait_for("the head", |what| matches!(what, What::Head { .. }));
    let sender = std::thread::spawn(move || {
        let chunk = [b"8000\r\n", &[7; 0x8000][..], b"\r\n"].concat();
        while client.write_all(&chunk).is_ok() {}
    });
    let began = RealClock::start();
    let happened = served.end();
    assert!(began.now() < SOON, "{:?}", began.now());
    sender.join().unwrap();
    assert_eq!((happened.counts.delivered, happened.counts.drained), (0, 0));
}

#[test]
fn nothing_is_lost_of_many_requests_at_once() {
    let (armed, address, record, _) = armed();
    let clients: Vec<_> = (0..200)
        .map(|_| {
            let mut client = std::net::TcpStream::connect(address).unwrap();
            client.write_all([POST, GET].concat().as_bytes()).unwrap();
            client
        })
        .collect();
    let running = armed
        .serve(vec![
            ServerScript::new("api").script(vec![Step::answer(200, "x")]),
        ])
        .unwrap();
    // Some are served, some are still waiting when the clients end.
    drop(clients);
    running.client_ended();
    running.close().unwrap();
    let happened = Happened::of(&record);
    let counts = &happened.counts;
    assert_eq!((counts.connected, counts.started), (200, 400));
    assert_eq!(counts.delivered + counts.drained, 400);
    assert_eq!(counts.drained, 0);
    assert_eq!(closed(&happened.events), 200);
}

#[test]
fn ending_twice_and_closing_without_ending_are_the_same() {
    let served = serve_steps(vec![Step::answer(200, "x")]);
    let client = served.send(POST);
    served.wait_for("the answer", |what| matches!(what, What::Answered { .. }));
    let first = served.end();
    assert_eq!(first.counts.delivered, 1);
    drop(client);

    let (armed, address, record, _) = armed();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    client.write_all(POST.as_bytes()).unwrap();
    let script = ServerScript::new("api").script(vec![Step::answer(200, "x")]);
    armed.serve(vec![script]).unwrap().close().unwrap();
    assert_eq!(record.ledger().server("api").delivered, 1);
}

#[test]
fn servers_that_are_dropped_stop() {
    let (armed, address, ..) = armed();
    drop(armed.serve(vec![ServerScript::new("api")]).unwrap());
    let gone = std::net::TcpStream::connect(address).unwrap_err();
    assert_eq!(gone.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_record_that_panics_breaks_the_cell_and_does_not_pass_unseen() {
    use scripted_servers::record::Record;
    use scripted_servers::script::Listen;
    use scripted_servers::server::{Armed, ServerError};

    struct Fragile;
    impl Record for Fragile {
        fn record(&self, event: ServerEvent) {
            assert!(!matches!(event.what, What::Started { .. }), "on purpose");
        }
    }
    let armed = Armed::arm(
        &[("api", Listen::Open)],
        RealClock::start(),
        std::sync::Arc::new(Fragile),
    )
    .unwrap();
    let mut client = std::net::TcpStream::connect(armed.addresses()["api"]).unwrap();
    client.write_all(POST.as_bytes()).unwrap();
    let running = armed.serve(vec![ServerScript::new("api")]).unwrap();
    running.client_ended();
    assert!(matches!(running.close(), Err(ServerError::Broken(_))));
}
