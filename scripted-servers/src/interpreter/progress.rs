//! How far a program has got on its connection: from when on its next step is
//! due, what of it follows from facts alone once the client has ended, and what
//! remains to be told when it goes no further. Nothing here waits or sends.

use std::time::Duration;

use super::expectation::wants_content;
use super::{ABORTED_BEFORE_SILENCE, LEFT_BEFORE_A_PART, LEFT_BEFORE_RESET, LEFT_BEFORE_SILENCE};
use crate::connection::{Connection, Part, Proof, micros};
use crate::event::{Ending, Lane, What};
use crate::models::Asked;
use crate::request::Head;
use crate::transport::Transport;
use crate::wire::{Effect, End, KeySource, WireStep};
use crate::works::Work;

impl<T: Transport> Connection<T> {
    /// From when on the current step of the program was due.
    pub(super) fn due(&self) -> Duration {
        let exchange = self.exchange.as_ref();
        exchange.map_or_else(|| self.now(), |exchange| exchange.due)
    }

    /// A step is done: from when on the next one is due. What waits for nothing
    /// but bytes is due when they had arrived, whenever the server saw it; what
    /// is said of bytes that were sent holds since they were handed over, as a
    /// client may read them and end before the server gets its next turn.
    pub(super) fn has_done(&mut self, step: &WireStep) {
        let now = self.now();
        if let Some(exchange) = &mut self.exchange {
            exchange.place += 1;
            exchange.due = match step {
                WireStep::ReadUntil(_) => exchange.due.max(exchange.arrived),
                WireStep::Effect(_)
                | WireStep::Work(..)
                | WireStep::Fired(_)
                | WireStep::AwaitAcknowledged
                | WireStep::AwaitTaken => exchange.due,
                WireStep::Send(_)
                | WireStep::SendDated { .. }
                | WireStep::SendWhenIdle(..)
                | WireStep::Drip { .. } => exchange.due.max(exchange.handed),
                _ => now,
            };
        }
    }

    /// Goes on with the program of the current exchange as far as it waits for
    /// nothing but what has arrived or was acknowledged, and sends nothing.
    pub(crate) fn advance(&mut self) {
        let server = self.server.clone();
        while let Some(exchange) = &self.exchange
            && exchange.scripted
            && !exchange.malformed
            && let Some(id) = exchange.step
            && let made = exchange.program.clone()
            && let program = made
                .as_deref()
                .unwrap_or_else(|| server.program(Some(id), false))
            && let Some([step, behind @ ..]) = program.steps.get(exchange.place..)
        {
            // Nothing is said of content that an answer to HEAD does not have.
            let is_whole = !program.proves_content
                && program.answer.as_ref().is_none_or(|answer| answer.whole);
            let has_content = !exchange.is_head || program.verbatim;
            let says = exchange.sent > 0 && (is_whole || has_content);
            match step {
                WireStep::ReadUntil(point) if exchange.request.reached(*point) => {
                    self.has_reached(*point);
                    if wants_content(*point) {
                        self.doubt_what_was_not_withheld(program.continues);
                    }
                }
                WireStep::Effect(effect) => self.effect(effect),
                WireStep::Work(effect, takes) => self.work(effect, *takes),
                WireStep::AwaitAcknowledged if says && self.transport.unacknowledged() == 0 => {}
                WireStep::Fired(words) if says && holds_by_itself(behind) => {
                    let proof = Some(Proof {
                        lane: Lane::Step(id),
                        words,
                    });
                    self.fired(Some(exchange.number), proof, "", exchange.due);
                    // Its acknowledgement proves it once, not again while the rest is read.
                    self.underway = None;
                }
                _ => {
                    let (number, due) = (exchange.number, exchange.due);
                    let began = exchange.sent > exchange.continued;
                    if let Some((words, fact)) = self.left_before(step, behind).filter(|_| began) {
                        let lane = Lane::Step(id);
                        self.fired(Some(number), Some(Proof { lane, words }), fact, due);
                        self.underway = None;
                        self.end_script();
                    }
                    return;
                }
            }
            self.has_done(step);
        }
    }

    /// What was to come when the client ended with all that was sent before it:
    /// it would have met a wait, or silence. The proof's words, and the fact.
    fn left_before(
        &self,
        step: &WireStep,
        behind: &[WireStep],
    ) -> Option<(&'static str, &'static str)> {
        if !self.left_with_what_was_sent() {
            return None;
        }
        match (step, behind) {
            (WireStep::Fired(words), [WireStep::End(End::Hang), ..])
            | (
                WireStep::AwaitAcknowledged,
                [WireStep::Fired(words), WireStep::End(End::Hang), ..],
            ) => {
                let fact = self.left_before_silence()?;
                Some((*words, fact))
            }
            (WireStep::Fired(words), [WireStep::End(End::Reset), ..]) => {
                let took_all = self.transport.ending() == Some(Ending::Fin);
                took_all.then_some((*words, LEFT_BEFORE_RESET))
            }
            (WireStep::Wait(_) | WireStep::Drip { .. } | WireStep::Endless { .. }, _) => {
                first_proof(behind).map(|words| (words, LEFT_BEFORE_A_PART))
            }
            _ => None,
        }
    }

    pub(super) fn effect(&self, effect: &Effect) {
        let since = self.due();
        if self.life.lived_at(since) {
            self.tell(What::Effect {
                name: effect.name.clone(),
                key: self.key_of(effect),
                since_us: micros(since),
                began_us: None,
            });
        }
    }

    /// The application begins to work on an effect, if the client lived when it
    /// was due.
    pub(super) fn work(&self, effect: &Effect, takes: Duration) {
        let began = self.due();
        if self.life.lived_at(began) {
            self.server.cell.begin_work(Work {
                server: self.server.name.clone(),
                connection: self.number,
                exchange: self.exchange.as_ref().map(|exchange| exchange.number),
                name: effect.name.clone(),
                key: self.key_of(effect),
                began,
                ends: began + takes,
            });
        }
    }

    fn key_of(&self, effect: &Effect) -> Option<String> {
        effect.key.as_ref().and_then(|key| self.key(key))
    }

    fn key(&self, source: &KeySource) -> Option<String> {
        let request = &self.exchange.as_ref()?.request;
        // Whoever looks for the key in the content has not kept the head.
        let none = Head::default();
        let head = request.head().unwrap_or(&none);
        let looks_inside = matches!(source, KeySource::Json(_));
        let json = looks_inside.then(|| request.json()).flatten();
        let asked = Asked {
            at: self.due(),
            method: &head.method,
            target: &head.target,
            headers: &head.headers,
            digest: None,
            json: json.as_ref(),
        };
        asked.key(source)
    }

    /// All of the answer that will ever be sent was handed to the kernel.
    pub(super) fn answered(&mut self) {
        if let Some(exchange) = &mut self.exchange
            && exchange.sent > exchange.interim
            && !exchange.answered
        {
            exchange.answered = true;
            let (bytes, handed) = (exchange.sent - exchange.interim, exchange.handed);
            self.tell(What::Answered {
                bytes,
                handed_us: micros(handed),
            });
            self.release();
        }
    }

    /// What remains to be told of a program that went no further: by itself, by
    /// the peer's end, or by the cell's.
    pub(crate) fn cut_off(&mut self) {
        self.answered();
        let Some(underway) = self.underway.take() else {
            return;
        };
        let (exchange, proof, since) = (underway.exchange, Some(underway.proof), underway.since);
        match underway.part {
            // Ended by an order that has nothing to do with it.
            Part::Doing(_) if self.life.is_stopping() => {}
            Part::Doing(doing) => {
                let fact = format!("ended from outside while the server was {doing}");
                self.fired(exchange, proof, &fact, since);
            }
            Part::Acknowledgement(_) | Part::Silence | Part::Fin { .. } => {
                match self.has_come(&underway.part) {
                    Some(fact) => {
                        self.fired(exchange, proof, fact, since);
                        self.end_script();
                    }
                    // A kernel holds it back for a while, and longer while it is kept from
                    // sending. It may come while the rest is read.
                    None => self.underway = Some(underway),
                }
            }
        }
    }

    /// What is known now of what was waited for.
    fn has_come(&self, part: &Part) -> Option<&'static str> {
        match part {
            Part::Doing(_) => None,
            Part::Acknowledgement(fact) => (self.transport.unacknowledged() == 0).then_some(*fact),
            Part::Silence => self.left_before_silence(),
            Part::Fin { alone } => self.took_the_fin(*alone),
        }
    }

    /// What proves that the FIN was sent. The kernel sent it, as the connection was
    /// whole then, and acknowledges nothing once it has met a RST.
    fn took_the_fin(&self, alone: bool) -> Option<&'static str> {
        if self.transport.unacknowledged() == 0 {
            return Some("FIN acknowledged");
        }
        let answered = alone && self.transport.was_reset_open();
        answered.then_some("FIN sent, and answered by RST")
    }

    /// How the client met the silence behind what was sent, though it left before
    /// that began. Its RST acknowledges nothing, so of a client that aborts at the
    /// first sight of the bytes it is known that all of them had gone out before.
    pub(super) fn left_before_silence(&self) -> Option<&'static str> {
        if self.transport.unacknowledged() == 0 {
            return Some(LEFT_BEFORE_SILENCE);
        }
        let aborted = self.transport.ending() == Some(Ending::Reset)
            && self.transport.was_reset_open()
            && self.transport.unsent() == 0;
        aborted.then_some(ABORTED_BEFORE_SILENCE)
    }
}

/// The words of the first proof in these steps.
pub(super) fn first_proof(steps: &[WireStep]) -> Option<&'static str> {
    steps.iter().find_map(|step| match step {
        WireStep::Fired(words) => Some(*words),
        _ => None,
    })
}

/// Whether a proof that stands before these steps says nothing about them.
fn holds_by_itself(behind: &[WireStep]) -> bool {
    !matches!(
        behind.first(),
        Some(
            WireStep::End(_)
                | WireStep::EndWhenIdle(..)
                | WireStep::Wait(_)
                | WireStep::Drip { .. }
                | WireStep::Endless { .. }
        )
    )
}
