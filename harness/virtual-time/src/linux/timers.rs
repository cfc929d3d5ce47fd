//! Timers that are not waits of a thread: `alarm` and `setitimer` are run by the
//! tracer; a timerfd is the kernel's, set anew with each jump; a POSIX timer
//! stays real.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, kill_process, pidfd_getfd, pidfd_open,
};
use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_gettime, timerfd_settime};

use crate::linux::calls::{self, Call};
use crate::linux::memory::Memory;
use crate::linux::procfs::descriptors;
use crate::linux::session::Session;
use crate::linux::sys::{Regs, answer, resume};
use crate::linux::tracee::{Alarm, TimerFd};
use crate::record::{Doubt, Note};
use crate::timeline::{NS, nanos, timespec};

/// POSIX timers up to this interval are a runtime's own ticks, and stay real.
const SHORT_TICK_NS: u64 = 100_000_000;

/// Timers of the CPU time, which stay real as well, are told by this argument.
const ITIMER_REAL: u64 = libc::ITIMER_REAL as u64;

impl Session {
    /// `alarm`, `setitimer` or `getitimer`.
    pub(crate) fn sets_alarm(&mut self, tid: i32, regs: Regs, call: &Call) {
        if call.nr != calls::ALARM && call.args[0] != ITIMER_REAL {
            return resume(tid, 0);
        }
        match self.alarm_answer(tid, call) {
            Some(result) => answer(tid, regs, result),
            None => answer(tid, regs, -i64::from(libc::EFAULT)),
        }
    }

    fn alarm_answer(&mut self, tid: i32, call: &Call) -> Option<i64> {
        let now = self.now();
        let process = self.processes.get_mut(&self.threads.get(&tid)?.process)?;
        let memory = process.memory.as_ref()?;
        let before = process.alarm;
        // One that is due is not yet over for the program.
        let left = before.map_or(0, |alarm| alarm.deadline.saturating_sub(now).max(1));
        let (value, interval, tell_at) = match call.nr {
            calls::ALARM => (u64::from(call.args[0] as u32) * NS, 0, 0),
            calls::SETITIMER if call.args[1] == 0 => (0, 0, call.args[2]),
            calls::SETITIMER => {
                let interval = memory.timeval(call.args[1])?;
                (memory.timeval(call.args[1] + 16)?, interval, call.args[2])
            }
            _ => (0, 0, call.args[1]),
        };
        if tell_at != 0 {
            // Microseconds: what is left is more than nothing.
            let left = if left == 0 { 0 } else { left.max(1000) };
            memory.write_timeval(tell_at, before.map_or(0, |alarm| alarm.interval))?;
            memory.write_timeval(tell_at + 16, left)?;
        }
        if call.nr != calls::GETITIMER {
            let deadline = now.saturating_add(value);
            process.alarm = (value > 0).then_some(Alarm { deadline, interval });
        }
        // `alarm` tells whole seconds, and rounds up.
        let seconds = i64::try_from(left.div_ceil(NS)).unwrap_or(i64::MAX);
        Some(if call.nr == calls::ALARM { seconds } else { 0 })
    }

    /// Sends SIGALRM where it is due. Tells when it is due next.
    pub(crate) fn ring_alarms(&mut self, now: u64) -> Option<u64> {
        let mut next = None;
        for (process, state) in &mut self.processes {
            let Some(alarm) = state.alarm else { continue };
            if alarm.deadline <= now {
                let again = Alarm {
                    deadline: alarm.deadline.saturating_add(alarm.interval).max(now),
                    ..alarm
                };
                state.alarm = (alarm.interval > 0).then_some(again);
                if let Some(pid) = Pid::from_raw(*process) {
                    let _ = kill_process(pid, Signal::ALARM);
                }
            }
            let deadline = state.alarm.map(|alarm| alarm.deadline);
            next = [next, deadline].into_iter().flatten().min();
        }
        next
    }

    /// `timerfd_settime`: made on a descriptor of our own for the same timer.
    pub(crate) fn sets_timerfd(&mut self, tid: i32, regs: Regs, call: &Call) {
        match self.timerfd_answer(tid, call) {
            Some(result) => answer(tid, regs, result),
            // The kernel refuses it.
            None => resume(tid, 0),
        }
    }

    fn timerfd_answer(&mut self, tid: i32, call: &Call) -> Option<i64> {
        let number = i32::try_from(call.args[0]).ok()?;
        let process = self.threads.get(&tid)?.process;
        let file = match self.duplicate(process, number) {
            Ok(file) => file,
            Err(error) => {
                if error != Errno::BADF {
                    self.doubt(Doubt::UnfollowedTimer);
                }
                return None;
            }
        };
        let offset = self.offset();
        let state = self.processes.get_mut(&process)?;
        let memory = state.memory.as_ref()?;
        let mut setting = setting(memory, call.args[2])?;
        let flags = TimerfdTimerFlags::from_bits_retain(call.args[1] as u32);
        let value = nanos(setting.it_value);
        if flags.contains(TimerfdTimerFlags::ABSTIME) && value > 0 {
            setting.it_value = timespec(value.saturating_sub(offset).max(1));
        }
        let before = match timerfd_settime(&file, flags, &setting) {
            Ok(before) => before,
            Err(error) => return Some(-i64::from(error.raw_os_error())),
        };
        if call.args[3] != 0 {
            memory.write_timespec(call.args[3], nanos(before.it_interval))?;
            memory.write_timespec(call.args[3] + 16, nanos(before.it_value))?;
        }
        state.timers.retain(|timer| timer.number != number);
        state.timers.push(TimerFd {
            number,
            file: Arc::new(file),
        });
        Some(0)
    }

    /// A descriptor of our own for the same open file.
    pub(crate) fn duplicate(&mut self, process: i32, number: i32) -> Result<OwnedFd, Errno> {
        let state = self.processes.get_mut(&process).ok_or(Errno::SRCH)?;
        if state.pidfd.is_none() {
            let pid = Pid::from_raw(process).ok_or(Errno::SRCH)?;
            state.pidfd = Some(pidfd_open(pid, PidfdFlags::empty())?);
        }
        let pidfd = state.pidfd.as_ref().ok_or(Errno::SRCH)?;
        pidfd_getfd(pidfd.as_fd(), number, PidfdGetfdFlags::empty())
    }

    /// Forgets timers that were closed: they must not hold time. Tells whether
    /// there were any.
    pub(crate) fn drop_closed_timers(&mut self) -> bool {
        let (mut is_lost, mut is_any_dropped) = (false, false);
        for (process, state) in &mut self.processes {
            let is_timer = |number: &str| {
                let link = std::fs::read_link(format!("/proc/{process}/fd/{number}"));
                link.is_ok_and(|link| link.to_string_lossy().contains("[timerfd]"))
            };
            let count = state.timers.len();
            let mut was_set = false;
            state.timers.retain(|timer| {
                let stays = is_timer(&timer.number.to_string());
                was_set |= !stays && left(&timer.file).is_some();
                stays
            });
            is_any_dropped |= state.timers.len() < count;
            if state.timers.len() < count && was_set {
                // It may live on under a number that we have not seen it set by.
                let known = |number: &str| {
                    state
                        .timers
                        .iter()
                        .any(|timer| timer.number.to_string() == number)
                };
                is_lost |= descriptors(*process)
                    .iter()
                    .any(|number| !known(number) && is_timer(number));
            }
        }
        if is_lost {
            self.doubt(Doubt::UnfollowedTimer);
        }
        is_any_dropped
    }

    /// After how long the next timerfd is due.
    pub(crate) fn next_timerfd(&self) -> Option<u64> {
        let timers = self.processes.values().flat_map(|process| &process.timers);
        timers.filter_map(|timer| left(&timer.file)).min()
    }

    /// Moves all timerfds ahead. Several descriptors may be of one timer, so all
    /// are read before any is set.
    pub(crate) fn move_timerfds(&self, by: u64) {
        let timers = self.processes.values().flat_map(|process| &process.timers);
        let read: Vec<_> = timers
            .filter_map(|timer| Some((&timer.file, timerfd_gettime(&timer.file).ok()?)))
            .collect();
        for (file, mut setting) in read {
            let left = nanos(setting.it_value);
            if left > 0 {
                setting.it_value = timespec(left.saturating_sub(by).max(1));
                // It was set before, with values that were no worse.
                let _ = timerfd_settime(file, TimerfdTimerFlags::empty(), &setting);
            }
        }
    }

    /// `timer_settime`.
    pub(crate) fn sets_posix_timer(&mut self, tid: i32, call: &Call) {
        let setting = self
            .memory_of(tid)
            .and_then(|memory| setting(memory, call.args[2]));
        let Some(setting) = setting else { return };
        let (value, interval) = (nanos(setting.it_value), nanos(setting.it_interval));
        let is_absolute = call.args[1] & libc::TIMER_ABSTIME as u64 != 0;
        if value == 0 {
        } else if is_absolute || value.max(interval) > SHORT_TICK_NS {
            self.doubt(Doubt::LongPosixTimer);
        } else {
            self.note(Note::ShortPosixTimerIsReal);
        }
    }
}

/// Nanoseconds until the timer is due; none when it is not set.
fn left(timer: &OwnedFd) -> Option<u64> {
    let setting = timerfd_gettime(timer).ok()?;
    Some(nanos(setting.it_value)).filter(|left| *left > 0)
}

/// A `struct itimerspec` that the kernel would take.
fn setting(memory: &Memory, at: u64) -> Option<Itimerspec> {
    let bytes = memory.read::<32>(at)?;
    let number = |index: usize| {
        bytes[index * 8..][..8]
            .try_into()
            .map(i64::from_ne_bytes)
            .ok()
    };
    let time = |index| {
        let (tv_sec, tv_nsec) = (number(index)?, number(index + 1)?);
        let is_valid = tv_sec >= 0 && (0..NS as i64).contains(&tv_nsec);
        is_valid.then_some(Timespec { tv_sec, tv_nsec })
    };
    Some(Itimerspec {
        it_interval: time(0)?,
        it_value: time(2)?,
    })
}
