//! What is on its way between the sockets of the programs and of the servers.
//!
//! A packet over the loopback is delivered by the processor on which it was sent,
//! mostly within the sender's call. But a processor of a virtual machine can stand
//! still for milliseconds in the midst of it, while every thread sleeps. Each end
//! of a connection tells how many bytes it has sent and received, and the kernel
//! answers under the lock under which it delivers bytes and wakes who waits for
//! them: where the numbers of both ends are the same, all that was sent is there
//! and everyone who waits for it is awake.

use std::net::{IpAddr, SocketAddr};

use crate::linux::sys::TcpInfo;

/// Numbers of the kernel's `tcp_states.h`.
mod state {
    pub(super) const SYN_SENT: u8 = 2;
    pub(super) const SYN_RECV: u8 = 3;
    pub(super) const FIN_WAIT1: u8 = 4;
    pub(super) const FIN_WAIT2: u8 = 5;
    pub(super) const TIME_WAIT: u8 = 6;
    pub(super) const CLOSE: u8 = 7;
    pub(super) const CLOSE_WAIT: u8 = 8;
    pub(super) const LAST_ACK: u8 = 9;
    pub(super) const LISTEN: u8 = 10;
    pub(super) const CLOSING: u8 = 11;
}

/// As long as no more is unacknowledged nobody waits for room to write: the kernel
/// lets everybody write until two thirds of the buffer are full, and the smallest
/// buffer has 4608 bytes, of which a segment takes some 1300 besides its own.
const FEW_SEGMENTS: u32 = 1;
const FEW_BYTES: u64 = 1024;

/// One end of a connection, or of none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) info: TcpInfo,
    /// Its own address and its peer's; none where it has no peer (any more).
    pub(crate) addresses: Option<(Address, Address)>,
}

/// An address as both ends know it, whatever family their sockets are of.
pub(crate) type Address = (IpAddr, u16);

pub(crate) fn address(of: SocketAddr) -> Address {
    (of.ip().to_canonical(), of.port())
}

/// What is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// Nothing.
    Still,
    /// Bytes that the kernel sends by itself, really, when others have been
    /// acknowledged (Nagle's algorithm, a full window of congestion). The number
    /// grows as they go.
    HeldBack(u64),
    /// The ends do not tell.
    Unclear,
}

impl Traffic {
    /// What is on its way in both together.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::HeldBack(one), Self::HeldBack(two)) => Self::HeldBack(one.wrapping_add(two)),
            (held @ Self::HeldBack(_), _) | (_, held @ Self::HeldBack(_)) => held,
            (Self::Unclear, _) | (_, Self::Unclear) => Self::Unclear,
            (Self::Still, Self::Still) => Self::Still,
        }
    }

    /// What is on its way between all these, which nobody has used since before
    /// the first of them was asked.
    pub(crate) fn between(ends: &[End]) -> Self {
        let each = ends.iter().map(|end| end.traffic(ends));
        each.fold(Self::Still, Self::and)
    }
}

impl End {
    /// What is on its way from it or to it.
    fn traffic(&self, ends: &[Self]) -> Traffic {
        let info = &self.info;
        match info.state {
            state::LISTEN | state::CLOSE => return Traffic::Still,
            state::SYN_SENT | state::SYN_RECV => return Traffic::Unclear,
            _ => {}
        }
        if info.unsent > 0 {
            // With nothing to be acknowledged it waits for room at the peer's, and
            // the word of it may be on its way.
            return match info.unacked {
                0 => Traffic::Unclear,
                _ => Traffic::HeldBack(info.sent.wrapping_add(info.acked)),
            };
        }
        let is_clear = match self.peer(ends) {
            Some(peer) => self.sent() == peer.info.received && self.has_room(),
            // Its peer is gone, and it knows; only what it sent to it could bring
            // anything more.
            None => self.has_fin() && info.unacked == 0,
        };
        if is_clear {
            Traffic::Still
        } else {
            Traffic::Unclear
        }
    }

    fn peer<'a>(&self, ends: &'a [Self]) -> Option<&'a Self> {
        let (own, peers) = self.addresses?;
        ends.iter().find(|end| end.addresses == Some((peers, own)))
    }

    /// Bytes sent, a FIN included.
    fn sent(&self) -> u64 {
        let fin = match self.info.state {
            state::FIN_WAIT1
            | state::FIN_WAIT2
            | state::CLOSING
            | state::LAST_ACK
            | state::TIME_WAIT => 1,
            _ => 0,
        };
        self.info.sent + fin
    }

    /// Whether nobody can wait for room to write.
    fn has_room(&self) -> bool {
        let bytes = self.info.sent.saturating_sub(self.info.acked);
        self.info.unacked <= FEW_SEGMENTS && bytes <= FEW_BYTES
    }

    /// Whether the peer's FIN has come.
    fn has_fin(&self) -> bool {
        matches!(
            self.info.state,
            state::CLOSE_WAIT | state::LAST_ACK | state::CLOSING | state::TIME_WAIT
        )
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::{AsFd, AsRawFd};

    use super::*;
    use crate::linux::sys::tcp_info;

    /// A client's end and a server's.
    fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nodelay(true).unwrap();
        let (server, _) = listener.accept().unwrap();
        (client, server)
    }

    fn end(stream: &TcpStream) -> End {
        let addresses = stream.local_addr().ok().zip(stream.peer_addr().ok());
        End {
            info: tcp_info(stream.as_raw_fd()).unwrap(),
            addresses: addresses.map(|(own, peer)| (address(own), address(peer))),
        }
    }

    fn between(streams: &[&TcpStream]) -> Traffic {
        let ends: Vec<_> = streams.iter().map(|stream| end(stream)).collect();
        Traffic::between(&ends)
    }

    #[test]
    fn both_ends_agree_about_bytes_and_fins() {
        let (mut client, mut server) = connected();
        assert_eq!(between(&[&client, &server]), Traffic::Still);
        client.write_all(b"GET").unwrap();
        server.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(between(&[&client, &server]), Traffic::Still);
        server.write_all(b"20").unwrap();
        server.shutdown(Shutdown::Write).unwrap();
        assert_eq!((end(&server).sent(), end(&client).info.received), (3, 3));
        assert_eq!(between(&[&client, &server]), Traffic::Still);
        client.shutdown(Shutdown::Write).unwrap();
        assert_eq!(between(&[&client, &server]), Traffic::Still);
    }

    #[test]
    fn what_one_has_sent_and_the_other_not_received_is_unclear() {
        let (mut client, server) = connected();
        let before = end(&server);
        client.write_all(b"x").unwrap();
        let ends = [end(&client), before];
        assert_eq!(Traffic::between(&ends), Traffic::Unclear);
        let (before, _) = (end(&server), client.shutdown(Shutdown::Write));
        assert_eq!(Traffic::between(&[end(&client), before]), Traffic::Unclear);
    }

    #[test]
    fn a_peer_that_has_gone_is_clear_when_it_has_said_so_and_nothing_is_unanswered() {
        let (client, server) = connected();
        assert_eq!(
            between(&[&client]),
            Traffic::Unclear,
            "a peer that nobody sees"
        );
        drop(server);
        assert_eq!(between(&[&client]), Traffic::Still);
        let (mut client, server) = connected();
        client.write_all(b"unread").unwrap();
        drop(server);
        assert_eq!(end(&client).info.state, state::CLOSE, "it was reset");
        assert_eq!(between(&[&client]), Traffic::Still);
    }

    #[test]
    fn bytes_held_back_for_an_acknowledgement_are_waited_for() {
        let (mut client, mut server) = connected();
        // Answers make the acknowledgements go with them, so that they are delayed.
        for _ in 0..40 {
            client.write_all(b"x").unwrap();
            server.read_exact(&mut [0]).unwrap();
            server.write_all(b"y").unwrap();
            client.read_exact(&mut [0]).unwrap();
        }
        client.set_nodelay(false).unwrap();
        client.write_all(b"a").unwrap();
        client.write_all(b"b").unwrap();
        let seen = between(&[&client, &server]);
        assert!(matches!(seen, Traffic::HeldBack(_)), "{seen:?}");
        server.read_exact(&mut [0; 2]).unwrap();
        assert_ne!(between(&[&client, &server]), seen, "they have gone");
    }

    #[test]
    fn a_buffer_that_may_be_full_is_unclear_as_room_may_be_made() {
        let (mut client, server) = connected();
        client.set_nonblocking(true).unwrap();
        while client.write(&[0; 65536]).is_ok() {}
        assert_ne!(between(&[&client, &server]), Traffic::Still);
    }

    #[test]
    fn a_socket_that_waits_for_connections_or_has_none_has_no_traffic() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let info = tcp_info(listener.as_fd().as_raw_fd()).unwrap();
        let idle = End {
            info,
            addresses: None,
        };
        assert_eq!(info.state, state::LISTEN);
        assert_eq!(Traffic::between(&[idle]), Traffic::Still);
    }

    #[test]
    fn a_connection_that_is_not_accepted_has_a_peer_that_nobody_sees() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(between(&[&client]), Traffic::Unclear);
    }

    #[test]
    fn families_do_not_matter_to_addresses() {
        let mapped: SocketAddr = "[::ffff:127.0.0.1]:80".parse().unwrap();
        let plain: SocketAddr = "127.0.0.1:80".parse().unwrap();
        assert_eq!(address(mapped), address(plain));
    }
}
