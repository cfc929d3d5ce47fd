//! How much memory the harness takes: with ten thousand idle connections, and
//! with a million recorded requests.
//!
//! The program runs as a whole, its client is this file's own program, started
//! as a command: so the load is a process of its own. With `cargo test` this is
//! a small run of the debug build, which shows that it works; `.ci/run` gives
//! the release build and asks for the whole:
//!
//! ```sh
//! cargo build --release
//! cargo test -p harness --test memory -- --whole "$PWD/target/release/wirefault"
//! ```
//!
//! The whole takes half a minute, 1.3 GB of the folder for temporary files, and
//! some more than ten thousand descriptors for each of the two processes.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most that the harness may hold at any time, in KiB.
const MOST_KIB: u64 = 300 * 1024;

/// The words by which this program is the client.
const REQUESTS: &str = "--send-requests";
const IDLE: &str = "--stay-idle";

/// Descriptors that a process needs beside its connections.
const SPARE: u64 = 200;

/// Connections over which requests are sent.
const CONNECTIONS: usize = 64;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [REQUESTS, url, number] => send_requests(&Server::of(url), number.parse().unwrap()),
        [IDLE, url, number] => stay_idle(&Server::of(url), number.parse().unwrap()),
        ["--whole", wirefault] => hold(Path::new(wirefault), 1_000_000, 10_000),
        // As the other tests: a filter that does not name it leaves it out.
        [filter, ..] if !filter.starts_with('-') && !"memory".contains(filter) => {}
        ["--list", ..] => println!("memory: test"),
        _ => hold(Path::new(env!("CARGO_BIN_EXE_wirefault")), 20_000, 1_000),
    }
    ExitCode::SUCCESS
}

/// Runs both, and holds the harness to its limit.
fn hold(wirefault: &Path, requests: usize, connections: usize) {
    let run = Run {
        wirefault,
        folder: tempfile::tempdir().unwrap(),
    };
    run.passes(
        &format!("{requests} requests"),
        REQUESTS,
        requests,
        &format!("delivered: {{ api: {requests} }}"),
    );
    let most = getrlimit(Resource::Nofile).maximum;
    let needed = connections as u64 + SPARE;
    if most.is_some_and(|most| most < needed) {
        println!("{connections} idle connections: SKIPPED, `ulimit -Hn` must be {needed}");
        return;
    }
    run.passes(
        &format!("{connections} idle connections"),
        IDLE,
        connections,
        &format!(
            "connections: {{ api: {connections} }}\n    - delivered: {{ api: {} }}",
            connections / 2 + 1
        ),
    );
}

struct Run<'a> {
    wirefault: &'a Path,
    folder: tempfile::TempDir,
}

impl Run<'_> {
    /// Runs one scenario with this program as the client. What it expects is
    /// exact, so a pass says that everything was counted.
    fn passes(&self, what: &str, mode: &str, number: usize, expected: &str) {
        let scenario = self.folder.path().join(format!("{number}.yaml"));
        let text = format!(
            "title: Much of it\nwhy: Memory is bounded.\n\
             servers:\n  api:\n    script: [{{ respond: {{ status: 503, body: {{ text: ok }} }} }}]\n\
             call: {{ method: GET, url: \"{{api}}/x\" }}\n\
             cap: {number}\ndeadline: 300s\n\
             expect:\n  must:\n    - {expected}\n"
        );
        std::fs::write(&scenario, text).unwrap();
        let own = std::env::current_exe().unwrap();
        let client = format!("load='{}' {mode} {{url}} {number}", own.display());
        let (code, peak) = self.peak(&[
            "run",
            scenario.to_str().unwrap(),
            "--command",
            &client,
            "--out",
            &number.to_string(),
        ]);
        println!("{what}: at most {} MiB", peak / 1024);
        assert_eq!(code, Some(0), "{what}: the run does not pass");
        assert!(
            peak <= MOST_KIB,
            "{what}: {peak} KiB, and at most {MOST_KIB} KiB are allowed"
        );
    }

    /// Runs the program: its exit code, and the most memory that it ever held.
    fn peak(&self, args: &[&str]) -> (Option<i32>, u64) {
        let mut child = Command::new(self.wirefault)
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        wait(&mut child)
    }
}

/// Waits for the end of a program, and asks the kernel how much it held.
#[expect(unsafe_code, reason = "nothing else tells of a program that has ended")]
fn wait(child: &mut Child) -> (Option<i32>, u64) {
    let pid = i32::try_from(child.id()).unwrap();
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both point to values that live through the call.
    let ended = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut used) };
    assert_eq!(ended, pid, "{}", std::io::Error::last_os_error());
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    (code, u64::try_from(used.ru_maxrss).unwrap())
}

/// Where requests go.
struct Server {
    address: SocketAddr,
    host: String,
}

impl Server {
    fn of(url: &str) -> Self {
        let rest = url.strip_prefix("http://").unwrap();
        let (host, _) = rest.split_once('/').unwrap();
        Self {
            address: host.parse().unwrap(),
            host: host.to_owned(),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    fn ask(&self, stream: &mut TcpStream, number: usize) {
        let host = &self.host;
        let request = format!(
            "GET /things/{number} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: load\r\n\
             Accept: */*\r\nX-Request-Id: 00000000-0000-4000-8000-{number:012}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
    }
}

/// Reads one answer, which is a whole 503.
fn hear(stream: &mut TcpStream) {
    let mut answer = Vec::with_capacity(512);
    loop {
        let mut part = [0; 512];
        let read = stream.read(&mut part).unwrap();
        assert_ne!(read, 0, "the server has closed");
        answer.extend_from_slice(&part[..read]);
        if answer.ends_with(b"\r\n\r\nok") {
            assert!(answer.starts_with(b"HTTP/1.1 503 "), "{answer:?}");
            return;
        }
    }
}

/// So many requests, each with its answer, over a few connections. Each has a
/// target and a header field of its own, so that none is as another.
fn send_requests(server: &Server, number: usize) {
    let mut streams: Vec<TcpStream> = (0..CONNECTIONS).map(|_| server.connect()).collect();
    let mut left = number;
    while left > 0 {
        let now = left.min(CONNECTIONS);
        for (place, stream) in streams[..now].iter_mut().enumerate() {
            server.ask(stream, left - place);
        }
        streams[..now].iter_mut().for_each(hear);
        left -= now;
    }
}

/// So many connections that are all open at once. Every other one has carried a
/// request. Connections are accepted in the order in which they came, so once a
/// request on the last one is answered all of them are there.
fn stay_idle(server: &Server, number: usize) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    let mut streams: Vec<TcpStream> = Vec::with_capacity(number);
    for place in 0..number {
        let mut stream = server.connect();
        if place % 2 == 0 {
            server.ask(&mut stream, place);
            hear(&mut stream);
        }
        streams.push(stream);
    }
    let last = streams.last_mut().unwrap();
    server.ask(last, number);
    hear(last);
}
