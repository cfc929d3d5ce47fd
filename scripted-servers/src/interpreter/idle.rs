//! What a server does with a connection that is idle after an answer: bytes that
//! nobody asked for, and its end.
//!
//! Nothing here happens once another request has begun; then that request is
//! served, and whatever was to happen has not fired.

use std::io;
use std::time::Duration;

use super::waiting::Pauses;
use super::{After, Run};
use crate::connection::{Connection, Proof, Stop, micros};
use crate::event::{Ending, What};
use crate::transport::{Peer, Transport};
use crate::wire::{IdleEnd, RequestPoint, WireStep};

const CLIENT_ENDED: &str = "the client had ended it by then";

impl<T: Transport> Run<'_, T> {
    /// Sends bytes after an idle time; whether no request began first.
    pub(super) async fn send_when_idle(
        &mut self,
        time: Duration,
        bytes: &[u8],
    ) -> Result<bool, Stop> {
        self.line.read_until(RequestPoint::Request).await?;
        let at = self.handed() + time;
        if !self.line.stays_idle(at, true).await {
            return Ok(false);
        }
        let is_closed_behind = matches!(
            self.program.steps.get(self.place + 1..),
            Some([
                WireStep::Fired(_),
                WireStep::EndWhenIdle(Duration::ZERO, IdleEnd::Close)
            ])
        );
        if is_closed_behind {
            self.line.transport.hold_back();
            self.held_back = true;
        }
        self.line.send_unsolicited(bytes).await?;
        if !is_closed_behind && let Err(stop) = self.line.reached_peer(bytes.len() as u64).await {
            self.aborted_at_their_sight();
            return Err(stop);
        }
        let alone = !self.line.next_has_begun();
        if !alone {
            self.let_go();
        }
        Ok(alone)
    }

    /// A client that aborts at the sight of bytes that it never asked for has ended
    /// the connection before the server could. Its RST acknowledges nothing.
    fn aborted_at_their_sight(&self) {
        let behind = self.program.steps.get(self.place + 1..);
        let Some(
            [
                WireStep::Fired(words),
                WireStep::EndWhenIdle(_, IdleEnd::Reset),
            ],
        ) = behind
        else {
            return;
        };
        if self.line.left_before_silence().is_some() {
            self.leave(self.proof(words), CLIENT_ENDED, self.line.due());
        }
    }

    /// Ends the connection after an idle time, unless another request begins
    /// first.
    pub(super) async fn idle(&mut self, time: Duration, how: IdleEnd) -> Result<After, Stop> {
        self.line.read_until(RequestPoint::Request).await?;
        let at = self.handed() + time;
        let proof = self.proof_before();
        let before = &self.program.steps[..self.place];
        let sent = before
            .iter()
            .any(|step| matches!(step, WireStep::SendWhenIdle(..)));
        // A client need not read bytes that it never asked for.
        let ended = self.line.end_when_idle(at, how, !sent, proof).await?;
        if ended {
            return Ok(After::Ended);
        }
        // It acted on the bytes before the server got its next turn.
        if sent && how == IdleEnd::Reset && self.line.is_left_idle() {
            self.leave(proof, CLIENT_ENDED, self.line.due());
        }
        if self.line.has_vanished() {
            self.line.peer_has_ended(Ending::Reset);
            return Ok(After::Ended);
        }
        self.let_go();
        Ok(After::Keep)
    }

    /// The FIN for which bytes were held back does not come.
    fn let_go(&mut self) {
        if std::mem::take(&mut self.held_back) {
            self.line.transport.let_go();
        }
    }
}

impl<T: Transport> Connection<T> {
    /// Waits until a time, and until all that was sent is taken where that is
    /// wanted; whether neither another request began meanwhile nor the peer
    /// ended the connection.
    async fn stays_idle(&mut self, at: Duration, taken: bool) -> bool {
        let clock = self.server.cell.clock.clone();
        loop {
            self.go_on().await;
            if !self.pending.is_empty() || self.read_once(1) != Ok(false) {
                return false;
            }
            let now = self.now();
            if now >= at && (!taken || self.is_taken()) {
                return true;
            }
            let wake = at.max(now + Duration::from_millis(1));
            tokio::select! {
                biased;
                () = self.transport.readable() => {}
                _busy = clock.sleep_until(wake) => {}
            }
        }
    }

    /// Whether something has come behind the current request.
    fn next_has_begun(&mut self) -> bool {
        !self.pending.is_empty() || self.read_once(1) == Ok(true)
    }

    /// Whether the peer ended the connection and has begun no other request.
    fn is_left_idle(&self) -> bool {
        let ended = self.transport.ending().is_some() || self.has_vanished();
        self.pending.is_empty() && self.transport.unread() == 0 && ended
    }

    /// Whether the peer's RST came while this socket was deaf: nobody is there any
    /// more, nothing is on its way, and a RST is not sent again. Asked in this order: an
    /// end that was heard shows once nothing more is coming.
    fn has_vanished(&self) -> bool {
        self.transport.peer() == Peer::Gone
            && self.transport.coming() == Some(0)
            && self.transport.unread() == 0
            && self.transport.ending().is_none()
    }

    fn is_taken(&mut self) -> bool {
        self.transport.unacknowledged() == 0
            && matches!(
                self.transport.peer(),
                Peer::Here { untaken: 0 } | Peer::Unknown
            )
    }

    /// Writes bytes that no request asked for.
    async fn send_unsolicited(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.still_there()?;
        let handed = self.now();
        let mut left = bytes;
        while !left.is_empty() {
            let before = self.now();
            match self.transport.try_write(left) {
                Ok(written) => {
                    left = &left[written..];
                    self.has_sent(written, before, false);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.transport.writable().await;
                }
                Err(_) => {
                    self.peer_has_ended(Ending::Reset);
                    return Err(Stop::Gone);
                }
            }
        }
        self.tell(What::Unsolicited {
            bytes: bytes.len() as u64,
            handed_us: micros(handed),
        });
        Ok(())
    }

    /// Waits until so many bytes, sent when all before them was taken, are in
    /// the peer's kernel: acknowledged, or seen there, as a peer that does not
    /// read acknowledges late.
    async fn reached_peer(&mut self, bytes: u64) -> Result<(), Stop> {
        let mut pauses = Pauses::new();
        loop {
            let lies_there =
                matches!(self.transport.peer(), Peer::Here { untaken } if untaken >= bytes);
            if lies_there || self.transport.unacknowledged() == 0 {
                return Ok(());
            }
            if self.peer_left() {
                return Err(Stop::Gone);
            }
            self.pause(&mut pauses).await;
        }
    }

    /// Ends an idle connection at a time, unless another request begins first
    /// or the peer ends it; whether it was ended. Before a RST all that was
    /// `asked` for is taken.
    pub(crate) async fn end_when_idle(
        &mut self,
        mut at: Duration,
        how: IdleEnd,
        asked: bool,
        proof: Option<Proof>,
    ) -> Result<bool, Stop> {
        loop {
            if !self.stays_idle(at, asked && how == IdleEnd::Reset).await {
                return Ok(false);
            }
            match how {
                IdleEnd::Close => {
                    self.fin(proof).await?;
                    return self.answer_late_bytes_by_reset().await.map(|()| true);
                }
                IdleEnd::Reset if self.reset_if_idle(proof) => return Ok(true),
                IdleEnd::Reset if self.has_vanished() => return Ok(false),
                // Something came in between; it is seen on one of the next rounds.
                IdleEnd::Reset => at = self.now() + Duration::from_millis(1),
            }
        }
    }

    /// Resets the connection if nothing has arrived; no byte can slip in between
    /// the look and the act.
    fn reset_if_idle(&mut self, proof: Option<Proof>) -> bool {
        let since = self.now();
        self.transport.deafen();
        if self.transport.unread() > 0
            || self.transport.ending().is_some()
            || self.still_there().is_err()
        {
            self.transport.hear();
            return false;
        }
        self.reset(proof, "RST sent to an idle connection", since);
        true
    }
}
