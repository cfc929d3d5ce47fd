//! Runs one client through its cell: hands over the work, listens, decides by
//! [`Ending`] when it is over, and sees that nothing of it is left.
//!
//! Everything seen goes into the evidence; nothing is judged here. All waiting
//! is on the cell's clock or on facts.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use client_kit::protocol::Control;
use scenarios::evidence::ClientEvent;
use scenarios::manifest::CommandLine;
use scenarios::verdict::EndedBy;
use scripted_servers::clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::watch;

use super::ending::{Act, Ending, Facts, Patience};
use super::kept::Kept;
use crate::command;
use crate::evidence::{EvidenceLog, Signals};
use crate::launch::{Launched, Launcher, Program, Status, Usage};
use crate::protocol::{Conversation, control_line};
use crate::run::{Interrupt, Slot};

/// How a client is spoken with.
pub(super) enum Talk {
    /// By the client protocol.
    Protocol {
        /// The line with the work.
        work: Vec<u8>,
        /// What it is asked to report on.
        conversation: Conversation,
    },
    /// Not at all: its exit code is its report.
    Command {
        /// How it shows what happened.
        line: CommandLine,
        /// Number of the call that it makes.
        call: u32,
        /// Where it saves the answer's content.
        output: PathBuf,
    },
}

/// One client's way through a cell.
pub(super) struct Errand<'a> {
    pub(super) wirefault: &'a std::path::Path,
    pub(super) program: Program<'a>,
    pub(super) talk: Talk,
    pub(super) patience: Patience,
    pub(super) log: &'a EvidenceLog,
    pub(super) clock: &'a dyn Clock,
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
    /// The processor that it may keep busy, until it waits for something.
    pub(super) slot: Slot,
    pub(super) interrupt: &'a Interrupt,
    /// Called in the moment in which the client is known to have ended. May
    /// block while the servers read out what it has left.
    pub(super) client_ended: &'a (dyn Fn() + Sync),
}

/// How an errand ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The client ran and is gone.
    Ran(EndedBy),
    /// The program could not be started.
    NotStarted {
        /// Whether there is no such program.
        missing: bool,
        /// Why, in words.
        reason: String,
    },
    /// The run was interrupted; the client is gone.
    Interrupted,
    /// The launcher broke; the client is gone. The evidence says how.
    Broken,
}

/// Time between two looks at whether the client still uses a processor.
const IDLE_CHECK: Duration = Duration::from_millis(100);

/// Bytes read at once.
const CHUNK: usize = 32 * 1024;

/// Bytes that are read of a stream once the client has ended. A pipe holds far
/// less; only something that still writes could make it more.
const REST: usize = 16 * 1024 * 1024;

/// Runs the client to its end.
pub(super) async fn drive(errand: Errand<'_>) -> io::Result<Ended> {
    let launched = Launched::start(errand.wirefault, &errand.program)?;
    let Launched {
        stdin,
        stdout,
        stderr,
        launcher,
    } = launched;
    let mut driver = Driver {
        ending: Ending::starting(errand.patience, errand.clock.now()),
        signals: errand.log.signals(),
        errand,
        stdin,
        stdout: Some(stdout),
        stderr: Some(stderr),
        unsent: Vec::new(),
        pid: None,
        complete: None,
        killed: false,
        outcome: None,
        delays: BTreeMap::new(),
        last_run: None,
        next_idle_check: None,
    };
    driver.run(launcher).await
}

struct Driver<'a> {
    errand: Errand<'a>,
    ending: Ending,
    signals: watch::Receiver<Signals>,
    stdin: Option<pipe::Sender>,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    /// Bytes for the client's stdin that its pipe did not take yet.
    unsent: Vec<u8>,
    pid: Option<u32>,
    complete: Option<Duration>,
    killed: bool,
    /// What ended it, when that is not a count or a time.
    outcome: Option<Ended>,
    /// Run delay by thread, as last seen.
    delays: BTreeMap<i32, u64>,
    last_run: Option<u64>,
    next_idle_check: Option<Duration>,
}

/// What woke the driver.
enum Woken {
    Status(Option<Status>),
    Stdout(io::Result<usize>),
    Stderr(io::Result<usize>),
    Sent(io::Result<usize>),
    Signals,
    Time,
    Interrupt,
}

impl Driver<'_> {
    async fn run(&mut self, mut launcher: Launcher) -> io::Result<Ended> {
        let mut out = vec![0; CHUNK];
        let mut err = vec![0; CHUNK];
        loop {
            let facts = self.facts();
            let until = match self.ending.next(self.errand.clock.now(), &facts) {
                Act::WaitUntil(until) => until,
                Act::Finish => {
                    self.finish()?;
                    continue;
                }
                Act::Kill => {
                    self.sample();
                    launcher.kill();
                    continue;
                }
                Act::Abandon => {
                    self.launcher_failed(&mut launcher, "does not answer")?;
                    return Ok(Ended::Broken);
                }
            };
            match self.wait(&mut launcher, until, &mut out, &mut err).await? {
                Woken::Status(None) => {
                    self.launcher_failed(&mut launcher, "was killed, not by wirefault")?;
                    return Ok(Ended::Broken);
                }
                Woken::Status(Some(status)) => {
                    if let Some(ended) = self.status(status)? {
                        return Ok(ended);
                    }
                }
                Woken::Stdout(read) => self.stdout_read(read, &out)?,
                Woken::Stderr(read) => self.stderr_read(read, &err)?,
                Woken::Sent(sent) => self.sent(sent),
                Woken::Signals => self.look_at_contact(),
                Woken::Time => self.look_at_idle(),
                Woken::Interrupt => {
                    self.outcome = Some(Ended::Interrupted);
                    self.error("the run was interrupted".to_owned());
                    self.ending.going(self.errand.clock.now());
                    launcher.kill();
                }
            }
        }
    }

    async fn wait(
        &mut self,
        launcher: &mut Launcher,
        until: Duration,
        out: &mut [u8],
        err: &mut [u8],
    ) -> io::Result<Woken> {
        let until = self.next_idle_check.map_or(until, |check| check.min(until));
        let interrupted = self.outcome.is_some();
        let woken = tokio::select! {
            // What the client said before it ended is heard before its end, and
            // a client that prints without end cannot hide what is rarer.
            biased;
            () = self.errand.interrupt.raised(), if !interrupted => Woken::Interrupt,
            _ = self.signals.changed() => Woken::Signals,
            sent = send(&mut self.stdin, &self.unsent) => Woken::Sent(sent),
            read = read(&mut self.stdout, out) => Woken::Stdout(read),
            read = read(&mut self.stderr, err) => Woken::Stderr(read),
            status = launcher.status() => Woken::Status(status?),
            _ = self.errand.clock.sleep_until(until) => Woken::Time,
        };
        Ok(woken)
    }

    fn facts(&self) -> Facts {
        Facts {
            complete: self.complete,
            last_traffic: self.errand.log.last_traffic(),
            limit: self.signals.borrow().limit,
        }
    }

    /// Acts on a status; the end, when it was the last one.
    fn status(&mut self, status: Status) -> io::Result<Option<Ended>> {
        match status {
            Status::Spawned { pid } => self.spawned(pid),
            Status::NotSpawned { missing, reason } => {
                (self.errand.client_ended)();
                let ended = Ended::NotStarted { missing, reason };
                return Ok(Some(self.outcome.take().unwrap_or(ended)));
            }
            Status::Exited {
                code,
                signal,
                killed,
                run_delay_ns,
                ..
            } => {
                let client_ended = self.errand.client_ended;
                // Beside each other: neither the servers nor the times of what
                // the client has said last may have to wait.
                std::thread::scope(|scope| {
                    scope.spawn(client_ended);
                    self.exited(code, signal, killed, run_delay_ns)
                })?;
            }
            Status::Swept { count, left } => return self.swept(count, left).map(Some),
        }
        Ok(None)
    }

    fn spawned(&mut self, pid: u32) {
        let now = self.errand.clock.now();
        self.pid = Some(pid);
        self.ending.working(now);
        let args = self.errand.program.args.to_vec();
        self.errand.log.client(ClientEvent::Spawned { pid, args });
        self.next_idle_check = Some(now + IDLE_CHECK);
        self.errand.log.client(ClientEvent::Work);
        if let Talk::Protocol { work, .. } = &mut self.errand.talk {
            self.unsent = std::mem::take(work);
        }
    }

    fn exited(
        &mut self,
        code: Option<i32>,
        signal: Option<i32>,
        killed: bool,
        run_delay_ns: u64,
    ) -> io::Result<()> {
        self.errand.slot.release();
        self.next_idle_check = None;
        self.unsent.clear();
        self.killed = killed;
        self.hear_the_rest()?;
        self.conclude(code);
        if let Some(tid) = self.pid.and_then(|pid| i32::try_from(pid).ok()) {
            self.delays.insert(tid, run_delay_ns);
        }
        self.log_run_delay();
        self.errand.log.client(ClientEvent::Exited {
            code,
            signal,
            killed,
        });
        self.ending.going(self.errand.clock.now());
        Ok(())
    }

    /// What the exit code says, where it says something.
    fn conclude(&mut self, code: Option<i32>) {
        let stderr = self.errand.stderr.seen();
        let event = match &self.errand.talk {
            Talk::Command { line, call, output } => {
                let stdout = self.errand.stdout.seen();
                command::shown(line, *call, code, stdout, stderr, output)
            }
            Talk::Protocol { conversation, .. } => {
                let unsupported = code == Some(command::UNSUPPORTED) && !conversation.is_complete();
                unsupported.then(|| ClientEvent::Unsupported {
                    reason: command::unsupported(stderr),
                })
            }
        };
        if let Some(event) = event {
            self.errand.log.client(event);
        }
    }

    fn swept(&mut self, count: u32, left: u32) -> io::Result<Ended> {
        if count > 0 {
            self.errand.log.client(ClientEvent::Swept { count });
        }
        if left > 0 {
            self.error(format!(
                "{left} processes that the client started could not be killed"
            ));
        }
        self.hear_the_rest()?;
        self.errand.stdout.end()?;
        self.errand.stderr.end()?;
        let limit = self.signals.borrow().limit;
        let ended = Ended::Ran(self.ending.ended_by(self.killed, limit));
        Ok(self.outcome.take().unwrap_or(ended))
    }

    /// Without its launcher the client is dead too: the kernel has seen to that,
    /// and what it had started is swept here.
    fn launcher_failed(&mut self, launcher: &mut Launcher, how: &str) -> io::Result<()> {
        let count = launcher.abandon();
        (self.errand.client_ended)();
        self.errand.slot.release();
        self.hear_the_rest()?;
        self.error(format!(
            "the launcher, which starts and watches the client, {how}"
        ));
        if count > 0 {
            self.errand.log.client(ClientEvent::Swept { count });
        }
        self.errand.stdout.end()?;
        self.errand.stderr.end()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.errand.log.client(ClientEvent::FinishSent);
        self.unsent.extend(control_line(&Control::Finish {})?);
        Ok(())
    }

    fn sent(&mut self, sent: io::Result<usize>) {
        match sent {
            Ok(count) => drop(self.unsent.drain(..count)),
            // The client has closed its stdin. Its reports tell what it makes
            // of that.
            Err(_) => {
                self.stdin = None;
                self.unsent.clear();
            }
        }
    }

    fn stdout_read(&mut self, read: io::Result<usize>, chunk: &[u8]) -> io::Result<()> {
        let count = read?;
        if count == 0 {
            self.stdout = None;
        }
        self.heard(&chunk[..count])
    }

    fn stderr_read(&mut self, read: io::Result<usize>, chunk: &[u8]) -> io::Result<()> {
        let count = read?;
        if count == 0 {
            self.stderr = None;
        }
        self.errand.stderr.take(&chunk[..count])
    }

    /// Takes what the client has printed; nothing means that its stdout ended.
    fn heard(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.errand.stdout.take(bytes)?;
        let Talk::Protocol { conversation, .. } = &mut self.errand.talk else {
            return Ok(());
        };
        let events = if bytes.is_empty() {
            conversation.end().into_iter().collect()
        } else {
            conversation.hear(bytes)
        };
        let complete = conversation.is_complete();
        let reported = events
            .iter()
            .any(|event| matches!(event, ClientEvent::Report(_)));
        for event in events {
            self.errand.log.client(event);
        }
        if reported {
            self.sample();
            self.log_run_delay();
        }
        if complete && self.complete.is_none() {
            self.complete = Some(self.errand.clock.now());
        }
        Ok(())
    }

    /// Takes what the pipes still hold. Past the runtime, which may not know
    /// yet that they are ready.
    fn hear_the_rest(&mut self) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let mut room = REST;
        while let Some(count) = read_now(self.stdout.as_ref(), &mut chunk)? {
            self.stdout_read(Ok(count), &chunk)?;
            room = room.saturating_sub(count.max(1));
            if room == 0 {
                break;
            }
        }
        let mut room = REST;
        while let Some(count) = read_now(self.stderr.as_ref(), &mut chunk)? {
            self.stderr_read(Ok(count), &chunk)?;
            room = room.saturating_sub(count.max(1));
            if room == 0 {
                break;
            }
        }
        Ok(())
    }

    fn look_at_contact(&mut self) {
        if self.signals.borrow_and_update().contact {
            self.errand.slot.release();
            self.next_idle_check = None;
        }
    }

    /// A client that never connects gives its processor back when it has gone
    /// idle.
    fn look_at_idle(&mut self) {
        let now = self.errand.clock.now();
        let (Some(pid), Some(check)) = (self.pid, self.next_idle_check) else {
            return;
        };
        if now < check {
            return;
        }
        let usage = Usage::of_tree(pid);
        if self.last_run == Some(usage.run_ns) && !usage.wants_to_run {
            self.errand.slot.release();
            self.next_idle_check = None;
        } else {
            self.last_run = Some(usage.run_ns);
            self.next_idle_check = Some(now + IDLE_CHECK);
        }
    }

    fn sample(&mut self) {
        if let Some(pid) = self.pid {
            self.delays.extend(Usage::of_tree(pid).delay_ns);
        }
    }

    fn log_run_delay(&self) {
        let micros = self.delays.values().sum::<u64>() / 1000;
        self.errand.log.client(ClientEvent::RunDelay { micros });
    }

    fn error(&self, reason: String) {
        self.errand.log.client(ClientEvent::HarnessError { reason });
    }
}

/// Reads from a stream that may have ended; then never.
async fn read(stream: &mut Option<pipe::Receiver>, into: &mut [u8]) -> io::Result<usize> {
    match stream {
        Some(stream) => stream.read(into).await,
        None => std::future::pending().await,
    }
}

/// Sends what is unsent; never, when that is nothing.
async fn send(stdin: &mut Option<pipe::Sender>, unsent: &[u8]) -> io::Result<usize> {
    match stdin {
        Some(stdin) if !unsent.is_empty() => stdin.write(unsent).await,
        _ => std::future::pending().await,
    }
}

/// Reads what is there; none, when there is nothing now.
fn read_now(stream: Option<&pipe::Receiver>, into: &mut [u8]) -> io::Result<Option<usize>> {
    let Some(stream) = stream else {
        return Ok(None);
    };
    match rustix::io::read(stream.as_fd(), into) {
        Ok(count) => Ok(Some(count)),
        Err(rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
