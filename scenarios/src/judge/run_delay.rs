//! For how long the client was ready to run but was not running, as it grew.
//!
//! A reading is taken some time before its entry is written, and the harness can
//! lose its processor in between. So of each reading two times are kept, between
//! which it was taken.

/// The readings of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunDelay {
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
    /// A report was heard that was written at this time. Every later reading is
    /// taken after that.
    pub(super) fn heard(&mut self, at_us: u64) {
        self.passed_us = self.passed_us.max(at_us);
    }

    /// It had grown to so much when the entry with this time was written.
    pub(super) fn take(&mut self, at_us: u64, micros: u64) {
        self.readings.push(Reading {
            not_before_us: self.passed_us,
            not_after_us: at_us,
            micros,
        });
        self.heard(at_us);
    }

    /// Microseconds over the whole life of the client.
    pub(crate) fn all(&self) -> u64 {
        let all = self.readings.iter().map(|reading| reading.micros);
        all.max().unwrap_or(0)
    }

    /// The most by which it can have been kept from running between two times:
    /// from the last reading that was certainly taken before to the first one
    /// that was certainly taken after.
    pub(crate) fn between(&self, from_us: u64, until_us: u64) -> u64 {
        let readings = self.readings.iter();
        let before = readings
            .clone()
            .filter(|reading| reading.not_after_us <= from_us);
        let after = readings.filter(|reading| reading.not_before_us >= until_us);
        let before = before.map(|reading| reading.micros).max().unwrap_or(0);
        let after = after.map(|reading| reading.micros).min();
        after.unwrap_or(self.all()).saturating_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reading follows a report of the same time.
    fn at_reports(readings: &[(u64, u64)]) -> RunDelay {
        let mut delay = RunDelay::default();
        for (at_us, micros) in readings {
            delay.heard(*at_us);
            delay.take(*at_us, *micros);
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
        delay.heard(30);
        delay.take(60, 5);
        assert_eq!(delay.between(40, 50), 5);
        delay.heard(70);
        delay.take(80, 100);
        assert_eq!(delay.between(40, 50), 100);
        assert_eq!(delay.between(10, 30), 5);
    }
}
