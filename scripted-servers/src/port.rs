//! One port of a server: reserved, and open, refusing or dropping as it is told,
//! with what the kernel can tell about the last two.
//!
//! A port drops by a filter on a socket that listens: the filter throws away
//! every SYN before it is looked at, and the kernel counts that. So nothing
//! waits in an accept queue, no own connection is needed to keep one full, and
//! the port opens by taking the filter away. It does not know when a state ends.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, Protocol, Socket, Type};

use crate::kernel;
use crate::script::PortState;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Bytes of receive buffer asked for. A fixed size keeps the kernel from growing
/// it, so that little of a large request that is not read is pulled in.
const RECEIVE_BUFFER: usize = 64 * 1024;
/// A port that must refuse does so within this.
const PROBE: Duration = Duration::from_secs(1);
/// Looks, a millisecond each, until the SYN of an own attempt is counted.
const LOOKS: usize = 2000;

/// A port that is taken.
pub(crate) struct Port {
    /// None: handed on to be accepted from, or buried.
    socket: Option<Socket>,
    address: SocketAddr,
    state: PortState,
    /// What the kernel had counted when the port began to drop for the client.
    before: u32,
}

impl Port {
    /// Takes a port; number 0 takes a free one. It refuses.
    pub(crate) fn bind(at: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM, Some(Protocol::TCP))?;
        if at.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        // Accepted sockets inherit all of these.
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
        if let Err(error) = kernel::stamp_arrivals(socket.as_fd()) {
            tracing::debug!(%error, "arrival times will be as coarse as the kernel's timer");
        }
        socket.bind(&at.into())?;
        let address = socket.local_addr()?.as_socket();
        Ok(Self {
            address: address.ok_or(io::ErrorKind::AddrNotAvailable)?,
            socket: Some(socket),
            state: PortState::Refuse,
            before: 0,
        })
    }

    /// Where.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Comes into another state; what can not be is an error.
    pub(crate) fn enter(&mut self, state: PortState) -> io::Result<()> {
        let socket = self.socket()?;
        match (self.state, state) {
            (PortState::Refuse, PortState::Open) => socket.listen(BACKLOG)?,
            (PortState::Refuse, PortState::Drop) => {
                // Deaf first, so that nobody connects in between.
                kernel::deafen(socket)?;
                socket.listen(BACKLOG)?;
                self.before = kernel::drops(socket.as_fd())?;
            }
            (PortState::Drop, PortState::Open) => kernel::hear(socket)?,
            (now, then) if now == then => {}
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
        self.state = state;
        Ok(())
    }

    /// SYNs that were dropped since the port began to drop.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        let now = kernel::drops(self.socket()?.as_fd())?;
        Ok(now.wrapping_sub(self.before).into())
    }

    /// Whether an own attempt to connect is refused.
    pub(crate) fn refuses(&self) -> bool {
        let attempt = TcpStream::connect_timeout(&self.address, PROBE);
        attempt.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    }

    /// Whether the SYN of an own attempt to connect is dropped and counted, and
    /// nothing comes of the attempt. It does not count among those dropped.
    pub(crate) fn drops(&mut self) -> io::Result<bool> {
        let kind = (Domain::for_address(self.address), Type::STREAM);
        let attempt = Socket::new(kind.0, kind.1, Some(Protocol::TCP))?;
        attempt.set_nonblocking(true)?;
        let begun = attempt.connect(&self.address.into());
        let pending = begun.is_err_and(|error| error.raw_os_error() == Some(libc::EINPROGRESS));
        let mut counted = false;
        for _ in 0..LOOKS {
            counted = self.dropped()? > 0;
            if counted || !pending {
                break;
            }
            is_decided(&attempt, 1)?;
        }
        let dropped = pending && counted && !is_decided(&attempt, 0)?;
        // A closed socket sends nothing again.
        drop(attempt);
        self.before = kernel::drops(self.socket()?.as_fd())?;
        Ok(dropped)
    }

    /// The socket of a port that is open, to be accepted from.
    pub(crate) fn into_listener(mut self) -> io::Result<TcpListener> {
        self.socket()?;
        let socket = self.socket.take().ok_or(io::ErrorKind::NotConnected)?;
        Ok(socket.into())
    }

    fn socket(&self) -> io::Result<&Socket> {
        let gone = || io::Error::from(io::ErrorKind::NotConnected);
        self.socket.as_ref().ok_or_else(gone)
    }
}

/// Whether an attempt to connect has come to any end, looked at for so many
/// milliseconds.
fn is_decided(attempt: &Socket, millis: i64) -> io::Result<bool> {
    let time = Timespec {
        tv_sec: 0,
        tv_nsec: millis * 1_000_000,
    };
    let mut fds = [PollFd::new(attempt, PollFlags::OUT)];
    Ok(poll(&mut fds, Some(&time))? > 0)
}

/// Ports that somebody still tries to connect to. Whoever got the number next
/// would be sent the SYN that is repeated, and could accept it.
static BURIED: Mutex<Vec<(SocketAddr, Socket)>> = Mutex::new(Vec::new());

impl Drop for Port {
    /// A port that drops is given back once nobody seeks it any more, and kept,
    /// deaf, until then. Clients have ended by now, as a rule, and with them
    /// their attempts.
    fn drop(&mut self) {
        let mut buried = BURIED.lock().unwrap_or_else(PoisonError::into_inner);
        // What can not be looked at is kept.
        let is_sought = |address| kernel::is_sought(address).unwrap_or(true);
        buried.retain(|(address, _)| is_sought(*address));
        if self.state == PortState::Drop
            && let Some(socket) = self.socket.take()
            && is_sought(self.address)
        {
            buried.push((self.address, socket));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    use super::*;

    fn dropping(ip: impl Into<IpAddr>) -> Port {
        let mut port = Port::bind((ip.into(), 0).into()).unwrap();
        port.enter(PortState::Drop).unwrap();
        assert!(port.drops().unwrap());
        assert_eq!(port.dropped().unwrap(), 0, "the own probe counts as none");
        port
    }

    #[test]
    fn every_syn_at_a_port_that_drops_is_counted_once() {
        let hosts = [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            Ipv4Addr::new(127, 3, 2, 1).into(),
            Ipv6Addr::LOCALHOST.into(),
        ];
        for host in hosts {
            let port = dropping(host);
            for _ in 0..3 {
                let short = Duration::from_millis(50);
                let attempt = TcpStream::connect_timeout(&port.address(), short);
                assert_eq!(attempt.unwrap_err().kind(), io::ErrorKind::TimedOut);
            }
            assert_eq!(port.dropped().unwrap(), 3, "{host}");
        }
    }

    #[test]
    fn a_port_that_accepts_or_refuses_is_not_taken_for_one_that_drops() {
        let mut port = Port::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        assert!(!port.drops().unwrap());
        port.enter(PortState::Open).unwrap();
        assert!(!port.drops().unwrap());
    }

    #[test]
    fn a_port_that_was_open_can_neither_drop_nor_refuse() {
        let mut port = Port::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        port.enter(PortState::Open).unwrap();
        for state in [PortState::Drop, PortState::Refuse] {
            assert!(port.enter(state).is_err());
        }
    }

    #[test]
    fn a_port_that_somebody_still_seeks_is_not_given_to_anybody() {
        let port = dropping(Ipv4Addr::LOCALHOST);
        let address = port.address();
        let seeking = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        seeking.set_nonblocking(true).unwrap();
        let _pending = seeking.connect(&address.into());
        drop(port);
        let taken = TcpListener::bind(address).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        drop(seeking);
        // The next port that is given back looks at those that were kept.
        drop(dropping(Ipv4Addr::LOCALHOST));
        TcpListener::bind(address).unwrap();
    }
}
