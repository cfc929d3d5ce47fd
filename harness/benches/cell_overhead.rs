//! What a cell costs beyond the client in it.
//!
//! The reference client makes one call, once started bare against a plain
//! server, once in a cell; both are timed from start to end, in turns. Prints
//! the medians and ends with an error when a cell adds more than 5 ms.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has failed"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use client_kit::protocol::{Call, Limits, VERSION, Work};
use harness::run::{RunEvent, run_cells};
use scenarios::verdict::Verdict;
use scripted_servers::clock::{Clock, RealClock};
use support::cells::{adapter, job, options, plan};
use tempfile::TempDir;

/// The most that a cell may add.
const MOST: Duration = Duration::from_millis(5);

/// Turns; each is one bare start and one cell.
const TURNS: usize = 200;

/// The argument with which this program is the client.
const CLIENT: &str = "--as-client";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().is_some_and(|word| word == CLIENT) {
        return reference_client::main(args);
    }
    let clock = RealClock::start();
    let own = std::env::current_exe().unwrap();
    let work = work(&plain_server());
    let run = TempDir::new().unwrap();
    let (mut bare, mut cells) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        bare.push(time(&clock, || start_bare(&own, &work)));
        cells.push(run_cell(&clock, &own, run.path(), turn));
    }
    let (bare, cell) = (median(bare), median(cells));
    let added = cell.saturating_sub(bare);
    println!("start of the reference client, bare: {bare:?} (median of {TURNS})");
    println!("the same in a cell:                  {cell:?}");
    println!("added by a cell:                     {added:?} (at most {MOST:?})");
    if added <= MOST {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn time(clock: &Arc<dyn Clock>, work: impl FnOnce()) -> Duration {
    let began = clock.now();
    work();
    clock.now() - began
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Answers every request with 200, without a script or a record.
fn plain_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    format!("http://{address}/x")
}

fn answer(mut stream: TcpStream) {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        head.extend_from_slice(&chunk[..count]);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    }
}

fn work(url: &str) -> Vec<u8> {
    let call = Call {
        id: 1,
        operation: None,
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: None,
        stream_body: false,
        resumable: false,
        look_up: None,
        job: None,
        batch: None,
        stream: None,
        pause_ms: 0,
        group: 0,
        at_once: 1,
    };
    let work = Work {
        protocol: VERSION,
        calls: vec![call],
        limits: Limits::default(),
    };
    let mut line = serde_json::to_vec(&work).unwrap();
    line.push(b'\n');
    line
}

/// What a cell does, without a cell: hand over the work, wait for the report,
/// say finish, wait for the end.
fn start_bare(own: &Path, work: &[u8]) {
    let mut client = Command::new(own)
        .arg(CLIENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = client.stdin.take().unwrap();
    stdin.write_all(work).unwrap();
    let stdout = BufReader::new(client.stdout.take().unwrap());
    let mut lines = stdout.lines().map_while(Result::ok);
    let report = lines.find(|line| line.starts_with("{\"report\""));
    assert!(report.is_some_and(|report| report.contains("\"status\":200")));
    // It may have ended by itself already.
    let _ = stdin.write_all(b"{\"finish\":{}}\n");
    assert!(client.wait().unwrap().success());
}

/// From the cell's beginning to its verdict.
fn run_cell(clock: &Arc<dyn Clock>, own: &Path, run: &Path, turn: usize) -> Duration {
    let mut plan = plan();
    plan.quiet = Duration::ZERO;
    let client = adapter(&[&own.to_string_lossy(), CLIENT]);
    let jobs = vec![job(&format!("cell-{turn}"), plan, client)];
    let (mut began, mut ended) = (Duration::ZERO, Duration::ZERO);
    run_cells(jobs, &options(run), &mut |event| match event {
        RunEvent::Started { .. } => began = clock.now(),
        RunEvent::Finished { verdict, .. } => {
            ended = clock.now();
            assert_ne!(verdict.verdict, Verdict::Error, "{verdict:?}");
        }
        RunEvent::Interrupted { .. } => {}
    })
    .unwrap();
    ended - began
}
