//! How a program gets into virtual time: between fork and exec it tells its
//! process id, waits until the tracer has seized it, and installs the filter.
//!
//! The process that forks it need not be the tracer's; a socket connects the
//! two. The child's side is four bytes with the process id, then an answer; on
//! [`TRACED`] it installs the filter and tells the result as an error number, 0
//! for success; where that failed it waits for a second answer, by which the
//! tracer has let go of it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::entry::Entry;
use crate::linux::{filter, sys};
use crate::timeline::timespec;
use crate::unavailable::Unavailable;

/// The tracer has seized the child.
const TRACED: u8 = b't';

/// The child is to go on as it is.
const UNTRACED: u8 = b'u';

/// A child answers at once. When it does not it was stopped or killed.
const PATIENCE_NS: u64 = 10_000_000_000;

/// The tracer's side of one program's entrance.
#[derive(Debug)]
pub struct Gate(OwnedFd);

/// The program's side: to be handed to the process that starts it, and there to
/// [`enter`].
pub type Door = OwnedFd;

/// A new entrance for one program. Both ends are closed on exec.
pub fn gate() -> io::Result<(Gate, Door)> {
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    Ok((Gate(ours), theirs))
}

/// Has the program that `command` starts enter virtual time through `door`. Of
/// what runs in the child before exec this must be the last, but for an exec.
///
/// Whoever starts it must drop `command` when it has spawned: the tracer takes
/// an open door for a program that is yet to come. The start fails when the
/// tracer is gone.
pub fn enter(command: &mut Command, door: Door) {
    sys::before_exec(command, filter::program(), move |install| {
        pass(door.as_fd(), install)
    });
}

/// The child's side. It makes system calls and nothing else.
fn pass(door: BorrowedFd<'_>, install: &dyn Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    tell(door, &pid.to_ne_bytes())?;
    if answer(door)? == UNTRACED {
        return Ok(());
    }
    let result = install().map_or_else(Errno::raw_os_error, |()| 0);
    tell(door, &result.to_ne_bytes())?;
    if result != 0 {
        answer(door)?;
    }
    Ok(())
}

fn answer(door: BorrowedFd<'_>) -> Result<u8, Errno> {
    let mut byte = [0];
    loop {
        match recv(door, &mut byte, RecvFlags::empty()) {
            // The tracer is gone.
            Ok((0, _)) => return Err(Errno::PIPE),
            Ok(_) => return Ok(byte[0]),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn tell(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Errno> {
    loop {
        match send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

impl Gate {
    /// Whether somebody is there, or will never be.
    pub(crate) fn is_ready(&self) -> bool {
        readable_within(self.as_fd(), 0)
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Seizes who is there and lets it in.
    pub(crate) fn admit(self) -> Entry {
        let Some(pid) = self.number() else {
            return Entry::Absent;
        };
        let refused = |why| Entry::Refused { pid, why };
        if let Err(error) = sys::seize(pid) {
            let _ = tell(self.as_fd(), &[UNTRACED]);
            return refused(Unavailable::TracingRefused(error.raw_os_error()));
        }
        let _ = tell(self.as_fd(), &[TRACED]);
        match self.number() {
            Some(0) => Entry::Traced { pid },
            Some(code) => {
                let_go(pid);
                let _ = tell(self.as_fd(), &[UNTRACED]);
                refused(Unavailable::FilterRefused(code))
            }
            // It is gone; its end will be seen.
            None => Entry::Traced { pid },
        }
    }

    fn number(&self) -> Option<i32> {
        let mut bytes = [0; 4];
        readable_within(self.as_fd(), PATIENCE_NS).then_some(())?;
        let (length, _) = recv(&self.0, &mut bytes, RecvFlags::DONTWAIT).ok()?;
        (length == 4).then(|| i32::from_ne_bytes(bytes))
    }
}

/// Ends the tracing of a child that waits for an answer.
fn let_go(pid: i32) {
    let stopped = sys::interrupt(pid).is_ok()
        && Pid::from_raw(pid).is_some_and(|pid| wait_for(pid).is_some());
    if stopped {
        let _ = sys::detach(pid);
    }
}

/// Waits for a tracee's stop or end.
fn wait_for(pid: Pid) -> Option<i32> {
    loop {
        match waitpid(
            Some(pid),
            WaitOptions::from_bits_retain(libc::__WALL as u32),
        ) {
            Ok(seen) => return seen.map(|(_, status)| status.as_raw()),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

fn readable_within(socket: BorrowedFd<'_>, ns: u64) -> bool {
    loop {
        let mut fds = [PollFd::from_borrowed_fd(socket, PollFlags::IN)];
        match poll(&mut fds, Some(&timespec(ns))) {
            Ok(ready) => return ready > 0,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Tells whether programs can be run in virtual time here, by letting a child
/// of this process in that does nothing. Takes about a millisecond.
pub fn probe() -> Result<(), Unavailable> {
    let readable =
        |name: &str| std::fs::read(format!("/proc/self/{name}")).is_ok_and(|text| !text.is_empty());
    if !readable("syscall") || !readable("schedstat") {
        return Err(Unavailable::NoThreadStates);
    }
    let no_means =
        |error: io::Error| Unavailable::NoMeans(error.raw_os_error().unwrap_or(libc::EIO));
    drop(sys::Ticker::new().map_err(no_means)?);
    let (gate, door) = gate().map_err(no_means)?;
    let filter = filter::program();
    let child = sys::fork_and_run(&filter, |install| pass(door.as_fd(), install))
        .map_err(|error| no_means(error.into()))?;
    drop(door);
    let entry = gate.admit();
    // It ends by itself; its one possible stop before is that of `let_go`.
    if let Some(pid) = Pid::from_raw(child) {
        wait_for(pid);
    }
    match entry {
        Entry::Traced { .. } => Ok(()),
        Entry::Refused { why, .. } => Err(why),
        Entry::Absent => Err(Unavailable::NoMeans(libc::ECHILD)),
    }
}
