//! Ends of a connection: RST, FIN, hanging. That of an idle one is in `idle`.
//!
//! Each acts on facts: what was in flight has arrived, what was sent is taken,
//! nobody has begun another request. The event of an end is recorded before the
//! act, the proof of a fault after it.

use std::time::Duration;

use crate::connection::{Connection, Part, Proof, Stop, Underway};
use crate::event::{Ending, What};
use crate::transport::Transport;

impl<T: Transport> Connection<T> {
    /// The number of the current exchange.
    pub(super) fn current(&self) -> Option<u32> {
        self.exchange.as_ref().map(|exchange| exchange.number)
    }

    /// Waits until the connection may be ended without making anybody report by
    /// chance.
    async fn ready_to_end(&mut self) -> Result<(), Stop> {
        let exchange = self.exchange.as_ref();
        let complete = exchange.is_some_and(|exchange| exchange.request.is_complete());
        let answered = exchange.is_some_and(|exchange| exchange.sent > 0);
        if complete && answered {
            return Ok(());
        }
        self.settle().await
    }

    /// Ends the connection by RST, after counting exactly what had arrived.
    /// A client that takes all that comes before it, and then closes of its own
    /// accord, does so before or after the RST by chance: it has met it either way.
    pub(crate) async fn end_by_reset(&mut self, proof: Option<Proof>) -> Result<(), Stop> {
        if let Err(stop) = self.ready_to_reset().await {
            let took_all = self.transport.ending() == Some(Ending::Fin);
            if took_all && self.left_behind_what_was_sent() {
                self.fired(self.current(), proof, super::LEFT_BEFORE_RESET, self.due());
            }
            return Err(stop);
        }
        let since = self.now();
        self.transport.deafen();
        self.reset(proof, "RST sent, all that was sent before it taken", since);
        Ok(())
    }

    async fn ready_to_reset(&mut self) -> Result<(), Stop> {
        if self.has_sent_something() {
            self.taken().await?;
        }
        self.ready_to_end().await?;
        self.go_on().await;
        self.still_there()
    }

    fn has_sent_something(&self) -> bool {
        let exchange = self.exchange.as_ref();
        exchange.is_some_and(|exchange| exchange.sent > 0)
    }

    fn left_behind_what_was_sent(&self) -> bool {
        self.has_sent_something()
            && self.left_with_what_was_sent()
            && self.transport.unacknowledged() == 0
    }

    /// What comes last of every RST; the transport is deaf.
    pub(super) fn reset(&mut self, proof: Option<Proof>, fact: &str, since: Duration) {
        let exchange = self.current();
        self.count_arrived();
        self.look_what_is_taken();
        self.tell_of(exchange, What::Ended { how: Ending::Reset });
        self.transport.reset();
        self.fired(exchange, proof, fact, since);
    }

    /// Ends the connection by FIN, and stays to count what still comes.
    pub(crate) async fn end_by_fin(&mut self, proof: Option<Proof>) -> Result<(), Stop> {
        self.ready_to_end().await?;
        self.go_on().await;
        self.still_there()?;
        self.fin(proof).await?;
        self.answer_late_bytes_by_reset().await
    }

    /// Ends its own direction by FIN, and reads and counts what still comes, up
    /// to the peer's end.
    pub(super) async fn half_close(&mut self, proof: Option<Proof>) -> Result<(), Stop> {
        self.ready_to_end().await?;
        self.go_on().await;
        self.still_there()?;
        self.fin(proof).await?;
        loop {
            self.read_more(usize::MAX).await?;
            self.count_pending();
        }
    }

    /// Sends FIN and waits until it is acknowledged. The cell can end meanwhile; what
    /// is known then proves it all the same.
    pub(super) async fn fin(&mut self, proof: Option<Proof>) -> Result<(), Stop> {
        let exchange = self.current();
        self.count_arrived();
        let since = self.now();
        self.tell_of(exchange, What::Ended { how: Ending::Fin });
        let alone = self.transport.unacknowledged() == 0;
        if !self.transport.finish() {
            self.peer_has_ended(Ending::Reset);
            return Err(Stop::Gone);
        }
        self.own_fin = true;
        self.underway = proof.map(|proof| Underway {
            exchange,
            proof,
            part: Part::Fin { alone },
            since,
        });
        let outcome = self.acknowledged().await;
        // Cut off by the facts: the acknowledgement has come, or a RST.
        self.cut_off();
        outcome
    }

    /// After the own FIN: bytes that still come are counted, once they have
    /// settled, and answered by RST.
    pub(super) async fn answer_late_bytes_by_reset(&mut self) -> Result<(), Stop> {
        loop {
            if self.transport.unread() > 0 {
                break;
            }
            // Finds the peer's end; bytes that come in between are pending.
            if self.read_once(1)? {
                break;
            }
            self.transport.readable().await;
        }
        self.count_pending();
        self.settle().await?;
        self.transport.deafen();
        self.reset(None, "", self.now());
        Ok(())
    }

    /// Neither reads nor writes until the peer leaves.
    pub(crate) async fn hang(&mut self, proof: Option<Proof>) -> Result<(), Stop> {
        self.go_on().await;
        let since = self.now();
        if let Err(stop) = self.still_there() {
            if self.has_sent_something()
                && self.left_with_what_was_sent()
                && let Some(fact) = self.left_before_silence()
            {
                self.fired(self.current(), proof, fact, self.due());
            }
            return Err(stop);
        }
        let fact = "left hanging, the connection open";
        self.fired(self.current(), proof, fact, since);
        Err(self.leaving().await)
    }

    /// Resets a connection whose bytes can not be understood.
    pub(crate) async fn refuse(&mut self) {
        if self.settle().await.is_ok() {
            self.transport.deafen();
            self.reset(None, "", self.now());
        }
    }
}
