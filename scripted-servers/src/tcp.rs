//! The transport over plain TCP.
//!
//! Reads go to the socket directly; tokio only says when to try again. So that
//! waiting for the peer's end can leave bytes unread, this file keeps its own
//! account (`dry`) of whether bytes may be there.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::clock::Clock;
use crate::event::Ending;
use crate::kernel::{self, Moment, Peer, Peers, TcpState};
use crate::transport::Transport;

/// One accepted connection.
pub(crate) struct Tcp {
    stream: Option<TcpStream>,
    own: SocketAddr,
    peer: SocketAddr,
    peers: Arc<Peers>,
    /// The socket was seen empty, and tokio has not said otherwise since.
    dry: AtomicBool,
    empty_at: Duration,
    fin_sent: bool,
}

impl Tcp {
    /// Takes over an accepted stream.
    pub(crate) fn new(
        stream: TcpStream,
        own: SocketAddr,
        peer: SocketAddr,
        peers: Arc<Peers>,
    ) -> Self {
        Self {
            stream: Some(stream),
            own,
            peer,
            peers,
            dry: AtomicBool::new(false),
            empty_at: Duration::ZERO,
            fin_sent: false,
        }
    }

    fn ask<R>(&self, closed: R, question: impl FnOnce(BorrowedFd<'_>) -> R) -> R {
        match &self.stream {
            Some(stream) => question(stream.as_fd()),
            None => closed,
        }
    }

    /// Lets tokio forget that the socket was readable, so that the next wait is
    /// for something new.
    fn forget_readable(stream: &TcpStream) {
        let _ = stream.try_io(Interest::READABLE, || -> io::Result<()> {
            Err(io::ErrorKind::WouldBlock.into())
        });
    }
}

impl Transport for Tcp {
    fn try_read(&mut self, into: &mut [u8], clock: &dyn Clock) -> io::Result<(usize, Duration)> {
        let called = Moment::now(clock);
        let Some(stream) = &self.stream else {
            return Ok((0, called.cell));
        };
        let outcome = kernel::receive(stream.as_fd(), into, called, self.empty_at);
        let emptied = match &outcome {
            Ok((read, _)) => 0 < *read && *read < into.len(),
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        if emptied {
            self.empty_at = called.cell;
            self.dry.store(true, Ordering::Relaxed);
            Self::forget_readable(stream);
        }
        outcome
    }

    fn seems_empty(&self) -> bool {
        self.dry.load(Ordering::Relaxed)
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.stream {
            Some(stream) => stream.try_write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn hold_back(&mut self) {
        if let Some(stream) = &self.stream
            && let Err(error) = socket2::SockRef::from(stream).set_tcp_cork(true)
        {
            tracing::debug!(%error, "the last bytes may arrive before the FIN");
        }
    }

    async fn readable(&self) {
        let Some(stream) = &self.stream else {
            return;
        };
        if !self.dry.load(Ordering::Relaxed) {
            if self.unread() > 0 || self.ending().is_some() {
                return;
            }
            self.dry.store(true, Ordering::Relaxed);
            Self::forget_readable(stream);
        }
        let _ = stream.readable().await;
        self.dry.store(false, Ordering::Relaxed);
    }

    async fn writable(&self) {
        if let Some(stream) = &self.stream {
            let _ = stream.writable().await;
        }
    }

    async fn ended(&self) -> Ending {
        let Some(stream) = &self.stream else {
            return Ending::Reset;
        };
        loop {
            let Ok(ready) = stream.ready(Interest::READABLE).await else {
                return Ending::Reset;
            };
            self.dry.store(false, Ordering::Relaxed);
            if ready.is_read_closed() || ready.is_error() {
                return self.ending().unwrap_or(Ending::Fin);
            }
            Self::forget_readable(stream);
        }
    }

    fn ending(&self) -> Option<Ending> {
        // Given up is not ended by the peer.
        match self.ask(TcpState::PeerOpen, kernel::state) {
            TcpState::PeerOpen => None,
            TcpState::PeerFin => Some(Ending::Fin),
            // Once both have sent FIN the kernel gives this end up as well.
            TcpState::Over if self.fin_sent => Some(Ending::Fin),
            TcpState::Over => Some(Ending::Reset),
        }
    }

    fn unread(&self) -> u64 {
        self.ask(0, kernel::unread)
    }

    fn unacknowledged(&self) -> u64 {
        self.ask(0, kernel::unacknowledged)
    }

    fn since_acknowledgement(&self) -> Option<Duration> {
        self.ask(None, kernel::since_acknowledgement)
    }

    fn peer(&self) -> Peer {
        self.peers.peer(self.own, self.peer)
    }

    fn deafen(&mut self) {
        if let Some(stream) = &self.stream
            && let Err(error) = kernel::deafen(stream)
        {
            tracing::debug!(%error, "no socket filter; a reset is exact only to the microsecond");
        }
    }

    fn hear(&mut self) {
        if let Some(stream) = &self.stream
            && let Err(error) = kernel::hear(stream)
        {
            tracing::debug!(%error, "the socket filter stays");
        }
    }

    fn finish(&mut self) {
        self.fin_sent = true;
        if let Some(stream) = &self.stream {
            // Fails only when the peer has reset the connection already.
            let _ = socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write);
        }
    }

    fn reset(&mut self) {
        if let Some(stream) = &self.stream {
            let _ = kernel::reset_on_close(stream);
        }
        self.close();
    }

    fn close(&mut self) {
        self.stream = None;
    }
}
