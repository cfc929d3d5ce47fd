//! One request and what became of it.

use scripted_servers::event::{Ending, StepId, Taken, What};
use scripted_servers::wire::Answer;

use super::answers::EMPTY_SHA256;
use super::facts::Mark;

/// Where an exchange took place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Server.
    pub server: String,
    /// Connection at that server.
    pub connection: u32,
    /// Exchange on that connection.
    pub exchange: u32,
}

/// One request and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exchange {
    /// Where.
    pub place: Place,
    /// The call it belongs to; none only when there is no call at all.
    pub call: Option<u32>,
    /// Which attempt of its call at its server, from 1; 0 for a request that no
    /// route expects.
    pub attempt: u32,
    /// Its first byte.
    pub started: Option<Mark>,
    /// Its complete head.
    pub head: Option<Head>,
    /// The step it took.
    pub step: Option<StepId>,
    /// Its last byte.
    pub delivered: Option<Delivered>,
    /// Why its head can not be understood.
    pub malformed: Option<(Mark, String)>,
    /// First byte of the answer, and what it is.
    pub answer: Option<(Mark, Answer)>,
    /// Last byte of the answer, or of what a cut leaves of it.
    pub answered: Option<Mark>,
    /// Bytes of its answer that were handed to the kernel, with those that nobody
    /// asked for behind it.
    pub sent_bytes: u64,
    /// How many of them the client's process has taken, with the entry that says
    /// so; none where nothing is known.
    pub read: Option<(Taken, u64)>,
    /// The first end of its connection, by either side.
    pub ended: Option<(Mark, Ending)>,
    /// When the server noticed that end, if it was the client's, and whether
    /// the kernel told when it arrived.
    pub noticed: Option<(u64, bool)>,
}

/// When an attempt was over, as exactly as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    /// The entry that says so, with the time to show.
    pub mark: Mark,
    /// Not before this, in microseconds.
    pub earliest_us: u64,
    /// Not after this, in microseconds.
    pub latest_us: u64,
    /// Whether the kernel or the server itself told the earliest time, and not
    /// only what came before it.
    pub told: bool,
}

/// A complete head.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    /// When its last byte arrived.
    pub mark: Mark,
    /// Method as sent.
    pub method: String,
    /// Request target as sent.
    pub target: String,
    /// Header fields as sent.
    pub headers: Vec<(String, String)>,
    /// The queue that takes it; none: no route expects it.
    pub queue: Option<usize>,
}

/// A complete request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Delivered {
    /// When its last byte arrived.
    pub mark: Mark,
    /// True when only draining completed it: the client was gone when its last
    /// byte arrived or was read.
    pub drained: bool,
    /// Bytes of its content.
    pub body_bytes: u64,
    /// SHA-256 of its content; of nothing where it has none.
    pub body_sha256: String,
}

/// A digest; without content, that of nothing.
pub(crate) fn digest_or_empty(digest: Option<&str>) -> String {
    digest.unwrap_or(EMPTY_SHA256).to_owned()
}

impl Exchange {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            call: None,
            attempt: 0,
            started: None,
            head: None,
            step: None,
            delivered: None,
            malformed: None,
            answer: None,
            answered: None,
            sent_bytes: 0,
            read: None,
            ended: None,
            noticed: None,
        }
    }

    /// When it began, and the entry that says so: the earliest that is known.
    pub(crate) fn began(&self) -> Mark {
        let head = self.head.as_ref().map(|head| head.mark);
        let delivered = self.delivered.as_ref().map(|delivered| delivered.mark);
        let known = [self.started, head, delivered, self.answered];
        let malformed = self.malformed.as_ref().map(|(mark, _)| *mark);
        let known = known.into_iter().flatten().chain(malformed);
        // Of several at the same time the first in this list is the proof.
        let first = known.min_by_key(|mark| mark.at_us);
        first.unwrap_or(Mark { at_us: 0, n: 0 })
    }

    /// Whether it is a request that no route expects.
    pub(crate) fn is_other(&self) -> bool {
        self.malformed.is_some() || self.head.as_ref().is_some_and(|head| head.queue.is_none())
    }

    /// The last byte, when the request is complete, expected by a route, and
    /// not only drained: this is what `delivered` counts.
    pub(crate) fn delivery(&self) -> Option<Mark> {
        let delivered = self.delivered.as_ref()?;
        (!delivered.drained && !self.is_other()).then_some(delivered.mark)
    }

    /// The value of a header field; none when it was not sent.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = &self.head.as_ref()?.headers;
        let found = fields
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Status of the answer that was begun.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().and_then(|(_, answer)| answer.status)
    }

    /// Whether a whole answer with this kind of status was sent to its end.
    pub(crate) fn whole_answer(&self, status: impl Fn(u16) -> bool) -> bool {
        let whole = |(_, answer): &(Mark, Answer)| {
            answer.whole && answer.status.is_some_and(&status) && self.answered.is_some()
        };
        self.answer.as_ref().is_some_and(whole)
    }

    /// When the attempt was over, as the client can have seen it: the last byte
    /// of a whole answer, else the end of the connection by either side.
    pub(crate) fn over(&self) -> Option<Mark> {
        let whole = self.answer.as_ref().is_some_and(|(_, answer)| answer.whole);
        let ended = self.ended.map(|(mark, _)| mark);
        match (whole, self.answered) {
            (true, Some(answered)) => Some(answered),
            _ => ended.or(self.answered),
        }
    }

    /// As [`Exchange::over`], with how exactly that is known. A server that gets
    /// no turn notices its client's end late.
    pub(crate) fn over_within(&self) -> Option<Over> {
        let mark = self.over()?;
        let exact = Over {
            mark,
            earliest_us: mark.at_us,
            latest_us: mark.at_us,
            told: true,
        };
        let by_client = self
            .noticed
            .filter(|_| Some(mark) == self.ended.map(|(mark, _)| mark));
        let Some((noticed_us, told)) = by_client else {
            return Some(exact);
        };
        let head = self.head.as_ref().map(|head| head.mark);
        let delivered = self.delivered.as_ref().map(|delivered| delivered.mark);
        let known = [self.started, head, delivered, self.answered];
        let alive = known.into_iter().flatten().map(|mark| mark.at_us);
        let alive = alive.filter(|at_us| *at_us <= noticed_us).max();
        Some(Over {
            earliest_us: if told { mark.at_us } else { alive.unwrap_or(0) },
            latest_us: noticed_us.max(mark.at_us),
            told,
            ..exact
        })
    }

    /// Numbers of the entries that tell its story, for a finding.
    pub(crate) fn proof(&self) -> Vec<u64> {
        let head = self.head.as_ref().map(|head| head.mark);
        let delivered = self.delivered.as_ref().map(|delivered| delivered.mark);
        let marks = [self.started, head, delivered];
        marks.into_iter().flatten().map(|mark| mark.n).collect()
    }

    /// Takes in one event of it.
    pub(super) fn take(&mut self, mark: Mark, what: &What) {
        let arrived = |at_us: &u64| Mark {
            at_us: *at_us,
            n: mark.n,
        };
        match what {
            What::Started { arrived_us, .. } => {
                self.started.get_or_insert(arrived(arrived_us));
            }
            What::Head {
                arrived_us,
                method,
                target,
                headers,
                queue,
                step,
            } => {
                self.step = self.step.or(*step);
                self.head.get_or_insert_with(|| Head {
                    mark: arrived(arrived_us),
                    method: method.clone(),
                    target: target.clone(),
                    headers: headers.clone(),
                    queue: *queue,
                });
            }
            What::Taken { step } => {
                self.step.get_or_insert(*step);
            }
            What::Delivered {
                arrived_us,
                body_bytes,
                body_sha256,
                drained,
            } => {
                self.delivered.get_or_insert_with(|| Delivered {
                    mark: arrived(arrived_us),
                    drained: *drained,
                    body_bytes: *body_bytes,
                    body_sha256: digest_or_empty(body_sha256.as_deref()),
                });
            }
            What::Malformed { reason } => {
                self.malformed.get_or_insert((mark, reason.clone()));
            }
            What::Answering { answer } => {
                self.answer.get_or_insert((mark, answer.clone()));
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
                self.answered.get_or_insert(Mark { at_us, ..mark });
            }
            What::Unsolicited { bytes, .. } => {
                self.sent_bytes = self.sent_bytes.saturating_add(*bytes);
            }
            _ => {}
        }
    }
}
