//! The launcher process itself: `wirefault __launch`.
//!
//! Started for every cell, so it does nothing that costs time: no argument
//! parser, no runtime, no log. It never writes to the client's pipes and holds
//! none of them once the client runs.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Access, access};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, WaitId, WaitIdOptions, getpid, pidfd_open,
    set_child_subreaper, setrlimit, setsid, waitid,
};

use virtual_time::Door;

use super::end::{self, Reaped, Woken};
use super::procfs::run_delay_ns;
use super::tree::{Swept, reap_one, sweep};
use super::{GO, KILL, Status, monotonic_ns};

/// The largest file that a client may write. An endless answer that is saved
/// must not fill the disk.
const LARGEST_FILE: u64 = 1 << 30;

/// Descriptors that a program usually gets.
const USUAL_DESCRIPTORS: u64 = 1024;

/// Runs the launcher. To be called before anything else is set up.
pub fn main() -> ExitCode {
    let stdin = io::stdin();
    let control = stdin.as_fd();
    match launch(control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let missing = false;
            let reason = format!("the launcher cannot go on: {error}");
            tell(control, &Status::NotSpawned { missing, reason });
            ExitCode::FAILURE
        }
    }
}

fn launch(control: BorrowedFd<'_>) -> io::Result<()> {
    // A session of its own: no terminal's Ctrl-C comes here, and the harness can
    // tell what comes from launchers by its session. A process that leads a
    // session already has one.
    let _ = setsid();
    crate::priority::this_session_first();
    set_child_subreaper(Some(getpid()))?;
    limit_files();
    let Some(order) = Order::receive(control)? else {
        return Ok(());
    };
    let program = order.args.first().cloned().unwrap_or_default();
    match order.spawn() {
        Ok(child) => watch(control, child.id()),
        Err(error) => {
            let missing = error.kind() == io::ErrorKind::NotFound;
            let reason = format!("`{program}` cannot be started: {error}");
            tell(control, &Status::NotSpawned { missing, reason });
            Ok(())
        }
    }
}

/// The file that a name means: itself where it has a slash, else the first
/// program of that name in PATH.
fn find(program: &str) -> io::Result<PathBuf> {
    if program.contains('/') {
        return Ok(program.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut failed = io::Error::from(rustix::io::Errno::NOENT);
    for folder in std::env::split_paths(&folders) {
        let path = folder.join(program);
        if !path.is_file() {
            continue;
        }
        match access(&path, Access::EXEC_OK) {
            Ok(()) => return Ok(path),
            Err(error) => failed = error.into(),
        }
    }
    Err(failed)
}

/// What is to be started.
struct Order {
    args: Vec<String>,
    pipes: [OwnedFd; 3],
    /// Into virtual time.
    door: Option<Door>,
}

impl Order {
    /// Takes the order from the harness; none when the harness is gone.
    fn receive(control: BorrowedFd<'_>) -> io::Result<Option<Self>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut word = [0];
        let mut into = [IoSliceMut::new(&mut word)];
        let got = recvmsg(control, &mut into, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        if got.bytes == 0 {
            return Ok(None);
        }
        let mut fds: Vec<OwnedFd> = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(fds) => Some(fds),
                _ => None,
            })
            .flatten()
            .collect();
        let door = if fds.len() > 3 { fds.pop() } else { None };
        let (Ok(pipes), [GO]) = (fds.try_into(), word) else {
            return Err(io::Error::other(
                "standard input is not a socket to the harness; only wirefault starts this",
            ));
        };
        let mut length = [0; 4];
        read_exact(control, &mut length)?;
        let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
        let mut args = vec![0; length];
        read_exact(control, &mut args)?;
        let args = serde_json::from_slice(&args)?;
        Ok(Some(Self { args, pipes, door }))
    }

    /// Starts the program. The pipes go with it: the client's end must be the
    /// end of them.
    fn spawn(self) -> io::Result<Child> {
        let [stdin, stdout, stderr] = self.pipes;
        let program = self
            .args
            .first()
            .ok_or_else(|| io::Error::other("no program was named"))?;
        let path = find(program)?;
        let exec = crate::system::Exec::new(&path, &self.args)?;
        let mut command = Command::new(path);
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        command.process_group(0);
        crate::system::die_with_parent(&mut command);
        if let Some(door) = self.door {
            virtual_time::enter(&mut command, door);
        }
        crate::system::exec_without_a_shell(&mut command, exec);
        command.spawn()
    }
}

fn read_exact(control: BorrowedFd<'_>, mut into: &mut [u8]) -> io::Result<()> {
    while !into.is_empty() {
        match rustix::io::read(control, &mut *into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => into = &mut into[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn watch(control: BorrowedFd<'_>, id: u32) -> io::Result<()> {
    let pid = i32::try_from(id)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("not a process id"))?;
    tell(control, &Status::Spawned { pid: id });
    let woken = wait(control, pid)?;
    let (exited, before) = end::client(
        woken,
        monotonic_ns,
        || sweep(Some(pid), |_| true),
        || reap_client(pid),
    );
    tell(control, &exited);
    let after = if no_child_is_left() {
        Swept::default()
    } else {
        sweep(None, |_| true)
    };
    tell(
        control,
        &Status::Swept {
            count: before.killed + after.killed,
            left: after.left,
        },
    );
    Ok(())
}

/// Waits for the client's end, an order, or the end of the harness.
fn wait(control: BorrowedFd<'_>, client: Pid) -> io::Result<Woken> {
    let client = pidfd_open(client, PidfdFlags::empty())?;
    loop {
        let mut fds = [
            PollFd::from_borrowed_fd(control, PollFlags::IN),
            PollFd::new(&client, PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if !fds[1].revents().is_empty() {
            return Ok(Woken::Ended);
        }
        if !fds[0].revents().is_empty() {
            let mut order = [0];
            match rustix::io::read(control, &mut order) {
                Ok(1) if order[0] == KILL => return Ok(Woken::Ordered),
                Ok(1) | Err(rustix::io::Errno::INTR) => {}
                _ => return Ok(Woken::Orphaned),
            }
        }
    }
}

/// Reaps the client, which has ended or was killed.
fn reap_client(pid: Pid) -> Reaped {
    let run_delay_ns = run_delay_ns(pid.as_raw_nonzero().get());
    let (code, signal) = reap_one(pid).map_or((None, None), |status| {
        (status.exit_status(), status.terminating_signal())
    });
    Reaped {
        code,
        signal,
        run_delay_ns,
    }
}

/// True when this process has no child, and so, being the subreaper, no
/// descendant at all. The usual case, told by one system call.
fn no_child_is_left() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
}

/// Keeps clients from filling the disk, by a file or by a core dump, and gives
/// them the usual number of descriptors, of which the harness takes more. Where
/// a limit is already lower it stays.
fn limit_files() {
    let lower = |resource, limit: u64, also_maximum: bool| {
        let now = rustix::process::getrlimit(resource);
        let least = |value: Option<u64>| Some(value.map_or(limit, |value| value.min(limit)));
        let maximum = if also_maximum {
            least(now.maximum)
        } else {
            now.maximum
        };
        let current = least(now.current);
        // Lowering is always allowed.
        let _ = setrlimit(resource, Rlimit { current, maximum });
    };
    lower(Resource::Fsize, LARGEST_FILE, true);
    lower(Resource::Core, 0, true);
    lower(Resource::Nofile, USUAL_DESCRIPTORS, false);
}

/// Tells the harness. When it is gone there is nobody to tell.
fn tell(control: BorrowedFd<'_>, status: &Status) {
    if let Ok(mut line) = serde_json::to_vec(status) {
        line.push(b'\n');
        // A line is far smaller than the socket's buffer.
        let _ = send(control, &line, SendFlags::NOSIGNAL);
    }
}
