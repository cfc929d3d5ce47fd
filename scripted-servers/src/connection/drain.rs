//! Closing a connection's ledger once the client is gone.

use std::time::Duration;

use super::Connection;
use crate::event::What;
use crate::script::ConnectionAct;
use crate::transport::Transport;

/// A dead client's kernel that sends nothing for so long sends nothing more.
const QUIET: Duration = Duration::from_millis(50);
/// Draining a connection ends after this, whatever still comes: then it is not
/// a dead client that sends.
const LONGEST: Duration = Duration::from_secs(1);

/// Counts what has arrived by now as delivered, then reads the rest out of the
/// dead client's kernel and counts what only that completes as drained.
///
/// What had arrived by the client's end takes its step as if the server had got
/// its turn in time.
pub(crate) async fn drain<T: Transport>(line: &mut Connection<T>, act: ConnectionAct) {
    line.cut_off();
    line.closing = act == ConnectionAct::Serve;
    line.advance();
    line.count_arrived();
    line.closing = false;
    line.end_script();
    line.draining = true;
    let clock = line.server.cell.clock.clone();
    let end = clock.now() + LONGEST;
    while let Ok(came) = line.read_once(usize::MAX)
        && clock.now() < end
    {
        if came {
            line.count_pending();
            tokio::task::yield_now().await;
            continue;
        }
        tokio::select! {
            biased;
            () = line.transport.readable() => {}
            _busy = clock.sleep_until(clock.now() + QUIET) => break,
        }
    }
    line.count_pending();
    line.close();
}

impl<T: Transport> Connection<T> {
    /// The script of the current exchange is over: what still arrives of its
    /// request takes no step.
    pub(crate) fn end_script(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.scripted = false;
        }
    }

    /// Counts what is left, gives the socket up, and tells that nothing more
    /// can come.
    pub(crate) fn close(&mut self) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.end_script();
        self.count_arrived();
        if let Some(how) = self.transport.ending() {
            self.peer_has_ended(how);
        }
        self.trust_or_break();
        self.transport.close();
        self.tell_of(
            None,
            What::Closed {
                received: self.received,
                sent: self.sent,
            },
        );
    }
}
