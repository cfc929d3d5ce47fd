//! A small well-behaved server for the conformance check: it answers every
//! request with the same 200 and remembers what arrived. It injects no faults.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What every answer carries.
pub(super) const CONTENT: &[u8] = b"ok";
/// How long a connection may be silent.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of content that are taken.
const MOST: u64 = 1 << 20;

/// One request that arrived.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Method.
    pub method: String,
    /// Request target.
    pub target: String,
    /// Header fields, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Content.
    pub body: Vec<u8>,
}

impl Seen {
    /// The value of a header field, its name given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.as_str())
    }

    /// Reads the next request of a connection; none: the connection ended.
    ///
    /// # Errors
    /// The connection broke, or what came is no request.
    pub fn read(input: &mut impl BufRead) -> io::Result<Option<Seen>> {
        let first = line(input)?;
        if first.is_empty() {
            return Ok(None);
        }
        let mut words = first.split(' ').map(str::to_owned);
        let mut seen = Seen {
            method: words.next().unwrap_or_default(),
            target: words.next().unwrap_or_default(),
            ..Seen::default()
        };
        loop {
            let line = line(input)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            seen.headers
                .push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        seen.body = body(input, &seen)?;
        Ok(Some(seen))
    }
}

/// The server. It stops when it is dropped.
pub struct Plain {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
}

impl Plain {
    /// Listens on a free port of the loopback.
    ///
    /// # Errors
    /// There is no port to have.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let server = Self {
            address: listener.local_addr()?,
            seen: Arc::default(),
            stop: Arc::default(),
        };
        let (seen, stop) = (Arc::clone(&server.seen), Arc::clone(&server.stop));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let seen = Arc::clone(&seen);
                if let Ok(stream) = stream {
                    // A connection that breaks shows in what did not arrive.
                    std::thread::spawn(move || serve(stream, &seen));
                }
            }
        });
        Ok(server)
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What has arrived so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts; when that fails it is already gone.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Seen>>) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut out = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    while let Some(request) = Seen::read(&mut input)? {
        seen.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
            CONTENT.len()
        )
        .into_bytes();
        answer.extend_from_slice(CONTENT);
        out.write_all(&answer)?;
    }
    Ok(())
}

fn body(input: &mut impl BufRead, seen: &Seen) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if seen.header("transfer-encoding").is_some() {
        loop {
            let size = line(input)?;
            let size = u64::from_str_radix(&size, 16).map_err(io::Error::other)?;
            input.take(size.min(MOST)).read_to_end(&mut body)?;
            line(input)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = seen.header("content-length") {
        let length: u64 = length.parse().map_err(io::Error::other)?;
        input.take(length.min(MOST)).read_to_end(&mut body)?;
    }
    Ok(body)
}

fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    line.truncate(line.trim_end().len());
    Ok(line)
}
