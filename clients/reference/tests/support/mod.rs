//! A scripted server for tests of the client: each request takes the next act.
//!
//! It is no part of the product's servers, so that the client is tested against
//! something that shares no code with what it will later be judged by.
#![expect(dead_code, reason = "each test file uses a part of it")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]

use std::io::{self, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client_kit::conformance::Seen;
use client_kit::messages::Messages;
use client_kit::protocol::{Body, Call, Limits, Message, Report, Shown, VERSION, Work};
use client_kit::session::Controls;
use reference_client::defects::Defects;
use rustix::net::sockopt::set_socket_linger;

/// What a server does with a request. `{port}` in what it sends is its port.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes and serves on.
    Send(String),
    /// Sends each of these bytes, so long apart, and serves on.
    Drip(String, Duration),
    /// Sends these bytes, in order, and ends with FIN.
    SendClose(String),
    /// Sends these bytes, ends its direction with FIN, and keeps the socket.
    SendHalfClose(String),
    /// Sends these bytes and is silent until the client goes.
    SendHold(String),
    /// Sends these bytes and ends with RST.
    SendReset(String),
    /// Is silent for so long, then ends with FIN.
    Silent(Duration),
}

/// An answer with a length.
pub(crate) fn answer(status: u16, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {length}\r\n\r\n{body}")
}

/// The act of a good answer.
pub(crate) fn ok() -> Act {
    Act::Send(answer(200, "", "ok"))
}

/// The act of a bare status.
pub(crate) fn status(status: u16) -> Act {
    Act::Send(answer(status, "", ""))
}

/// A server; its threads end with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Listens; the acts are taken in order by requests on any connection, and
    /// the last repeats.
    pub(crate) fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            connections: Arc::default(),
        };
        let seen = Arc::clone(&server.seen);
        let connections = Arc::clone(&server.connections);
        let script = Arc::new((acts, AtomicUsize::new(0)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                std::thread::spawn(move || serve(&stream, &seen, &script));
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(
    stream: &TcpStream,
    seen: &Mutex<Vec<Seen>>,
    script: &(Vec<Act>, AtomicUsize),
) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut input = BufReader::new(stream);
    while let Some(request) = Seen::read(&mut input)? {
        seen.lock().unwrap().push(request);
        let turn = script.1.fetch_add(1, Ordering::SeqCst);
        let act = &script.0[turn.min(script.0.len() - 1)];
        let port = stream.local_addr()?.port().to_string();
        let send = |bytes: &str| {
            let mut out = stream;
            out.write_all(bytes.replace("{port}", &port).as_bytes())
        };
        match act {
            Act::Send(bytes) | Act::SendHold(bytes) => send(bytes)?,
            Act::Drip(bytes, apart) => {
                for byte in bytes.chars() {
                    std::thread::park_timeout(*apart);
                    send(byte.encode_utf8(&mut [0; 4]))?;
                }
            }
            Act::SendClose(bytes) => return send(bytes),
            Act::SendHalfClose(bytes) => {
                send(bytes)?;
                stream.shutdown(Shutdown::Write)?;
            }
            Act::SendReset(bytes) => {
                send(bytes)?;
                set_socket_linger(stream, Some(Duration::ZERO))?;
                return Ok(());
            }
            Act::Silent(time) => {
                std::thread::park_timeout(*time);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Where nobody listens: an address and a port that nothing takes by chance, so
/// that another test's server is never met there.
pub(crate) fn closed() -> String {
    "http://127.0.0.77:3/".to_owned()
}

/// A call without fields and content.
pub(crate) fn call(method: &str, url: String) -> Call {
    Call {
        id: 1,
        operation: None,
        method: method.to_owned(),
        url,
        headers: Vec::new(),
        body: (method == "POST" || method == "PUT").then(|| Body::Text("abc".to_owned())),
        stream_body: false,
        resumable: false,
        look_up: None,
        job: None,
        batch: None,
        stream: None,
        pause_ms: 0,
        group: 0,
        at_once: 1,
    }
}

/// Keeps what is said, and may cancel call 1 when a word is said.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>, Option<(&'static str, Controls)>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        if let Some((word, controls)) = &self.1
            && String::from_utf8_lossy(bytes).contains(word)
        {
            controls.follow(&b"{\"cancel\":{\"call\":1}}\n"[..]);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes the calls with one client and returns all that it said.
pub(crate) fn make(calls: Vec<Call>, limits: Limits, defects: &Defects) -> Vec<Message> {
    make_unless(calls, limits, defects, &Controls::default(), None)
}

/// As [`make`], with somebody who may cancel calls meanwhile: at a word that the
/// client says, or whenever they like.
pub(crate) fn make_unless(
    mut calls: Vec<Call>,
    limits: Limits,
    defects: &Defects,
    controls: &Controls,
    cancel_at: Option<&'static str>,
) -> Vec<Message> {
    for (id, call) in (1..).zip(&mut calls) {
        call.id = id;
    }
    let work = Work {
        protocol: VERSION,
        calls,
        limits,
    };
    let cancel_at = cancel_at.map(|word| (word, controls.clone()));
    let sink = Sink(Arc::default(), cancel_at);
    reference_client::program::run(&work, defects, &Messages::to(sink.clone()), controls).unwrap();
    let bytes = sink.0.lock().unwrap().clone();
    let lines = String::from_utf8(bytes).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What the reports showed, a word a call: `200:2` (status and length), `500:cut`,
/// or the code of the outermost error.
pub(crate) fn shown(messages: &[Message]) -> String {
    let words: Vec<String> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Report(report) => Some(shown_by(report)),
            _ => None,
        })
        .collect();
    words.join(" ")
}

fn shown_by(report: &Report) -> String {
    let word = match &report.shown {
        Shown::Response(shown) => {
            let length = shown
                .body_bytes
                .map_or_else(|| "cut".to_owned(), |bytes| bytes.to_string());
            format!("{}:{length}", shown.status.unwrap_or_default())
        }
        Shown::Error(chain) => chain[0].code.clone().unwrap_or_else(|| "?".to_owned()),
        Shown::Held {} => "Held".to_owned(),
        other => format!("{other:?}"),
    };
    match &report.events {
        Some(ids) => format!("{word} [{}]", ids.join(",")),
        None => word,
    }
}
