//! Following what the traced programs start and what they become, and the
//! dispatch of their stops.

use crate::linux::memory::Memory;
use crate::linux::procfs::{name, process_of, signals};
use crate::linux::session::Session;
use crate::linux::sys::{event_message, get_regs, listen, resume, set_regs};
use crate::linux::tracee::{Process, Thread};
use crate::linux::vdso::{Vdso, hide};
use crate::linux::wait::call_of;
use crate::linux::wake::{restart, was_interrupted};
use crate::record::{Doubt, Note};

/// Signals that do nothing unless they are caught: CHLD, CONT, URG, WINCH.
const HARMLESS: [i32; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];

impl Session {
    /// Handles the stop or the end of a tracee.
    pub(crate) fn handle(&mut self, tid: i32, status: i32) {
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            return self.ended(tid);
        }
        if !libc::WIFSTOPPED(status) {
            return;
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_SECCOMP => self.called(tid),
            libc::PTRACE_EVENT_EXEC => {
                self.executed(tid);
                resume(tid, 0);
            }
            event @ (libc::PTRACE_EVENT_FORK
            | libc::PTRACE_EVENT_VFORK
            | libc::PTRACE_EVENT_CLONE) => {
                if let Ok(started) = i32::try_from(event_message(tid)) {
                    self.follow(started);
                }
                self.held_by_its_child(tid, event == libc::PTRACE_EVENT_VFORK);
                resume(tid, 0);
            }
            libc::PTRACE_EVENT_VFORK_DONE => {
                self.held_by_its_child(tid, false);
                resume(tid, 0);
            }
            libc::PTRACE_EVENT_STOP => self.paused(tid, signal),
            0 => self.signalled(tid, signal),
            _ => resume(tid, 0),
        }
    }

    fn held_by_its_child(&mut self, tid: i32, is_held: bool) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.is_held_by_its_child = is_held;
        }
    }

    /// Makes a thread known, and its process. It has stopped, or is about to.
    pub(crate) fn follow(&mut self, tid: i32) {
        if self.threads.contains_key(&tid) {
            return;
        }
        // A thread that is gone again has no process; its end is still to come.
        let (process, parent) = process_of(tid).unwrap_or((tid, 0));
        self.threads.insert(tid, Thread::of(process));
        if self.processes.contains_key(&process) {
            return;
        }
        let parent = self.processes.get(&parent);
        let memory = Memory::of(process).ok();
        // A fork has its parent's image, and where it lies.
        let vdso = match parent {
            Some(parent) => parent.vdso,
            None => memory
                .as_ref()
                .and_then(|memory| Vdso::find(process, memory)),
        };
        let started = Process {
            memory,
            vdso,
            has_socket_timeouts: parent.is_some_and(|parent| parent.has_socket_timeouts),
            timers: parent
                .map(|parent| parent.timers.clone())
                .unwrap_or_default(),
            ..Process::default()
        };
        self.processes.insert(process, started);
        self.tell_offset(process);
    }

    /// A process has become another program; all its other threads are gone.
    fn executed(&mut self, process: i32) {
        self.threads.retain(|_, thread| thread.process != process);
        self.threads.insert(process, Thread::of(process));
        let before = self.processes.remove(&process).unwrap_or_default();
        let memory = Memory::of(process).ok();
        let vdso = memory
            .as_ref()
            .filter(|_| self.options.change_vdso)
            .and_then(|memory| Vdso::patch(process, memory));
        if vdso.is_none() {
            let hidden = memory
                .as_ref()
                .zip(get_regs(process))
                .and_then(|(memory, regs)| hide(memory, regs.rsp));
            match hidden {
                Some(()) => self.note(Note::ClockReadsStop),
                None => self.doubt(Doubt::Unreadable),
            }
        }
        // Descriptors and the alarm outlive the program that made them.
        let process_now = Process {
            memory,
            vdso,
            ..before
        };
        self.processes.insert(process, process_now);
        self.tell_offset(process);
    }

    /// Tells a process how far its time is ahead.
    pub(crate) fn tell_offset(&mut self, process: i32) {
        let offset = self.offset();
        let told = self.processes.get(&process).is_none_or(|process| {
            match (&process.memory, &process.vdso) {
                (Some(memory), Some(vdso)) => vdso.set_offset(memory, offset).is_some(),
                _ => true,
            }
        });
        // One that has just been killed cannot be written to, and need not.
        if !told
            && process_of(process).is_some_and(|(_, parent)| parent != 0)
            && self.is_alive(process)
        {
            self.doubt(Doubt::Unreadable);
        }
    }

    fn is_alive(&self, process: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{process}/maps")).is_ok_and(|maps| !maps.is_empty())
    }

    pub(crate) fn ended(&mut self, tid: i32) {
        if self.entered.remove(&tid) {
            self.unseen.insert(tid);
        }
        let Some(thread) = self.threads.remove(&tid) else {
            return;
        };
        if !self
            .threads
            .values()
            .any(|other| other.process == thread.process)
        {
            self.processes.remove(&thread.process);
        }
    }

    /// Stopped because we asked for it, at its beginning, or by job control.
    fn paused(&mut self, tid: i32, signal: i32) {
        self.follow(tid);
        if signal == libc::SIGTRAP {
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.is_stopped = false;
            }
            return self.woken(tid);
        }
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.is_stopped = true;
            if let Some(regs) = get_regs(tid) {
                thread.goes_on(thread.meant(call_of(&regs)));
            }
        }
        self.note(Note::StoppedByJobControl);
        listen(tid);
    }

    /// A signal is about to be delivered. The kernel would not have told the
    /// program of one that does nothing, and so not have ended its call: under a
    /// tracer it does, with EINTR from calls that are not restarted. So such a
    /// call is begun again.
    fn signalled(&mut self, tid: i32, signal: i32) {
        if self.does_nothing(tid, signal)
            && let Some(mut regs) = get_regs(tid)
            && was_interrupted(&regs)
        {
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.goes_on(thread.meant(call_of(&regs)));
            }
            if regs.rax as i64 == -i64::from(libc::EINTR) {
                restart(&mut regs);
                set_regs(tid, &regs);
            }
        }
        resume(tid, signal);
    }

    fn does_nothing(&self, tid: i32, signal: i32) -> bool {
        let Some(signals) = signals(tid) else {
            return false;
        };
        let is_in = |set: u64| set >> (signal - 1) & 1 == 1;
        is_in(signals.ignored) || HARMLESS.contains(&signal) && !is_in(signals.caught)
    }

    /// Sees again and again whether a thread bears a name whose waits do not
    /// hold time: names are given after the start, and can change.
    pub(crate) fn look_at_name(&mut self, tid: i32) {
        const FIRST: u64 = 3;
        const AGAIN: u64 = 64;
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        thread.waits += 1;
        let is_time = thread.waits <= FIRST || thread.waits.is_multiple_of(AGAIN);
        if is_time && !self.options.soft_threads.is_empty() {
            let name = name(tid);
            thread.is_soft = self.options.soft_threads.contains(&name);
        }
    }
}
