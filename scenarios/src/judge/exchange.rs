//! One request and what became of it.
//!
//! There may be a million of them, so each is kept in a form of less than 180
//! bytes that shares with others what it has in common with them.

mod intake;

use std::sync::Arc;

use scripted_servers::event::{Ending, StepId, Taken};
use scripted_servers::wire::Answer;

use super::mark::Mark;
use super::packed::{ServerName, Stamp};
use super::told::{Content, HeadText};

/// Where an exchange took place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Server.
    pub server: ServerName,
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
    /// Bytes of its answer that were handed to the kernel, with those that nobody
    /// asked for behind it.
    pub sent_bytes: u64,
    /// Bytes of the answers before it on its connection.
    pub(super) sent_before: u64,
    started: Stamp,
    head: Stamp,
    text: Option<HeadText>,
    queue: Place32,
    step: [Place32; 2],
    delivered: Stamp,
    content: Option<Arc<Content>>,
    drained: bool,
    /// How long after its arrival the delivery was told.
    delivered_told: After,
    answer: Stamp,
    given: Option<Arc<Answer>>,
    answered: Stamp,
    /// How long after its time the end of the answer was told.
    answered_told: After,
    rare: Option<Box<Rare>>,
}

/// What few exchanges have.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rare {
    malformed: Option<(Mark, String)>,
    ended: Option<Ended>,
}

/// The first end of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ended {
    pub(super) mark: Mark,
    pub(super) how: Ending,
    /// When the server noticed it, if it was the client's, and whether the
    /// kernel told when it arrived.
    pub(super) noticed: Option<(u64, bool)>,
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Head<'a> {
    /// When its last byte arrived.
    pub mark: Mark,
    /// Method as sent.
    pub method: &'a str,
    /// Request target as sent.
    pub target: &'a str,
    /// The queue that takes it; none: no route expects it.
    pub queue: Option<usize>,
}

/// A complete request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Delivered<'a> {
    /// When its last byte arrived.
    pub mark: Mark,
    /// True when only draining completed it: the client was gone when its last
    /// byte arrived or was read.
    pub drained: bool,
    /// Bytes of its content.
    pub body_bytes: u64,
    content: Option<&'a Content>,
}

impl Delivered<'_> {
    /// SHA-256 of its content; of nothing where it has none.
    pub(crate) fn body_sha256(&self) -> String {
        Content::sha256(self.content)
    }

    /// Whether the contents are the same.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        match (self.content, other.content) {
            (Some(own), Some(others)) => own.has_digest_of(others),
            _ => self.body_sha256() == other.body_sha256(),
        }
    }
}

/// A place in a list, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place32(u32);

impl Place32 {
    const NONE: Self = Self(u32::MAX);

    fn get(self) -> Option<usize> {
        (self != Self::NONE).then_some(self.0 as usize)
    }
}

impl From<usize> for Place32 {
    fn from(place: usize) -> Self {
        // No list of a Plan is so long; a record that says so is not believed.
        Self(u32::try_from(place).unwrap_or(u32::MAX))
    }
}

/// Microseconds from one time to another, which may be before it; about half
/// an hour at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct After(i32);

impl After {
    fn from(at_us: u64, told_us: u64) -> Self {
        let after = i128::from(told_us) - i128::from(at_us);
        Self(after.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
    }

    fn of(self, mark: Mark) -> u64 {
        mark.at_us.saturating_add_signed(self.0.into())
    }
}

impl Exchange {
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            call: None,
            attempt: 0,
            sent_bytes: 0,
            sent_before: 0,
            started: Stamp::NONE,
            head: Stamp::NONE,
            text: None,
            queue: Place32::NONE,
            step: [Place32::NONE; 2],
            delivered: Stamp::NONE,
            content: None,
            drained: false,
            delivered_told: After::default(),
            answer: Stamp::NONE,
            given: None,
            answered: Stamp::NONE,
            answered_told: After::default(),
            rare: None,
        }
    }

    /// Its first byte.
    pub(crate) fn started(&self) -> Option<Mark> {
        self.started.mark()
    }

    /// Its complete head.
    pub(crate) fn head(&self) -> Option<Head<'_>> {
        let text = self.text.as_ref()?;
        let (method, target) = text.line();
        Some(Head {
            mark: self.head.mark()?,
            method,
            target,
            queue: self.queue.get(),
        })
    }

    /// The step it took.
    pub(crate) fn step(&self) -> Option<StepId> {
        let [queue, step] = self.step;
        Some(StepId {
            queue: queue.get()?,
            step: step.get()?,
        })
    }

    /// Its last byte.
    pub(crate) fn delivered(&self) -> Option<Delivered<'_>> {
        let content = self.content.as_deref();
        Some(Delivered {
            mark: self.delivered.mark()?,
            drained: self.drained,
            body_bytes: content.map_or(0, Content::bytes),
            content,
        })
    }

    /// Why its head can not be understood.
    pub(crate) fn malformed(&self) -> Option<(Mark, &str)> {
        let malformed = self.rare.as_ref()?.malformed.as_ref();
        malformed.map(|(mark, reason)| (*mark, reason.as_str()))
    }

    /// First byte of the answer, and what it is.
    pub(crate) fn answer(&self) -> Option<(Mark, &Answer)> {
        Some((self.answer.mark()?, self.given.as_deref()?))
    }

    /// Last byte of the answer, or of what a cut leaves of it.
    pub(crate) fn answered(&self) -> Option<Mark> {
        self.answered.mark()
    }

    /// The first end of its connection, by either side.
    fn ended(&self) -> Option<Ended> {
        self.rare.as_ref()?.ended
    }

    /// The marks of its requests and of the end of its answer.
    fn marks(&self) -> impl Iterator<Item = Mark> {
        let known = [self.started, self.head, self.delivered, self.answered];
        known.into_iter().filter_map(Stamp::mark)
    }

    /// When it began, and the entry that says so: the earliest that is known.
    pub(crate) fn began(&self) -> Mark {
        let malformed = self.malformed().map(|(mark, _)| mark);
        let known = self.marks().chain(malformed);
        // Of several at the same time the first in this list is the proof.
        let first = known.min_by_key(|mark| mark.at_us);
        first.unwrap_or(Mark { at_us: 0, n: 0 })
    }

    /// Whether it is a request that no route expects.
    pub(crate) fn is_other(&self) -> bool {
        let unexpected = self.head != Stamp::NONE && self.queue == Place32::NONE;
        unexpected || self.malformed().is_some()
    }

    /// The last byte, when the request is complete, expected by a route, and
    /// not only drained: this is what `delivered` counts.
    pub(crate) fn delivery(&self) -> Option<Mark> {
        let delivered = self.delivered.mark()?;
        (!self.drained && !self.is_other()).then_some(delivered)
    }

    /// The value of a header field; none when it was not sent. Only fields that
    /// an assertion of the case names are kept: see `Parameters::fields`.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.text.as_ref()?.header(name)
    }

    /// Status of the answer that was begun.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer().and_then(|(_, answer)| answer.status)
    }

    /// Whether a whole answer with this kind of status was sent to its end.
    pub(crate) fn whole_answer(&self, status: impl Fn(u16) -> bool) -> bool {
        let whole = |(_, answer): (Mark, &Answer)| {
            answer.whole && answer.status.is_some_and(&status) && self.answered().is_some()
        };
        self.answer().is_some_and(whole)
    }

    /// When the attempt was over, as the client can have seen it: the last byte
    /// of a whole answer, else the end of the connection by either side.
    pub(crate) fn over(&self) -> Option<Mark> {
        let whole = self.answer().is_some_and(|(_, answer)| answer.whole);
        let ended = self.ended().map(|ended| ended.mark);
        match (whole, self.answered()) {
            (true, Some(answered)) => Some(answered),
            _ => ended.or(self.answered()),
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
        let ended = self.ended().filter(|ended| ended.mark == mark);
        let Some((noticed_us, told)) = ended.and_then(|ended| ended.noticed) else {
            return Some(exact);
        };
        let alive = self.marks().map(|mark| mark.at_us);
        let alive = alive.filter(|at_us| *at_us <= noticed_us).max();
        Some(Over {
            earliest_us: if told { mark.at_us } else { alive.unwrap_or(0) },
            latest_us: noticed_us.max(mark.at_us),
            told,
            ..exact
        })
    }

    /// How much of its answer was taken, of what was taken on its connection:
    /// bytes are taken in the order in which they were sent.
    pub(super) fn share_of(&self, taken: Taken) -> Taken {
        let own = |bytes: u64| bytes.saturating_sub(self.sent_before).min(self.sent_bytes);
        Taken {
            at_least: own(taken.at_least),
            at_most: own(taken.at_most),
        }
    }

    /// Numbers of the entries that tell its story, for a finding.
    pub(crate) fn proof(&self) -> Vec<u64> {
        let marks = [self.started, self.head, self.delivered];
        let marks = marks.into_iter().filter_map(Stamp::mark);
        marks.map(|mark| mark.n).collect()
    }

    /// When the first of its answer was told, and when its delivery was.
    pub(super) fn told_us(&self) -> (Option<u64>, Option<u64>) {
        let answered = self.answered().map(|mark| self.answered_told.of(mark));
        let answer = self.answer.mark().map(|mark| mark.at_us);
        let delivered = self.delivered.mark();
        (
            answer.into_iter().chain(answered).min(),
            delivered.map(|mark| self.delivered_told.of(mark)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million of them are to fit into the memory of a small machine.
    #[test]
    fn an_exchange_is_small() {
        assert!(size_of::<Exchange>() < 180, "{}", size_of::<Exchange>());
    }

    #[test]
    fn the_time_of_an_entry_is_known_by_that_of_what_it_tells() {
        for (at_us, told_us) in [(5, 5), (5, 9), (9, 5), (0, 1_000_000_000)] {
            let mark = Mark { at_us, n: 1 };
            assert_eq!(After::from(at_us, told_us).of(mark), told_us);
        }
    }
}
