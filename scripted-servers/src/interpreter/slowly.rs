//! Reading the content of a request slowly, so that it piles up in the sockets
//! and the client feels that nobody takes it.

use std::time::Duration;

use super::Run;
use super::expectation::wants_content;
use crate::connection::{Connection, Stop};
use crate::transport::Transport;
use crate::wire::{Position, RequestPoint};

const NOT_SLOW: &str = "the content ended with its first piece, so none of it was read slowly";

impl<T: Transport> Run<'_, T> {
    /// Reads the request up to a point, its content in pieces of so many bytes,
    /// with so much time between them.
    pub(super) async fn read_slowly(
        &mut self,
        point: RequestPoint,
        bytes: usize,
        every: Duration,
    ) -> Result<(), Stop> {
        let head = RequestPoint::Head(Position::All);
        self.line.read_until(head).await?;
        if wants_content(point) && self.is_unanswered() {
            self.answer_expectation().await?;
        }
        let mut is_slow = false;
        self.line.read_piece(point, bytes).await?;
        while !self.line.is_at(point) {
            if !is_slow {
                is_slow = true;
                self.begin_part("reading slowly")?;
            }
            self.line.wait_until(self.line.now() + every).await?;
            // Its FIN does not show while it waits behind bytes that are not read.
            self.line.still_there()?;
            self.line.read_piece(point, bytes).await?;
        }
        self.line.underway = None;
        if !is_slow {
            self.line.doubt(NOT_SLOW);
        }
        // Finds out whether the point was missed.
        self.line.read_until(point).await
    }
}

impl<T: Transport> Connection<T> {
    /// Whether the current request has come to a point, or never will.
    fn is_at(&self, point: RequestPoint) -> bool {
        let exchange = self.exchange.as_ref();
        exchange.is_none_or(|exchange| exchange.malformed || exchange.request.reached(point))
    }

    /// Takes so many bytes of the current request, those first that came with its
    /// head.
    async fn read_piece(&mut self, point: RequestPoint, bytes: usize) -> Result<(), Stop> {
        let mut left = bytes.max(1);
        while left > 0 && !self.is_at(point) {
            if self.pending.is_empty() {
                self.read_more(left).await?;
            }
            left -= self.absorb_at_most(left);
        }
        Ok(())
    }
}
