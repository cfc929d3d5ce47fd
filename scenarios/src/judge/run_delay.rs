//! For how long the client was ready to run but was not running, as it grew.
//!
//! A reading is taken some time before its entry is written, and the harness can
//! lose its processor in between. So of each reading two times are kept, between
//! which it was taken.

use std::collections::BTreeMap;

/// The readings of a cell, by the process that they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunDelay(BTreeMap<u32, OfOne>);

/// The readings of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfOne {
    readings: Vec<Reading>,
    /// A time that the next reading is not before.
    passed_us: u64,
}

/// How much it was at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    not_before_us: u64,
    not_after_us: u64,
    micros: u64,
}

impl RunDelay {
    /// A process was heard to report, and had written that at this time. Every later
    /// reading of it is taken after that.
    pub(super) fn heard(&mut self, process: u32, at_us: u64) {
        self.0.entry(process).or_default().heard(at_us);
    }

    /// Of a process it had grown to so much when the entry with this time was written.
    pub(super) fn take(&mut self, process: u32, at_us: u64, micros: u64) {
        self.0.entry(process).or_default().take(at_us, micros);
    }

    /// The most by which any process can have been kept from running between two times.
    pub(crate) fn between(&self, from_us: u64, until_us: u64) -> u64 {
        let processes = self.0.values();
        let between = processes.map(|one| one.between(from_us, until_us));
        between.max().unwrap_or(0)
    }
}

impl OfOne {
    fn heard(&mut self, at_us: u64) {
        self.passed_us = self.passed_us.max(at_us);
    }

    fn take(&mut self, at_us: u64, micros: u64) {
        self.readings.push(Reading {
            not_before_us: self.passed_us,
            not_after_us: at_us,
            micros,
        });
        self.heard(at_us);
    }

    /// From the last reading that was certainly taken before to the first one that was
    /// certainly taken after.
    fn between(&self, from_us: u64, until_us: u64) -> u64 {
        let readings = self.readings.iter();
        let all = readings.clone().map(|reading| reading.micros).max();
        let before = readings
            .clone()
            .filter(|reading| reading.not_after_us <= from_us);
        let after = readings.filter(|reading| reading.not_before_us >= until_us);
        let before = before.map(|reading| reading.micros).max().unwrap_or(0);
        let after = after.map(|reading| reading.micros).min();
        after.or(all).unwrap_or(0).saturating_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reading follows a report of the same time.
    fn at_reports(readings: &[(u64, u64)]) -> RunDelay {
        let mut delay = RunDelay::default();
        for (at_us, micros) in readings {
            delay.heard(1, *at_us);
            delay.take(1, *at_us, *micros);
        }
        delay
    }

    #[test]
    fn only_the_delay_between_two_times_is_granted() {
        assert_eq!(RunDelay::default().between(0, 100), 0);
        let delay = at_reports(&[(10, 5), (50, 20), (90, 80)]);
        assert_eq!(delay.between(10, 50), 15);
        assert_eq!(delay.between(0, 40), 20);
        assert_eq!(delay.between(60, 85), 60);
        assert_eq!(delay.between(95, 99), 0);
        // One reading at the end is all of it, as before.
        assert_eq!(delay.between(0, 200), 80);
    }

    /// Read before 40, written at 60: of the delay until 50 it may know nothing.
    #[test]
    fn a_reading_that_may_have_been_taken_before_the_end_says_nothing_of_it() {
        let mut delay = RunDelay::default();
        delay.heard(1, 30);
        delay.take(1, 60, 5);
        assert_eq!(delay.between(40, 50), 5);
        delay.heard(1, 70);
        delay.take(1, 80, 100);
        assert_eq!(delay.between(40, 50), 100);
        assert_eq!(delay.between(10, 30), 5);
    }

    /// Of two processes that wait, one does not make the other late.
    #[test]
    fn of_several_processes_the_one_that_was_kept_longest_counts() {
        let mut delay = at_reports(&[(10, 5), (50, 20)]);
        delay.take(2, 10, 100);
        delay.heard(2, 50);
        delay.take(2, 50, 130);
        assert_eq!(delay.between(10, 50), 30);
    }
}
