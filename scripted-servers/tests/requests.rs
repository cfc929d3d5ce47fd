//! Which requests take which steps, what is done with connections that are not
//! served, and what is counted of each.

mod support;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use scripted_servers::clock::RealClock;
use scripted_servers::event::{Ending, What};
use scripted_servers::ledger::Memory;
use scripted_servers::script::{
    ConnectionAct, ConnectionUse, FieldTest, Listen, PathPattern, Route, ServerScript, Step, Times,
    When,
};
use scripted_servers::server::{Armed, ServerError};
use scripted_servers::wire::{End, Position, RequestPoint, WireStep};
use support::*;

/// What `Step::answer(200, text)` sends.
fn answer(text: &str) -> String {
    format!(
        "HTTP/1.1 200 \r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
}

/// Sends a request on a kept connection and expects this answer.
fn expect(client: &mut TcpStream, request: &str, text: &str) {
    assert!(client.write_all(request.as_bytes()).is_ok());
    let expected = answer(text);
    let got = read_exactly(client, expected.len());
    assert_eq!(String::from_utf8_lossy(&got), expected, "to {request:?}");
}

fn request(method: &str, target: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: api\r\n\r\n")
}

#[test]
fn steps_are_taken_in_turn_across_connections_and_the_last_repeats() {
    let twice = Step {
        times: Times::Count(2),
        ..Step::answer(200, "one")
    };
    let served = serve_steps(vec![twice, Step::answer(200, "two")]);
    let (mut first, mut second) = (served.connect(), served.connect());
    expect(&mut first, GET, "one");
    expect(&mut second, GET, "one");
    expect(&mut first, GET, "two");
    expect(&mut second, GET, "two");
    assert_eq!(served.end().counts.delivered, 4);
}

#[test]
fn each_route_has_its_own_queue_and_what_none_expects_is_other() {
    let exact = |method: Option<&str>, path: &str| Route {
        method: method.map(str::to_owned),
        path: PathPattern::Exact(path.to_owned()),
    };
    let served = serve(
        ServerScript::new("api")
            .queue(
                exact(None, "/a"),
                vec![Step::answer(200, "any a"), Step::answer(200, "again")],
            )
            .queue(exact(Some("POST"), "/a"), vec![Step::answer(200, "post a")]),
    );
    let mut client = served.connect();
    expect(&mut client, &request("GET", "/a?x=1"), "any a");
    expect(&mut client, &request("POST", "/a"), "post a");
    expect(&mut client, &request("GET", "/a"), "again");
    client.write_all(request("HEAD", "/b").as_bytes()).unwrap();
    let head = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 30\r\n\r\n";
    assert_eq!(read_exactly(&mut client, head.len()), head);
    client.write_all(request("GET", "/b").as_bytes()).unwrap();
    let whole = [&head[..], b"no route expects this request\n"].concat();
    assert_eq!(read_exactly(&mut client, whole.len()), whole);
    expect(&mut client, &request("GET", "/a"), "again");
    let counts = served.end().counts;
    assert_eq!((counts.delivered, counts.other, counts.head), (4, 2, 6));
}

#[test]
fn a_step_takes_only_what_its_guard_fits() {
    let guarded = |when: When, text: &str| Step {
        when,
        ..Step::answer(200, text)
    };
    let by_json = When {
        json: Some(("/kind".into(), "b".into())),
        ..When::default()
    };
    let by_header = When {
        header: Some(("X-Kind".into(), FieldTest::Equals("h".into()))),
        ..When::default()
    };
    let reused = When {
        connection: Some(ConnectionUse::Reused),
        ..When::default()
    };
    let served = serve_steps(vec![
        guarded(by_json, "json"),
        guarded(by_header, "header"),
        guarded(reused, "reused"),
        Step {
            times: Times::Always,
            ..Step::answer(200, "plain")
        },
    ]);
    let json = "POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n{\"kind\":\"b\"}";
    let header = "GET / HTTP/1.1\r\nx-kind: h\r\n\r\n";
    let mut client = served.connect();
    expect(&mut client, GET, "plain");
    expect(&mut client, json, "json");
    expect(&mut client, header, "header");
    expect(&mut client, header, "reused");
    expect(&mut client, json, "plain");
    expect(&mut served.connect(), GET, "plain");
    assert_eq!(served.end().counts.delivered, 6);
}

#[test]
fn a_step_inside_the_head_is_taken_at_the_first_byte() {
    let inside = Step {
        inside_head: true,
        ..program(vec![
            WireStep::ReadUntil(RequestPoint::Head(Position::Bytes(1))),
            WireStep::Fired("hang"),
            WireStep::End(End::Hang),
        ])
    };
    let served = serve_steps(vec![inside, Step::answer(200, "next")]);
    let silent = served.connect();
    let first = served.send("P");
    served.wait_for("the step", |what| matches!(what, What::Fired { .. }));
    expect(&mut served.connect(), GET, "next");
    drop((silent, first));
    let happened = served.end();
    let counts = &happened.counts;
    assert_eq!((counts.connected, counts.started, counts.head), (3, 2, 1));
    assert_eq!(happened.fired().len(), 1);
}

#[test]
fn pipelined_requests_are_answered_one_by_one() {
    let served = serve_steps(vec![
        Step::answer(200, "one"),
        Step::answer(200, "two"),
        Step::answer(200, "three"),
    ]);
    let mut client = served.send([GET, POST, GET].concat());
    let expected = [answer("one"), answer("two"), answer("three")].concat();
    assert_eq!(
        read_exactly(&mut client, expected.len()),
        expected.as_bytes()
    );
    let counts = served.end().counts;
    assert_eq!((counts.connected, counts.delivered), (1, 3));
}

#[test]
fn pipelined_requests_behind_a_reset_are_delivered_and_take_no_step() {
    let served = serve_wire(vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Fired("reset"),
        WireStep::End(End::Reset),
    ]);
    let mut client = served.send([POST, GET, &POST[..20]].concat());
    assert_eq!(read_to_end(&mut client), (vec![], Ended::Reset));
    expect(&mut served.connect(), GET, "next");
    let counts = served.end().counts;
    assert_eq!((counts.started, counts.head, counts.delivered), (4, 3, 3));
}

#[test]
fn a_client_that_asks_for_the_end_of_the_connection_gets_it_after_the_answer() {
    for request in [
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
    ] {
        let served = serve_steps(vec![Step::answer(200, "last")]);
        let mut client = served.send(request);
        assert_eq!(
            read_to_end(&mut client),
            (answer("last").into_bytes(), Ended::Fin)
        );
        assert_eq!(served.end().counts.delivered, 1);
    }
}

#[test]
fn bytes_that_are_no_request_are_told_and_reset() {
    for garbage in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let served = serve_steps(vec![Step::answer(200, "never")]);
        let mut client = served.send(garbage);
        assert_eq!(read_to_end(&mut client), (vec![], Ended::Reset));
        let happened = served.end();
        assert!(happened.any(|what| matches!(what, What::Malformed { .. })));
        let counts = &happened.counts;
        assert_eq!((counts.started, counts.head, counts.delivered), (1, 0, 0));
    }
}

#[test]
fn a_connection_lane_resets_and_closes_after_counting_what_arrived() {
    for (act, ended) in [
        (ConnectionAct::Reset, Ended::Reset),
        (ConnectionAct::Close, Ended::Fin),
    ] {
        let script = ServerScript::new("api").script(vec![Step::answer(200, "served")]);
        let served = serve(script.connections(vec![act, ConnectionAct::Serve]));
        let mut client = served.connect();
        for piece in [&POST[..1], &POST[1..30], &POST[30..]] {
            client.write_all(piece.as_bytes()).unwrap();
        }
        assert_eq!(read_to_end(&mut client), (vec![], ended));
        drop(client);
        expect(&mut served.connect(), GET, "served");
        let happened = served.end();
        let counts = &happened.counts;
        assert_eq!(
            (counts.connected, counts.started, counts.delivered),
            (2, 2, 2)
        );
        assert_eq!(counts.other, 0, "a route does expect the first one");
        assert_eq!(happened.fired().len(), 1, "{act:?}");
    }
}

#[test]
fn a_connection_on_which_nothing_was_sent_leaves_its_lane_unproved() {
    for act in [
        ConnectionAct::Reset,
        ConnectionAct::Close,
        ConnectionAct::Hang,
    ] {
        let served = serve(ServerScript::new("api").connections(vec![act]));
        drop(served.connect());
        served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
        let happened = served.end();
        assert_eq!(happened.counts.connected, 1);
        assert!(happened.fired().is_empty(), "{act:?}");
    }
}

#[test]
fn a_hanging_connection_is_not_read_and_what_it_holds_is_delivered() {
    let served = serve(ServerScript::new("api").connections(vec![ConnectionAct::Hang]));
    let client = served.send([POST, POST].concat());
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    assert_eq!(served.record.ledger().server("api").started, 0);
    drop(client);
    let happened = served.end();
    assert_eq!(happened.counts.other, 2, "the script has no route");
    assert_eq!(happened.fired(), ["left hanging, the connection open"]);
}

#[test]
fn a_refused_port_stays_reserved_and_is_probed_before_and_after() {
    let record = Memory::new();
    let servers = [("api", Listen::Refuse), ("other", Listen::Open)];
    let armed = Armed::arm(&servers, RealClock::start(), record.clone()).unwrap();
    let address = armed.addresses()["api"];
    let refusing = ServerScript {
        listen: Listen::Refuse,
        ..ServerScript::new("api")
    };
    let running = armed.serve(vec![refusing]).unwrap();
    let refused = TcpStream::connect(address).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let taken = TcpListener::bind(address).unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
    running.client_ended();
    running.close().unwrap();
    let happened = Happened::of(&record);
    for after in [false, true] {
        assert!(happened.any(|what| *what
            == What::Probed {
                refused: true,
                after
            }));
    }
    assert_eq!(happened.counts.connected, 0);
}

#[test]
fn scripts_that_do_not_belong_to_what_was_armed_are_refused() {
    let (armed, ..) = armed();
    let stranger = armed.serve(vec![ServerScript::new("apo")]);
    assert!(matches!(stranger, Err(ServerError::NotArmed(name)) if name == "apo"));
    let (armed, ..) = support::armed();
    let closed = ServerScript {
        listen: Listen::Refuse,
        ..ServerScript::new("api")
    };
    assert!(matches!(
        armed.serve(vec![closed]),
        Err(ServerError::NotArmed(_))
    ));
    let (armed, ..) = support::armed();
    let twice = vec![ServerScript::new("api"), ServerScript::new("api")];
    assert!(matches!(armed.serve(twice), Err(ServerError::SameName(_))));
    let same = [("a", Listen::Open), ("a", Listen::Open)];
    let same = Armed::arm(&same, RealClock::start(), Memory::new());
    assert!(matches!(same, Err(ServerError::SameName(_))));
}

#[test]
fn time_guards_count_from_the_first_request_of_the_server() {
    let early = When {
        until: Some(Duration::from_millis(200)),
        ..When::default()
    };
    let outage = Step {
        when: early,
        times: Times::Always,
        ..Step::answer(200, "early")
    };
    let served = serve_steps(vec![outage, Step::answer(200, "later")]);
    // Not the start of the cell counts.
    let_pass(Duration::from_millis(250));
    let mut client = served.connect();
    expect(&mut client, GET, "early");
    let_pass(Duration::from_millis(250));
    expect(&mut client, GET, "later");
    assert_eq!(served.end().counts.delivered, 2);
}

#[test]
fn the_end_of_a_client_by_reset_is_told() {
    let served = serve_steps(vec![Step::answer(200, "x")]);
    let mut client = served.send(GET);
    client.peek(&mut [0; 1]).unwrap();
    client.write_all(&GET.as_bytes()[..7]).unwrap();
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert!(happened.any(|what| matches!(
        what,
        What::PeerEnded {
            how: Ending::Reset,
            ..
        }
    )));
    assert_eq!((happened.counts.started, happened.counts.delivered), (2, 1));
}
