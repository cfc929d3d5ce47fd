//! Takes connections from a listener, so that none is lost unnoticed: what fails
//! for want of something is tried again, and what fails otherwise breaks the
//! record. It does not know what is done with a connection.

use std::io;
use std::net::{self, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;

use crate::state::Cell;

/// A pause after an accept that failed for want of something.
const PAUSE: Duration = Duration::from_millis(10);
/// At the end of a cell its connections give back what is wanting; what is still
/// wanting after this stays so.
const LONGEST: Duration = Duration::from_secs(2);

/// A connection and its peer.
pub(crate) type Accepted = (TcpStream, SocketAddr);

/// A socket that listens.
pub(crate) struct Listener {
    socket: AsyncFd<net::TcpListener>,
    server: Arc<str>,
    cell: Arc<Cell>,
}

impl Listener {
    /// Takes over a listener that does not block.
    pub(crate) fn new(
        socket: net::TcpListener,
        server: Arc<str>,
        cell: Arc<Cell>,
    ) -> io::Result<Self> {
        Ok(Self {
            socket: AsyncFd::new(socket)?,
            server,
            cell,
        })
    }

    /// The next connection. Dropped while it waits, it has taken none.
    pub(crate) async fn next(&self) -> Accepted {
        loop {
            let mut ready = match self.socket.readable().await {
                Ok(ready) => ready,
                Err(error) => {
                    self.lost(&error);
                    std::future::pending().await
                }
            };
            match ready.try_io(|socket| socket.get_ref().accept()) {
                Ok(Ok(accepted)) => {
                    if let Some(accepted) = self.registered(accepted) {
                        return accepted;
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "accept failed");
                    if !is_for_want(&error) {
                        self.lost(&error);
                    }
                    self.pause().await;
                }
                // Somebody else's connection, or none any more.
                Err(_not_ready) => {}
            }
        }
    }

    /// The next connection of those that wait to be accepted; none: no more do.
    pub(crate) async fn next_waiting(&self) -> Option<Accepted> {
        let clock = &self.cell.clock;
        let end = clock.now() + LONGEST;
        loop {
            match self.socket.get_ref().accept() {
                Ok(accepted) => {
                    if let Some(accepted) = self.registered(accepted) {
                        return Some(accepted);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) if is_for_want(&error) && clock.now() < end => self.pause().await,
                Err(error) => {
                    self.lost(&error);
                    return None;
                }
            }
        }
    }

    /// A connection that tokio watches.
    fn registered(&self, (stream, peer): (net::TcpStream, SocketAddr)) -> Option<Accepted> {
        let stream = stream
            .set_nonblocking(true)
            .and_then(|()| TcpStream::from_std(stream));
        match stream {
            Ok(stream) => Some((stream, peer)),
            Err(error) => {
                self.lost(&error);
                None
            }
        }
    }

    /// What came on a connection may not be counted.
    fn lost(&self, error: &io::Error) {
        let server = &self.server;
        self.cell.set_broken(format!(
            "a connection to {server:?} could not be accepted: {error}"
        ));
    }

    async fn pause(&self) {
        let clock = &self.cell.clock;
        let _busy = clock.sleep_until(clock.now() + PAUSE).await;
    }
}

/// Whether the connection still waits, as only something was wanting to take it.
fn is_for_want(error: &io::Error) -> bool {
    const WANTS: [i32; 5] = [
        libc::EMFILE,
        libc::ENFILE,
        libc::ENOBUFS,
        libc::ENOMEM,
        libc::EINTR,
    ];
    error
        .raw_os_error()
        .is_some_and(|code| WANTS.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RealClock;
    use crate::ledger::Memory;

    #[tokio::test]
    async fn an_accept_that_can_not_succeed_breaks_the_record() {
        // A socket that does not listen: every accept fails with EINVAL.
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let socket = net::TcpListener::from(socket.unwrap());
        socket.set_nonblocking(true).unwrap();
        let cell = Arc::new(Cell::new(RealClock::start(), Memory::new()));
        let listener = Listener::new(socket, "api".into(), cell.clone()).unwrap();
        assert!(listener.next_waiting().await.is_none());
        let reason = cell.broken().unwrap();
        assert!(reason.contains("\"api\" could not be accepted"), "{reason}");
    }

    #[tokio::test]
    async fn a_connection_that_can_not_be_watched_breaks_the_record() {
        let socket = net::TcpListener::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let cell = Arc::new(Cell::new(RealClock::start(), Memory::new()));
        let listener = Listener::new(socket, "api".into(), cell.clone()).unwrap();
        // A regular file can not be watched: epoll refuses it.
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let stream = net::TcpStream::from(std::os::fd::OwnedFd::from(file));
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        assert!(listener.registered((stream, peer)).is_none());
        assert!(cell.broken().is_some());
    }
}
