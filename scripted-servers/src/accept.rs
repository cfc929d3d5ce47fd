//! Takes connections from a listener, so that none is lost unnoticed: what fails
//! for want of something is tried again, and what fails otherwise breaks the
//! record. It does not know what is done with a connection.

use std::io;
use std::net::{self, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::state::Cell;

/// A pause after an accept that failed for want of something.
const PAUSE: Duration = Duration::from_millis(10);
/// At the end of a cell its connections give back what is wanting; what is still
/// wanting after this stays so. While the client lives, a connection that waits
/// for longer has not met the server that was scripted.
const LONGEST: Duration = Duration::from_secs(2);

/// A connection and its peer.
pub(crate) type Accepted = (TcpStream, SocketAddr);

/// A socket that listens while its client lives.
pub(crate) struct Listener {
    socket: tokio::net::TcpListener,
    losses: Losses,
}

/// What waits to be accepted once the client has ended.
pub(crate) struct Waiting {
    socket: net::TcpListener,
    losses: Losses,
}

/// Where a connection that is lost is told.
struct Losses {
    server: Arc<str>,
    cell: Arc<Cell>,
}

impl Listener {
    /// Takes over a listener that does not block; none: the record is broken.
    pub(crate) fn new(socket: net::TcpListener, server: Arc<str>, cell: Arc<Cell>) -> Option<Self> {
        let losses = Losses { server, cell };
        let socket = losses.unless(tokio::net::TcpListener::from_std(socket))?;
        Some(Self { socket, losses })
    }

    /// The next connection. Dropped while it waits, it has taken none.
    pub(crate) async fn next(&self) -> Accepted {
        let clock = &self.losses.cell.clock;
        let mut wanting_since = None;
        loop {
            match self.socket.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    tracing::debug!(%error, "accept failed");
                    let now = clock.now();
                    let since = *wanting_since.get_or_insert(now);
                    if !is_for_want(&error) || now >= since + LONGEST {
                        self.losses.tell(&error);
                    }
                    self.losses.pause().await;
                }
            }
        }
    }

    /// The client has ended; none: the record is broken.
    pub(crate) fn into_waiting(self) -> Option<Waiting> {
        let Self { socket, losses } = self;
        let socket = losses.unless(socket.into_std())?;
        Some(Waiting { socket, losses })
    }
}

impl Waiting {
    /// A client comes again; none: the record is broken.
    pub(crate) fn into_listener(self) -> Option<Listener> {
        let Losses { server, cell } = self.losses;
        Listener::new(self.socket, server, cell)
    }

    /// The next connection; none: no more wait.
    pub(crate) async fn next(&self) -> Option<Accepted> {
        let clock = &self.losses.cell.clock;
        let end = clock.now() + LONGEST;
        loop {
            match self.socket.accept() {
                Ok((stream, peer)) => {
                    if let Some(stream) = self.losses.unless(watched(stream)) {
                        return Some((stream, peer));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if is_for_want(&error) && clock.now() < end => {
                    self.losses.pause().await;
                }
                Err(error) => {
                    self.losses.tell(&error);
                    return None;
                }
            }
        }
    }
}

impl Losses {
    /// What came on a connection may not be counted.
    fn tell(&self, error: &io::Error) {
        let server = &self.server;
        let help = match error.raw_os_error() {
            Some(libc::EMFILE) => too_few_descriptors(),
            _ => String::new(),
        };
        self.cell.set_broken(format!(
            "a connection to {server:?} could not be accepted: {error}{help}"
        ));
    }

    fn unless<R>(&self, outcome: io::Result<R>) -> Option<R> {
        outcome.inspect_err(|error| self.tell(error)).ok()
    }

    async fn pause(&self) {
        let clock = &self.cell.clock;
        let _busy = clock.sleep_until(clock.now() + PAUSE).await;
    }
}

/// How many descriptors there are, and what to do for more.
fn too_few_descriptors() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let limit = limit
        .current
        .map_or_else(|| "so many".to_owned(), |limit| limit.to_string());
    format!(
        "; this process may have {limit} descriptors, one for each open connection and some more: \
         raise the hard limit (`ulimit -Hn`), or run fewer cells at once"
    )
}

/// A stream that tokio watches.
fn watched(stream: net::TcpStream) -> io::Result<TcpStream> {
    stream.set_nonblocking(true)?;
    TcpStream::from_std(stream)
}

/// Whether the connection surely still waits, as only something was wanting to
/// take it. Want of memory is not meant: it may have come after the taking.
fn is_for_want(error: &io::Error) -> bool {
    const WANTS: [i32; 4] = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::EINTR];
    error
        .raw_os_error()
        .is_some_and(|code| WANTS.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RealClock;
    use crate::ledger::Memory;

    fn losses() -> Losses {
        Losses {
            server: "api".into(),
            cell: Arc::new(Cell::new(RealClock::start(), Memory::new())),
        }
    }

    #[tokio::test]
    async fn an_accept_that_can_not_succeed_breaks_the_record() {
        // A socket that does not listen: every accept fails with EINVAL.
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let waiting = Waiting {
            socket: socket.unwrap().into(),
            losses: losses(),
        };
        assert!(waiting.next().await.is_none());
        let reason = waiting.losses.cell.broken().unwrap();
        assert!(reason.contains("\"api\" could not be accepted"), "{reason}");
    }

    #[tokio::test]
    async fn a_connection_that_can_not_be_watched_breaks_the_record() {
        // A regular file can not be watched: epoll refuses it.
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let stream = net::TcpStream::from(std::os::fd::OwnedFd::from(file));
        let losses = losses();
        assert!(losses.unless(watched(stream)).is_none());
        assert!(losses.cell.broken().is_some());
    }
}
