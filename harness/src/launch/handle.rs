//! The harness's side of a launcher.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, send, sendmsg};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{getpid, set_child_subreaper};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use virtual_time::Starting;

use super::procfs::Stat;
use super::stamped;
use super::tree::sweep;
use super::{ARGUMENT, GO, KILL, Status};

/// What a program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// A pipe from the harness.
    Piped,
    /// Nothing: `/dev/null`.
    Nothing,
}

/// A launcher that waits for a program to start. It takes a while to be ready,
/// so it is started ahead of what can be prepared meanwhile.
#[derive(Debug)]
pub struct Launcher {
    // Dropped before `process`, which then sees the end and is done.
    control: StdUnixStream,
    process: Process,
    folder: PathBuf,
}

impl Launcher {
    /// Starts a launcher. `environment` and `folder` will be the program's; it
    /// gets nothing else from this process.
    pub fn start(
        wirefault: &Path,
        environment: &[(&'static str, OsString)],
        folder: &Path,
    ) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let mut command = Command::new(wirefault);
        command.arg(ARGUMENT);
        command.env_clear();
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(folder);
        command.stdin(OwnedFd::from(theirs));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self {
            control: ours,
            process: Process::spawn(command)?,
            folder: folder.to_owned(),
        })
    }

    /// Has the program started: `args` are the program and its arguments.
    /// Whether it did start comes as the first [`Status`].
    /// Through a `door` it goes into virtual time.
    pub fn launch(
        self,
        args: &[String],
        stdin: Stdin,
        door: Option<OwnedFd>,
    ) -> io::Result<Launched> {
        let (client_stdin, stdin) = match stdin {
            Stdin::Piped => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                (read, Some(pipe::Sender::from_owned_fd(write)?))
            }
            Stdin::Nothing => (std::fs::File::open("/dev/null")?.into(), None),
        };
        let (stdout, client_stdout) = stamped::pipe(&self.folder)?;
        let (stderr, client_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        send_order(
            &self.control,
            args,
            &[client_stdin, client_stdout, client_stderr],
            door,
        )?;
        self.control.set_nonblocking(true)?;
        Ok(Launched {
            stdin,
            stdout: pipe::Receiver::from_owned_fd(stdout)?,
            stderr: pipe::Receiver::from_owned_fd(stderr)?,
            watch: Watch::over(self)?,
        })
    }
}

/// A program under test. Dropped, it is killed with all that it started.
#[derive(Debug)]
pub struct Launched {
    /// To the program; none when it reads nothing.
    pub stdin: Option<pipe::Sender>,
    /// From the program.
    pub stdout: pipe::Receiver,
    /// From the program.
    pub stderr: pipe::Receiver,
    /// Its launcher, which watches over it.
    pub watch: Watch,
}

/// A launcher that watches over its program.
#[derive(Debug)]
pub struct Watch {
    // Dropped before `process`, which then sees the end and cleans up.
    control: UnixStream,
    process: Process,
    received: Vec<u8>,
}

impl Watch {
    fn over(launcher: Launcher) -> io::Result<Self> {
        // The socket must be gone before the process is waited for, on failure
        // too: values are dropped in the reverse order.
        let process = launcher.process;
        let control = UnixStream::from_std(launcher.control)?;
        Ok(Self {
            control,
            process,
            received: Vec::new(),
        })
    }

    /// The next status; none when the launcher is gone. May be dropped while it
    /// waits without losing anything.
    pub async fn status(&mut self) -> io::Result<Option<Status>> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                let status = serde_json::from_slice(&line)?;
                if matches!(status, Status::Swept { .. } | Status::NotSpawned { .. }) {
                    self.process.cleaned_up = true;
                }
                return Ok(Some(status));
            }
            self.control.readable().await?;
            let mut chunk = [0; 1024];
            match self.control.try_read(&mut chunk) {
                Ok(0) => return Ok(None),
                Ok(length) => self.received.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Has the program killed, with all that it started.
    pub fn kill(&self) {
        // Past the runtime, which takes a socket that it has not yet looked at
        // for one that is not ready. A launcher that cannot be told is gone,
        // which `status` shows.
        let _ = send(&self.control, &[KILL], SendFlags::NOSIGNAL);
    }

    /// Ends a launcher that does not answer, and sweeps in its place. Tells how
    /// many processes were killed.
    pub fn abandon(&mut self) -> u32 {
        let _ = self.process.child.kill();
        let _ = self.process.child.wait();
        self.process.cleaned_up = true;
        sweep_orphans()
    }
}

/// The order to start a program: [`GO`], the length of what follows, and the
/// arguments as JSON. The pipes go with its first byte, and the door behind them.
fn send_order(
    control: &StdUnixStream,
    args: &[String],
    pipes: &[OwnedFd; 3],
    door: Option<OwnedFd>,
) -> io::Result<()> {
    let args = serde_json::to_vec(args)?;
    let length = u32::try_from(args.len()).map_err(io::Error::other)?;
    let mut order = vec![GO];
    order.extend(length.to_le_bytes());
    order.extend(args);
    let fds: Vec<_> = pipes.iter().chain(&door).map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let bytes = [IoSlice::new(&order)];
    let sent = sendmsg(control, &bytes, &mut ancillary, SendFlags::NOSIGNAL)?;
    let mut control = control;
    control.write_all(&order[sent..])
}

/// Launchers that were started and not yet waited for.
static LAUNCHERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn launchers() -> MutexGuard<'static, BTreeSet<u32>> {
    LAUNCHERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A launcher's process, waited for when dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    cleaned_up: bool,
}

impl Process {
    fn spawn(mut command: Command) -> io::Result<Self> {
        // Under the lock, so that no launcher is ever taken for an orphan.
        let mut launchers = launchers();
        let starting = Starting::begin();
        let child = command.spawn()?;
        drop(starting);
        launchers.insert(child.id());
        Ok(Self {
            child,
            cleaned_up: false,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The launcher's own work is bounded, and it sees that its socket ended.
        let _ = self.child.wait();
        launchers().remove(&self.child.id());
        if !self.cleaned_up {
            sweep_orphans();
        }
    }
}

/// Makes this process the parent of what a killed launcher leaves behind, so
/// that it is still found.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills what launchers that were themselves killed have left to this process.
/// Such a process is known by its session: launchers lead sessions of their
/// own, and no process can enter one that exists. All else that this process
/// has started shares its session.
fn sweep_orphans() -> u32 {
    let own = getpid().as_raw_nonzero().get();
    // Read where the others' are read: a session that was begun outside of this
    // process's PID namespace, as in many containers, has the id 0.
    let Some(session) = Stat::of(own).map(|stat| stat.session) else {
        return 0;
    };
    let launchers = launchers();
    let is_orphan = |pid: i32| u32::try_from(pid).is_ok_and(|pid| !launchers.contains(&pid));
    sweep(None, |stat| stat.session != session && is_orphan(stat.pid)).killed
}
