//! The transport over plain TCP.
//!
//! Reads go to the socket directly; tokio only says when to try again. So that
//! waiting for the peer's end can leave bytes unread, this file keeps its own
//! account (`dry`) of whether bytes may be there.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;

use crate::clock::{Clock, Part};
use crate::event::Ending;
use crate::kernel::{self, Moment, Peer, Peers, TcpState};
use crate::transport::Transport;

/// One accepted connection.
pub(crate) struct Tcp {
    /// Ends before the socket does.
    watched: Option<Part>,
    stream: Option<TcpStream>,
    own: SocketAddr,
    peer: SocketAddr,
    peers: Arc<Peers>,
    /// The socket was seen empty, and tokio has not said otherwise since.
    dry: AtomicBool,
    empty_at: Duration,
    fin_sent: bool,
    /// A RST was met that came behind no FIN. The kernel tells it once.
    reset_open: AtomicBool,
    /// The first thing that the kernel did not tell or do.
    doubt: OnceLock<String>,
}

impl Tcp {
    /// Takes over an accepted stream.
    pub(crate) fn new(
        stream: TcpStream,
        own: SocketAddr,
        peer: SocketAddr,
        peers: Arc<Peers>,
        clock: &dyn Clock,
    ) -> Self {
        Self {
            watched: Some(clock.watch(stream.as_fd(), own, peer)),
            stream: Some(stream),
            own,
            peer,
            peers,
            dry: AtomicBool::new(false),
            empty_at: Duration::ZERO,
            fin_sent: false,
            reset_open: AtomicBool::new(false),
            doubt: OnceLock::new(),
        }
    }

    /// The answer to a question. One that the kernel does not answer is answered
    /// with what makes nobody wait, and is a doubt.
    fn ask<R>(
        &self,
        name: &str,
        closed: R,
        unknown: R,
        question: impl FnOnce(BorrowedFd<'_>) -> io::Result<R>,
    ) -> R {
        let Some(stream) = &self.stream else {
            return closed;
        };
        question(stream.as_fd()).unwrap_or_else(|error| {
            self.note(name, &error);
            unknown
        })
    }

    fn note(&self, name: &str, error: &io::Error) {
        let peer = self.peer;
        let _ = self.doubt.set(format!(
            "the kernel failed at {name} on the connection from {peer}: {error}"
        ));
    }

    /// Behind a FIN the kernel calls a RST a broken pipe.
    fn look_how_reset(&self, error: &io::Error) {
        if error.kind() == io::ErrorKind::ConnectionReset {
            self.reset_open.store(true, Ordering::Relaxed);
        }
    }

    fn give_up(&mut self) {
        self.watched = None;
        self.stream = None;
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
        let outcome = kernel::receive(stream.as_fd(), into, called, self.empty_at, clock).map(
            |(read, arrived)| {
                let arrived = arrived.unwrap_or_else(|error| {
                    self.note("TCP_INFO", &error);
                    called.cell
                });
                (read, arrived)
            },
        );
        if let Err(error) = &outcome {
            self.look_how_reset(error);
        }
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
            Some(stream) => stream.try_write(bytes).inspect_err(|error| {
                self.look_how_reset(error);
            }),
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

    fn let_go(&mut self) {
        if let Some(stream) = &self.stream
            && let Err(error) = socket2::SockRef::from(stream).set_tcp_cork(false)
        {
            tracing::debug!(%error, "the last bytes may arrive late");
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
        let (closed, unknown) = (TcpState::PeerOpen, TcpState::Over);
        match self.ask("TCP_INFO", closed, unknown, kernel::state) {
            TcpState::PeerOpen => None,
            TcpState::PeerFin => Some(Ending::Fin),
            // Once both have sent FIN the kernel gives this end up as well.
            TcpState::Over if self.fin_sent => Some(Ending::Fin),
            TcpState::Over => Some(Ending::Reset),
        }
    }

    fn was_reset_open(&self) -> bool {
        if let Some(stream) = &self.stream
            && let Ok(Some(error)) = stream.take_error()
        {
            self.look_how_reset(&error);
        }
        self.reset_open.load(Ordering::Relaxed)
    }

    fn unread(&self) -> u64 {
        self.ask("FIONREAD", 0, 0, kernel::unread)
    }

    fn unacknowledged(&self) -> u64 {
        self.ask("SIOCOUTQ", 0, 0, kernel::unacknowledged)
    }

    fn unsent(&self) -> u64 {
        self.ask("TCP_INFO", 0, 0, kernel::unsent)
    }

    fn since_acknowledgement(&self) -> Option<Duration> {
        let stream = self.stream.as_ref()?;
        kernel::since_acknowledgement(stream.as_fd())
    }

    fn peer(&self) -> Peer {
        match self.peers.peer(self.own, self.peer) {
            // Neither end is listed any more once the peer has reset: that is seen.
            Peer::Unknown if self.ending() == Some(Ending::Reset) => Peer::Gone,
            peer => peer,
        }
    }

    fn coming(&self) -> Option<u64> {
        self.peers.coming(self.own, self.peer)
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

    fn finish(&mut self) -> bool {
        let Some(stream) = &self.stream else {
            return false;
        };
        let done = socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write);
        self.fin_sent = done.is_ok();
        self.fin_sent
    }

    fn reset(&mut self) {
        if let Some(stream) = &self.stream
            && let Err(error) = kernel::reset(stream)
        {
            self.note("connect to nowhere", &error);
        }
        self.give_up();
    }

    fn close(&mut self) {
        if let Some(stream) = &self.stream
            && let Err(error) = kernel::end(stream.as_fd())
        {
            tracing::debug!(%error, "the connection has ended before");
        }
        self.give_up();
    }

    fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    fn doubt(&self) -> Option<&str> {
        self.doubt.get().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RealClock;

    #[tokio::test]
    async fn what_the_kernel_does_not_tell_is_in_doubt_and_no_fact() {
        // One that can be watched, and of which the kernel tells nothing.
        let socket = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap();
        type Ask = fn(&Tcp) -> bool;
        let questions: [(&str, Ask); 3] = [
            ("SIOCOUTQ", |tcp| tcp.unacknowledged() == 0),
            ("FIONREAD", |tcp| tcp.unread() == 0),
            ("TCP_INFO", |tcp| tcp.ending() == Some(Ending::Reset)),
        ];
        let clock = RealClock::start();
        for (name, ask) in questions {
            let stream = std::net::TcpStream::from(socket.try_clone().unwrap());
            let stream = TcpStream::from_std(stream).unwrap();
            let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
            let tcp = Tcp::new(stream, nobody, nobody, Arc::new(Peers::new()), &*clock);
            assert_eq!(tcp.doubt(), None);
            assert!(ask(&tcp), "an answer that makes nobody wait");
            let doubt = tcp.doubt().unwrap();
            assert!(
                doubt.starts_with(&format!("the kernel failed at {name}")),
                "{doubt}"
            );
        }
    }

    /// A served connection, its client, and a second descriptor of the server's end,
    /// as a process that is being started has one.
    async fn served() -> (Tcp, std::net::TcpStream, std::os::fd::OwnedFd) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(own).unwrap();
        let patience = Some(Duration::from_secs(20));
        client.set_read_timeout(patience).unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let other = stream.as_fd().try_clone_to_owned().unwrap();
        let peers = Arc::new(Peers::new());
        let tcp = Tcp::new(stream, own, peer, peers, &*RealClock::start());
        (tcp, client, other)
    }

    /// Deno's RST came just before a cell's first look at a peer, and the own end,
    /// which that look begins with, was no longer listed.
    #[tokio::test]
    async fn a_peer_that_has_reset_before_the_first_look_is_gone_and_not_unknown() {
        let (tcp, client, _other) = served().await;
        socket2::SockRef::from(&client)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        drop(client);
        assert_eq!(tcp.ended().await, Ending::Reset);
        assert_eq!(tcp.peer(), Peer::Gone);
    }

    #[tokio::test]
    async fn an_end_is_sent_at_once_though_another_process_holds_the_socket() {
        use std::io::{Read, Write};
        let (mut tcp, mut client, _other) = served().await;
        tcp.reset();
        let error = client.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        let (mut tcp, mut client, _other) = served().await;
        tcp.close();
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "a FIN");
        let (mut tcp, mut client, _other) = served().await;
        client.write_all(b"x").unwrap();
        tcp.close();
        let error = client.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "x is unread");
    }
}
