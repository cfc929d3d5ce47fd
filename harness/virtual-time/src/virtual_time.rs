//! The clock of a cell for those who take part in it without being traced, and
//! a [`Voter`] ready for use. It knows no runtime: a sleeper is a future with
//! any waker, a blocked thread, or a closure.
//!
//! Time passes only as a tracer says so, in real time as well: a sleeper is
//! woken by [`Voter::advance_to`] and by nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use crate::timeline::Timeline;
use crate::voter::Voter;

/// A cell's virtual time.
pub struct VirtualTime {
    timeline: Timeline,
    votes: Arc<Votes>,
    sleepers: Mutex<Sleepers>,
    threads: Mutex<BTreeSet<i32>>,
    sockets: Mutex<BTreeMap<i32, (SocketAddr, SocketAddr)>>,
}

type Wake = Box<dyn FnOnce(Busy) + Send>;

#[derive(Default)]
struct Sleepers {
    next: u64,
    /// By deadline; those with the same one in the order in which they came.
    pending: BTreeMap<(u64, u64), Wake>,
}

/// The votes against a jump: those held now, and all that were ever raised.
#[derive(Debug, Default)]
struct Votes {
    held: AtomicUsize,
    raised: AtomicU64,
}

/// A vote against a jump, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Busy(Arc<Votes>);

impl Busy {
    fn vote(votes: &Arc<Votes>) -> Self {
        votes.held.fetch_add(1, Ordering::SeqCst);
        votes.raised.fetch_add(1, Ordering::SeqCst);
        Self(votes.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A deadline that somebody waits for. Dropping it withdraws it.
#[must_use]
pub struct Sleeper {
    time: Arc<VirtualTime>,
    key: (u64, u64),
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let wake = lock(&self.time.sleepers).pending.remove(&self.key);
        // What the closure holds may take part in time as well, so it goes when
        // the lock is free again.
        drop(wake);
    }
}

/// A thread that is looked at, until this is dropped. Belongs to that thread.
#[derive(Debug)]
#[must_use]
pub struct Swept {
    time: Arc<VirtualTime>,
    tid: i32,
}

impl Drop for Swept {
    fn drop(&mut self) {
        lock(&self.time.threads).remove(&self.tid);
    }
}

/// A connection that is looked at, until this is dropped. To be dropped before the
/// descriptor is closed.
#[derive(Debug)]
#[must_use]
pub struct Watched {
    time: Arc<VirtualTime>,
    socket: i32,
}

impl Drop for Watched {
    fn drop(&mut self) {
        lock(&self.time.sockets).remove(&self.socket);
    }
}

impl VirtualTime {
    /// A time that begins now.
    pub fn begin() -> Arc<Self> {
        Arc::new(Self {
            timeline: Timeline::begin(),
            votes: Arc::default(),
            sleepers: Mutex::default(),
            threads: Mutex::default(),
            sockets: Mutex::default(),
        })
    }

    /// Time since the cell began.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.timeline.now())
    }

    /// The wall clock's time, as the client sees it.
    pub fn wall(&self) -> SystemTime {
        self.timeline.wall()
    }

    /// The time, so much real time before it was `now`. As exact as `real` is:
    /// where a jump lies within its error, so does that jump.
    pub fn before(&self, now: Duration, real: Duration) -> Duration {
        Duration::from_nanos(self.timeline.before(nanos(now), nanos(real)))
    }

    /// The end of the last jump until `now`: nothing that was noticed at once, and
    /// is noticed now, happened before it.
    pub fn last_jump(&self, now: Duration) -> Duration {
        Duration::from_nanos(self.timeline.last_jump(nanos(now)))
    }

    /// A guard to hold over real work. Not for waiting on a socket.
    pub fn busy(&self) -> Busy {
        Busy::vote(&self.votes)
    }

    /// Has `wake` called once `at` is reached, on the tracer's thread, with a
    /// vote that was raised before. It must not block.
    pub fn call_at(
        self: &Arc<Self>,
        at: Duration,
        wake: impl FnOnce(Busy) + Send + 'static,
    ) -> Sleeper {
        let at = nanos(at);
        let mut sleepers = lock(&self.sleepers);
        let key = (at, sleepers.next);
        sleepers.next += 1;
        sleepers.pending.insert(key, Box::new(wake));
        drop(sleepers);
        Sleeper {
            time: self.clone(),
            key,
        }
    }

    /// Waits until `at`. When it resolves, the time already counts the caller as
    /// busy, and hands back the guard. The deadline stands from now on, polled or
    /// not.
    pub fn sleep_until(self: &Arc<Self>, at: Duration) -> Sleep {
        let state = Arc::new(Mutex::new(SleepState::default()));
        let fired = state.clone();
        let sleeper = self.call_at(at, move |busy| {
            let mut state = lock(&fired);
            state.fired = Some(busy);
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Sleep {
            state,
            _sleeper: sleeper,
        }
    }

    /// Has this thread looked at: while it runs, time does not jump. To be kept
    /// by the thread for as long as it serves.
    #[cfg(target_os = "linux")]
    pub fn sweep_this_thread(self: &Arc<Self>) -> Swept {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        self.sweep_thread(tid)
    }

    /// Has the connection behind this descriptor, from `own` to `peer`, looked at, so
    /// that what is on its way is known. Without, the tracer finds out at greater
    /// cost.
    pub fn watch(self: &Arc<Self>, socket: i32, own: SocketAddr, peer: SocketAddr) -> Watched {
        lock(&self.sockets).insert(socket, (own, peer));
        Watched {
            time: self.clone(),
            socket,
        }
    }

    /// As [`VirtualTime::sweep_this_thread`], for the thread with this kernel id.
    pub fn sweep_thread(self: &Arc<Self>, tid: i32) -> Swept {
        lock(&self.threads).insert(tid);
        Swept {
            time: self.clone(),
            tid,
        }
    }
}

impl Voter for VirtualTime {
    fn sockets(&self, look: &mut dyn FnMut(i32, SocketAddr, SocketAddr)) {
        for (socket, (own, peer)) in &*lock(&self.sockets) {
            look(*socket, *own, *peer);
        }
    }

    fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    fn is_quiet(&self) -> bool {
        self.votes.held.load(Ordering::SeqCst) == 0
    }

    fn votes(&self) -> u64 {
        self.votes.raised.load(Ordering::SeqCst)
    }

    fn next_deadline(&self) -> Option<u64> {
        let sleepers = lock(&self.sleepers);
        sleepers.pending.keys().next().map(|(at, _)| *at)
    }

    fn advance_to(&self, now: u64) -> usize {
        let mut sleepers = lock(&self.sleepers);
        // Asked all the time, and mostly nobody is due.
        if sleepers
            .pending
            .keys()
            .next()
            .is_none_or(|(at, _)| *at > now)
        {
            return 0;
        }
        let later = sleepers.pending.split_off(&(now.saturating_add(1), 0));
        let due = std::mem::replace(&mut sleepers.pending, later);
        let due: Vec<_> = due.into_values().map(|wake| (wake, self.busy())).collect();
        // Whoever is woken may want to sleep again at once.
        drop(sleepers);
        let count = due.len();
        for (wake, busy) in due {
            wake(busy);
        }
        count
    }

    fn tids(&self) -> Vec<i32> {
        lock(&self.threads).iter().copied().collect()
    }
}

impl fmt::Debug for VirtualTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VirtualTime")
            .field("timeline", &self.timeline)
            .field("votes", &self.votes)
            .finish_non_exhaustive()
    }
}

/// The future of [`VirtualTime::sleep_until`]. Dropping it withdraws the
/// deadline.
#[must_use]
pub struct Sleep {
    state: Arc<Mutex<SleepState>>,
    _sleeper: Sleeper,
}

#[derive(Default)]
struct SleepState {
    fired: Option<Busy>,
    waker: Option<Waker>,
}

impl Future for Sleep {
    type Output = Busy;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Busy> {
        let mut state = lock(&self.state);
        match state.fired.take() {
            Some(busy) => Poll::Ready(busy),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// In nanoseconds, up to centuries: what lies beyond is never reached.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A value behind a lock. Nothing is left half-done under any lock here, so one
/// that was held by a thread that panicked is as good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn poll(sleep: &mut Sleep) -> Poll<Busy> {
        Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn whoever_is_woken_already_counts_as_busy() {
        let time = VirtualTime::begin();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (again, inside) = (time.clone(), seen.clone());
        let _sleeper = time.call_at(Duration::from_secs(5), move |busy| {
            lock(&inside).push(again.is_quiet());
            drop(busy);
        });
        assert_eq!(time.next_deadline(), Some(5 * SECOND));
        assert_eq!(time.advance_to(5 * SECOND - 1), 0);
        assert_eq!(time.advance_to(5 * SECOND), 1);
        assert_eq!(*lock(&seen), [false]);
        assert!(time.is_quiet());
        assert_eq!(time.next_deadline(), None);
    }

    #[test]
    fn a_future_resolves_with_the_vote_that_was_raised_for_it() {
        let time = VirtualTime::begin();
        let mut sleep = time.sleep_until(Duration::from_secs(1));
        assert!(poll(&mut sleep).is_pending());
        assert!(time.is_quiet());
        time.advance_to(SECOND);
        assert!(!time.is_quiet());
        let Poll::Ready(busy) = poll(&mut sleep) else {
            panic!("it has fired");
        };
        drop(sleep);
        assert!(!time.is_quiet());
        drop(busy);
        assert!(time.is_quiet());
    }

    #[test]
    fn a_sleep_that_is_dropped_leaves_neither_deadline_nor_vote() {
        let time = VirtualTime::begin();
        let early = time.sleep_until(Duration::from_secs(1));
        let fired = time.sleep_until(Duration::from_secs(2));
        drop(early);
        assert_eq!(time.next_deadline(), Some(2 * SECOND));
        time.advance_to(2 * SECOND);
        assert!(!time.is_quiet());
        drop(fired);
        assert!(time.is_quiet());
    }

    #[test]
    fn sleepers_wake_in_the_order_of_their_deadlines_then_as_they_came() {
        let time = VirtualTime::begin();
        let (tell, told) = mpsc::channel();
        let sleeper = |at, name| {
            let tell = tell.clone();
            time.call_at(Duration::from_secs(at), move |_| tell.send(name).unwrap())
        };
        let _all = [
            sleeper(3, 'c'),
            sleeper(1, 'a'),
            sleeper(3, 'd'),
            sleeper(2, 'b'),
            sleeper(9, 'z'),
        ];
        assert_eq!(time.advance_to(4 * SECOND), 4);
        assert_eq!(told.try_iter().collect::<String>(), "abcd");
        assert_eq!(time.next_deadline(), Some(9 * SECOND));
    }

    #[test]
    fn time_is_real_time_and_all_jumps() {
        let time = VirtualTime::begin();
        let (before, wall) = (time.now(), time.wall());
        time.timeline.jump(60 * SECOND);
        let passed = time.now() - before;
        assert!((60..70).contains(&passed.as_secs()), "{passed:?}");
        assert!((60..70).contains(&time.wall().duration_since(wall).unwrap().as_secs()));
        assert_eq!(time.timeline.jumped(), 60 * SECOND);
    }

    #[test]
    fn threads_are_listed_until_they_are_withdrawn() {
        let time = VirtualTime::begin();
        let one = time.sweep_thread(7);
        let two = time.sweep_thread(9);
        assert_eq!(time.tids(), [7, 9]);
        drop(one);
        assert_eq!(time.tids(), [9]);
        drop(two);
        assert!(time.tids().is_empty());
    }
}
