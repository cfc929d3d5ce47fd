//! What the processes of a cell know of each other: they get their work in the same
//! moment, when all of them are ready; they are told to finish when all have reported;
//! and the client has ended when the last of them has.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use scenarios::verdict::EndedBy;
use scripted_servers::clock::Clock;
use tokio::sync::watch;

use super::Ended;

/// The processes of a cell, one or many.
pub(in crate::cell) struct Together<'a> {
    /// How many there are.
    pub(in crate::cell) processes: u32,
    pub(in crate::cell) clock: &'a dyn Clock,
    /// Called when the client is handed its work, with the time of that: for a
    /// command, which has it from the start, the time of its start.
    pub(in crate::cell) handed_over: &'a dyn Fn(Duration),
    /// Called in the moment in which the client is known to have ended, with
    /// the time at which it did. May block while the servers read out what it
    /// has left.
    pub(in crate::cell) client_ended: &'a dyn Fn(Duration),
    /// The same for one that comes again.
    pub(in crate::cell) client_crashed: &'a dyn Fn(Duration),
    pub(in crate::cell) stand: watch::Sender<Stand>,
}

/// How it stands with all processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cell) struct Stand {
    ready: u32,
    /// Since when they have their work.
    working: Option<Duration>,
    /// How many have reported everything, or ended without.
    complete: u32,
    /// When the last of them did.
    complete_at: Duration,
    ended: u32,
    ended_at: Duration,
    /// One of them can not be run, so that the others are ended.
    pub(super) broken: bool,
}

impl Together<'_> {
    pub(super) fn is_one(&self) -> bool {
        self.processes == 1
    }

    pub(super) fn stand(&self) -> watch::Receiver<Stand> {
        self.stand.subscribe()
    }

    /// One more process is ready for its work.
    pub(super) fn ready(&self) {
        let ready = self.stand.borrow().ready + 1;
        let now = (ready == self.processes).then(|| self.clock.now());
        if let Some(now) = now {
            (self.handed_over)(now);
        }
        self.stand.send_modify(|stand| {
            stand.ready = ready;
            stand.working = stand.working.or(now);
        });
    }

    /// Since when all have their work.
    pub(super) fn working(&self) -> Option<Duration> {
        self.stand.borrow().working
    }

    /// One more process has given all its reports.
    pub(super) fn complete(&self, at: Duration) {
        self.stand.send_modify(|stand| {
            stand.complete += 1;
            stand.complete_at = at.max(stand.complete_at);
        });
    }

    /// When the last report of all came, if it has.
    pub(super) fn all_complete(&self) -> Option<Duration> {
        let stand = self.stand.borrow();
        (stand.complete == self.processes).then_some(stand.complete_at)
    }

    /// One more process has ended, at this time.
    pub(super) fn ended(&self, at: Duration, was_complete: bool) {
        let now = self.clock.now();
        self.stand.send_modify(|stand| {
            stand.ended += 1;
            stand.ended_at = at.max(stand.ended_at);
            if !was_complete {
                stand.complete += 1;
                stand.complete_at = now.max(stand.complete_at);
            }
        });
        let Stand {
            ended, ended_at, ..
        } = *self.stand.borrow();
        if ended == self.processes {
            (self.client_ended)(ended_at);
        }
    }

    /// A process can not be run to its end: the others are to end as well.
    pub(super) fn break_off(&self) {
        self.stand.send_modify(|stand| stand.broken = true);
    }
}

/// What the ends of all processes come to: the first of those that say most.
pub(super) fn ended(all: Vec<Ended>) -> Ended {
    const fn weight(ended: &Ended) -> u8 {
        match ended {
            Ended::Broken | Ended::Crashed => 7,
            Ended::NotStarted { .. } => 6,
            Ended::Interrupted => 5,
            Ended::Ran(EndedBy::Cap) => 4,
            Ended::Ran(EndedBy::Enough) => 3,
            Ended::Ran(EndedBy::Deadline) => 2,
            Ended::Ran(EndedBy::Finish) => 1,
            Ended::Ran(EndedBy::Exit) => 0,
        }
    }
    let most = all.into_iter().rev().max_by_key(weight);
    most.unwrap_or(Ended::Ran(EndedBy::Exit))
}

/// Waits for all of these, which go on beside each other.
pub(super) async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut open: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = open.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, output) in open.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use scripted_servers::clock::RealClock;

    use super::*;

    #[test]
    fn the_work_is_handed_over_when_all_are_ready_and_the_client_ends_with_the_last() {
        let clock = RealClock::start();
        let told = RefCell::new(Vec::new());
        let together = Together {
            processes: 2,
            clock: &*clock,
            handed_over: &|_| told.borrow_mut().push("work"),
            client_crashed: &|_| {},
            client_ended: &|at| {
                assert_eq!(at, Duration::from_secs(9));
                told.borrow_mut().push("end");
            },
            stand: watch::Sender::default(),
        };
        together.ready();
        assert_eq!(together.working(), None);
        together.ready();
        assert!(together.working().is_some());
        together.complete(Duration::from_secs(3));
        assert_eq!(together.all_complete(), None);
        together.ended(Duration::from_secs(9), false);
        assert!(
            together.all_complete().is_some(),
            "one that ended owes nothing"
        );
        assert_eq!(*told.borrow(), ["work"]);
        together.ended(Duration::from_secs(4), true);
        assert_eq!(*told.borrow(), ["work", "end"]);
    }

    #[test]
    fn the_cell_ended_as_the_process_whose_end_says_most() {
        let ran = |by| Ended::Ran(by);
        let missing = || Ended::NotStarted {
            missing: true,
            reason: String::new(),
        };
        for (all, expected) in [
            (
                vec![ran(EndedBy::Exit), ran(EndedBy::Exit)],
                ran(EndedBy::Exit),
            ),
            (
                vec![ran(EndedBy::Deadline), ran(EndedBy::Exit)],
                ran(EndedBy::Deadline),
            ),
            (
                vec![ran(EndedBy::Finish), ran(EndedBy::Cap)],
                ran(EndedBy::Cap),
            ),
            (vec![ran(EndedBy::Finish), missing()], missing()),
            (vec![missing(), Ended::Broken], Ended::Broken),
        ] {
            assert_eq!(ended(all), expected);
        }
    }
}
