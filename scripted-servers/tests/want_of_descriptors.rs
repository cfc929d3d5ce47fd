//! A process that has no descriptors left: alone in its file, as the tests of a
//! file share them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of a test: what fails in them fails it"
)]

mod support;

use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use scripted_servers::clock::RealClock;
use scripted_servers::script::{ServerScript, Step};
use scripted_servers::server::ServerError;
use support::*;

/// Takes all descriptors that are left.
fn take_all() -> Vec<File> {
    let all = std::iter::from_fn(|| File::open("/dev/null").ok());
    all.take(10_000).collect()
}

/// A socket whose connection needs no further descriptor on its own side.
fn unconnected() -> socket2::Socket {
    socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap()
}

fn post(socket: socket2::Socket, address: SocketAddr) -> TcpStream {
    socket.connect(&address.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(POST.as_bytes()).unwrap();
    stream
}

#[test]
fn a_connection_that_can_not_be_accepted_is_tried_again_and_never_lost_in_silence() {
    let all = Rlimit {
        current: Some(256),
        ..getrlimit(Resource::Nofile)
    };
    setrlimit(Resource::Nofile, all).unwrap();
    let script = || vec![ServerScript::new("api").script(vec![Step::answer(200, "next")])];

    // There are descriptors again while the client lives.
    let (armed, address, record, _) = armed();
    let running = armed.serve(script()).unwrap();
    let socket = unconnected();
    let taken = take_all();
    let mut client = post(socket, address);
    let_pass(Duration::from_millis(50));
    assert_eq!(record.ledger().server("api").connected, 0);
    drop(taken);
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    running.client_ended();
    running.close().unwrap();
    assert_eq!(record.ledger().server("api").delivered, 1);

    // There are descriptors again only after its end.
    let (armed, address, record, _) = support::armed();
    let running = armed.serve(script()).unwrap();
    let socket = unconnected();
    let taken = take_all();
    let client = post(socket, address);
    let ended = std::thread::spawn(move || {
        running.client_ended();
        running
    });
    let_pass(Duration::from_millis(50));
    drop(taken);
    ended.join().unwrap().close().unwrap();
    assert_eq!(record.ledger().server("api").delivered, 1);
    drop(client);

    // There are never any: the request is lost, and that is told.
    let (armed, address, record, _) = support::armed();
    let running = armed.serve(script()).unwrap();
    let socket = unconnected();
    let taken = take_all();
    let client = post(socket, address);
    let began = RealClock::start();
    let closed = running.close();
    assert!(began.now() < Duration::from_secs(10), "{:?}", began.now());
    drop((client, taken));
    assert_eq!(record.ledger().server("api").delivered, 0);
    told(closed);

    // There are none for longer than a client may be made to wait.
    let (armed, address, record, _) = support::armed();
    let running = armed.serve(script()).unwrap();
    let socket = unconnected();
    let taken = take_all();
    let mut client = post(socket, address);
    let_pass(Duration::from_millis(2200));
    drop(taken);
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    let closed = running.close();
    assert_eq!(record.ledger().server("api").delivered, 1);
    told(closed);
}

fn told(closed: Result<(), ServerError>) {
    match closed {
        Err(ServerError::Broken(reason)) => {
            assert!(reason.contains("\"api\" could not be accepted"), "{reason}");
            assert!(reason.contains("may have 256 descriptors"), "{reason}");
            assert!(reason.contains("`ulimit -Hn`"), "{reason}");
        }
        other => panic!("lost in silence: {other:?}"),
    }
}
