//! Closing a connection's ledger: once the client has left the connection, or
//! is gone altogether.

use std::time::Duration;

use super::Connection;
use crate::event::{Ending, What};
use crate::script::ConnectionAct;
use crate::transport::{Peer, Transport};

/// From one look at what a dead client's kernel still holds to the next.
const LOOK: Duration = Duration::from_millis(5);
/// A kernel that cannot be looked into and sends nothing for so long has nothing
/// more.
const QUIET: Duration = Duration::from_millis(50);
/// A client that has not ended and goes on sending is not listened to for longer.
const ALIVE: Duration = Duration::from_secs(1);
/// What a dead client's kernel holds comes as fast as it is read. If it does not
/// come at all, something else is wrong.
const LONGEST: Duration = Duration::from_secs(10);

/// Closes the ledger of a connection that lived until the client's end.
///
/// What had arrived by then takes its step as if the server had got its turn in
/// time.
pub(crate) async fn drain<T: Transport>(line: &mut Connection<T>, act: ConnectionAct) {
    line.cut_off();
    line.closing = act == ConnectionAct::Serve;
    line.advance();
    line.count_arrived();
    line.closing = false;
    read_out(line).await;
}

/// Closes the ledger of a connection whose script is over: counts what has
/// arrived by now as delivered, then reads the rest out of the kernel of a client
/// that has left, and counts what only that completes as drained.
pub(crate) async fn read_out<T: Transport>(line: &mut Connection<T>) {
    line.end_script();
    line.count_arrived();
    line.notice_its_fin();
    line.draining = true;
    if line.transport.is_open() {
        line.read_the_rest().await;
    }
    if line.transport.is_open() {
        line.cut_off();
    }
    line.count_pending();
    line.close();
}

impl<T: Transport> Connection<T> {
    /// A FIN that has come behind all that was read can be dated now; one that
    /// draining brings in can not.
    fn notice_its_fin(&mut self) {
        let has_come = self.transport.is_open()
            && !self.own_fin
            && self.transport.unread() == 0
            && self.transport.ending() == Some(Ending::Fin);
        if has_come {
            self.peer_has_ended(Ending::Fin);
        }
    }

    /// Reads all that the peer's kernel holds.
    async fn read_the_rest(&mut self) {
        let clock = self.server.cell.clock.clone();
        let began = clock.now();
        loop {
            // In this order: what is not coming any more has come, and is read.
            let coming = self.transport.coming();
            match self.read_once(usize::MAX) {
                Ok(true) => self.count_pending(),
                Ok(false) if coming == Some(0) => return,
                Ok(false) => {}
                Err(_) => return,
            }
            let now = clock.now();
            if now >= began + ALIVE && self.transport.peer() != Peer::Gone {
                return;
            }
            if now >= began + LONGEST {
                let reason = "what a client left in its kernel could not be read out".to_owned();
                return self.server.cell.set_broken(reason);
            }
            let patience = if coming.is_some() { LOOK } else { QUIET };
            tokio::select! {
                biased;
                () = self.transport.readable() => tokio::task::yield_now().await,
                _busy = clock.sleep_until(now + patience) => {
                    if coming.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// The script of the current exchange is over: what still arrives of its
    /// request takes no step.
    pub(crate) fn end_script(&mut self) {
        self.release();
        if let Some(exchange) = &mut self.exchange {
            exchange.scripted = false;
        }
    }

    /// Counts what is left, gives the socket up, and tells that nothing more
    /// can come.
    fn close(&mut self) {
        if let Some(how) = self.transport.ending() {
            self.peer_has_ended(how);
        }
        self.look_what_is_taken();
        self.trust_or_break();
        self.transport.close();
        self.tell_of(
            None,
            What::Closed {
                received: self.received,
                sent: self.sent,
                taken: Some(self.all_taken()),
            },
        );
    }
}
