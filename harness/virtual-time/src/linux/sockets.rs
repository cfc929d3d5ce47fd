//! What sockets have to do with time: their timeouts (SO_RCVTIMEO, SO_SNDTIMEO)
//! and what is on its way between them.
//!
//! A read of a socket looks like any other, so nothing stops; a thread that is
//! found in one is asked about, but only in processes that have ever set such a
//! timeout.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::sockopt::{Timeout, socket_domain, socket_timeout};
use rustix::net::{AddressFamily, getpeername, getsockname};

use crate::linux::calls::{self, Call};
use crate::linux::procfs::{Doing, descriptors};
use crate::linux::session::{Session, nanos};
use crate::linux::sys::tcp_info;
use crate::linux::tracee::Wait;
use crate::linux::traffic::{Address, End, Traffic, address};
use crate::record::Note;
use crate::timeline::real_now;

/// The kernel sends held-back bytes when it has got an acknowledgement, which the
/// peer's kernel delays by at most 200 ms. This is far beyond: somebody drops
/// packets.
const HOLD_NS: u64 = 1_000_000_000;

impl Session {
    /// What is on its way between the sockets of the programs and of the servers.
    pub(crate) fn traffic(&mut self) -> Traffic {
        let (mut ends, mut others) = (Vec::new(), Traffic::Still);
        for process in self.processes.keys().copied().collect::<Vec<_>>() {
            for number in sockets(process) {
                // One that is closed just now is unclear as well.
                match self.duplicate(process, number).ok().map(|own| asked(&own)) {
                    Some(Asked::End(end)) => ends.push(end),
                    Some(Asked::Local) => {}
                    Some(Asked::Other) | None => others = Traffic::Unclear,
                }
            }
        }
        self.voter.sockets(&mut |number, own, peer| {
            ends.extend(tcp_info(number).map(|info| End {
                info,
                addresses: Some((address(own), address(peer))),
            }));
        });
        Traffic::between(&ends).and(others)
    }

    /// Whether time has to wait for bytes that the kernel holds back: all seem to
    /// be at rest then, but bytes are under way. Those that stay too long are lost.
    pub(crate) fn waits_for_held_back(&mut self, traffic: Traffic) -> bool {
        let Traffic::HeldBack(progress) = traffic else {
            self.held_back = None;
            return false;
        };
        let now = real_now();
        let since = match self.held_back {
            Some((before, since)) if before == progress => since,
            _ => now,
        };
        self.held_back = Some((progress, since));
        let is_lost = now - since >= HOLD_NS;
        if is_lost {
            self.note(Note::UnsentBytesJumpedOver);
        }
        !is_lost
    }

    /// A process sets a timeout of some socket.
    pub(crate) fn sets_socket_timeout(&mut self, tid: i32) {
        let process = self.threads.get(&tid).map(|thread| thread.process);
        if let Some(process) = process.and_then(|process| self.processes.get_mut(&process)) {
            process.has_socket_timeouts = true;
        }
    }

    /// The wait of a thread that was found in a call on a socket with a timeout.
    /// It began, as far as can be told, when it was first seen there.
    pub(crate) fn socket_wait(&mut self, tid: i32) -> Option<Wait> {
        let thread = self.threads.get(&tid)?;
        let (process, since, switches) = (thread.process, thread.since, thread.switches);
        let Doing::Blocked(call) = thread.doing else {
            return None;
        };
        if !self.processes.get(&process)?.has_socket_timeouts {
            return None;
        }
        let which = timeout_of(&call)?;
        let number = i32::try_from(call.args[0]).ok()?;
        let socket = self.duplicate(process, number).ok()?;
        // None, too, for what is no socket.
        let timeout = nanos(socket_timeout(&socket, which).ok()??);
        let wait = Wait {
            call,
            deadline: since.saturating_add(timeout),
            // It was right when the thread was first seen; since then time may
            // have moved.
            right_at_offset: u64::MAX,
            stays_real: false,
            is_soft: false,
            switches: Some(switches),
        };
        self.threads.get_mut(&tid)?.wait = Some(wait);
        Some(wait)
    }
}

/// The timeout by which a call on a socket ends.
fn timeout_of(call: &Call) -> Option<Timeout> {
    match call.nr {
        calls::READ
        | calls::READV
        | calls::RECVFROM
        | calls::RECVMSG
        | calls::RECVMMSG
        | calls::ACCEPT
        | calls::ACCEPT4 => Some(Timeout::Recv),
        calls::WRITE
        | calls::WRITEV
        | calls::SENDTO
        | calls::SENDMSG
        | calls::SENDMMSG
        | calls::SENDFILE
        | calls::CONNECT => Some(Timeout::Send),
        _ => None,
    }
}

/// Whether a call ends by a socket's timeout.
pub(crate) fn is_on_a_socket(call: &Call) -> bool {
    timeout_of(call).is_some()
}

/// What a socket of a program is.
enum Asked {
    End(End),
    /// What is sent over it is there at once.
    Local,
    Other,
}

fn asked(socket: &OwnedFd) -> Asked {
    match (tcp_info(socket.as_raw_fd()), socket_domain(socket)) {
        (Some(info), _) => Asked::End(End {
            info,
            addresses: addresses(socket),
        }),
        (None, Ok(AddressFamily::UNIX | AddressFamily::NETLINK)) => Asked::Local,
        _ => Asked::Other,
    }
}

fn addresses(socket: &OwnedFd) -> Option<(Address, Address)> {
    let own = getsockname(socket).ok()?.try_into().ok()?;
    let peer = getpeername(socket).ok()??.try_into().ok()?;
    Some((address(own), address(peer)))
}

/// The numbers of a process's descriptors that are sockets.
fn sockets(process: i32) -> Vec<i32> {
    let is_socket = |number: &String| {
        let link = std::fs::read_link(format!("/proc/{process}/fd/{number}"));
        link.is_ok_and(|link| link.as_os_str().as_encoded_bytes().starts_with(b"socket:"))
    };
    let sockets = descriptors(process).into_iter().filter(is_socket);
    sockets.filter_map(|number| number.parse().ok()).collect()
}
