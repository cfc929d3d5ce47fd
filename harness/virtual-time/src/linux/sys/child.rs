//! Code that runs in a child between fork and exec.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::sock_filter;
use rustix::io::Errno;

/// Installs the filter for this thread and all that it starts. It cannot be
/// taken back.
fn install(filter: &[sock_filter]) -> Result<(), Errno> {
    rustix::thread::set_no_new_privs(true)?;
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads the program and the filter that it points to; both
    // live over the call. It is one system call and so async-signal-safe.
    let done = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    };
    if done == 0 {
        return Ok(());
    }
    let code = io::Error::last_os_error().raw_os_error();
    Err(Errno::from_raw_os_error(code.unwrap_or(libc::EIO)))
}

/// Has the child that `command` starts run `enter` before it becomes the
/// program, after what was registered before. `enter` is handed the means to
/// install `filter`; it must keep to system calls and may neither allocate nor
/// lock.
pub(crate) fn before_exec(
    command: &mut Command,
    filter: Vec<sock_filter>,
    enter: impl Fn(&dyn Fn() -> Result<(), Errno>) -> Result<(), Errno> + Send + Sync + 'static,
) {
    let ask = move || Ok(enter(&|| install(&filter))?);
    // SAFETY: between fork and exec only async-signal-safe calls are allowed;
    // the only `enter` of this crate (`gate::pass`) reads and writes a socket and
    // calls `install`. The filter was made before, and errors hold a number.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Forks a child that only runs `enter` and ends. Tells its process id; the
/// caller waits for it.
pub(crate) fn fork_and_run(
    filter: &[sock_filter],
    enter: impl Fn(&dyn Fn() -> Result<(), Errno>) -> Result<(), Errno>,
) -> Result<i32, Errno> {
    // SAFETY: the child keeps to what is allowed after a fork in a process with
    // threads: system calls, with memory that exists already, and `_exit`.
    match unsafe { libc::fork() } {
        -1 => {
            let code = io::Error::last_os_error().raw_os_error();
            Err(Errno::from_raw_os_error(code.unwrap_or(libc::EIO)))
        }
        0 => {
            let failed = enter(&|| install(filter)).is_err();
            // SAFETY: ends the process without running anything else.
            unsafe { libc::_exit(i32::from(failed)) }
        }
        pid => Ok(pid),
    }
}
