//! Bounds on time.
//!
//! A lower bound is firm: nothing makes a client early but the client. Only the
//! grain of the clocks is granted: timers and arrival times come in whole
//! milliseconds.
//!
//! An upper bound may be missed because the machine was busy. The kernel tells
//! how long the client's threads were ready to run but did not run. A miss is
//! put down to that, and proves nothing, when this delay is more than a
//! tolerance (a tenth of the bound, at least 50 ms) *and* the value without it
//! would have kept the bound. The delay is summed over all threads, so it says
//! the most that load can have cost: a miss by more is the client's own.

use std::time::Duration;

use crate::expected::Words;
use crate::matcher::Matcher;
pub(crate) use crate::matcher::bounds;

/// What times are measured in.
pub(crate) const GRAIN: Duration = Duration::from_millis(1);

/// How a time lies to its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bounded {
    /// Within.
    Within,
    /// Too short.
    TooShort,
    /// Too long.
    TooLong,
    /// Too long, but load can be the reason.
    Doubtful(String),
}

/// Holds a time against its bounds.
pub(crate) fn bounded(range: &Matcher<Duration>, time: Duration, run_delay_us: u64) -> Bounded {
    let (at_least, at_most) = bounds(range);
    if at_least.is_some_and(|low| time + GRAIN < low) {
        return Bounded::TooShort;
    }
    let Some(most) = at_most.filter(|high| time > *high) else {
        return Bounded::Within;
    };
    let delay = Duration::from_micros(run_delay_us);
    if delay > tolerance(most) && time.saturating_sub(delay) <= most {
        return Bounded::Doubtful(format!(
            "it took {}, more than {}, but the client was kept from running for {}",
            time.words(),
            most.words(),
            delay.words()
        ));
    }
    Bounded::TooLong
}

/// Microseconds, as entries count.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// What is granted to a client to act on something, on a machine that is idle.
pub(crate) fn tolerance(bound: Duration) -> Duration {
    (bound / 10).max(Duration::from_millis(50))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(time: u64, delay: u64) -> Bounded {
        let range = Matcher::Range {
            at_least: Some(ms(500)),
            at_most: Some(ms(1000)),
        };
        bounded(&range, ms(time), delay * 1000)
    }

    #[test]
    fn a_lower_bound_is_firm_but_for_the_grain_of_the_clock() {
        assert_eq!(at(500, 0), Bounded::Within);
        assert_eq!(at(499, 0), Bounded::Within);
        assert_eq!(at(498, 0), Bounded::TooShort);
        assert_eq!(at(498, 400), Bounded::TooShort);
    }

    #[test]
    fn a_miss_on_an_idle_machine_is_a_miss() {
        assert_eq!(at(1000, 0), Bounded::Within);
        assert_eq!(at(1001, 0), Bounded::TooLong);
        assert_eq!(at(1050, 90), Bounded::TooLong);
    }

    #[test]
    fn a_miss_that_load_can_explain_is_doubtful() {
        assert!(matches!(at(1050, 150), Bounded::Doubtful(_)));
        assert!(matches!(at(1150, 150), Bounded::Doubtful(_)));
    }

    #[test]
    fn a_miss_by_more_than_load_can_explain_is_a_miss() {
        assert_eq!(at(1151, 150), Bounded::TooLong);
        assert_eq!(at(5000, 150), Bounded::TooLong);
    }
}
