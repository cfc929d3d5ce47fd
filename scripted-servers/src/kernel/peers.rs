//! The other end of a loopback connection: whether a process still holds it,
//! and whether that process has read everything.
//!
//! Only a socket of the same network namespace can be seen, so the first
//! question is asked about the own end: if that is not found, nothing that is
//! not found means anything, and the answer is [`Peer::Unknown`].

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use super::proc_net;
use super::sock_diag::SockDiag;

/// What was found of one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is there.
    There {
        /// Bytes in its receive queue; a FIN counts as one.
        untaken: u64,
        /// Bytes that it has not got acknowledged; a FIN counts as one.
        unsent: u64,
        /// Whether a process holds it.
        held: bool,
    },
    /// No such socket.
    Absent,
}

/// The peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A process holds the peer's socket.
    Here {
        /// Bytes that it has not read yet; a FIN counts as one.
        untaken: u64,
    },
    /// No process holds it any more.
    Gone,
    /// The peer can not be seen from here.
    Unknown,
}

/// Looks at peers. One for a cell.
pub(crate) struct Peers {
    eyes: Mutex<Eyes>,
}

enum Eyes {
    Closed,
    Netlink(SockDiag),
    Table,
}

impl Peers {
    /// Nothing is opened before the first question.
    pub(crate) fn new() -> Self {
        Self {
            eyes: Mutex::new(Eyes::Closed),
        }
    }

    /// The peer of the connection between the own address and the peer's. The
    /// own end must still be connected when this is first asked.
    pub(crate) fn peer(&self, own: SocketAddr, peer: SocketAddr) -> Peer {
        match self.look(own, peer) {
            Some(Seen::There {
                untaken,
                held: true,
                ..
            }) => Peer::Here { untaken },
            Some(Seen::There { held: false, .. } | Seen::Absent) => Peer::Gone,
            None => Peer::Unknown,
        }
    }

    /// Bytes that the peer's kernel has yet to bring to this one, a FIN counts as
    /// one; none when the peer can not be seen from here.
    pub(crate) fn coming(&self, own: SocketAddr, peer: SocketAddr) -> Option<u64> {
        Some(match self.look(own, peer)? {
            Seen::There { unsent, .. } => unsent,
            Seen::Absent => 0,
        })
    }

    fn look(&self, own: SocketAddr, peer: SocketAddr) -> Option<Seen> {
        let mut eyes = self.eyes.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*eyes, Eyes::Closed) {
            // Not seeing the own end may only mean that it has just been reset,
            // so the next question looks for it again.
            *eyes = open(own, peer).unwrap_or(Eyes::Closed);
        }
        match &mut *eyes {
            Eyes::Netlink(diag) => diag
                .look(peer, own)
                .or_else(|_| proc_net::look(peer, own))
                .ok(),
            Eyes::Table => proc_net::look(peer, own).ok(),
            Eyes::Closed => None,
        }
    }
}

/// The first way of looking that sees the own end.
fn open(own: SocketAddr, peer: SocketAddr) -> Option<Eyes> {
    if let Ok(mut diag) = SockDiag::open()
        && matches!(diag.look(own, peer), Ok(Seen::There { .. }))
    {
        return Some(Eyes::Netlink(diag));
    }
    match proc_net::look(own, peer) {
        Ok(Seen::There { .. }) => Some(Eyes::Table),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        (client, server)
    }

    #[test]
    fn both_ways_of_looking_see_what_the_peer_has_not_read() {
        let (mut client, mut server) = pair();
        let (own, peer) = (server.local_addr().unwrap(), server.peer_addr().unwrap());
        server.write_all(&[7; 42]).unwrap();
        let mut diag = SockDiag::open().unwrap();
        let unread = Seen::There {
            untaken: 42,
            unsent: 0,
            held: true,
        };
        assert_eq!(diag.look(peer, own).unwrap(), unread);
        assert_eq!(proc_net::look(peer, own).unwrap(), unread);
        client.read_exact(&mut [0; 42]).unwrap();
        assert_eq!(Peers::new().peer(own, peer), Peer::Here { untaken: 0 });
    }

    #[test]
    fn what_a_closed_peer_has_left_to_send_is_told_until_it_has_come() {
        let (mut client, mut server) = pair();
        let (own, peer) = (server.local_addr().unwrap(), server.peer_addr().unwrap());
        let peers = Peers::new();
        assert_eq!(peers.coming(own, peer), Some(0));
        // More than the server's kernel takes: the rest stays in the client's.
        client.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while let Ok(count) = client.write(&[7; 65_536]) {
            sent += count;
        }
        drop(client);
        assert_eq!(peers.peer(own, peer), Peer::Gone);
        for look in [
            SockDiag::open().unwrap().look(peer, own),
            proc_net::look(peer, own),
        ] {
            assert!(
                matches!(
                    look,
                    Ok(Seen::There {
                        unsent: 1..,
                        held: false,
                        ..
                    })
                ),
                "{look:?}"
            );
        }
        assert!(peers.coming(own, peer) > Some(0));
        let mut came = Vec::new();
        server.read_to_end(&mut came).unwrap();
        assert_eq!(came.len(), sent);
        // What has come may be acknowledged a moment later.
        let mut looks = (0..1000).map(|_| {
            std::thread::park_timeout(std::time::Duration::from_millis(10));
            peers.coming(own, peer)
        });
        assert!(looks.any(|coming| coming == Some(0)));
    }

    #[test]
    fn a_closed_peer_is_gone() {
        let (client, server) = pair();
        let (own, peer) = (server.local_addr().unwrap(), server.peer_addr().unwrap());
        let peers = Peers::new();
        assert_eq!(peers.peer(own, peer), Peer::Here { untaken: 0 });
        drop(client);
        assert_eq!(peers.peer(own, peer), Peer::Gone);
    }

    #[test]
    fn a_connection_of_another_namespace_is_unknown_and_not_gone() {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        assert_eq!(Peers::new().peer(nowhere, nowhere), Peer::Unknown);
    }
}
