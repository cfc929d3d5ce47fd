//! The clocks that virtual time moves, and reads of them that did not go
//! through the vDSO.

use rustix::time::{ClockId, DynamicClockId, clock_gettime_dynamic};

use crate::linux::calls::{self, Call};
use crate::linux::session::Session;
use crate::linux::sys::{Regs, answer, resume};
use crate::timeline::{NS, Timeline, nanos, real_now};

/// A reading of a cell's time.
pub(crate) struct Clocks {
    /// CLOCK_MONOTONIC as the programs see it.
    pub(crate) monotonic: u64,
    /// How far it is ahead of the real one.
    pub(crate) offset: u64,
}

impl Clocks {
    pub(crate) fn now(timeline: &Timeline) -> Self {
        let offset = timeline.jumped();
        let monotonic = timeline.absolute();
        Self { monotonic, offset }
    }

    /// The clock, if it is one that virtual time moves: all but those of CPU
    /// time, and of devices.
    pub(crate) fn shift(clock: i32) -> Option<DynamicClockId<'static>> {
        Some(match clock {
            libc::CLOCK_REALTIME => DynamicClockId::Known(ClockId::Realtime),
            libc::CLOCK_MONOTONIC => DynamicClockId::Known(ClockId::Monotonic),
            libc::CLOCK_MONOTONIC_RAW => DynamicClockId::Known(ClockId::MonotonicRaw),
            libc::CLOCK_REALTIME_COARSE => DynamicClockId::Known(ClockId::RealtimeCoarse),
            libc::CLOCK_MONOTONIC_COARSE => DynamicClockId::Known(ClockId::MonotonicCoarse),
            libc::CLOCK_BOOTTIME => DynamicClockId::Known(ClockId::Boottime),
            libc::CLOCK_REALTIME_ALARM => DynamicClockId::RealtimeAlarm,
            libc::CLOCK_BOOTTIME_ALARM => DynamicClockId::BoottimeAlarm,
            libc::CLOCK_TAI => DynamicClockId::Tai,
            _ => return None,
        })
    }

    /// A clock as the programs see it.
    pub(crate) fn read(&self, clock: i32) -> Option<u64> {
        let real = clock_gettime_dynamic(Self::shift(clock)?).ok()?;
        Some(nanos(real) + self.offset)
    }

    /// When CLOCK_MONOTONIC shows what this clock will show at `time`. A time
    /// that is past is past there, too, as far as the beginning of that clock.
    pub(crate) fn to_monotonic(&self, time: u64, clock: i32) -> Option<u64> {
        if clock == libc::CLOCK_MONOTONIC {
            return Some(time);
        }
        let left = i128::from(time) - i128::from(self.read(clock)?);
        // Read after the other clock, so that no deadline comes early.
        let at = i128::from(real_now() + self.offset) + left;
        Some(u64::try_from(at.max(0)).unwrap_or(u64::MAX))
    }
}

impl Session {
    pub(crate) fn reads_clock(&mut self, tid: i32, regs: Regs, call: &Call) {
        match self.clock_answer(tid, &regs, call) {
            Some(result) => answer(tid, regs, result),
            None => resume(tid, 0),
        }
    }

    /// What the call returns. None: the kernel is to answer it.
    fn clock_answer(&self, tid: i32, regs: &Regs, call: &Call) -> Option<i64> {
        let process = self.processes.get(&self.threads.get(&tid)?.process)?;
        // The vDSO's own way out: what comes back goes through the blob.
        if process.vdso.is_some_and(|vdso| vdso.contains(regs.rip)) {
            return None;
        }
        let memory = process.memory.as_ref()?;
        let clocks = Clocks::now(self.voter.timeline());
        let [first, second, ..] = call.args;
        match call.nr {
            calls::CLOCK_GETTIME => {
                let time = clocks.read(first as i32)?;
                memory.write_timespec(second, time)?;
                Some(0)
            }
            calls::GETTIMEOFDAY => {
                if first != 0 {
                    memory.write_timeval(first, clocks.read(libc::CLOCK_REALTIME)?)?;
                }
                if second != 0 {
                    memory.write(second, &[0; 8])?;
                }
                Some(0)
            }
            _ => {
                let seconds = clocks.read(libc::CLOCK_REALTIME)? / NS;
                if first != 0 {
                    memory.write(first, &seconds.to_ne_bytes())?;
                }
                i64::try_from(seconds).ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_by_the_wall_clock_never_comes_early() {
        for _ in 0..1000 {
            let clocks = Clocks::now(&Timeline::begin());
            let wall = clocks.read(libc::CLOCK_REALTIME).unwrap();
            let at = clocks
                .to_monotonic(wall + NS, libc::CLOCK_REALTIME)
                .unwrap();
            assert!(at >= clocks.monotonic + NS);
        }
    }

    #[test]
    fn a_time_of_day_becomes_a_time_of_the_monotonic_clock() {
        let clocks = Clocks::now(&Timeline::begin());
        let wall = clocks.read(libc::CLOCK_REALTIME).unwrap();
        let at = clocks
            .to_monotonic(wall + 60 * NS, libc::CLOCK_REALTIME)
            .unwrap();
        assert!(at.abs_diff(clocks.monotonic + 60 * NS) < NS, "{at}");
        let past = clocks
            .to_monotonic(wall - 60 * NS, libc::CLOCK_REALTIME)
            .unwrap();
        assert!(past < clocks.monotonic);
        assert_eq!(clocks.to_monotonic(7, libc::CLOCK_MONOTONIC), Some(7));
        assert_eq!(clocks.to_monotonic(7, libc::CLOCK_PROCESS_CPUTIME_ID), None);
    }

    #[test]
    fn clocks_of_cpu_time_are_not_moved() {
        for clock in 0..12 {
            let moved = 0xbf3 >> clock & 1 == 1;
            assert_eq!(Clocks::shift(clock).is_some(), moved, "{clock}");
        }
        assert!(Clocks::shift(-6).is_none());
    }
}
