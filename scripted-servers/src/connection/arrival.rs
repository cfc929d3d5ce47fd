//! What arrives on a connection becomes requests, counted and told.

use std::time::Duration;

use super::exchange::Exchange;
use super::{Connection, micros};
use crate::event::{StepId, What};
use crate::request::{Malformed, Milestone, Request};
use crate::transport::Transport;

impl<T: Transport> Connection<T> {
    /// A request begins.
    pub(super) fn begin(&mut self, arrived: Duration, scripted: bool) {
        self.release();
        self.exchanges += 1;
        self.doubt = None;
        let reused = self.exchanges > 1;
        self.server.begun(arrived);
        self.exchange = Some(Exchange {
            number: self.exchanges,
            request: Request::default(),
            scripted,
            began: arrived,
            queue: None,
            step: None,
            program: None,
            passage: None,
            malformed: false,
            ends_connection: false,
            is_head: false,
            sent: 0,
            interim: 0,
            continued: 0,
            expects_continue: false,
            handed: arrived,
            answered: false,
            arrived,
            place: 0,
            due: arrived,
        });
        self.tell(What::Started {
            arrived_us: micros(arrived),
            reused,
        });
        if scripted && let Some(step) = self.server.take_inside_head(reused, arrived) {
            self.took(step);
        }
    }

    fn took(&mut self, step: StepId) {
        if let Some(exchange) = &mut self.exchange {
            exchange.step = Some(step);
            self.tell(What::Taken { step });
        }
    }

    /// Feeds the current request from what is pending, up to its next milestone.
    pub(crate) fn absorb(&mut self) {
        self.absorb_at_most(usize::MAX);
    }

    /// As `absorb`, so many bytes at most: how many.
    pub(crate) fn absorb_at_most(&mut self, most: usize) -> usize {
        let mut absorbed = 0;
        while absorbed < most
            && let Some(exchange) = &mut self.exchange
            && !exchange.malformed
            && !exchange.request.is_complete()
            && let Some((bytes, arrived)) = self.pending.front()
        {
            exchange.arrived = arrived;
            let bytes = &bytes[..bytes.len().min(most - absorbed)];
            match exchange.request.feed(bytes) {
                Ok((used, milestone)) => {
                    self.pending.consume(used);
                    absorbed += used;
                    match milestone {
                        Milestone::None => continue,
                        Milestone::Head => self.has_head(arrived),
                        Milestone::Complete => self.has_arrived(arrived),
                    }
                    return absorbed;
                }
                Err(Malformed(reason)) => {
                    exchange.malformed = true;
                    self.tell(What::Malformed { reason });
                }
            }
        }
        absorbed
    }

    /// Feeds the current request all that is pending, as far as it goes.
    pub(crate) fn absorb_all(&mut self) {
        while !self.pending.is_empty()
            && let Some(exchange) = &self.exchange
            && !exchange.malformed
            && !exchange.request.is_complete()
        {
            self.absorb();
        }
    }

    fn has_head(&mut self, arrived: Duration) {
        let server = self.server.clone();
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        let Some(head) = exchange.request.head() else {
            return;
        };
        exchange.queue = server.route(&head.method, &head.target);
        exchange.ends_connection = head.ends_connection();
        exchange.is_head = head.method == "HEAD";
        exchange.expects_continue = exchange.request.awaits_continue();
        if server.keeps_content() {
            exchange.request.keep_content();
        }
        let step = match exchange.queue {
            Some(queue)
                if exchange.awaits_step()
                    && self.life.lived_at(arrived)
                    && !server.chooses_by_content(queue) =>
            {
                exchange.choose(&server, queue)
            }
            _ => None,
        };
        let head = if server.keeps_heads() {
            exchange.request.head().cloned()
        } else {
            exchange.request.take_head()
        };
        let (head, queue) = (head.unwrap_or_default(), exchange.queue);
        self.tell(What::Head {
            arrived_us: micros(arrived),
            method: head.method,
            target: head.target,
            headers: head.headers,
            queue,
            step,
        });
        if let (Some(step), Some(exchange)) = (step, &mut self.exchange) {
            exchange.step = Some(step);
        }
        self.has_arrived(arrived);
    }

    /// Tells the delivery of a request that has just become complete.
    fn has_arrived(&mut self, arrived: Duration) {
        let server = self.server.clone();
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        if !exchange.request.is_complete() {
            return;
        }
        let step = match exchange.queue {
            Some(queue) if exchange.awaits_step() && self.life.lived_at(arrived) => {
                exchange.choose(&server, queue)
            }
            _ => None,
        };
        let digest = exchange.request.take_digest();
        let delivered = What::Delivered {
            arrived_us: micros(arrived),
            body_bytes: exchange.request.content_bytes(),
            body_sha256: digest.clone(),
            drained: self.draining || !self.life.lived_at(arrived),
        };
        if let Some(step) = step {
            self.took(step);
        }
        self.tell(delivered);
        self.go_through_models(arrived, digest.as_deref());
    }

    /// Reads exactly what has arrived by now and counts it: the rest of the
    /// current request, and requests behind it.
    pub(crate) fn count_arrived(&mut self) {
        let mut left = self.transport.unread();
        while left > 0 {
            let limit = usize::try_from(left).unwrap_or(usize::MAX);
            let before = self.received;
            if !self.read_once(limit).unwrap_or(false) {
                break;
            }
            left = left.saturating_sub(self.received - before);
            self.count_pending();
        }
        self.count_pending();
    }

    /// Counts what was read.
    pub(crate) fn count_pending(&mut self) {
        loop {
            let exchange = self.exchange.as_ref();
            if exchange.is_some_and(|exchange| exchange.malformed) {
                self.pending.clear();
                return;
            }
            if exchange.is_none_or(|exchange| exchange.request.is_complete()) {
                let Some(arrived) = self.pending.next_request() else {
                    return;
                };
                // A request behind another waits for its turn; the first one on
                // an idle connection has it.
                let first = self.closing && self.exchange.is_none();
                self.begin(arrived, first && self.life.lived_at(arrived));
            }
            if self.pending.is_empty() {
                return;
            }
            self.absorb();
            if self.closing {
                self.advance();
            }
        }
    }
}
