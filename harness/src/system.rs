//! The few calls to the operating system that safe crates do not offer.
//!
//! All unsafe code of this crate is here, and nothing else is.

#![expect(
    unsafe_code,
    reason = "code between fork and exec, and signal handlers, have no safe form"
)]

use std::ffi::CString;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::Signal;

/// Makes the program that `command` starts die with the thread that starts it.
pub(crate) fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    let ask = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have gone before the kernel was asked.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(rustix::io::Errno::SRCH.into())
        }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed;
    // `ask` makes two system calls and neither allocates nor locks.
    unsafe {
        command.pre_exec(ask);
    }
}

/// A program and its arguments in the form that the kernel takes.
pub(crate) struct Exec {
    path: CString,
    /// What `argv` points to.
    _words: Vec<CString>,
    /// Ends with a null.
    argv: Vec<*const libc::c_char>,
}

// SAFETY: the pointers lead into `_words`, which this value owns, and nothing
// changes either of them.
unsafe impl Send for Exec {}
// SAFETY: as above.
unsafe impl Sync for Exec {}

impl Exec {
    /// Names and arguments cannot hold a zero byte.
    pub(crate) fn new(path: &Path, argv: &[String]) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let words = argv
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<Vec<_>, _>>()?;
        let ends = words.iter().map(|word| word.as_ptr());
        Ok(Self {
            path,
            argv: ends.chain([std::ptr::null()]).collect(),
            _words: words,
        })
    }
}

/// Makes `command`, whose environment is that of this process, become exactly
/// this program. The standard library would hand a file that the kernel takes
/// for no program to a shell, which runs its bytes as commands and may well end
/// with a code that means something.
pub(crate) fn exec_without_a_shell(command: &mut Command, exec: Exec) {
    unsafe extern "C" {
        static environ: *const *const libc::c_char;
    }
    let become_it = move || {
        let exec = &exec;
        // SAFETY: all three are null-terminated and live over the call; the
        // process is a fork with one thread, so nobody changes the environment.
        unsafe { libc::execve(exec.path.as_ptr(), exec.argv.as_ptr(), environ) };
        Err(io::Error::last_os_error())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed;
    // execve is one, and what it needs was made before.
    unsafe {
        command.pre_exec(become_it);
    }
}

/// Where the handler writes; -1: nowhere.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// From now on SIGINT and SIGTERM write a byte to `wake` instead of ending the
/// process. A second one of them ends it as if nobody had asked.
pub(crate) fn on_interrupt_write_to(wake: OwnedFd) -> io::Result<()> {
    // The handler may run at any later time, so the descriptor stays open for
    // the rest of the process's life.
    WAKE.store(wake.into_raw_fd(), Ordering::SeqCst);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        handle_once(signal)?;
    }
    Ok(())
}

fn handle_once(signal: libc::c_int) -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int) = wake;
    // SAFETY: `sigaction` is plain data for which all zeroes is a valid value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
    // SAFETY: `action` lives over the call, the old action is not asked for,
    // and the handler keeps to what a handler may do.
    let done = unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

extern "C" fn wake(_: libc::c_int) {
    let fd: RawFd = WAKE.load(Ordering::SeqCst);
    // SAFETY: write(2) is async-signal-safe and reads one byte that lives as
    // long as the program. The errno that it may change is put back.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(fd, b"!".as_ptr().cast(), 1);
        *errno = before;
    }
}
