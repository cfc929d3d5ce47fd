//! How long is waited before each query of a job.

use std::time::Duration;

use client_kit::protocol::Polls;

/// The waits, one after the other.
pub(crate) struct Schedule<'a> {
    phases: &'a [Polls],
    /// The waits of this phase together.
    spent: Duration,
}

/// The wait of a client that nobody told one.
const DEFAULT: Duration = Duration::from_secs(1);

impl<'a> Schedule<'a> {
    /// A schedule of these phases, of which the last stays.
    pub(crate) fn new(phases: &'a [Polls]) -> Self {
        Self {
            phases,
            spent: Duration::ZERO,
        }
    }

    /// The wait before the next query.
    pub(crate) fn next(&mut self) -> Duration {
        if let [first, rest @ ..] = self.phases
            && !rest.is_empty()
            && first
                .for_ms
                .is_some_and(|lasts| self.spent >= Duration::from_millis(lasts))
        {
            (self.phases, self.spent) = (rest, Duration::ZERO);
        }
        let first = self.phases.first();
        let wait = first.map_or(DEFAULT, |first| Duration::from_millis(first.every_ms));
        self.spent += wait;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(phases: &[Polls], count: usize) -> Vec<u128> {
        let mut schedule = Schedule::new(phases);
        (0..count).map(|_| schedule.next().as_millis()).collect()
    }

    fn phase(every_ms: u64, for_ms: Option<u64>) -> Polls {
        Polls { every_ms, for_ms }
    }

    #[test]
    fn a_phase_is_over_when_its_waits_are_and_the_last_one_stays() {
        let phases = [phase(10, Some(30)), phase(7, Some(10)), phase(20, None)];
        assert_eq!(waits(&phases, 7), [10, 10, 10, 7, 7, 20, 20]);
        assert_eq!(waits(&[phase(5, None)], 3), [5, 5, 5]);
        assert_eq!(waits(&[], 2), [1000, 1000]);
    }

    #[test]
    fn every_second_for_half_a_minute_then_every_two_makes_164_queries_in_five_minutes() {
        let phases = [phase(1000, Some(30_000)), phase(2000, None)];
        let mut schedule = Schedule::new(&phases);
        let mut at = Duration::ZERO;
        let queries = std::iter::from_fn(|| {
            at += schedule.next();
            (at < Duration::from_secs(300)).then_some(())
        });
        assert_eq!(queries.count(), 164);
    }
}
