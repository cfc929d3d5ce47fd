//! Ports that drop or refuse, for good or for a time, at any loopback address.
#![allow(clippy::unwrap_used, reason = "what fails here fails a test")]

mod support;

use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use scripted_servers::clock::{Clock, RealClock};
use scripted_servers::event::{Lane, What};
use scripted_servers::ledger::Memory;
use scripted_servers::script::{Listen, Phase, PortState, ServerScript, Step};
use scripted_servers::server::{Armed, Place, Running, ServerError};
use socket2::{Domain, Socket, Type};
use support::{GET, Happened, PATIENCE, read_exactly};

/// An attempt gives up after this.
const SHORT: Duration = Duration::from_millis(150);
const ANSWER: &str = "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok";

struct Cell {
    record: Arc<Memory>,
    clock: Arc<dyn Clock>,
    address: SocketAddr,
    running: Running,
}

impl Cell {
    fn at(address: impl Into<IpAddr>, listen: &Listen) -> Self {
        let (record, clock) = (Memory::new(), RealClock::start());
        let place = Place {
            address: address.into(),
            ..Place::new("api", listen.clone())
        };
        let armed = Armed::arm_at(&[place], clock.clone(), record.clone()).unwrap();
        let address = armed.addresses()["api"];
        let script = ServerScript {
            listen: listen.clone(),
            ..ServerScript::new("api").script(vec![Step::answer(200, "ok")])
        };
        let running = armed.serve(vec![script]).unwrap();
        Self {
            record,
            clock,
            address,
            running,
        }
    }

    fn new(listen: &Listen) -> Self {
        Self::at(Ipv4Addr::LOCALHOST, listen)
    }

    fn hand_over(&self) {
        self.running.work_handed_over_at(self.clock.now());
    }

    fn attempt(&self, within: Duration) -> Result<TcpStream, ErrorKind> {
        let stream = TcpStream::connect_timeout(&self.address, within);
        stream.map_err(|error| error.kind())
    }

    fn wait_for(&self, wanted: impl Fn(&What) -> bool) {
        let began = RealClock::start();
        while !self.record.events().iter().any(|one| wanted(&one.what)) {
            assert!(began.now() < PATIENCE, "it never happened");
            std::thread::yield_now();
        }
    }

    fn end(self) -> Happened {
        self.running.client_ended();
        self.running.close().unwrap();
        Happened::of(&self.record)
    }
}

fn until_open(state: PortState, lasts: Duration) -> Listen {
    let first = Phase {
        state,
        lasts: Some(lasts),
    };
    let open = Phase {
        state: PortState::Open,
        lasts: None,
    };
    Listen::Phases(vec![first, open])
}

fn is_served(mut client: TcpStream) {
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(GET.as_bytes()).unwrap();
    assert_eq!(read_exactly(&mut client, ANSWER.len()), ANSWER.as_bytes());
}

/// SYNs dropped in each phase that dropped.
fn dropped(happened: &Happened) -> Vec<(usize, u64)> {
    let one = |what: &What| match what {
        What::Dropped { phase, syns } => Some((*phase, *syns)),
        _ => None,
    };
    let events = happened.events.iter();
    events.filter_map(|event| one(&event.what)).collect()
}

fn proofs(happened: &Happened) -> Vec<&str> {
    let one = |what| match what {
        &What::Fired {
            lane: Lane::Listen,
            ref proof,
            ..
        } => Some(proof.as_str()),
        _ => None,
    };
    let events = happened.events.iter();
    events.filter_map(|event| one(&event.what)).collect()
}

fn probes(happened: &Happened) -> Vec<(bool, bool)> {
    let one = |what: &What| match what {
        What::Probed { refused, after } => Some((*refused, *after)),
        _ => None,
    };
    let events = happened.events.iter();
    events.filter_map(|event| one(&event.what)).collect()
}

fn states(happened: &Happened) -> Vec<(usize, PortState)> {
    let one = |what: &What| match what {
        What::Listening { phase, state, .. } => Some((*phase, *state)),
        _ => None,
    };
    let events = happened.events.iter();
    events.filter_map(|event| one(&event.what)).collect()
}

#[test]
fn a_port_that_drops_answers_nothing_and_counts_what_it_dropped() {
    let cell = Cell::new(&Listen::Drop);
    assert_eq!(cell.attempt(SHORT).unwrap_err(), ErrorKind::TimedOut);
    assert_eq!(cell.attempt(SHORT).unwrap_err(), ErrorKind::TimedOut);
    let happened = cell.end();
    assert!(happened.any(|what| *what == What::ProbedDrop { dropped: true }));
    assert_eq!(dropped(&happened), [(0, 2)]);
    assert_eq!(proofs(&happened), ["SYNs dropped: 2"]);
    assert_eq!(
        (happened.counts.connected, happened.counts.delivered),
        (0, 0)
    );
}

#[test]
fn a_port_that_drops_and_that_nobody_tried_proves_nothing() {
    let cell = Cell::new(&Listen::Drop);
    cell.hand_over();
    let happened = cell.end();
    assert_eq!(dropped(&happened), [(0, 0)], "the own probe counts as none");
    assert!(proofs(&happened).is_empty());
}

#[test]
fn a_client_that_gave_up_while_the_port_dropped_leaves_no_connection_behind() {
    let cell = Cell::new(&until_open(PortState::Drop, 3 * SHORT));
    cell.hand_over();
    assert_eq!(cell.attempt(SHORT).unwrap_err(), ErrorKind::TimedOut);
    cell.wait_for(|what| matches!(what, What::Dropped { .. }));
    is_served(cell.attempt(PATIENCE).unwrap());
    let happened = cell.end();
    assert_eq!(dropped(&happened), [(0, 1)]);
    assert_eq!(
        (happened.counts.connected, happened.counts.delivered),
        (1, 1)
    );
}

/// The third SYN is out before the port opens, and is sent again behind that.
fn two_attempts_are_dropped_and_the_third_connects(address: impl Into<IpAddr>) {
    let phase = Duration::from_millis(10);
    let cell = Cell::at(address, &until_open(PortState::Drop, phase));
    assert_eq!(cell.attempt(SHORT).unwrap_err(), ErrorKind::TimedOut);
    assert_eq!(cell.attempt(SHORT).unwrap_err(), ErrorKind::TimedOut);
    let third = Socket::new(Domain::for_address(cell.address), Type::STREAM, None).unwrap();
    third.set_nonblocking(true).unwrap();
    let pending = third.connect(&cell.address.into()).unwrap_err();
    assert_eq!(pending.raw_os_error(), Some(libc::EINPROGRESS));
    cell.hand_over();
    cell.wait_for(|what| matches!(what, What::Accepted { .. }));
    third.set_nonblocking(false).unwrap();
    is_served(third.into());
    let happened = cell.end();
    assert_eq!(dropped(&happened), [(0, 3)]);
    assert_eq!(proofs(&happened), ["SYNs dropped: 3"]);
    assert_eq!(
        states(&happened),
        [(0, PortState::Drop), (1, PortState::Open)]
    );
    assert_eq!(
        (happened.counts.connected, happened.counts.delivered),
        (1, 1)
    );
}

#[test]
fn attempts_one_and_two_are_dropped_and_three_connects() {
    two_attempts_are_dropped_and_the_third_connects(Ipv4Addr::LOCALHOST);
}

#[test]
fn attempts_over_ipv6_are_dropped_as_well() {
    two_attempts_are_dropped_and_the_third_connects(Ipv6Addr::LOCALHOST);
}

#[test]
fn a_port_refuses_for_a_time_and_is_probed_before_it_opens() {
    let cell = Cell::new(&until_open(PortState::Refuse, 2 * SHORT));
    cell.hand_over();
    assert_eq!(
        cell.attempt(PATIENCE).unwrap_err(),
        ErrorKind::ConnectionRefused
    );
    cell.wait_for(|what| matches!(what, What::Listening { phase: 1, .. }));
    // The event stands before the change.
    let served = loop {
        match cell.attempt(PATIENCE) {
            Err(ErrorKind::ConnectionRefused) => std::thread::yield_now(),
            other => break other.unwrap(),
        }
    };
    is_served(served);
    let happened = cell.end();
    assert_eq!(probes(&happened), [(true, false), (true, true)]);
    assert_eq!(
        states(&happened),
        [(0, PortState::Refuse), (1, PortState::Open)]
    );
    assert_eq!(
        (happened.counts.connected, happened.counts.delivered),
        (1, 1)
    );
}

#[test]
fn a_port_can_refuse_then_drop_then_open() {
    let phase = |state, lasts| Phase { state, lasts };
    let cell = Cell::new(&Listen::Phases(vec![
        phase(PortState::Refuse, Some(SHORT)),
        phase(PortState::Drop, Some(3 * SHORT)),
        phase(PortState::Open, None),
    ]));
    cell.hand_over();
    cell.wait_for(|what| matches!(what, What::Listening { phase: 1, .. }));
    let lost = loop {
        match cell.attempt(SHORT) {
            Err(ErrorKind::ConnectionRefused) => std::thread::yield_now(),
            other => break other,
        }
    };
    assert_eq!(lost.unwrap_err(), ErrorKind::TimedOut);
    is_served(cell.attempt(PATIENCE).unwrap());
    let happened = cell.end();
    assert_eq!(probes(&happened), [(true, false), (true, true)]);
    assert!(matches!(dropped(&happened)[..], [(1, 1 | 2)]));
    // What was dropped later does not prove that it was refused before.
    assert!(proofs(&happened).is_empty());
    assert_eq!(happened.counts.connected, 1);
}

#[test]
fn phases_wait_until_the_work_is_handed_over_and_count_from_then() {
    let cell = Cell::new(&until_open(PortState::Drop, SHORT));
    assert_eq!(cell.attempt(3 * SHORT).unwrap_err(), ErrorKind::TimedOut);
    let at = cell.clock.now();
    cell.running.work_handed_over_at(at);
    // Only the first call counts.
    cell.running.work_handed_over_at(at + PATIENCE);
    is_served(cell.attempt(PATIENCE).unwrap());
    assert!(cell.clock.now() >= at + SHORT);
    let happened = cell.end();
    let begun = u64::try_from(at.as_micros()).unwrap();
    assert!(happened.any(
        |what| matches!(what, What::Listening { phase: 0, since_us, .. } if *since_us == begun)
    ));
}

#[test]
fn a_client_that_ends_before_a_phase_does_leaves_its_proof() {
    let cell = Cell::new(&until_open(PortState::Drop, PATIENCE));
    cell.hand_over();
    assert_eq!(cell.attempt(SHORT).unwrap_err(), ErrorKind::TimedOut);
    let happened = cell.end();
    assert_eq!(proofs(&happened), ["SYNs dropped: 1"]);
    let cell = Cell::new(&until_open(PortState::Refuse, PATIENCE));
    cell.hand_over();
    assert_eq!(probes(&cell.end()), [(true, false), (true, true)]);
}

#[test]
fn connections_at_every_loopback_address_are_served_and_counted() {
    let addresses = [
        IpAddr::from(Ipv6Addr::LOCALHOST),
        Ipv4Addr::new(127, 9, 8, 7).into(),
    ];
    for address in addresses {
        let cell = Cell::at(address, &Listen::Open);
        assert_eq!(cell.address.ip(), address);
        is_served(cell.attempt(PATIENCE).unwrap());
        let happened = cell.end();
        assert_eq!(
            (happened.counts.connected, happened.counts.delivered),
            (1, 1)
        );
    }
}

fn place(name: &str, address: impl Into<IpAddr>, listen: Listen, port_of: Option<&str>) -> Place {
    Place {
        name: name.to_owned(),
        listen,
        address: address.into(),
        port_of: port_of.map(str::to_owned),
    }
}

#[test]
fn servers_at_several_addresses_share_a_port_and_are_counted_apart() {
    let record = Memory::new();
    let places = [
        place("dead", Ipv6Addr::LOCALHOST, Listen::Drop, Some("api")),
        place("api", Ipv4Addr::LOCALHOST, Listen::Open, None),
        place(
            "gone",
            Ipv4Addr::new(127, 0, 0, 2),
            Listen::Refuse,
            Some("api"),
        ),
    ];
    let armed = Armed::arm_at(&places, RealClock::start(), record.clone()).unwrap();
    let addresses = armed.addresses();
    let port = addresses["api"].port();
    assert!(addresses.values().all(|address| address.port() == port));
    let running = armed
        .serve(vec![
            ServerScript::new("api").script(vec![Step::answer(200, "ok")]),
        ])
        .unwrap();
    let tried = |name: &str| TcpStream::connect_timeout(&addresses[name], 3 * SHORT);
    assert_eq!(tried("dead").unwrap_err().kind(), ErrorKind::TimedOut);
    assert_eq!(
        tried("gone").unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
    is_served(tried("api").unwrap());
    running.client_ended();
    running.close().unwrap();
    let ledger = record.ledger();
    let connected = |name| ledger.server(name).connected;
    assert_eq!(
        (connected("dead"), connected("api"), connected("gone")),
        (0, 1, 0)
    );
    let happened = Happened::of(&record);
    assert_eq!(dropped(&happened), [(0, 1)]);
    assert_eq!(probes(&happened), [(true, false), (true, true)]);
}

#[test]
fn places_and_phases_that_cannot_be_are_refused() {
    let arm = |places: &[Place]| Armed::arm_at(places, RealClock::start(), Memory::new()).err();
    let stranger = place("api", Ipv4Addr::LOCALHOST, Listen::Open, Some("nobody"));
    assert!(matches!(arm(&[stranger]), Some(ServerError::PortOf(name)) if name == "api"));
    let strange = [
        place("a", Ipv4Addr::LOCALHOST, Listen::Open, None),
        place("b", Ipv6Addr::LOCALHOST, Listen::Open, Some("a")),
        place("c", Ipv4Addr::new(127, 0, 0, 2), Listen::Open, Some("b")),
    ];
    assert!(matches!(arm(&strange), Some(ServerError::PortOf(name)) if name == "c"));
    let same = [
        place("a", Ipv4Addr::LOCALHOST, Listen::Open, None),
        place("b", Ipv4Addr::LOCALHOST, Listen::Open, Some("a")),
    ];
    assert!(matches!(arm(&same), Some(ServerError::Arm { name, .. }) if name == "b"));
    // A documentation address (RFC 5737), which no machine has.
    let foreign = place("api", Ipv4Addr::new(192, 0, 2, 1), Listen::Open, None);
    assert!(matches!(
        arm(&[foreign]),
        Some(ServerError::NoAddress { .. })
    ));
    let closing = Listen::Phases(vec![
        Phase {
            state: PortState::Open,
            lasts: Some(SHORT),
        },
        Phase {
            state: PortState::Drop,
            lasts: None,
        },
    ]);
    let closing = place("api", Ipv4Addr::LOCALHOST, closing, None);
    assert!(matches!(arm(&[closing]), Some(ServerError::Phases(_))));
}

#[test]
fn the_port_stays_reserved_while_it_drops() {
    let cell = Cell::new(&Listen::Drop);
    let taken = TcpListener::bind(cell.address).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    cell.end();
}

/// Twenty times the same, while four threads keep the processors busy.
#[test]
fn a_busy_machine_changes_no_outcome() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        // The threads end even where an assertion fails.
        let outcome = std::panic::catch_unwind(|| {
            let rounds: Vec<_> = (0..20)
                .map(|_| {
                    std::thread::spawn(|| {
                        let cell = Cell::new(&until_open(PortState::Drop, 20 * SHORT));
                        cell.hand_over();
                        for _ in 0..2 {
                            let attempt = cell.attempt(SHORT);
                            assert_eq!(attempt.unwrap_err(), ErrorKind::TimedOut);
                        }
                        is_served(cell.attempt(PATIENCE).unwrap());
                        let happened = cell.end();
                        assert_eq!(proofs(&happened).len(), 1);
                        let counts = &happened.counts;
                        assert_eq!((counts.connected, counts.delivered), (1, 1));
                    })
                })
                .collect();
            for round in rounds {
                round.join().unwrap();
            }
        });
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
}
