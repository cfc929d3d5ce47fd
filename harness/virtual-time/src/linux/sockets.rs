//! What sockets have to do with time: their timeouts (SO_RCVTIMEO, SO_SNDTIMEO)
//! and the bytes that they hold back.
//!
//! A read of a socket looks like any other, so nothing stops; a thread that is
//! found in one is asked about, but only in processes that have ever set such a
//! timeout.

use std::os::fd::AsFd;

use rustix::net::sockopt::{Timeout, socket_timeout};

use crate::linux::calls::{self, Call};
use crate::linux::procfs::{Doing, descriptors};
use crate::linux::session::{Session, nanos};
use crate::linux::sys::{Sending, sending};
use crate::linux::tracee::Wait;
use crate::record::Note;
use crate::timeline::real_now;

/// Waits that are shorter end before the kernel could matter; they are not worth
/// the look.
const LOOK_NS: u64 = 10_000_000;

/// The kernel sends held-back bytes when it has got an acknowledgement, which the
/// peer's kernel delays by at most 200 ms.
const HOLD_NS: u64 = 250_000_000;

impl Session {
    /// Whether a socket of the client holds bytes back, in real time: Nagle's
    /// algorithm keeps a small part until the one before it was acknowledged, and
    /// the peer's kernel is slow to do that on purpose. All seem to be at rest
    /// then, but bytes are under way. Those that stay longer wait for a peer that
    /// does not read.
    pub(crate) fn sockets_hold_back(&mut self, by: u64) -> bool {
        if by < LOOK_NS {
            return false;
        }
        let mut held_back = None;
        for process in self.processes.keys().copied().collect::<Vec<_>>() {
            for socket in self.sockets_that_hold_back(process) {
                held_back = Some(held_back.unwrap_or(0) + socket.progress);
            }
        }
        let now = real_now();
        let Some(progress) = held_back else {
            self.held_back = None;
            return false;
        };
        match self.held_back {
            Some((before, since)) if before == progress => {
                let is_for_long = now - since >= HOLD_NS;
                if is_for_long {
                    self.note(Note::UnsentBytesJumpedOver);
                }
                !is_for_long
            }
            _ => {
                self.held_back = Some((progress, now));
                true
            }
        }
    }

    fn sockets_that_hold_back(&mut self, process: i32) -> Vec<Sending> {
        let is_socket = |number: &String| {
            let link = std::fs::read_link(format!("/proc/{process}/fd/{number}"));
            link.is_ok_and(|link| link.as_os_str().as_encoded_bytes().starts_with(b"socket:"))
        };
        let sockets = descriptors(process).into_iter().filter(is_socket);
        let numbers = sockets.filter_map(|number| number.parse().ok());
        let duplicates = numbers.filter_map(|number| self.duplicate(process, number).ok());
        let sending = duplicates.filter_map(|socket| sending(socket.as_fd()));
        sending.filter(|sending| sending.unsent > 0).collect()
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
