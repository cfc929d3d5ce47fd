//! How an exchange comes to know what is told of it. What is told first stays.

use scripted_servers::event::{StepId, What};

use super::{After, Ended, Exchange, Place32, Rare};
use crate::judge::mark::Mark;
use crate::judge::packed::Stamp;
use crate::judge::told::Pool;

impl Exchange {
    /// Takes in one event of it.
    pub(in crate::judge) fn take(&mut self, mark: Mark, what: &What, pool: &mut Pool) {
        let arrived = |at_us: &u64| Mark {
            at_us: *at_us,
            n: mark.n,
        };
        match what {
            What::Started { arrived_us, .. } => self.started.get_or_insert(arrived(arrived_us)),
            What::Head {
                arrived_us,
                method,
                target,
                headers,
                queue,
                step,
            } => {
                self.took(*step);
                if self.head == Stamp::NONE {
                    self.head = arrived(arrived_us).into();
                    self.text = Some(pool.head(method, target, headers));
                    self.queue = queue.map_or(Place32::NONE, Into::into);
                }
            }
            What::Taken { step } => self.took(Some(*step)),
            What::Delivered {
                arrived_us,
                body_bytes,
                body_sha256,
                drained,
            } if self.delivered == Stamp::NONE => {
                self.delivered = arrived(arrived_us).into();
                self.delivered_told = After::from(*arrived_us, mark.at_us);
                self.drained = *drained;
                self.content = pool.content(*body_bytes, body_sha256.as_deref());
            }
            What::Malformed { reason } => {
                let rare = self.rare();
                rare.malformed.get_or_insert_with(|| (mark, reason.clone()));
            }
            What::Answering { answer } if self.answer == Stamp::NONE => {
                self.answer = mark.into();
                self.given = Some(pool.answer(answer));
            }
            // The time before the last bytes went out: a client can not have
            // acted on the whole answer earlier, so no wait is seen too short.
            What::Answered { bytes, handed_us } => {
                self.sent_bytes = self.sent_bytes.max(*bytes);
                let at_us = if *handed_us == 0 {
                    mark.at_us
                } else {
                    *handed_us
                };
                if self.answered == Stamp::NONE {
                    self.answered = Mark { at_us, ..mark }.into();
                    self.answered_told = After::from(at_us, mark.at_us);
                }
            }
            What::Unsolicited { bytes, .. } => {
                self.sent_bytes = self.sent_bytes.saturating_add(*bytes);
            }
            _ => {}
        }
    }

    /// The first step that is told is the one it took.
    fn took(&mut self, step: Option<StepId>) {
        if let Some(step) = step.filter(|_| self.step().is_none()) {
            self.step = [step.queue.into(), step.step.into()];
        }
    }

    /// Its last byte arrived after the client's end.
    pub(in crate::judge) fn drain_after(&mut self, exit_us: u64) {
        let delivered = self.delivered.mark();
        self.drained |= delivered.is_some_and(|mark| mark.at_us > exit_us);
    }

    /// Its connection ended, if nothing had ended it before.
    pub(in crate::judge) fn end(&mut self, ended: Ended) {
        self.rare().ended.get_or_insert(ended);
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }
}
