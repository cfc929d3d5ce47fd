//! One TCP connection: bytes out, bytes in, and three limits of time.
//!
//! The socket never blocks by itself; every wait is one `poll` that ends at the
//! nearest limit, so that a limit is kept to the millisecond whatever the peer
//! does. It knows nothing of HTTP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use crate::clock;
use crate::defects::{Defect, Defects};
use crate::failure::{Failure, Kind};
use crate::policy::Patience;
use crate::url::Origin;

/// Bytes taken from the socket at once.
const PIECE: usize = 16 * 1024;

/// Why no more bytes come.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The peer ended its direction in order.
    Closed,
    /// The connection is broken.
    Broken(io::Error),
    /// Nothing moved within the idle limit.
    Idle,
    /// The attempt is over its limit.
    Attempt,
    /// The call is over its limit.
    Total,
    /// The extra limit of this wait is reached.
    Enough,
    /// The caller wants the call no more.
    Cancelled,
}

/// How far sending came.
pub(crate) enum Sent {
    /// To the end.
    All,
    /// The peer has sent something while the rest could not go out.
    PeerSpoke,
    /// No further: the connection takes no more bytes.
    Broken,
}

/// A connection.
pub(crate) struct Connection {
    stream: TcpStream,
    /// What has arrived and is not used up.
    buffer: Vec<u8>,
    /// Whether it has served a request.
    pub(crate) used: bool,
    /// What sending found out; reading reports it when nothing else comes.
    broken: Option<io::Error>,
}

impl Connection {
    /// Connects to the first address that accepts.
    pub(crate) fn open(
        origin: &Origin,
        patience: &Patience,
        defects: &Defects,
    ) -> Result<Self, Failure> {
        let mut addresses = look_up(origin).map_err(|error| {
            let note = format!("{} cannot be looked up", origin.host);
            Failure::new(Kind::Unreachable, note).caused_by(error)
        })?;
        if defects.has(Defect::TriesOneAddress) {
            addresses.truncate(1);
        }
        let mut last = None;
        for address in addresses {
            let left = nearest(patience.connect, patience.left_of_attempt());
            let stream = match left {
                None => TcpStream::connect(address),
                Some(Duration::ZERO) => Err(ErrorKind::TimedOut.into()),
                Some(left) => TcpStream::connect_timeout(&address, left),
            };
            match stream.and_then(Self::over) {
                Ok(connection) => return Ok(connection),
                Err(error) => last = Some(error),
            }
        }
        let error = last.unwrap_or_else(|| ErrorKind::AddrNotAvailable.into());
        Err(cannot_connect(origin, error))
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
            used: false,
            broken: None,
        })
    }

    /// Whether the peer has said nothing since the last answer: neither bytes
    /// that no request asked for, nor the end.
    pub(crate) fn is_silent(&self) -> bool {
        let peeked = self.stream.peek(&mut [0]);
        self.buffer.is_empty()
            && matches!(peeked, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    /// Sends what is left of a request, and shortens `rest` by what went out.
    pub(crate) fn send(&mut self, rest: &mut &[u8], patience: &Patience) -> Result<Sent, Stop> {
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(size) => *rest = rest.get(size..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait(PollFlags::OUT | PollFlags::IN, patience, None)? {
                        return Ok(Sent::PeerSpoke);
                    }
                }
                Err(error) => {
                    self.broken = Some(error);
                    return Ok(Sent::Broken);
                }
            }
        }
        Ok(Sent::All)
    }

    /// Waits for bytes and adds them to those that have arrived. `enough` is a
    /// further limit of the caller, `most` the bytes it can use. The limits hold
    /// for a peer that never stops sending, too.
    pub(crate) fn receive(
        &mut self,
        patience: &Patience,
        enough: Option<Instant>,
        most: usize,
    ) -> Result<(), Stop> {
        let mut piece = vec![0; most.min(PIECE)];
        reached(patience, enough)?;
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(self.broken.take().map_or(Stop::Closed, Stop::Broken)),
                Ok(size) => {
                    self.buffer
                        .extend_from_slice(piece.get(..size).unwrap_or_default());
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(PollFlags::IN, patience, enough)?;
                }
                Err(error) => return Err(Stop::Broken(error)),
            }
        }
    }

    /// What has arrived and is not used up.
    pub(crate) fn arrived(&self) -> &[u8] {
        &self.buffer
    }

    /// Takes the first bytes away.
    pub(crate) fn use_up(&mut self, bytes: usize) {
        self.buffer.drain(..bytes.min(self.buffer.len()));
    }

    /// Waits until one of `flags` is true; says whether bytes, or an end, can be
    /// read.
    fn wait(
        &self,
        flags: PollFlags,
        patience: &Patience,
        enough: Option<Instant>,
    ) -> Result<bool, Stop> {
        let idle = patience.idle_ends();
        loop {
            if patience.token.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let now = clock::now();
            for (limit, stop) in [
                (enough, Stop::Enough),
                (patience.deadline, Stop::Total),
                (patience.attempt_ends, Stop::Attempt),
                (idle, Stop::Idle),
            ] {
                if limit.is_some_and(|limit| limit <= now) {
                    return Err(stop);
                }
            }
            let until = [enough, patience.deadline, patience.attempt_ends, idle]
                .into_iter()
                .flatten()
                .min();
            let timeout = until.map(|until| clock::timespec(until.saturating_duration_since(now)));
            // Without a descriptor for it, nothing is waited for in its place.
            let cancelled = match patience.token.woken() {
                Some(woken) => PollFd::new(woken, PollFlags::IN),
                None => PollFd::new(&self.stream, PollFlags::empty()),
            };
            let mut sockets = [PollFd::new(&self.stream, flags), cancelled];
            match poll(&mut sockets, timeout.as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) if patience.token.is_cancelled() => return Err(Stop::Cancelled),
                Ok(_) => {
                    let seen = sockets[0].revents();
                    return Ok(seen.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR));
                }
                Err(error) => return Err(Stop::Broken(error.into())),
            }
        }
    }
}

/// Whether a limit is over that counts from no byte.
fn reached(patience: &Patience, enough: Option<Instant>) -> Result<(), Stop> {
    let now = clock::now();
    let limits = [
        (enough, Stop::Enough),
        (patience.deadline, Stop::Total),
        (patience.attempt_ends, Stop::Attempt),
    ];
    let mut limits = limits.into_iter();
    let over = limits.find(|(limit, _)| limit.is_some_and(|limit| limit <= now));
    over.map_or(Ok(()), |(_, stop)| Err(stop))
}

/// The addresses of a host. `localhost` is known without asking (RFC 6761 section
/// 6.3): whatever the machine's files say, it is the loopback address of both
/// families.
fn look_up(origin: &Origin) -> io::Result<Vec<SocketAddr>> {
    if origin.host == "localhost" {
        let both = [Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()];
        return Ok(both.map(|ip: IpAddr| (ip, origin.port).into()).to_vec());
    }
    let host = origin.host.trim_matches(['[', ']']);
    Ok((host, origin.port).to_socket_addrs()?.collect())
}

fn cannot_connect(origin: &Origin, error: io::Error) -> Failure {
    let (kind, note) = match error.kind() {
        ErrorKind::ConnectionRefused => (Kind::Refused, "refused the connection"),
        ErrorKind::TimedOut => (Kind::ConnectTimeout, "did not accept in time"),
        _ => (Kind::Unreachable, "cannot be reached"),
    };
    Failure::new(kind, format!("{origin} {note}")).caused_by(error)
}

fn nearest(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
