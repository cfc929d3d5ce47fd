//! Gives the order to cancel a call, when its time has come.

use std::io;
use std::time::Duration;

use client_kit::protocol::Control;
use scenarios::evidence::ClientEvent;

use super::Driver;
use crate::client::protocol::control_line;

/// When a pipe that takes nothing is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(5);

impl Driver<'_> {
    /// Gives the order if it is due and its call is open; when to look again, where
    /// it is still to be given.
    pub(super) fn order(&mut self) -> io::Result<Option<Duration>> {
        let order = self.signals.borrow().order;
        let Some(order) = order.filter(|_| !self.ordered && self.ended_at.is_none()) else {
            return Ok(None);
        };
        let now = self.clock.now();
        if !self.talk.can_cancel(order.call) {
            self.ordered = true;
            return Ok(None);
        }
        if now < order.due {
            return Ok(Some(order.due));
        }
        let line = control_line(&Control::Cancel { call: order.call })?;
        match self.stdin.tell_now(&line) {
            Ok(false) => return Ok(Some(now + TRY_AGAIN)),
            Ok(true) => {
                let call = order.call;
                let sent = ClientEvent::CancelSent { call };
                self.log.process_at(self.process, now, sent);
            }
            // Nobody reads: the judge misses the order.
            Err(_) => {}
        }
        self.ordered = true;
        Ok(None)
    }
}
