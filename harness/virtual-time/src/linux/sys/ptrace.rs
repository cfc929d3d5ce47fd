//! Requests to the tracees of this thread. All but `seize` are allowed only to
//! the thread that has seized, and to a tracee that has stopped.

use std::mem::MaybeUninit;

use rustix::io::Errno;

pub(crate) use libc::user_regs_struct as Regs;

/// Follow all that a tracee starts, tell its timed calls, and kill every tracee
/// when the tracer ends, however that comes.
const OPTIONS: usize = (libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEVFORKDONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_EXITKILL) as usize;

/// A request whose last argument is a number.
fn request(request: libc::c_uint, pid: i32, data: usize) -> Result<(), Errno> {
    // SAFETY: none of the requests that come here has the kernel read or write
    // this process's memory: `data` is a number to each of them.
    let done = unsafe { libc::ptrace(request as _, pid, 0_usize, data) };
    if done < 0 { Err(last_error()) } else { Ok(()) }
}

fn last_error() -> Errno {
    let code = std::io::Error::last_os_error().raw_os_error();
    Errno::from_raw_os_error(code.unwrap_or(libc::EIO))
}

pub(crate) fn seize(pid: i32) -> Result<(), Errno> {
    request(libc::PTRACE_SEIZE as _, pid, OPTIONS)
}

/// Has a running tracee stop.
pub(crate) fn interrupt(pid: i32) -> Result<(), Errno> {
    request(libc::PTRACE_INTERRUPT as _, pid, 0)
}

/// Lets a stopped tracee go on, with a signal or 0. One that was killed
/// meanwhile needs nothing.
pub(crate) fn resume(pid: i32, signal: i32) {
    let _ = request(libc::PTRACE_CONT as _, pid, signal as usize);
}

/// Leaves a tracee stopped by job control as it is.
pub(crate) fn listen(pid: i32) {
    let _ = request(libc::PTRACE_LISTEN as _, pid, 0);
}

pub(crate) fn detach(pid: i32) -> Result<(), Errno> {
    request(libc::PTRACE_DETACH as _, pid, 0)
}

/// The number that comes with the event for which the tracee has stopped.
pub(crate) fn event_message(pid: i32) -> u64 {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one unsigned long to `message`, which lives over
    // the call. On failure it writes nothing.
    unsafe {
        libc::ptrace(
            libc::PTRACE_GETEVENTMSG as _,
            pid,
            0_usize,
            &raw mut message,
        );
    }
    message
}

pub(crate) fn get_regs(pid: i32) -> Option<Regs> {
    let mut regs = MaybeUninit::<Regs>::zeroed();
    // SAFETY: the kernel writes one `user_regs_struct` to `regs`, which lives
    // over the call.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGS as _, pid, 0_usize, regs.as_mut_ptr()) };
    // SAFETY: it is plain numbers, for which all zeroes, too, is a valid value.
    (done >= 0).then(|| unsafe { regs.assume_init() })
}

pub(crate) fn set_regs(pid: i32, regs: &Regs) {
    // SAFETY: the kernel reads one `user_regs_struct`, which lives over the call.
    // A tracee that was killed meanwhile makes it fail, and needs nothing.
    unsafe {
        libc::ptrace(libc::PTRACE_SETREGS as _, pid, 0_usize, &raw const *regs);
    }
}

/// Has the call return this without being made.
pub(crate) fn answer(tid: i32, mut regs: Regs, result: i64) {
    regs.orig_rax = u64::MAX;
    regs.rax = result as u64;
    set_regs(tid, &regs);
    resume(tid, 0);
}
