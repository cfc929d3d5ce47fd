//! The harness's side of a launcher.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, send, sendmsg};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{getpid, getsid, set_child_subreaper};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::tree::sweep;
use super::{ARGUMENT, GO, KILL, Status};

/// A program to start.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// The program and its arguments.
    pub args: &'a [String],
    /// Its whole environment; nothing else is passed on.
    pub environment: &'a [(&'static str, OsString)],
    /// The folder it works in.
    pub folder: &'a Path,
    /// What it reads.
    pub stdin: Stdin,
}

/// What a program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// A pipe from the harness.
    Piped,
    /// Nothing: `/dev/null`.
    Nothing,
}

/// A program under test with its launcher. Dropped, it is killed with all that
/// it started.
#[derive(Debug)]
pub struct Launched {
    /// To the program; none when it reads nothing.
    pub stdin: Option<pipe::Sender>,
    /// From the program.
    pub stdout: pipe::Receiver,
    /// From the program.
    pub stderr: pipe::Receiver,
    /// What watches over the program.
    pub launcher: Launcher,
}

impl Launched {
    /// Starts a launcher and has it start the program. Whether it did comes as
    /// the first [`Status`].
    pub fn start(wirefault: &Path, program: &Program<'_>) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let (client_stdin, stdin) = match program.stdin {
            Stdin::Piped => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                (read, Some(pipe::Sender::from_owned_fd(write)?))
            }
            Stdin::Nothing => (std::fs::File::open("/dev/null")?.into(), None),
        };
        let (stdout, client_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, client_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        // Sent ahead: the launcher finds them waiting.
        send_pipes(&ours, [client_stdin, client_stdout, client_stderr])?;
        let mut command = Command::new(wirefault);
        command.arg(ARGUMENT).args(program.args);
        command.env_clear();
        let environment = program.environment.iter();
        command.envs(environment.map(|(name, value)| (name, value)));
        command.current_dir(program.folder);
        command.stdin(OwnedFd::from(theirs));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self {
            stdin,
            stdout: pipe::Receiver::from_owned_fd(stdout)?,
            stderr: pipe::Receiver::from_owned_fd(stderr)?,
            launcher: Launcher::start(ours, command)?,
        })
    }
}

/// The launcher of one program.
#[derive(Debug)]
pub struct Launcher {
    // Dropped before `process`, which then sees the end and cleans up.
    control: UnixStream,
    process: Process,
    received: Vec<u8>,
}

impl Launcher {
    fn start(control: StdUnixStream, command: Command) -> io::Result<Self> {
        control.set_nonblocking(true)?;
        Ok(Self {
            control: UnixStream::from_std(control)?,
            process: Process::spawn(command)?,
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

fn send_pipes(control: &StdUnixStream, pipes: [OwnedFd; 3]) -> io::Result<()> {
    let fds = [pipes[0].as_fd(), pipes[1].as_fd(), pipes[2].as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let word = [IoSlice::new(&[GO])];
    sendmsg(control, &word, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
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
        let child = command.spawn()?;
        launchers.insert(child.id());
        Ok(Self {
            child,
            cleaned_up: false,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The launcher's own work is bounded, and it sees that we are gone.
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
    let Ok(own) = getsid(None) else {
        return 0;
    };
    let launchers = launchers();
    let is_orphan = |pid: i32| u32::try_from(pid).is_ok_and(|pid| !launchers.contains(&pid));
    let own = own.as_raw_nonzero().get();
    sweep(None, |stat| stat.session != own && is_orphan(stat.pid)).killed
}
