//! Sending: bytes at once, with a date, in drips, without end.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Run;
use crate::connection::Stop;
use crate::event::What;
use crate::transport::Transport;
use crate::wire::{Bytes, WireStep};

/// An endless part is written in pieces of about this size.
const ENDLESS_PIECE: usize = 16 * 1024;
/// A drip may come so much sooner after the last one than stated, to make up
/// for one that came late.
const DRIP_SLACK: Duration = Duration::from_millis(3);

impl<T: Transport> Run<'_, T> {
    /// Writes all of these bytes.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let mut left = self.without_content(bytes);
        while !left.is_empty() {
            let written = self.write_once(left)?;
            left = &left[written..];
            if written == 0 {
                self.line.transport.writable().await;
                self.line.look_what_is_taken();
            }
        }
        Ok(())
    }

    /// Writes what the kernel takes of these bytes; 0: nothing at the moment.
    fn write_once(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        let before = self.line.now();
        match self.line.transport.try_write(bytes) {
            Ok(written) => {
                let first = !self.is_interim && self.is_unanswered();
                self.line.has_sent(written, before, self.is_interim);
                if !self.is_a_part() {
                    self.line.underway = None;
                }
                if first
                    && written > 0
                    && let Some(answer) = self.answer()
                {
                    self.tell(What::Answering { answer });
                }
                Ok(written)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(_) => {
                self.line.peer_has_ended(crate::event::Ending::Reset);
                Err(Stop::Gone)
            }
        }
    }

    /// Whether the current step is a part of its own, with bytes in it.
    fn is_a_part(&self) -> bool {
        let step = self.program.steps.get(self.place);
        matches!(step, Some(WireStep::Drip { .. } | WireStep::Endless { .. }))
    }

    /// Writes bytes with a date between them.
    pub(super) async fn send_dated(
        &mut self,
        before: &[u8],
        date_in: Duration,
        after: &[u8],
    ) -> Result<(), Stop> {
        let date =
            httpdate::fmt_http_date(whole_second(self.line.server.cell.clock.wall() + date_in));
        self.send(&[before, date.as_bytes(), after].concat()).await
    }

    /// Writes bytes in pieces, one every so often.
    pub(super) async fn drip(
        &mut self,
        bytes: &[u8],
        size: usize,
        every: Duration,
    ) -> Result<(), Stop> {
        let mut due = self.line.now();
        for (place, piece) in bytes.chunks(size.max(1)).enumerate() {
            if place > 0 {
                let sent_at = self.handed();
                due = (due + every).max(sent_at + every.saturating_sub(DRIP_SLACK));
                self.line.wait_until(due).await?;
                self.line.look_what_is_taken();
            }
            self.send(piece).await?;
        }
        Ok(())
    }

    /// Writes a unit again and again, until the peer ends it.
    pub(super) async fn endless(
        &mut self,
        unit: &Bytes,
        every: Option<(usize, Duration)>,
    ) -> Result<(), Stop> {
        if unit.is_empty() {
            return Err(self.line.leaving().await);
        }
        let units = every.map_or(ENDLESS_PIECE.div_ceil(unit.len()), |(units, _)| {
            units.max(1)
        });
        let piece = unit.repeat(units);
        loop {
            self.line.look_what_is_taken();
            self.send(&piece).await?;
            match every {
                Some((_, every)) => self.line.wait_until(self.line.now() + every).await?,
                // The peer may read as fast as this writes; others want a turn.
                None => tokio::task::yield_now().await,
            }
        }
    }
}

/// Rounded up, as an HTTP-date has no fractions.
fn whole_second(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs() + u64::from(since.subsec_nanos() > 0);
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_rounded_up_to_a_whole_second() {
        let second = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(whole_second(second(5)), second(5));
        assert_eq!(whole_second(second(5) + Duration::from_nanos(1)), second(6));
    }
}
