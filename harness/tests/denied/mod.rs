//! Starts a program that may not trace others, as in many containers.
#![expect(unsafe_code, reason = "a filter can be set only between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The filter's answer to `ptrace`, as a container gives it.
const REFUSES: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// Has the kernel refuse `ptrace` to this program and all that it starts.
pub(crate) fn deny_ptrace(command: &mut Command) {
    // SAFETY: `install` only makes system calls with values on its own stack.
    unsafe { command.pre_exec(install) };
}

fn install() -> io::Result<()> {
    let code = |code: u32| code as u16;
    let step = |code: u16, jt: u8, jf: u8, k: u32| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        // The call's number stands first in what a filter is shown.
        step(code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS), 0, 0, 0),
        step(
            code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K),
            0,
            1,
            libc::SYS_ptrace as u32,
        ),
        step(code(libc::BPF_RET | libc::BPF_K), 0, 0, REFUSES),
        step(
            code(libc::BPF_RET | libc::BPF_K),
            0,
            0,
            libc::SECCOMP_RET_ALLOW,
        ),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    let filter = &raw const filter;
    // SAFETY: the kernel reads the filter, which outlives the calls, and keeps a
    // copy of it.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                filter,
                0,
                0,
            ) == 0
    };
    match set {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}
