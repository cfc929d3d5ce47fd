//! How much of what was sent the client's process has taken, as two bounds.
//!
//! Nothing tells of what a process reads but a look at how much lies unread in
//! its socket. So at least what had been acknowledged and did not lie there at
//! some look was taken, and at most what has left this kernel. When the client
//! leaves bytes unread, nobody knows how many, and the bounds stay apart.

use super::Connection;
use crate::event::{Ending, Taken};
use crate::transport::{Peer, Transport};

/// What is known so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    at_least: u64,
    /// As of the last look.
    at_most: u64,
    /// The client has sent FIN before it had read everything. That it is gone
    /// later says nothing of what it has read.
    half_closed: bool,
}

impl<T: Transport> Connection<T> {
    /// Looks how much is taken by now.
    pub(crate) fn look_what_is_taken(&mut self) {
        if !self.transport.is_open() || self.sent == 0 {
            return;
        }
        // An own FIN is the last that is acknowledged, and counts as a byte.
        let fin = u64::from(self.own_fin);
        let out = self.transport.unacknowledged();
        let acknowledged = self.sent.saturating_sub(out.saturating_sub(fin));
        let unsent = self.transport.unsent().saturating_sub(fin);
        self.taken.at_most = self.sent.saturating_sub(unsent);
        let now = self.now();
        if self.transport.ending().is_none() {
            self.alive_at = now;
        }
        let peer = self.transport.peer();
        let at_least = match (peer, self.transport.ending()) {
            (_, Some(Ending::Reset)) | (Peer::Unknown, _) => return,
            (Peer::Here { untaken }, ending) => {
                // A FIN that has come lies behind the bytes.
                let fin = if out == 0 { fin } else { 0 };
                let untaken = untaken.saturating_sub(fin);
                self.taken.half_closed |= ending.is_some() && untaken > 0;
                acknowledged.saturating_sub(untaken)
            }
            // A socket that is closed with bytes unread ends in a RST.
            (Peer::Gone, Some(Ending::Fin)) if !self.taken.half_closed => acknowledged,
            (Peer::Gone, _) => return,
        };
        self.taken.at_least = self.taken.at_least.max(at_least);
    }

    /// What is known in the end.
    pub(super) fn all_taken(&self) -> Taken {
        Taken {
            at_least: self.taken.at_least,
            at_most: self.taken.at_most.max(self.taken.at_least),
        }
    }
}
