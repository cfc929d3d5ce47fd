//! Closing a connection's ledger once the client is gone.

use std::time::Duration;

use crate::connection::Connection;
use crate::transport::Transport;

/// A dead client's kernel that sends nothing for so long sends nothing more.
const QUIET: Duration = Duration::from_millis(50);
/// Draining a connection ends after this, whatever still comes: then it is not
/// a dead client that sends.
const LONGEST: Duration = Duration::from_secs(1);

/// Counts what has arrived by now as delivered, then reads the rest out of the
/// dead client's kernel and counts what only that completes as drained.
pub(crate) async fn drain<T: Transport>(line: &mut Connection<T>) {
    line.cut_off();
    line.count_arrived();
    line.set_draining();
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
