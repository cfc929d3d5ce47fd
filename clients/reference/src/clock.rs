//! The one place that reads real time and sleeps.

use std::time::{Duration, Instant, SystemTime};

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
