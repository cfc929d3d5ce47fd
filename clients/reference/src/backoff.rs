//! The wait before a request is sent again, where the server names none: twice as
//! long each time, up to a cap, and a part of it is chance.

use std::time::Duration;

use client_kit::protocol::Jitter;

/// How such waits grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// The first one.
    pub(crate) base: Duration,
    /// The longest one.
    pub(crate) cap: Duration,
    /// How much of it is chance, so that clients do not return in step.
    pub(crate) jitter: Jitter,
    /// Whether it doubles at all.
    pub(crate) grows: bool,
}

impl Backoff {
    /// The wait before this retry, from 1; `random` is from 0 up to 1.
    pub(crate) fn wait(&self, retry: u32, random: f64) -> Duration {
        let doublings = if self.grows {
            retry.saturating_sub(1)
        } else {
            0
        };
        let factor = 2_u32.saturating_pow(doublings);
        let whole = self.base.saturating_mul(factor).min(self.cap);
        match self.jitter {
            Jitter::Full => whole.mul_f64(random),
            Jitter::Equal => whole / 2 + (whole / 2).mul_f64(random),
            Jitter::None => whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn backoff(jitter: Jitter) -> Backoff {
        Backoff {
            base: ms(50),
            cap: ms(1000),
            jitter,
            grows: true,
        }
    }

    #[test]
    fn waits_double_up_to_the_cap() {
        let whole = backoff(Jitter::None);
        for (retry, wait) in [(1, 50), (2, 100), (3, 200), (6, 1000), (u32::MAX, 1000)] {
            assert_eq!(whole.wait(retry, 0.5), ms(wait), "{retry}");
        }
        let endless = Backoff {
            cap: Duration::MAX,
            ..whole
        };
        assert_eq!(endless.wait(7, 0.5), ms(3200));
    }

    #[test]
    fn jitter_is_all_of_it_or_its_second_half_or_none() {
        for (jitter, least, most) in [
            (Jitter::Full, 0, 200),
            (Jitter::Equal, 100, 200),
            (Jitter::None, 200, 200),
        ] {
            let backoff = backoff(jitter);
            assert_eq!(backoff.wait(3, 0.0), ms(least), "{jitter:?}");
            let longest = backoff.wait(3, 0.999_999);
            assert!(longest <= ms(most) && longest > ms(most - 1), "{jitter:?}");
        }
    }

    #[test]
    fn without_growth_it_stays_the_first_one() {
        let same = Backoff {
            grows: false,
            ..backoff(Jitter::None)
        };
        assert_eq!(same.wait(9, 0.5), ms(50));
    }
}
