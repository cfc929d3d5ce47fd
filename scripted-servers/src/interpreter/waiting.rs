//! Waiting: for time, and for the facts that make a fault exact.
//!
//! Facts that the kernel does not announce are asked for again and again, with
//! pauses on the clock. Every wait ends once the peer has ended the connection.

use std::time::Duration;

use crate::connection::{Connection, Stop};
use crate::event::Ending;
use crate::request::SMALL;
use crate::transport::{Peer, Transport};

/// What has not changed for so long has settled.
const SETTLED: Duration = Duration::from_millis(20);
/// The rest of a small request is waited for so long: its client may be waiting
/// for a processor between two writes, and on a busy machine that has taken a
/// quarter of a second.
const REST_DUE: Duration = Duration::from_secs(2);
/// Settling ends after this, whatever still comes.
const SETTLING: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(4);
/// No kernel delays an acknowledgement for longer.
const KERNELS_LONGEST: Duration = Duration::from_millis(500);
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

const UNSEEN: &str = "whether the client still holds its end, and has read what was sent, \
    can not be seen: neither sock_diag nor /proc/net/tcp tells of it";

/// Pauses between looks at a fact, each longer than the last.
pub(super) struct Pauses {
    next: Duration,
    /// Waited so far for nothing but the kernel.
    for_kernel: Duration,
}

impl Pauses {
    pub(super) fn new() -> Self {
        Self {
            next: SHORTEST_PAUSE,
            for_kernel: Duration::ZERO,
        }
    }

    fn next(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

impl<T: Transport> Connection<T> {
    /// Whether all that was sent has left, and only the acknowledgement of it is
    /// to come: the peer's kernel delays that by a timer of its own.
    fn waits_for_kernel(&self) -> bool {
        self.transport.unacknowledged() > 0 && self.transport.unsent() == 0
    }

    async fn sleep(&self, pause: Duration) {
        let at = self.now() + pause;
        let _busy = self.server.cell.clock.sleep_until(at).await;
    }

    /// Whether the peer has ended the connection, as far as is known now: by
    /// RST, or with no process left that holds its socket. Its FIN may still
    /// wait behind bytes for which there is no room here.
    pub(crate) fn peer_left(&self) -> bool {
        match self.transport.ending() {
            None => self.transport.peer() == Peer::Gone,
            Some(Ending::Reset) => true,
            Some(Ending::Fin) => !matches!(self.transport.peer(), Peer::Here { .. }),
        }
    }

    /// Goes on only if the peer is still there. Where that can not be seen, what
    /// happens next is not proved.
    pub(crate) fn still_there(&mut self) -> Result<(), Stop> {
        match (self.transport.ending(), self.transport.peer()) {
            (None | Some(Ending::Fin), Peer::Here { .. }) => Ok(()),
            (None, Peer::Unknown) => {
                self.doubt(UNSEEN);
                Ok(())
            }
            _ => Err(Stop::Gone),
        }
    }

    /// Whether the peer has left with what was sent before it: it took all and
    /// sent FIN, or reset a connection on which something lay unread.
    pub(super) fn left_with_what_was_sent(&self) -> bool {
        match self.transport.ending() {
            Some(Ending::Fin) => self.transport.unacknowledged() == 0,
            Some(Ending::Reset) => self.transport.was_reset_open(),
            None => false,
        }
    }

    /// Waits until the peer has ended the connection, leaving unread what is.
    pub(super) async fn leaving(&mut self) -> Stop {
        let how = self.transport.ended().await;
        self.peer_has_ended(how);
        let mut pauses = Pauses::new();
        while !self.peer_left() {
            self.sleep(pauses.next()).await;
        }
        Stop::Gone
    }

    /// Waits until a time, or until the peer leaves.
    pub(super) async fn wait_until(&mut self, at: Duration) -> Result<(), Stop> {
        let clock = self.server.cell.clock.clone();
        tokio::select! {
            biased;
            _busy = clock.sleep_until(at) => Ok(()),
            stop = self.leaving() => Err(stop),
        }
    }

    /// Waits between two looks at a fact; bytes that arrive meanwhile end the
    /// wait, as they may carry the acknowledgement looked for.
    pub(super) async fn pause(&mut self, pauses: &mut Pauses) {
        let clock = self.server.cell.clock.clone();
        let pause = pauses.next();
        let sleep = if self.waits_for_kernel() && pauses.for_kernel < KERNELS_LONGEST {
            pauses.for_kernel += pause;
            clock.wait_for_kernel(pause)
        } else {
            clock.sleep_until(clock.now() + pause)
        };
        if self.transport.unread() > 0 || self.transport.ending().is_some() {
            let _busy = sleep.await;
            return;
        }
        tokio::select! {
            biased;
            () = self.transport.readable() => {}
            _busy = sleep => {}
        }
    }

    /// Waits until the peer's kernel has acknowledged all that was sent.
    /// A process that is gone while its FIN waits behind bytes for which there
    /// is no room here has left a kernel that acknowledges a little later.
    pub(super) async fn acknowledged(&mut self) -> Result<(), Stop> {
        let mut pauses = Pauses::new();
        let lingers_until = self.now() + REST_DUE;
        while self.transport.unacknowledged() > 0 {
            let lingers = self.transport.ending().is_none() && self.now() < lingers_until;
            if !lingers && self.peer_left() && self.transport.unacknowledged() > 0 {
                return Err(Stop::Gone);
            }
            self.pause(&mut pauses).await;
        }
        Ok(())
    }

    /// Waits until the peer's process has read all that was sent.
    pub(super) async fn taken(&mut self) -> Result<(), Stop> {
        self.acknowledged().await?;
        let mut pauses = Pauses::new();
        loop {
            match (self.transport.peer(), self.transport.ending()) {
                (_, Some(Ending::Reset)) => return Err(Stop::Gone),
                // A socket that is closed with bytes unread ends in a RST.
                (Peer::Here { untaken: 0 }, _) | (Peer::Gone, Some(Ending::Fin)) => return Ok(()),
                (Peer::Unknown, _) => {
                    self.doubt(UNSEEN);
                    self.sleep(SETTLED).await;
                    return Ok(());
                }
                (Peer::Here { .. } | Peer::Gone, _) => self.pause(&mut pauses).await,
            }
        }
    }

    /// Waits until nothing more of what the client has under way arrives. The
    /// rest of a small request is read meanwhile, so that it shows when that is
    /// complete; a large one is left where it is, so that no more of it is
    /// pulled in.
    pub(super) async fn settle(&mut self) -> Result<(), Stop> {
        let began = self.now();
        let (mut seen, mut since) = (self.arrived(), began);
        loop {
            self.absorb_all();
            while self.rest_is_due() && self.transport.unread() > 0 {
                self.read_once(SMALL as usize)?;
                self.absorb_all();
            }
            let (arrived, now) = (self.arrived(), self.now());
            if arrived != seen {
                (seen, since) = (arrived, now);
            }
            let patience = if self.rest_is_due() {
                REST_DUE
            } else {
                SETTLED
            };
            if now.saturating_sub(since) >= patience || now.saturating_sub(began) >= SETTLING {
                return Ok(());
            }
            if self.peer_left() {
                return Err(Stop::Gone);
            }
            self.sleep(LOOK).await;
        }
    }

    fn rest_is_due(&self) -> bool {
        let exchange = self.exchange.as_ref();
        exchange.is_some_and(|exchange| !exchange.malformed && exchange.request.rest_is_due())
    }

    /// Bytes that have arrived on this connection.
    fn arrived(&self) -> u64 {
        self.received() + self.transport.unread()
    }
}
