//! The one place that reads real time and sleeps.

use std::time::{Duration, Instant, SystemTime};

use rustix::event::Timespec;

/// Now, for limits.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place of the client that reads real time"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Now, to hold against dates in answers.
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

/// Waits; not at all when there is nothing to wait for.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place of the client that really sleeps"
)]
pub(crate) fn sleep(wait: Duration) {
    if !wait.is_zero() {
        std::thread::sleep(wait);
    }
}

/// A wait as the kernel takes it.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(wait.subsec_nanos()),
    }
}
