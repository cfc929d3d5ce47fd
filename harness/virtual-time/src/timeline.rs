//! One cell's time: real time since it began, plus all that was jumped over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, Timespec, clock_gettime};

pub(crate) const NS: u64 = 1_000_000_000;

/// The time of one cell. Only a tracer moves it ahead.
#[derive(Debug)]
pub struct Timeline {
    /// CLOCK_MONOTONIC when it began.
    began: u64,
    jumped: AtomicU64,
}

impl Timeline {
    /// A time that begins now.
    pub fn begin() -> Self {
        Self {
            began: real_now(),
            jumped: AtomicU64::new(0),
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
        self.jumped.fetch_add(by, Ordering::SeqCst);
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
