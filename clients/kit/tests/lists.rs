//! The kits of other languages read a list of events as the Rust kit does.
//!
//! Where a runtime is not there, the test says so on stderr and proves nothing.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on shall stop, also in its helpers"
)]

mod compiled;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use client_kit::events::EventReader;
use client_kit::protocol::{Call, Limits, Message, Report, Shown, Stream, VERSION, Work};

/// Answers one request with these bytes, each in a write of its own.
fn serve(body: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        for byte in body {
            let _ = stream.write_all(&[*byte]);
        }
    });
    url
}

fn work(url: String) -> Work {
    let call = Call {
        id: 1,
        operation: None,
        method: "GET".to_owned(),
        url,
        headers: Vec::new(),
        body: None,
        stream_body: false,
        resumable: false,
        look_up: None,
        job: None,
        batch: None,
        stream: Some(Stream {
            ends_with: Some("end".to_owned()),
            cursor: None,
        }),
        pause_ms: 0,
        group: 0,
        at_once: 1,
    };
    Work {
        protocol: VERSION,
        calls: vec![call],
        limits: Limits::default(),
    }
}

/// What a program reports of a list.
fn report(program: &[String], body: &'static [u8]) -> Report {
    let mut child = Command::new(&program[0])
        .args(&program[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let work = serde_json::to_string(&work(serve(body))).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{work}").unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut messages = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let report = messages.find_map(|message| match message {
        Message::Report(report) => Some(report),
        _ => None,
    });
    // Where a program waits for `finish`, the end of its stdin stands for it.
    drop(stdin);
    assert!(child.wait().unwrap().success());
    report.unwrap()
}

/// The programs with a kit of their language; what is not there says so.
struct Programs {
    commands: Vec<Vec<String>>,
    _compiled: Vec<compiled::Compiled>,
}

fn programs() -> Programs {
    let here = |file| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let mut commands: Vec<Vec<String>> = Vec::new();
    for (runtime, option, file) in [
        ("node", "--no-warnings", "node/fetch.mjs"),
        ("node", "--no-warnings", "node/http.mjs"),
        ("python3", "-B", "python/urllib_client.py"),
    ] {
        let file = here(file).to_str().unwrap().to_owned();
        let version = Command::new(runtime)
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        if version.is_ok() {
            commands.push(vec![runtime.to_owned(), option.to_owned(), file]);
        } else {
            let mut stderr = std::io::stderr();
            writeln!(stderr, "SKIPPED: {runtime} is not in PATH").unwrap();
        }
    }
    let compiled: Vec<_> = [compiled::go(), compiled::java("JavaHttpClient")]
        .into_iter()
        .flatten()
        .collect();
    commands.extend(compiled.iter().map(|one| one.command.clone()));
    Programs {
        commands,
        _compiled: compiled,
    }
}

/// All ends of lines, a byte order mark, comments, a field without a value, two
/// lines of data, an id with a NUL, an event without data, letters of two bytes.
const ODD: &[u8] = "\u{feff}id: 1\r\ndata: ä\r\rid:2\ndata\n\n: no\nid: 3\n\n\
    id: 4\u{0}\ndata: x\n\nid: 5\ndata: end\ndata: more\r\n\r\nid:  6\ndata:y\n\n\
    id: 7\ndata: end\n\n"
    .as_bytes();

#[test]
fn odd_lists_are_read_as_the_standard_says() {
    let ids: Vec<String> = EventReader::default()
        .take(ODD)
        .into_iter()
        .filter_map(|event| event.id)
        .collect();
    assert_eq!(ids, ["1", "2", "5", " 6", "7"]);
    for program in &programs().commands {
        let report = report(program, ODD);
        assert_eq!(report.events.as_ref(), Some(&ids), "{program:?}");
        assert!(matches!(report.shown, Shown::Response(_)), "{report:?}");
    }
}

#[test]
fn a_list_without_its_last_event_is_an_error_and_what_came_of_it_is_told() {
    for program in &programs().commands {
        let body = b"id: 1\ndata: a\n\nid: 2\ndata: end\n";
        let report = report(program, body);
        assert_eq!(report.events, Some(vec!["1".to_owned()]), "{program:?}");
        match &report.shown {
            Shown::Error(chain) => {
                let kind = chain[0].kind.as_deref().unwrap();
                assert!(kind.ends_with("StreamEnded"), "{chain:?}");
            }
            shown => panic!("{program:?}: {shown:?}"),
        }
    }
}
