//! Answers to HEAD: they end where their content would begin (RFC 9110 section
//! 9.3.2), whatever a program made for any method holds behind that. One that is
//! sent as it stands is not cut.

use super::Run;
use crate::transport::Transport;
use crate::wire::{Answer, SentEvents, WireStep};

/// A date is written with so many bytes.
const DATE: usize = 29;

impl<T: Transport> Run<'_, T> {
    fn is_head(&self) -> bool {
        let exchange = self.line.exchange.as_ref();
        exchange.is_some_and(|exchange| exchange.is_head)
    }

    /// Where the content would begin, in bytes of the answer; none when nothing
    /// is to be cut off there.
    fn content_begins(&self) -> Option<u64> {
        if self.program.verbatim {
            return None;
        }
        self.head_ends()
    }

    /// Where the head ends of an answer to HEAD; none when this is not one, or
    /// the program writes no whole head.
    fn head_ends(&self) -> Option<u64> {
        if !self.is_head() {
            return None;
        }
        let mut all = Vec::new();
        for step in &self.program.steps {
            match step {
                WireStep::Send(bytes) | WireStep::Drip { bytes, .. } => {
                    all.extend_from_slice(bytes)
                }
                WireStep::SendDated { before, after, .. } => {
                    all.extend_from_slice(before);
                    all.extend_from_slice(&[b'd'; DATE]);
                    all.extend_from_slice(after);
                }
                WireStep::Endless { unit, .. } => all.extend_from_slice(unit),
                _ => {}
            }
        }
        end_of_head(&all).map(|end| end as u64)
    }

    /// What of these bytes is sent.
    pub(super) fn without_content<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some(end) = self.content_begins() else {
            return bytes;
        };
        let left = usize::try_from(end.saturating_sub(self.written())).unwrap_or(usize::MAX);
        if left >= bytes.len() {
            return bytes;
        }
        self.withheld = true;
        &bytes[..left]
    }

    /// Whether the program is over before this step, as it would happen inside
    /// content that is not sent. Then it did not happen.
    pub(super) fn is_inside_withheld(&self, step: &WireStep) -> bool {
        let past_head = || {
            self.content_begins()
                .is_some_and(|end| self.written() >= end)
        };
        match step {
            WireStep::Drip { .. } | WireStep::Endless { .. } => past_head(),
            WireStep::Wait(_) => self.last_send > Some(self.place) && past_head(),
            _ => {
                let answer = self.program.answer.as_ref();
                let is_cut = answer.is_some_and(|answer| !answer.whole);
                self.withheld && (is_cut || self.program.proves_content)
            }
        }
    }

    /// What the program answers, as this request's method leaves it.
    pub(super) fn answer(&self) -> Option<Answer> {
        let answer = self.program.answer.clone()?;
        if self.head_ends().is_none() {
            return Some(answer);
        }
        Some(Answer {
            body_bytes: 0,
            body_sha256: Some(crate::digest::sha256(&[])),
            whole: answer.status.is_some(),
            events: SentEvents::default(),
            ..answer
        })
    }
}

/// Where the first head that is not of an interim answer ends.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    const END: &[u8] = b"\r\n\r\n";
    let mut start = 0;
    loop {
        let head = &bytes[start..];
        let end = head.windows(END.len()).position(|four| four == END)? + END.len();
        let interim = head.get(9) == Some(&b'1') && head.get(9..12) != Some(b"101");
        if !interim {
            return Some(start + end);
        }
        start += end;
    }
}
