//! Timeouts of sockets (SO_RCVTIMEO, SO_SNDTIMEO). A read of a socket looks like
//! any other, so nothing stops; a thread that is found in one is asked about,
//! but only in processes that have ever set such a timeout.

use rustix::net::sockopt::{Timeout, socket_timeout};

use crate::linux::calls::{self, Call};
use crate::linux::procfs::Doing;
use crate::linux::session::{Session, nanos};
use crate::linux::tracee::Wait;

impl Session {
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
