//! Stops in calls that have to do with time: which deadline a wait has, and
//! whose business the other calls are.

use crate::linux::calls::{self, Call};
use crate::linux::clocks::Clocks;
use crate::linux::filter::FOREIGN;
use crate::linux::memory::Memory;
use crate::linux::session::Session;
use crate::linux::sys::{Regs, event_message, get_regs, resume};
use crate::linux::tracee::Wait;
use crate::record::Doubt;

const MILLISECOND: u64 = 1_000_000;

/// Waits up to this length stay real,
const SHORT_NS: u64 = 5 * MILLISECOND;

/// for the first so many of each thread. Programs sleep shortly at their start
/// to see how fast a counter of the processor runs, which does not jump.
const SHORT_WAITS: u32 = 16;

/// Waits up to this length hold time in soft threads too: a virtual machine pauses so
/// in the middle of something that others wait for without a limit.
const PAUSE_NS: u64 = 25 * MILLISECOND;

/// When a wait ends.
struct Deadline {
    at: u64,
    /// It was given as a point in time.
    is_absolute: bool,
}

impl Session {
    /// A thread is about to make a call that the filter stops.
    pub(crate) fn called(&mut self, tid: i32) {
        if event_message(tid) == u64::from(FOREIGN) {
            self.doubt(Doubt::ForeignAbi);
            return resume(tid, 0);
        }
        self.follow(tid);
        let Some(regs) = get_regs(tid) else { return };
        let call = call_of(&regs);
        match call.nr {
            calls::CLOCK_GETTIME | calls::GETTIMEOFDAY | calls::TIME => {
                self.reads_clock(tid, regs, &call)
            }
            calls::ALARM | calls::SETITIMER | calls::GETITIMER => self.sets_alarm(tid, regs, &call),
            calls::TIMERFD_SETTIME => self.sets_timerfd(tid, regs, &call),
            calls::TIMER_SETTIME => {
                self.sets_posix_timer(tid, &call);
                resume(tid, 0);
            }
            calls::SETSOCKOPT => {
                self.sets_socket_timeout(tid);
                resume(tid, 0);
            }
            _ => {
                self.begins_to_wait(tid, call);
                resume(tid, 0);
            }
        }
    }

    fn begins_to_wait(&mut self, tid: i32, call: Call) {
        self.look_at_name(tid);
        let clocks = Clocks::now(self.voter.timeline());
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        // The same wait, interrupted by what the program does not see.
        if let Some(wait) = thread.resumes.take().filter(|wait| wait.call == call) {
            thread.wait = Some(wait);
            return;
        }
        let memory = self
            .processes
            .get(&thread.process)
            .and_then(|process| process.memory.as_ref());
        let deadline = memory.and_then(|memory| deadline(&call, memory, &clocks));
        thread.wait = None;
        let Some(deadline) = deadline else {
            // A timeout that cannot be read is refused by the kernel as well.
            if !is_understood(&call) {
                self.doubt(Doubt::UnhandledCall(calls::name(call.nr)));
            }
            return;
        };
        let length = deadline.at.saturating_sub(clocks.monotonic);
        let stays_real = length <= SHORT_NS && thread.short_waits < SHORT_WAITS;
        thread.short_waits += u32::from(stays_real);
        thread.wait = Some(Wait {
            call,
            deadline: deadline.at,
            right_at_offset: if deadline.is_absolute {
                0
            } else {
                clocks.offset
            },
            stays_real,
            is_soft: thread.is_soft && length > PAUSE_NS,
            switches: None,
        });
    }

    /// The memory of a thread's process.
    pub(crate) fn memory_of(&self, tid: i32) -> Option<&Memory> {
        let process = self.threads.get(&tid)?.process;
        self.processes.get(&process)?.memory.as_ref()
    }
}

/// The call that a thread makes or has made.
pub(crate) fn call_of(regs: &Regs) -> Call {
    Call {
        nr: regs.orig_rax,
        args: [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9],
    }
}

/// Whether waits in this call are ended by us.
fn is_understood(call: &Call) -> bool {
    let is_cpu_clock =
        call.nr == calls::CLOCK_NANOSLEEP && Clocks::shift(call.args[0] as i32).is_none();
    !is_cpu_clock
        && matches!(
            call.nr,
            calls::NANOSLEEP
                | calls::CLOCK_NANOSLEEP
                | calls::POLL
                | calls::PPOLL
                | calls::SELECT
                | calls::PSELECT6
                | calls::EPOLL_WAIT
                | calls::EPOLL_PWAIT
                | calls::EPOLL_PWAIT2
                | calls::FUTEX
                | calls::RT_SIGTIMEDWAIT
                | calls::SEMTIMEDOP
        )
}

/// When a wait ends, as CLOCK_MONOTONIC shows it to the program. None: the call
/// is not understood, or its timeout cannot be read.
fn deadline(call: &Call, memory: &Memory, clocks: &Clocks) -> Option<Deadline> {
    if !is_understood(call) {
        return None;
    }
    let after = |ns: u64| Deadline {
        at: clocks.monotonic.saturating_add(ns),
        is_absolute: false,
    };
    let millis = |value: u64| after(u64::from(value as u32) * MILLISECOND);
    let timespec = |index: usize| memory.timespec(call.args[index]);
    match call.nr {
        calls::NANOSLEEP => timespec(0).map(after),
        calls::CLOCK_NANOSLEEP if call.args[1] & libc::TIMER_ABSTIME as u64 != 0 => {
            at(timespec(2)?, call.args[0] as i32, clocks)
        }
        calls::CLOCK_NANOSLEEP => timespec(2).map(after),
        calls::POLL => Some(millis(call.args[2])),
        calls::EPOLL_WAIT | calls::EPOLL_PWAIT => Some(millis(call.args[3])),
        calls::PPOLL | calls::RT_SIGTIMEDWAIT => timespec(2).map(after),
        calls::EPOLL_PWAIT2 | calls::SEMTIMEDOP => timespec(3).map(after),
        calls::PSELECT6 => timespec(4).map(after),
        calls::SELECT => memory.timeval(call.args[4]).map(after),
        calls::FUTEX if call.futex_operation() == libc::FUTEX_WAIT as u32 => timespec(3).map(after),
        calls::FUTEX => {
            let by_wall = call.args[1] & calls::FUTEX_CLOCK_REALTIME != 0
                || call.futex_operation() == libc::FUTEX_LOCK_PI as u32;
            let clock = if by_wall {
                libc::CLOCK_REALTIME
            } else {
                libc::CLOCK_MONOTONIC
            };
            at(timespec(3)?, clock, clocks)
        }
        _ => None,
    }
}

/// The deadline that is a point in the time of that clock.
fn at(time: u64, clock: i32, clocks: &Clocks) -> Option<Deadline> {
    Some(Deadline {
        at: clocks.to_monotonic(time, clock)?,
        is_absolute: true,
    })
}
