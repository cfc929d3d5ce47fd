//! Ends a thread's wait for its tracees after a given time.
//!
//! `waitpid` takes no timeout, and blocking SIGCHLD to wait for that instead
//! would have the kernel wake the other threads of this process for it. So a
//! timer sends a signal of its own to this thread only; its handler does
//! nothing, but the wait ends with EINTR.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

/// A tick that comes just before the wait would be lost, so it comes again.
const AGAIN_NS: u64 = 1_000_000;

const NS: u64 = 1_000_000_000;

/// The signal, once it has its handler.
static SIGNAL: OnceLock<Option<libc::c_int>> = OnceLock::new();

/// A timer for the thread that has made it.
pub(crate) struct Ticker(libc::timer_t);

impl Ticker {
    pub(crate) fn new() -> io::Result<Self> {
        let signal = SIGNAL
            .get_or_init(take_a_signal)
            .ok_or_else(|| io::Error::other("no real-time signal is free"))?;
        // SAFETY: `sigevent` is plain data for which all zeroes is a valid value.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: both live over the call. The timer is deleted by `drop`.
        let made =
            unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
        if made == 0 {
            Ok(Self(timer))
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Interrupts this thread in that many nanoseconds, and then on and on.
    pub(crate) fn arm(&self, ns: u64) {
        self.set(ns.max(1), AGAIN_NS);
    }

    pub(crate) fn disarm(&self) {
        self.set(0, 0);
    }

    fn set(&self, value: u64, interval: u64) {
        let spec = |ns: u64| libc::timespec {
            tv_sec: (ns / NS) as libc::time_t,
            tv_nsec: (ns % NS) as libc::c_long,
        };
        let setting = libc::itimerspec {
            it_interval: spec(interval),
            it_value: spec(value),
        };
        // SAFETY: the timer is ours and lives; the setting lives over the call,
        // and the old one is not asked for.
        unsafe {
            libc::timer_settime(self.0, 0, &raw const setting, ptr::null_mut());
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        // SAFETY: the timer is ours, and nothing uses it from now on.
        unsafe {
            libc::timer_delete(self.0);
        }
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// Gives the empty handler to a real-time signal that nobody uses.
fn take_a_signal() -> Option<libc::c_int> {
    let handler: extern "C" fn(libc::c_int) = nothing;
    // The lowest ones are those that others take first.
    (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().find(|signal| {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: only the present action is read, to memory that lives over the
        // call; all zeroes is a valid value of it.
        let old = unsafe {
            libc::sigaction(*signal, ptr::null(), old.as_mut_ptr());
            old.assume_init()
        };
        if old.sa_sigaction != libc::SIG_DFL {
            return false;
        }
        let mut action = old;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = 0; // waits are to end, not to be restarted
        // SAFETY: the action lives over the call, and its handler does nothing.
        unsafe { libc::sigaction(*signal, &raw const action, ptr::null_mut()) == 0 }
    })
}
