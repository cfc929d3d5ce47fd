//! Waking those whose time has come, and nobody else: a thread that is due is
//! stopped, which ends its call as a signal would, and the call's result is made
//! that of a timeout. A thread whose own timeout is still right is left to the
//! kernel.

use crate::linux::calls::{self, Call};
use crate::linux::memory::Memory;
use crate::linux::procfs::{Doing, signals};
use crate::linux::session::Session;
use crate::linux::sys::{Regs, get_regs, interrupt, resume, set_regs};
use crate::linux::tracee::Wait;
use crate::linux::wait::call_of;

/// When a thread that may be just about to wait is looked at again.
const AGAIN_NS: u64 = 100_000;

/// What a call returns inside the kernel when it was interrupted: EINTR, or one
/// of the codes that say how it is to be restarted.
const INTERRUPTED: [i64; 5] = [-(libc::EINTR as i64), -512, -513, -514, -516];

/// The length of the instruction that makes a system call.
const SYSCALL_LENGTH: u64 = 2;

impl Session {
    /// Wakes all who are due. Tells after how long the next one is.
    pub(crate) fn wake_due(&mut self) -> u64 {
        let (now, offset) = (self.now(), self.offset());
        let began = self.voter.timeline().began();
        self.voter.advance_to(now - began);
        let servers = self
            .voter
            .next_deadline()
            .map(|at| began.saturating_add(at));
        let alarms = self.ring_alarms(now);
        let mut next = [servers, alarms]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(u64::MAX);
        let mut due = Vec::new();
        for (tid, thread) in &self.threads {
            let Some(wait) = &thread.wait else { continue };
            if wait.right_at_offset == offset || thread.is_being_woken || thread.is_stopped {
                continue;
            }
            if wait.deadline <= now {
                due.push((*tid, *wait));
            } else {
                next = next.min(wait.deadline);
            }
        }
        for (tid, wait) in due {
            if !self.wake(tid, &wait) {
                next = next.min(now + AGAIN_NS);
            }
        }
        next.saturating_sub(now)
    }

    /// Has a thread stop, if it is in this wait. Tells whether it need not be
    /// looked at again.
    fn wake(&mut self, tid: i32, wait: &Wait) -> bool {
        let seen = self.seen(tid);
        let Some(thread) = self.threads.get_mut(&tid) else {
            return true;
        };
        match seen.doing {
            Doing::Blocked(call) if wait.is(&call, seen.switches) => {
                thread.is_being_woken = interrupt(tid).is_ok();
                true
            }
            Doing::Running => false,
            _ => {
                thread.wait = None;
                true
            }
        }
    }

    /// A thread has stopped that we may have told to.
    pub(crate) fn woken(&mut self, tid: i32) {
        let now = self.now();
        let Some(thread) = self
            .threads
            .get_mut(&tid)
            .filter(|thread| thread.is_being_woken)
        else {
            return resume(tid, 0);
        };
        thread.is_being_woken = false;
        let Some(mut regs) = get_regs(tid).filter(was_interrupted) else {
            return resume(tid, 0);
        };
        let call = thread.meant(call_of(&regs));
        // It may have left the wait by itself meanwhile, and begun another one.
        let is_over = |wait: &Wait| wait.call == call && wait.deadline <= now;
        if thread.wait.as_ref().is_some_and(is_over) {
            thread.wait = None;
            if let Some(memory) = self.memory_of(tid) {
                tell_timeout(&call, memory);
            }
            regs.rax = timeout_result(&call) as u64;
            regs.orig_rax = u64::MAX;
            set_regs(tid, &regs);
        } else {
            thread.goes_on(call);
            let is_ours = signals(tid).is_none_or(|signals| signals.pending == 0);
            if regs.rax as i64 == INTERRUPTED[0] && is_ours {
                restart(&mut regs);
                set_regs(tid, &regs);
            }
        }
        resume(tid, 0);
    }
}

/// Whether the thread's call was interrupted.
pub(crate) fn was_interrupted(regs: &Regs) -> bool {
    regs.orig_rax != u64::MAX && INTERRUPTED.contains(&(regs.rax as i64))
}

/// Has the thread make its call again.
pub(crate) fn restart(regs: &mut Regs) {
    regs.rip -= SYSCALL_LENGTH;
    regs.rax = regs.orig_rax;
    regs.orig_rax = u64::MAX;
}

/// What a call returns when its time is over.
fn timeout_result(call: &Call) -> i64 {
    let error = match call.nr {
        calls::FUTEX => libc::ETIMEDOUT,
        calls::CONNECT => libc::EINPROGRESS,
        calls::RT_SIGTIMEDWAIT | calls::SEMTIMEDOP => libc::EAGAIN,
        _ if crate::linux::sockets::is_on_a_socket(call) => libc::EAGAIN,
        _ => return 0,
    };
    -i64::from(error)
}

/// Writes what a call that is over leaves in the program's memory: no descriptor
/// is ready, and no time is left. The kernel has written how much was left in
/// real time.
fn tell_timeout(call: &Call, memory: &Memory) -> Option<()> {
    let left_at = match call.nr {
        calls::SELECT | calls::PSELECT6 => {
            let words = usize::try_from(call.args[0]).ok()?.div_ceil(64);
            for set in call.args[1..4].iter().filter(|set| **set != 0) {
                memory.write(*set, &vec![0; words.min(MOST_WORDS) * 8])?;
            }
            call.args[4]
        }
        calls::PPOLL => call.args[2],
        _ => 0,
    };
    if left_at != 0 {
        memory.write(left_at, &[0; 16])?;
    }
    Some(())
}

/// No process has more descriptors than this has bits.
const MOST_WORDS: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn result(nr: u64) -> i64 {
        timeout_result(&Call { nr, args: [0; 6] })
    }

    #[test]
    fn each_call_times_out_by_its_own_result() {
        assert_eq!(result(calls::POLL), 0);
        assert_eq!(result(calls::NANOSLEEP), 0);
        assert_eq!(result(calls::FUTEX), -110);
        assert_eq!(result(calls::RECVFROM), -11);
        assert_eq!(result(calls::ACCEPT4), -11);
        assert_eq!(result(calls::CONNECT), -115);
        assert_eq!(result(calls::RT_SIGTIMEDWAIT), -11);
    }
}
