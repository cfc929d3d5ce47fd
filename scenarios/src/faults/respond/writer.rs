//! The wire steps of an answer: which of its bytes are sent when.

use std::time::Duration;

use scripted_servers::script::Times;
use scripted_servers::wire::{Bytes, End, WireStep};

use super::message::{self, Message, Part};
use super::{Framing, Program, Respond};
use crate::rendering::Rendering;

/// Writes a message in the order of its bytes.
pub(super) struct Writer<'m, 's> {
    pub(super) message: &'m Message,
    pub(super) drip: Option<(usize, Duration)>,
    pub(super) at: usize,
    pub(super) program: Program<'s>,
}

impl Writer<'_, '_> {
    /// Sends the interim answers, each in a write of its own; one that is sent
    /// without end is handed back.
    pub(super) fn interim(
        &mut self,
        respond: &Respond,
        with: &Rendering<'_>,
    ) -> Option<(Bytes, Option<Duration>)> {
        for interim in &respond.interim {
            let bytes: Bytes = message::interim(interim, with).into();
            let Times::Count(count) = interim.times else {
                return Some((bytes, interim.every));
            };
            for place in 0..count {
                let pause = interim.every.filter(|_| place > 0);
                self.program.steps.extend(pause.map(WireStep::Wait));
                self.program.steps.push(WireStep::Send(bytes.clone()));
            }
        }
        None
    }

    /// Sends a unit without end: one every so often, or as fast as the client reads.
    pub(super) fn without_end(mut self, unit: Bytes, every: Option<Duration>) -> Vec<WireStep> {
        let every = every.map(|every| (1, every));
        self.program.steps.push(WireStep::Endless { unit, every });
        self.program.end("interim answers without end", End::Close)
    }

    pub(super) fn send_until(&mut self, to: usize) {
        let head = self.message.head;
        match self.drip {
            Some((size, every)) if to > head => {
                self.send(head);
                if self.at < to {
                    let bytes = self.message.bytes[self.at..to].into();
                    self.program
                        .steps
                        .push(WireStep::Drip { bytes, size, every });
                    self.at = to;
                }
            }
            _ => self.send(to),
        }
    }

    /// What follows the message goes out with its last bytes, so that a client
    /// meets it always in the same way.
    fn surplus(&mut self) {
        if self.message.surplus.is_empty() {
            return;
        }
        let surplus = &self.message.surplus[..];
        match self.program.steps.last_mut() {
            Some(WireStep::Send(bytes)) => *bytes = [&bytes[..], surplus].concat().into(),
            Some(WireStep::SendDated { after, .. }) => {
                *after = [&after[..], surplus].concat().into();
            }
            _ => self.program.steps.push(WireStep::Send(surplus.into())),
        }
    }

    fn send(&mut self, to: usize) {
        if to <= self.at {
            return;
        }
        self.program
            .steps
            .push(match self.message.part(self.at, to) {
                Part::Bytes(bytes) => WireStep::Send(bytes.into()),
                Part::Dated {
                    before,
                    from_now,
                    after,
                } => WireStep::SendDated {
                    before: before.into(),
                    date_in: from_now,
                    after: after.into(),
                },
            });
        self.at = to;
    }

    pub(super) fn cut(mut self, to: usize, end: End) -> Vec<WireStep> {
        self.send_until(to);
        self.program.cut(end)
    }

    pub(super) fn rest(mut self, respond: &Respond, with: &Rendering<'_>) -> Vec<WireStep> {
        self.send_until(self.message.bytes.len());
        self.surplus();
        if let Some(unit) = &self.message.endless {
            self.program.steps.push(WireStep::Endless {
                unit: unit.as_slice().into(),
                every: respond.drip.map(|(_, every)| (1, every)),
            });
            return self.program.end("content without end", End::Close);
        }
        if respond.framing == Framing::Close {
            self.program.steps.push(WireStep::AwaitAcknowledged);
            let proof = "all its bytes were acknowledged, then FIN";
            return self.program.end(proof, End::Close);
        }
        self.program.keep(with)
    }
}
