//! Runs a wire program on one exchange.
//!
//! A fault decides, this acts: it is the only part that sends, ends or delays
//! anything, and it does exactly what the program says, no more. Each step waits
//! for facts, never for a time that only makes a fact likely.

mod ends;
mod expectation;
mod head;
mod idle;
mod progress;
mod sending;
mod slowly;
mod waiting;

use std::time::Duration;

use crate::connection::{Connection, Part, Proof, Stop, Underway};
use crate::event::{Lane, StepId, What};
use crate::transport::Transport;
use crate::wire::{End, IdleEnd, WireProgram, WireStep};

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It takes the next request.
    Keep,
    /// It is over.
    Ended,
}

/// Runs a program on the connection's current exchange.
pub(crate) async fn run<T: Transport>(
    line: &mut Connection<T>,
    program: &WireProgram,
    step: Option<StepId>,
) -> After {
    let last_send = program.steps.iter().rposition(is_sending);
    let mut run = Run {
        line,
        program,
        step,
        place: 0,
        last_send,
        is_interim: false,
        withheld: false,
        held_back: false,
    };
    let outcome = run.steps().await;
    if outcome.is_ok() {
        line.underway = None;
    }
    line.cut_off();
    match outcome {
        Ok(after) => after,
        Err(Stop::Gone) => After::Ended,
        Err(Stop::Malformed) => {
            line.refuse().await;
            After::Ended
        }
    }
}

fn is_sending(step: &WireStep) -> bool {
    matches!(
        step,
        WireStep::Send(_)
            | WireStep::SendDated { .. }
            | WireStep::Drip { .. }
            | WireStep::Endless { .. }
    )
}

/// A client that acts on the bytes before a silence may leave before it begins.
const LEFT_BEFORE_SILENCE: &str = "acknowledged, and the client left behind them";
/// The same of one that aborts.
const ABORTED_BEFORE_SILENCE: &str = "all of them sent, and the client reset the connection";
/// The same before a RST.
const LEFT_BEFORE_RESET: &str = "the client had taken them and left";
/// The same before a wait, a drip, or content without end.
const LEFT_BEFORE_A_PART: &str = "ended from outside before the server went on";

struct Run<'a, T> {
    line: &'a mut Connection<T>,
    program: &'a WireProgram,
    step: Option<StepId>,
    place: usize,
    last_send: Option<usize>,
    /// What is sent belongs to an interim answer.
    is_interim: bool,
    /// Content was not sent, as the request is HEAD.
    withheld: bool,
    /// The last bytes go out with the FIN.
    held_back: bool,
}

impl<T: Transport> Run<'_, T> {
    async fn steps(&mut self) -> Result<After, Stop> {
        let program = self.program;
        for (place, step) in program.steps.iter().enumerate() {
            self.place = place;
            self.is_interim = place < program.answer_from;
            self.line.go_on().await;
            if let Some(exchange) = &mut self.line.exchange {
                exchange.place = place;
            }
            // What waits is not over before the next bytes are.
            if !is_sending(step) {
                self.line.underway = None;
            }
            if self.is_inside_withheld(step) {
                return Ok(After::Keep);
            }
            if self.is_closed_behind() {
                self.line.transport.hold_back();
                self.held_back = true;
            }
            match step {
                WireStep::ReadUntil(point) => self.read(*point).await?,
                WireStep::Wait(time) => self.wait(*time).await?,
                WireStep::ReadSlowly {
                    point,
                    bytes,
                    every,
                } => self.read_slowly(*point, *bytes, *every).await?,
                WireStep::Effect(effect) => self.line.effect(effect),
                WireStep::Work(effect, takes) => self.line.work(effect, *takes),
                WireStep::Send(bytes) => self.send(bytes).await?,
                WireStep::SendDated {
                    before,
                    date_in,
                    after,
                } => self.send_dated(before, *date_in, after).await?,
                WireStep::Drip { bytes, size, every } => {
                    self.begin_part("dripping")?;
                    self.drip(bytes, *size, *every).await?;
                    self.line.underway = None;
                }
                WireStep::Endless { unit, every } => {
                    self.fire_now("its endless part began")?;
                    self.endless(unit, *every).await?;
                }
                // Comes with the acknowledgement of the FIN.
                WireStep::AwaitAcknowledged if self.held_back => {}
                WireStep::AwaitAcknowledged => {
                    self.line.underway = self.proof_next();
                    self.line.acknowledged().await?;
                    self.line.underway = None;
                }
                WireStep::AwaitTaken => self.line.taken().await?,
                WireStep::Fired(words) => self.fired(words)?,
                WireStep::SendWhenIdle(time, bytes) => {
                    if !self.send_when_idle(*time, bytes).await? {
                        return Ok(After::Keep);
                    }
                }
                WireStep::EndWhenIdle(time, how) => return self.idle(*time, *how).await,
                WireStep::End(end) => return self.end(*end).await,
            }
            if self.last_send == Some(place) {
                self.line.answered();
            }
            self.line.has_done(step);
        }
        Ok(After::Keep)
    }

    /// Whether this step sends the last bytes before a FIN that nothing keeps
    /// back. Then both arrive together: a client that acts on the bytes, and
    /// closes, can not be faster than the FIN.
    fn is_closed_behind(&self) -> bool {
        let exchange = self.line.exchange.as_ref();
        let goes = exchange.is_some_and(|one| one.request.is_complete() && !one.is_head);
        let closes = matches!(
            self.program.steps.get(self.place..),
            Some([
                WireStep::Send(_) | WireStep::SendDated { .. },
                WireStep::AwaitAcknowledged,
                WireStep::Fired(_),
                WireStep::End(End::Close | End::HalfClose)
                    | WireStep::EndWhenIdle(Duration::ZERO, IdleEnd::Close),
            ])
        );
        goes && closes
    }

    fn tell(&self, what: What) {
        self.line.tell(what);
    }

    /// Whether no byte of the answer has gone out yet.
    fn is_unanswered(&self) -> bool {
        let exchange = self.line.exchange.as_ref();
        exchange.is_none_or(|exchange| exchange.sent == exchange.interim)
    }

    /// Bytes of this program that have gone out.
    fn written(&self) -> u64 {
        let exchange = self.line.exchange.as_ref();
        exchange.map_or(0, |exchange| exchange.sent - exchange.continued)
    }

    /// Just before the last bytes were handed over.
    fn handed(&self) -> Duration {
        let exchange = self.line.exchange.as_ref();
        exchange.map_or(Duration::ZERO, |exchange| exchange.handed)
    }

    async fn wait(&mut self, time: Duration) -> Result<(), Stop> {
        let until = self.line.now() + time;
        self.begin_part("waiting")?;
        self.line.wait_until(until).await?;
        // Its FIN does not show while it waits behind bytes that are not read.
        self.line.still_there()
    }

    /// A part of the program begins that counts as fired if the client ends it.
    /// It began when all before it was handed over: a client that ends it then
    /// can be faster than this server's next turn.
    fn begin_part(&mut self, doing: &'static str) -> Result<(), Stop> {
        let words = self.proof_behind();
        let underway = words.and_then(|words| self.underway(words, Part::Doing(doing)));
        let Err(stop) = self.line.still_there() else {
            self.line.underway = underway;
            return Ok(());
        };
        if self.written() > 0 && self.line.left_with_what_was_sent() {
            let since = self.line.due();
            self.line.underway = underway.map(|underway| Underway { since, ..underway });
        }
        Err(stop)
    }

    fn underway(&self, words: &'static str, part: Part) -> Option<Underway> {
        let exchange = self.line.current();
        let proof = self.proof(words)?;
        let since = self.line.now();
        Some(Underway {
            exchange,
            proof,
            part,
            since,
        })
    }

    /// What the acknowledgement proves that is now waited for.
    fn proof_next(&self) -> Option<Underway> {
        let behind = &self.program.steps[self.place + 1..];
        let (words, part) = match behind {
            [WireStep::Fired(words), WireStep::End(End::Hang), ..] => (words, Part::Silence),
            [
                WireStep::Fired(_),
                WireStep::End(_) | WireStep::EndWhenIdle(..),
                ..,
            ] => return None,
            [WireStep::Fired(words), ..] => (words, Part::Acknowledgement("")),
            _ => return None,
        };
        let since = self.line.due();
        let underway = self.underway(words, part)?;
        Some(Underway { since, ..underway })
    }

    /// The words of the first proof that stands behind the current step.
    fn proof_behind(&self) -> Option<&'static str> {
        progress::first_proof(&self.program.steps[self.place + 1..])
    }

    /// The proof that stands directly before the current step.
    fn proof_before(&self) -> Option<Proof> {
        let before = self.place.checked_sub(1)?;
        match self.program.steps.get(before) {
            Some(WireStep::Fired(words)) => self.proof(words),
            _ => None,
        }
    }

    fn proof(&self, words: &'static str) -> Option<Proof> {
        let lane = Lane::Step(self.step?);
        Some(Proof { lane, words })
    }

    fn fired(&mut self, words: &'static str) -> Result<(), Stop> {
        match self.program.steps.get(self.place + 1) {
            // Left by the end itself, once it is a fact.
            Some(WireStep::End(_) | WireStep::EndWhenIdle(..)) => return Ok(()),
            Some(WireStep::Wait(_) | WireStep::Drip { .. } | WireStep::Endless { .. }) => {
                self.line.still_there()?;
            }
            _ => {}
        }
        self.leave(self.proof(words), "", self.line.due());
        Ok(())
    }

    /// Leaves the proof behind a part that has no end of its own. A client that
    /// acts on what was sent before it can be faster.
    fn fire_now(&mut self, fact: &str) -> Result<(), Stop> {
        let now = self.line.now();
        let proof = self.proof_behind().and_then(|words| self.proof(words));
        let here = self.line.still_there();
        if here.is_ok() {
            self.leave(proof, fact, now);
        } else if self.written() > 0 && self.line.left_with_what_was_sent() {
            self.leave(proof, LEFT_BEFORE_A_PART, self.line.due());
        }
        here
    }

    fn leave(&self, proof: Option<Proof>, fact: &str, since: Duration) {
        self.line.fired(self.line.current(), proof, fact, since);
    }

    async fn end(&mut self, end: End) -> Result<After, Stop> {
        let proof = self.proof_before();
        match end {
            End::Reset => self.line.end_by_reset(proof).await?,
            End::Close => self.line.end_by_fin(proof).await?,
            End::HalfClose => self.line.half_close(proof).await?,
            End::Hang => self.line.hang(proof).await?,
        }
        Ok(After::Ended)
    }
}

#[cfg(test)]
mod tests;
