//! Servers to talk to with plain sockets, and what came of it.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test file uses a part of this; what fails here fails a test"
)]

use std::future::Future;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use scripted_servers::clock::{Busy, Clock, RealClock};
use scripted_servers::event::{Lane, ServerEvent, StepId, What};
use scripted_servers::ledger::{Counts, Memory};
use scripted_servers::script::{Listen, ServerScript, Step};
use scripted_servers::server::{Armed, Running};
use scripted_servers::wire::{WireProgram, WireStep};

/// Nothing a test waits for takes so long, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// One server named `api`.
pub struct Served {
    pub address: SocketAddr,
    pub record: Arc<Memory>,
    pub clock: Arc<dyn Clock>,
    waits: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
    running: Running,
}

/// A real clock that tells when somebody waits for a time far away.
struct Watched {
    clock: Arc<dyn Clock>,
    waits: Arc<AtomicBool>,
    /// While this is so, the servers get no turn: they hang at the next look.
    held: Arc<AtomicBool>,
}

impl Clock for Watched {
    fn now(&self) -> Duration {
        let is_server = || std::thread::current().name() == Some("scripted-servers");
        while self.held.load(Ordering::Acquire) && is_server() {
            std::thread::yield_now();
        }
        self.clock.now()
    }

    fn wall(&self) -> SystemTime {
        self.clock.wall()
    }

    fn sleep_until(&self, at: Duration) -> Pin<Box<dyn Future<Output = Busy> + Send + '_>> {
        if at > self.now() + Duration::from_secs(60) {
            self.waits.store(true, Ordering::Release);
        }
        self.clock.sleep_until(at)
    }

    fn busy(&self) -> Busy {
        self.clock.busy()
    }
}

pub fn armed() -> (Armed, SocketAddr, Arc<Memory>, Arc<dyn Clock>) {
    armed_with(RealClock::start())
}

fn armed_with(clock: Arc<dyn Clock>) -> (Armed, SocketAddr, Arc<Memory>, Arc<dyn Clock>) {
    let record = Memory::new();
    let armed = Armed::arm(&[("api", Listen::Open)], clock.clone(), record.clone()).unwrap();
    let address = armed.addresses()["api"];
    (armed, address, record, clock)
}

pub fn serve(script: ServerScript) -> Served {
    let waits = Arc::new(AtomicBool::new(false));
    let held = Arc::new(AtomicBool::new(false));
    let (armed, address, record, clock) = armed_with(Arc::new(Watched {
        held: held.clone(),
        clock: RealClock::start(),
        waits: waits.clone(),
    }));
    let running = armed.serve(vec![script]).unwrap();
    Served {
        address,
        record,
        clock,
        waits,
        held,
        running,
    }
}

/// A server whose only queue takes these steps.
pub fn serve_steps(steps: Vec<Step>) -> Served {
    serve(ServerScript::new("api").script(steps))
}

/// A server whose first request runs these wire steps; the next are answered
/// `200` with `next`.
pub fn serve_wire(steps: Vec<WireStep>) -> Served {
    serve_steps(vec![program(steps), Step::answer(200, "next")])
}

pub fn program(steps: Vec<WireStep>) -> Step {
    Step::new(WireProgram {
        steps,
        answer: None,
        ..WireProgram::default()
    })
}

pub fn bytes(bytes: &[u8]) -> Arc<[u8]> {
    bytes.into()
}

impl Served {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// A connection on which this was sent.
    pub fn send(&self, request: impl AsRef<[u8]>) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(request.as_ref()).unwrap();
        stream
    }

    /// Waits for an event.
    pub fn wait_for(&self, what: &str, wanted: impl Fn(&What) -> bool) {
        let began = RealClock::start();
        while !self.record.events().iter().any(|event| wanted(&event.what)) {
            assert!(began.now() < PATIENCE, "{what} never happened");
            std::thread::yield_now();
        }
    }

    /// Waits until the server waits for a time more than a minute away.
    pub fn wait_until_waiting(&self) {
        let began = RealClock::start();
        while !self.waits.load(Ordering::Acquire) {
            assert!(began.now() < PATIENCE, "the server never waited");
            std::thread::yield_now();
        }
    }

    /// Ends the cell: what happened.
    pub fn end(self) -> Happened {
        let now = self.clock.now();
        self.end_at(now)
    }

    /// The servers get no turn until they are let go.
    pub fn hold_up(&self) {
        self.held.store(true, Ordering::Release);
    }

    /// The servers get turns again.
    pub fn let_go(&self) {
        self.held.store(false, Ordering::Release);
    }

    /// The servers get turns again once the cell's end has had time to begin.
    #[expect(
        clippy::disallowed_methods,
        reason = "whoever ends the cell waits for the servers, so another thread lets them go"
    )]
    pub fn let_go_soon(&self) {
        let held = self.held.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            held.store(false, Ordering::Release);
        });
    }

    /// The client is about to be stopped.
    pub fn stopping(&self) {
        self.running.stopping();
    }

    /// The client's process is gone, and another one is going to come.
    pub fn crash(&self) {
        self.running.client_crashed_at(self.clock.now());
    }

    /// Ends a cell whose client is being stopped: what happened.
    pub fn stop(self) -> Happened {
        self.stopping();
        self.end()
    }

    /// Ends a cell whose client ended at this time: what happened.
    pub fn end_at(self, at: Duration) -> Happened {
        self.running.client_ended_at(at);
        self.running.close().unwrap();
        Happened::of(&self.record)
    }
}

/// What a cell leaves.
pub struct Happened {
    pub events: Vec<ServerEvent>,
    pub counts: Counts,
}

impl Happened {
    pub fn of(record: &Memory) -> Self {
        Self {
            events: record.events(),
            counts: record.ledger().server("api"),
        }
    }

    pub fn any(&self, wanted: impl Fn(&What) -> bool) -> bool {
        self.events.iter().any(|event| wanted(&event.what))
    }

    /// The proofs of the first step, or of the lane's first entry.
    pub fn fired(&self) -> Vec<String> {
        self.proofs(&[
            Lane::Step(StepId { queue: 0, step: 0 }),
            Lane::Connections(0),
        ])
    }

    fn proofs(&self, lanes: &[Lane]) -> Vec<String> {
        let proof = |event: &ServerEvent| match &event.what {
            What::Fired { lane, proof, .. } if lanes.contains(lane) => Some(proof.clone()),
            _ => None,
        };
        self.events.iter().filter_map(proof).collect()
    }

    /// The arrival times of deliveries, in microseconds.
    pub fn delivered_at(&self) -> Vec<u64> {
        let at = |event: &ServerEvent| match &event.what {
            What::Delivered { arrived_us, .. } => Some(*arrived_us),
            _ => None,
        };
        self.events.iter().filter_map(at).collect()
    }
}

/// How the server ended a connection, as its client sees it.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    Fin,
    Reset,
}

/// Everything up to the end of the connection.
pub fn read_to_end(stream: &mut TcpStream) -> (Vec<u8>, Ended) {
    let mut all = Vec::new();
    let mut piece = [0; 65536];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return (all, Ended::Fin),
            Ok(read) => all.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return (all, Ended::Reset),
            Err(error) => panic!("neither FIN nor RST: {error}; after {} bytes", all.len()),
        }
    }
}

/// Lets time pass in which nothing must happen, or which shows in a time.
#[expect(
    clippy::disallowed_methods,
    reason = "what is shown is that time alone changes nothing"
)]
pub fn let_pass(time: Duration) {
    std::thread::sleep(time);
}

/// Exactly so many bytes.
pub fn read_exactly(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

pub const GET: &str = "GET / HTTP/1.1\r\nHost: api\r\n\r\n";
pub const POST: &str = "POST /orders HTTP/1.1\r\nHost: api\r\nContent-Length: 5\r\n\r\nabcde";
/// What `Step::answer(200, "next")` sends.
pub const NEXT: &str = "HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nnext";
