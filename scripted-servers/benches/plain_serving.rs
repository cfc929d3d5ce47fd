//! Plain keep-alive serving with every event written as a JSON line, against a
//! bare hyper server: the same load, in turn, in one run.
//!
//! Prints requests per second of both and their ratio, and fails below 0.7.
#![allow(missing_docs, reason = "a benchmark has no callers")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that can not run shall panic"
)]

use std::convert::Infallible;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use scripted_servers::clock::{Clock, RealClock};
use scripted_servers::event::ServerEvent;
use scripted_servers::record::Record;
use scripted_servers::script::{Listen, ServerScript, Step, Times};
use scripted_servers::server::{Armed, Running};

const LEAST_RATIO: f64 = 0.7;
const ROUNDS: usize = 41;
const CONNECTIONS: usize = 32;
const TURNS: usize = 200;
const REQUEST: &[u8] =
    b"GET /items/1 HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n";
const HYPER: &str = "hyper";
const SCRIPTED: &str = "scripted-servers";
const CONTENT: &str = "hello, world";

fn main() -> ExitCode {
    let hyper = start_hyper();
    let file = std::env::temp_dir().join(format!("plain-serving-{}.jsonl", std::process::id()));
    let record = Arc::new(JsonLines::create(&file));
    let (running, scripted) = start_scripted(record.clone());
    let mut hyper = Load::new(hyper);
    let mut scripted = Load::new(scripted);
    // Once unmeasured: caches, allocators, and the first growth of buffers.
    hyper.round();
    scripted.round();
    let mut pairs = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        record.begin_again();
        // Who goes first alternates, as the machine may speed up or slow down.
        let pair = if round % 2 == 0 {
            let first = hyper.round();
            (first, scripted.round())
        } else {
            let first = scripted.round();
            (hyper.round(), first)
        };
        pairs.push(pair);
    }
    let times = (processor_time(HYPER), processor_time(SCRIPTED));
    running.client_ended();
    running.close().unwrap();
    std::fs::remove_file(&file).unwrap();
    report(&pairs, times, record.written())
}

fn report(pairs: &[(f64, f64)], times: (f64, f64), recorded: u64) -> ExitCode {
    let hyper = median(pairs.iter().map(|(hyper, _)| *hyper));
    let scripted = median(pairs.iter().map(|(_, scripted)| *scripted));
    let ratio = median(pairs.iter().map(|(hyper, scripted)| scripted / hyper));
    println!(
        "plain keep-alive serving, {CONNECTIONS} connections, medians of {ROUNDS} paired rounds"
    );
    let (hyper_time, scripted_time) = times;
    println!("  hyper             {hyper:>7.0} requests/s, {hyper_time:.1} us of processor each");
    println!(
        "  scripted-servers  {scripted:>7.0} requests/s, {scripted_time:.1} us of processor each"
    );
    println!("  events written    {:>7} MB", recorded / 1_000_000);
    println!("  ratio             {ratio:>9.2} (at least {LEAST_RATIO})");
    if ratio >= LEAST_RATIO {
        ExitCode::SUCCESS
    } else {
        println!("plain serving is too slow");
        ExitCode::FAILURE
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Processor time of the thread with this name, in microseconds a request.
fn processor_time(thread: &str) -> f64 {
    let requests = ((ROUNDS + 1) * TURNS * CONNECTIONS) as f64;
    let mut nanos = 0.0;
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let task = task.unwrap().path();
        // The kernel keeps 15 bytes of a name.
        let name = std::fs::read_to_string(task.join("comm")).unwrap();
        if name.trim() == &thread[..thread.len().min(15)] {
            let times = std::fs::read_to_string(task.join("schedstat")).unwrap();
            nanos += times.split(' ').next().unwrap().parse::<f64>().unwrap();
        }
    }
    nanos / 1000.0 / requests
}

/// Requests on a number of kept connections: one on each, then all answers.
struct Load {
    connections: Vec<TcpStream>,
    /// Bytes of an answer, found out from the first.
    answer: usize,
}

impl Load {
    fn new(address: SocketAddr) -> Self {
        let connect = |_| {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            stream
        };
        let mut connections: Vec<TcpStream> = (0..CONNECTIONS).map(connect).collect();
        let answer = answer_length(&mut connections[0]);
        Self {
            connections,
            answer,
        }
    }

    /// Requests per second.
    fn round(&mut self) -> f64 {
        let mut answer = vec![0; self.answer];
        let began = Instant::now();
        for _ in 0..TURNS {
            for connection in &mut self.connections {
                connection.write_all(REQUEST).unwrap();
            }
            // The last one first: when it is there all are, so that this thread
            // sleeps once and not once an answer.
            for connection in self.connections.iter_mut().rev() {
                connection.read_exact(&mut answer).unwrap();
                assert!(answer.ends_with(CONTENT.as_bytes()));
            }
        }
        (TURNS * CONNECTIONS) as f64 / began.elapsed().as_secs_f64()
    }
}

fn answer_length(connection: &mut TcpStream) -> usize {
    connection.write_all(REQUEST).unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    while !answer.ends_with(CONTENT.as_bytes()) {
        let read = connection.read(&mut piece).unwrap();
        assert!(read > 0, "the server ended the connection");
        answer.extend_from_slice(&piece[..read]);
    }
    answer.len()
}

fn start_hyper() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let service = hyper::service::service_fn(answer);
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
    };
    std::thread::Builder::new()
        .name(HYPER.into())
        .spawn(serve)
        .unwrap();
    address
}

async fn answer(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(
        CONTENT.as_bytes(),
    ))))
}

fn start_scripted(record: Arc<JsonLines>) -> (Running, SocketAddr) {
    let clock = record.clock.clone();
    let armed = Armed::arm(&[("api", Listen::Open)], clock, record).unwrap();
    let address = armed.addresses()["api"];
    let step = Step {
        times: Times::Always,
        ..Step::answer(200, CONTENT)
    };
    let running = armed
        .serve(vec![ServerScript::new("api").script(vec![step])])
        .unwrap();
    (running, address)
}

/// The record of a run: every event as a line.
struct JsonLines {
    clock: Arc<dyn Clock>,
    lines: Mutex<Lines>,
}

struct Lines {
    n: u64,
    buffer: Vec<u8>,
    written: u64,
    file: File,
}

impl JsonLines {
    fn create(file: &Path) -> Self {
        Self {
            clock: RealClock::start(),
            lines: Mutex::new(Lines {
                n: 0,
                buffer: Vec::new(),
                written: 0,
                file: File::create(file).unwrap(),
            }),
        }
    }

    /// Writes over what is there, so that neither the disk nor the machine's way
    /// of handing out fresh memory has its say in a benchmark that writes more in
    /// a second than a suite does in an hour.
    fn begin_again(&self) {
        self.lines.lock().unwrap().file.rewind().unwrap();
    }

    fn written(&self) -> u64 {
        self.lines.lock().unwrap().written
    }
}

impl Record for JsonLines {
    fn record(&self, event: ServerEvent) {
        let mut lines = self.lines.lock().unwrap();
        lines.n += 1;
        let (n, at_us) = (lines.n, self.clock.now().as_micros() as u64);
        lines.buffer.extend_from_slice(b"{\"n\":");
        number(&mut lines.buffer, n);
        lines.buffer.extend_from_slice(b",\"at_us\":");
        number(&mut lines.buffer, at_us);
        lines.buffer.extend_from_slice(b",\"event\":{\"server\":");
        event.write_json(&mut lines.buffer);
        lines.buffer.extend_from_slice(b"}}\n");
    }

    fn flush(&self) {
        let mut lines = self.lines.lock().unwrap();
        let Lines {
            buffer,
            written,
            file,
            ..
        } = &mut *lines;
        if !buffer.is_empty() {
            *written += buffer.len() as u64;
            file.write_all(buffer).unwrap();
            buffer.clear();
        }
    }
}

/// Appends a number in decimal digits.
fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}
