//! `Expect: 100-continue`: what is sent before the content of a request is read,
//! and what a fault withholds. The rule stands at [`Continue`].

use std::io;
use std::time::Duration;

use super::Run;
use crate::connection::{Connection, Stop, micros};
use crate::event::{Ending, What};
use crate::transport::Transport;
use crate::wire::{Continue, Position, RequestPoint};

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Whether content is read to reach a point.
pub(super) fn wants_content(point: RequestPoint) -> bool {
    match point {
        RequestPoint::Head(_) | RequestPoint::Body(Position::Bytes(0)) => false,
        RequestPoint::Request | RequestPoint::Body(_) => true,
    }
}

impl<T: Transport> Run<'_, T> {
    /// Reads the request up to a point; before any content it does what the
    /// program says of `100`.
    pub(super) async fn read(&mut self, point: RequestPoint) -> Result<(), Stop> {
        if wants_content(point) && self.is_unanswered() {
            let head = RequestPoint::Head(Position::All);
            self.line.read_until(head).await?;
            self.answer_expectation().await?;
        }
        self.line.read_until(point).await?;
        self.line.underway = None;
        Ok(())
    }

    pub(super) async fn answer_expectation(&mut self) -> Result<(), Stop> {
        let continues = self.program.continues;
        if !self.line.awaits_continue() {
            self.line.doubt_what_was_not_withheld(continues);
            return Ok(());
        }
        match continues {
            Continue::Sent => self.line.send_continue().await,
            // Underway until the point is reached.
            Continue::Never => self.begin_part("withholding 100 (Continue)"),
            Continue::After(time) => {
                self.begin_part("holding 100 (Continue) back")?;
                let exchange = self.line.exchange.as_ref();
                let head = exchange.map_or(Duration::ZERO, |exchange| exchange.arrived);
                let came = self.line.content_comes_before(head + time).await?;
                self.line.underway = None;
                if !came {
                    self.line.send_continue().await?;
                }
                self.line.doubt_what_was_not_withheld(continues);
                Ok(())
            }
        }
    }
}

impl<T: Transport> Connection<T> {
    /// Whether the current request expects a `100` that it has not got.
    pub(super) fn awaits_continue(&self) -> bool {
        let exchange = self.exchange.as_ref();
        exchange.is_some_and(|exchange| exchange.request.awaits_continue())
    }

    /// A fault about `100` needs a request that expects it; one about a late
    /// `100` needs content that waited for it.
    pub(super) fn doubt_what_was_not_withheld(&mut self, continues: Continue) {
        let Some(exchange) = &self.exchange else {
            return;
        };
        let (expects, continued) = (exchange.expects_continue, exchange.continued > 0);
        match continues {
            Continue::Sent => {}
            Continue::Never | Continue::After(_) if !expects => {
                self.doubt("the request does not expect 100 (Continue), so none was withheld");
            }
            Continue::After(_) if !continued => {
                self.doubt("the content came before the 100 (Continue) that was to be late");
            }
            Continue::Never | Continue::After(_) => {}
        }
    }

    /// Before content is read that no program asks for yet: sends the `100` that
    /// the request expects.
    pub(crate) async fn let_continue(&mut self) -> Result<(), Stop> {
        if self.awaits_continue() {
            self.send_continue().await?;
        }
        Ok(())
    }

    async fn send_continue(&mut self) -> Result<(), Stop> {
        let mut left = CONTINUE;
        let handed = self.now();
        while !left.is_empty() {
            let before = self.now();
            match self.transport.try_write(left) {
                Ok(written) => {
                    left = &left[written..];
                    self.has_sent(written, before, true);
                    if let Some(exchange) = &mut self.exchange {
                        exchange.continued += written as u64;
                    }
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
        if let Some(exchange) = &mut self.exchange {
            exchange.request.continues();
        }
        self.tell(What::Continued {
            handed_us: micros(handed),
        });
        Ok(())
    }

    /// Waits until a time, or until something comes behind the head; whether it
    /// came.
    async fn content_comes_before(&mut self, at: Duration) -> Result<bool, Stop> {
        let clock = self.server.cell.clock.clone();
        loop {
            self.go_on().await;
            if !self.pending.is_empty() || self.transport.unread() > 0 {
                return Ok(true);
            }
            if self.transport.ending().is_some() {
                return Err(self.leaving().await);
            }
            if self.now() >= at {
                self.still_there()?;
                return Ok(false);
            }
            tokio::select! {
                biased;
                () = self.transport.readable() => {}
                _busy = clock.sleep_until(at) => {}
            }
        }
    }
}
