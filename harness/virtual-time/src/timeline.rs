//! One cell's time: real time since it began, plus all that was jumped over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, Timespec, clock_gettime};

pub(crate) const NS: u64 = 1_000_000_000;

/// The time of one cell. Only a tracer moves it ahead.
#[derive(Debug)]
pub struct Timeline {
    /// CLOCK_MONOTONIC when it began.
    began: u64,
    jumped: AtomicU64,
    /// All jumps, in order.
    jumps: Mutex<Vec<Jump>>,
}

/// One jump.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// Real nanoseconds since the beginning.
    real: u64,
    /// How far this time was ahead of the real one from then on.
    ahead: u64,
}

impl Timeline {
    /// A time that begins now.
    pub fn begin() -> Self {
        Self {
            began: real_now(),
            jumped: AtomicU64::new(0),
            jumps: Mutex::default(),
        }
    }

    /// Nanoseconds since the beginning.
    pub fn now(&self) -> u64 {
        self.absolute() - self.began
    }

    /// The date and time of day, as far ahead of the real one.
    pub fn wall(&self) -> SystemTime {
        SystemTime::now() + Duration::from_nanos(self.jumped())
    }

    /// How far this time is ahead of the real one, in nanoseconds.
    pub fn jumped(&self) -> u64 {
        self.jumped.load(Ordering::SeqCst)
    }

    /// Moves the time ahead.
    pub(crate) fn jump(&self, by: u64) {
        let mut jumps = self.jumps();
        let ahead = self.jumped().saturating_add(by);
        let real = real_now().saturating_sub(self.began);
        jumps.push(Jump { real, ahead });
        self.jumped.store(ahead, Ordering::SeqCst);
    }

    /// The time, so many real nanoseconds before it was `now`.
    pub fn before(&self, now: u64, real: u64) -> u64 {
        let jumps = self.jumps();
        let ahead = |count: usize| count.checked_sub(1).map_or(0, |last| jumps[last].ahead);
        let over = jumps.partition_point(|jump| jump.real + jump.ahead <= now);
        let then = now.saturating_sub(ahead(over)).saturating_sub(real);
        then + ahead(jumps.partition_point(|jump| jump.real <= then))
    }

    /// The end of the last jump until `now`; the beginning where there was none.
    pub fn last_jump(&self, now: u64) -> u64 {
        let jumps = self.jumps();
        let over = jumps.partition_point(|jump| jump.real + jump.ahead <= now);
        over.checked_sub(1)
            .map_or(0, |last| jumps[last].real + jumps[last].ahead)
    }

    fn jumps(&self) -> MutexGuard<'_, Vec<Jump>> {
        self.jumps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As a traced program would read it from CLOCK_MONOTONIC.
    pub(crate) fn absolute(&self) -> u64 {
        real_now() + self.jumped()
    }

    /// CLOCK_MONOTONIC when it began.
    pub(crate) fn began(&self) -> u64 {
        self.began
    }
}

/// CLOCK_MONOTONIC.
pub(crate) fn real_now() -> u64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// A time in nanoseconds. What lies before the clock's beginning is taken for it.
pub(crate) fn nanos(time: Timespec) -> u64 {
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(time.tv_sec)
        .saturating_mul(NS)
        .saturating_add(part(time.tv_nsec))
}

/// The reverse of [`nanos`].
pub(crate) fn timespec(nanos: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(nanos / NS).unwrap_or(i64::MAX),
        tv_nsec: (nanos % NS) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_the_past_is_found_on_the_other_side_of_jumps() {
        let time = Timeline::begin();
        time.jump(60 * NS);
        let between = time.now();
        time.jump(30 * NS);
        let now = time.now();
        let since = now - 30 * NS - between;
        // Exactly where it was, in real time, the second jump being no time at all.
        assert_eq!(time.before(now, since), between);
        assert_eq!(time.before(now, 0), now);
        assert!(time.before(now, now - 90 * NS) < NS, "the beginning");
        assert!(time.last_jump(now) >= 90 * NS);
        assert!(time.last_jump(between) >= 60 * NS && time.last_jump(between) <= between);
        assert_eq!(time.last_jump(NS), 0);
    }
}
