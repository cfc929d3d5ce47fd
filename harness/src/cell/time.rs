//! A cell's time: the clock on the wall, or one that jumps over all waiting.
//!
//! The one place where a cell meets the crate of virtual time. What became of
//! the time is told as evidence, so that a verdict on it stands on the record.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::drive::Ended;
use scenarios::evidence::{HeldWait, Told, VirtualTimeTold};
use scenarios::verdict::EndedBy;
use scripted_servers::clock::{Busy, Clock, Part, RealClock};
use virtual_time::{Counted, Doubt, Entry, Options, TimeRecord, Tracer, VirtualTime, gate};

/// The time of one cell.
pub(super) enum CellTime {
    /// As it passes.
    Real(Arc<dyn Clock>),
    /// Waiting takes none.
    Virtual(Arc<VirtualTime>, Tracer),
}

impl CellTime {
    /// Real time that begins now.
    pub(super) fn real() -> Self {
        Self::Real(RealClock::start())
    }

    /// Virtual time that begins now; threads of the client with these names do not
    /// hold it.
    pub(super) fn begin_virtual(soft_threads: &[String]) -> io::Result<Self> {
        let time = VirtualTime::begin();
        let mut options = Options::default();
        options.soft_threads = soft_threads.to_vec();
        options.waits_for_seen_ends = true;
        let tracer = Tracer::start(time.clone(), options, |doubt| {
            tracing::warn!(%doubt, "virtual time");
        })?;
        Ok(Self::Virtual(time, tracer))
    }

    /// The clock that servers and harness share.
    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        match self {
            Self::Real(clock) => clock.clone(),
            Self::Virtual(time, _) => Arc::new(VirtualClock(time.clone())),
        }
    }

    /// Whether waiting takes no time, so that whatever runs uses a processor.
    pub(super) fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual(..))
    }

    /// Where a program gets in; none in real time, where it needs no way in.
    pub(super) fn door(&self) -> io::Result<Option<OwnedFd>> {
        let Self::Virtual(_, tracer) = self else {
            return Ok(None);
        };
        let (gate, door) = gate()?;
        tracer.admit(gate);
        Ok(Some(door))
    }

    /// The end of this program was seen. Until then time does not jump: what others wait
    /// for may hang on it.
    pub(super) fn end_seen(&self, pid: u32) {
        if let Self::Virtual(_, tracer) = self {
            tracer.end_seen(pid);
        }
    }

    /// Ends the time, when nobody waits for it any more: what became of it, in a
    /// cell that ended so and had this deadline.
    pub(super) fn end(
        self,
        ended: &Result<Ended, String>,
        deadline: Duration,
    ) -> Option<VirtualTimeTold> {
        let Self::Virtual(_, tracer) = self else {
            return None;
        };
        let refused = tracer.entries().iter().find_map(|entry| match entry {
            Entry::Refused { why, .. } => Some(why.to_string()),
            Entry::Traced { .. } | Entry::Absent => None,
        });
        let mut told = told(tracer.finish(), refused);
        if matches!(ended, Ok(Ended::Ran(EndedBy::Deadline))) && waited_for_nothing(&told, deadline)
        {
            told.notes.push(Told {
                what: HANGS.to_owned(),
                times: 1,
            });
        }
        Some(told)
    }
}

/// A record as evidence has it.
fn told(record: TimeRecord, refused: Option<String>) -> VirtualTimeTold {
    let held = record.held.into_iter().map(|held| HeldWait {
        at_us: held.at_ns / 1000,
        thread: held.thread,
        call: held.call,
        us: held.ns / 1000,
        jumps: held.jumps,
    });
    VirtualTimeTold {
        jumps: record.jumps,
        jumped_us: record.jumped_ns / 1000,
        held: held.collect(),
        held_not_listed: record.held_not_listed,
        notes: in_words(&record.notes),
        doubts: in_words(
            &record
                .doubts
                .into_iter()
                .filter(is_doubtful)
                .collect::<Vec<_>>(),
        ),
        refused,
    }
}

/// What a cell's time says of a client that waited until the deadline.
const HANGS: &str = "the client hung: when time was moved to the cell's deadline all of it waited, \
                     and for nothing that came before";

/// The servers' name in a record, and the harness's own.
const OURS: &str = "(servers)";

/// Whether time was moved last to a time of ours not before the deadline, and so to
/// that: the client had none before it.
fn waited_for_nothing(told: &VirtualTimeTold, deadline: Duration) -> bool {
    let is_it = |last: &HeldWait| {
        let until = Duration::from_micros(last.at_us + last.us);
        last.thread == OURS && until >= deadline
    };
    told.held_not_listed == 0 && told.held.last().is_some_and(is_it)
}

/// A client that hangs is the judge's to find, and no doubt about the time.
fn is_doubtful(doubt: &Counted<Doubt>) -> bool {
    !doubt.what.is_the_clients()
}

fn in_words<T: std::fmt::Display>(counted: &[Counted<T>]) -> Vec<Told> {
    let told = counted.iter().map(|counted| Told {
        what: counted.what.to_string(),
        times: counted.times,
    });
    told.collect()
}

/// Virtual time as a clock.
struct VirtualClock(Arc<VirtualTime>);

impl Clock for VirtualClock {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn wall(&self) -> SystemTime {
        self.0.wall()
    }

    fn sleep_until(&self, at: Duration) -> Pin<Box<dyn Future<Output = Busy> + Send + '_>> {
        let sleep = self.0.sleep_until(at);
        Box::pin(async move { counted(sleep.await) })
    }

    fn busy(&self) -> Busy {
        counted(self.0.busy())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel's timers run in real time"
    )]
    fn wait_for_kernel(&self, real: Duration) -> Pin<Box<dyn Future<Output = Busy> + Send + '_>> {
        let busy = self.busy();
        Box::pin(async move {
            tokio::time::sleep(real).await;
            busy
        })
    }

    fn before(&self, now: Duration, real: Duration) -> Duration {
        self.0.before(now, real)
    }

    fn shortly_before(&self, now: Duration, real: Duration) -> Duration {
        now.saturating_sub(real).max(self.0.last_jump(now))
    }

    fn take_part(&self) -> Part {
        Part::new(self.0.sweep_this_thread())
    }

    fn watch(&self, socket: BorrowedFd<'_>, own: SocketAddr, peer: SocketAddr) -> Part {
        Part::new(self.0.watch(socket.as_raw_fd(), own, peer))
    }
}

fn counted(busy: virtual_time::Busy) -> Busy {
    Busy::new(move || drop(busy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(thread: &str, at_s: u64, s: u64) -> VirtualTimeTold {
        VirtualTimeTold {
            held: vec![HeldWait {
                at_us: at_s * 1_000_000,
                thread: thread.to_owned(),
                call: "poll".to_owned(),
                us: s * 1_000_000,
                jumps: 1,
            }],
            ..VirtualTimeTold::default()
        }
    }

    #[test]
    fn a_client_hangs_that_has_no_time_of_its_own_before_the_deadline() {
        let hangs = |told| waited_for_nothing(&told, Duration::from_secs(60));
        assert!(hangs(last(OURS, 1, 59)));
        // It has.
        assert!(!hangs(last("main", 1, 59)));
        // A server's delay long ago; what the client waited for since was short.
        assert!(!hangs(last(OURS, 1, 20)));
        assert!(!hangs(VirtualTimeTold::default()));
    }
}
