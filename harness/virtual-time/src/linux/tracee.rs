//! What the tracer remembers of the threads and processes that it follows.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::linux::calls::{Call, POLL, RESTART_SYSCALL};
use crate::linux::memory::Memory;
use crate::linux::procfs::{Doing, ThreadFiles};
use crate::linux::vdso::Vdso;

/// A timed wait. Times are those that the traced programs see as
/// CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) call: Call,
    pub(crate) deadline: u64,
    /// How far time was ahead when the kernel's own timeout was right; 0 for a
    /// point in time, which the kernel reads against real time. When time has
    /// moved since, the kernel's timeout comes too late.
    pub(crate) right_at_offset: u64,
    /// A short wait that is left real.
    pub(crate) stays_real: bool,
    /// It does not hold time.
    pub(crate) is_soft: bool,
    /// Found by looking rather than by a stop: it is this wait only as long as
    /// the thread has not run since.
    pub(crate) switches: Option<u64>,
}

impl Wait {
    /// Whether a thread that is blocked in this call, having run so often, is in
    /// this wait.
    pub(crate) fn is(&self, call: &Call, switches: u64) -> bool {
        *call == self.call && self.switches.is_none_or(|seen| seen == switches)
    }
}

/// A thread.
pub(crate) struct Thread {
    pub(crate) process: i32,
    pub(crate) files: Option<ThreadFiles>,
    /// The last timed wait that began.
    pub(crate) wait: Option<Wait>,
    /// A wait that was interrupted and will be begun again by the kernel with
    /// the same arguments: its deadline stands.
    pub(crate) resumes: Option<Wait>,
    /// The call that was interrupted last.
    pub(crate) interrupted: Option<Call>,
    /// It was told to stop because its wait is over.
    pub(crate) is_being_woken: bool,
    /// As it was found when it was last looked at.
    pub(crate) doing: Doing,
    pub(crate) switches: u64,
    /// Since when it is as it was found.
    pub(crate) since: u64,
    /// Waits that began.
    pub(crate) waits: u64,
    /// Waits among them that were short.
    pub(crate) short_waits: u32,
    /// Its longer waits do not hold time.
    pub(crate) is_soft: bool,
    /// Stopped by job control.
    pub(crate) is_stopped: bool,
    /// It has started a process by vfork and is held, not to be interrupted, until
    /// that has become another program or has ended.
    pub(crate) is_held_by_its_child: bool,
}

impl Thread {
    pub(crate) fn of(process: i32) -> Self {
        Self {
            process,
            files: None,
            wait: None,
            resumes: None,
            interrupted: None,
            is_being_woken: false,
            doing: Doing::Running,
            switches: 0,
            since: 0,
            waits: 0,
            short_waits: 0,
            is_soft: false,
            is_stopped: false,
            is_held_by_its_child: false,
        }
    }

    /// The call that the thread is really in. One that was interrupted and goes
    /// on may be restarted by a call of its own, with the same arguments in the
    /// registers. Not every interruption is seen: a thread is also woken for a
    /// signal that another one takes first.
    pub(crate) fn meant(&self, call: Call) -> Call {
        if call.nr != RESTART_SYSCALL {
            return call;
        }
        let waited = self.wait.as_ref().map(|wait| wait.call);
        let before = [self.interrupted, waited].into_iter().flatten();
        before
            .chain(poll_without_end(call))
            .find(|before| before.args == call.args)
            .unwrap_or(call)
    }

    /// What was interrupted will go on, if the program does not see it.
    pub(crate) fn goes_on(&mut self, call: Call) {
        self.interrupted = Some(call);
        self.resumes = self.wait.filter(|wait| wait.call == call);
    }

    /// The timed wait that it was found in.
    pub(crate) fn current_wait(&self) -> Option<&Wait> {
        let Doing::Blocked(call) = self.doing else {
            return None;
        };
        self.wait
            .as_ref()
            .filter(|wait| wait.is(&call, self.switches))
    }
}

/// The call that may be restarted so although its beginning was not stopped: all
/// others have a timeout.
fn poll_without_end(call: Call) -> Option<Call> {
    let timeout = call.args[2] as i32;
    (timeout < 0).then_some(Call { nr: POLL, ..call })
}

/// A process.
#[derive(Default)]
pub(crate) struct Process {
    pub(crate) memory: Option<Memory>,
    /// None: its clock reads are system calls.
    pub(crate) vdso: Option<Vdso>,
    /// It has set a socket's timeout at some time.
    pub(crate) has_socket_timeouts: bool,
    /// When SIGALRM is due, and after how long again.
    pub(crate) alarm: Option<Alarm>,
    pub(crate) timers: Vec<TimerFd>,
    pub(crate) pidfd: Option<OwnedFd>,
}

/// The timer of `alarm` and `setitimer`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    pub(crate) deadline: u64,
    pub(crate) interval: u64,
}

/// A timerfd that was set: its number in the process, and our descriptor of it.
#[derive(Clone)]
pub(crate) struct TimerFd {
    pub(crate) number: i32,
    pub(crate) file: Arc<OwnedFd>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::calls::FUTEX;

    fn call(nr: u64, args: [u64; 6]) -> Call {
        Call { nr, args }
    }

    /// Chromium's threads are woken for signals that others of them take.
    #[test]
    fn a_call_that_goes_on_unseen_is_known_by_its_arguments() {
        let timed = [1, 2, 3, 4, 5, 6];
        let endless = [7, 1, u64::from(u32::MAX), 0, 0, 0];
        let mut thread = Thread::of(1);
        let restarted = |args| call(RESTART_SYSCALL, args);
        assert_eq!(thread.meant(restarted(endless)), call(POLL, endless));
        assert_eq!(thread.meant(restarted(timed)), restarted(timed));
        thread.wait = Some(Wait {
            call: call(FUTEX, timed),
            deadline: 1,
            right_at_offset: 0,
            stays_real: false,
            is_soft: false,
            switches: None,
        });
        assert_eq!(thread.meant(restarted(timed)), call(FUTEX, timed));
        thread.goes_on(call(POLL, endless));
        assert_eq!(thread.meant(restarted(endless)), call(POLL, endless));
        assert_eq!(thread.meant(call(FUTEX, endless)), call(FUTEX, endless));
    }
}
