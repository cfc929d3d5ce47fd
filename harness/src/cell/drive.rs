//! Runs the processes of a client through their cell: hands over the work, listens,
//! decides by [`Ending`] when it is over, and sees that nothing of them is left. Each
//! process has a driver; what they know of each other is in [`Together`].
//!
//! Everything seen goes into the evidence; nothing is judged here. All waiting
//! is on the cell's clock or on facts.

mod again;
mod orders;
mod ready;
mod statuses;
mod together;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use client_kit::protocol::Control;
use scenarios::evidence::ClientEvent;
use scenarios::verdict::EndedBy;
use scripted_servers::clock::{Busy, Clock};
use tokio::sync::watch;

use super::ending::{Act, Ending, Facts, Patience};
use super::kept::Kept;
use super::processors::Processors;
use super::streams::{Input, Output};
use super::talk::Talk;
use crate::cell::evidence::{EvidenceLog, Signals};
use crate::client::protocol::control_line;
use crate::launch::{Launcher, Status, Stdin, Watch};
use crate::run::{Interrupt, Slot};
pub(super) use again::Again;
use ready::Ready;
use together::Stand;
pub(super) use together::Together;

/// One process's way through a cell.
pub(super) struct Errand<'a> {
    /// Its number, from 1.
    pub(super) process: u32,
    /// It and the others.
    pub(super) together: &'a Together<'a>,
    /// The launcher that has been started for it.
    pub(super) launcher: Launcher,
    pub(super) args: Vec<String>,
    pub(super) stdin: Stdin,
    /// Its way into virtual time.
    pub(super) door: Option<OwnedFd>,
    pub(super) talk: Talk,
    pub(super) patience: Patience,
    pub(super) log: &'a EvidenceLog,
    pub(super) clock: &'a dyn Clock,
    /// Where what it prints is kept.
    pub(super) stdout: PathBuf,
    pub(super) stderr: PathBuf,
    /// The processor that it may keep busy, until it waits for something.
    pub(super) slot: Slot,
    /// Whether its waiting takes no time, so that it keeps the processor.
    pub(super) keeps_slot: bool,
    pub(super) interrupt: &'a Interrupt,
    /// Called before the client is killed because of what was counted.
    pub(super) stopping: &'a dyn Fn(),
    /// Where another process takes its place after a crash: how.
    pub(super) again: Again<'a>,
    /// Called with the id of the process when its end was seen.
    pub(super) end_seen: &'a dyn Fn(u32),
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
    /// It was killed on order, to be started again.
    Crashed,
}

/// Runs all processes of the client to their ends. With them come their launchers,
/// which are waited for when dropped.
pub(super) async fn drive_all(
    errands: Vec<Errand<'_>>,
    clock: &dyn Clock,
) -> io::Result<(Ended, Vec<Watch>)> {
    let _part = clock.take_part();
    let drives = errands.into_iter().map(|errand| async {
        let together = errand.together;
        let driven = drive(errand).await;
        if !matches!(driven, Ok((Ended::Ran(_) | Ended::Interrupted, _))) {
            together.break_off();
        }
        driven
    });
    let mut all = Vec::new();
    let mut watches = Vec::new();
    let mut failed = None;
    for driven in together::all(drives).await {
        match driven {
            Ok((ended, watch)) => {
                all.push(ended);
                watches.push(watch);
            }
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) => Err(error),
        None => Ok((together::ended(all), watches)),
    }
}

/// Runs one process to its end.
async fn drive(errand: Errand<'_>) -> io::Result<(Ended, Watch)> {
    let with_launcher = Some(errand.clock.busy());
    let launcher = errand.launcher;
    let launched = launcher.launch(&errand.args, errand.stdin, errand.door)?;
    let now = errand.clock.now();
    let mut driver = Driver {
        args: errand.args,
        talk: errand.talk,
        log: errand.log,
        clock: errand.clock,
        interrupt: errand.interrupt,
        process: errand.process,
        together: errand.together,
        news: errand.together.stand(),
        stopping: errand.stopping,
        end_seen: errand.end_seen,
        ending: Ending::starting(errand.patience, now),
        signals: errand.log.signals(),
        processors: Processors::new(errand.slot, errand.keeps_slot),
        with_launcher,
        stdin: Input::new(launched.stdin),
        stdout: Output::new(launched.stdout, Kept::create(&errand.stdout)?),
        stderr: Output::new(launched.stderr, Kept::create(&errand.stderr)?),
        until: now,
        heard_at: now,
        ready: None,
        has_work: false,
        pid: None,
        complete: false,
        ended_at: None,
        killed: false,
        interrupted: false,
        crash: Crash::default(),
        broken_off: false,
        ordered: false,
    };
    let mut watch = launched.watch;
    let mut ended = driver.run(&mut watch).await?;
    while ended == Ended::Crashed {
        let next = driver.start_again(&errand.again, (&errand.stdout, &errand.stderr));
        match next.await? {
            // The launcher that is done is waited for here.
            Some(next) => watch = next,
            None => return Ok((Ended::Interrupted, watch)),
        }
        ended = driver.run(&mut watch).await?;
    }
    Ok((ended, watch))
}

/// What became of the order to kill the client.
#[derive(Default)]
struct Crash {
    /// When it was given.
    ordered: Option<Duration>,
    /// It killed the process, which comes again.
    made: bool,
    /// Nothing that it had started is left.
    swept: bool,
}

struct Driver<'a> {
    args: Vec<String>,
    talk: Talk,
    log: &'a EvidenceLog,
    clock: &'a dyn Clock,
    interrupt: &'a Interrupt,
    process: u32,
    together: &'a Together<'a>,
    /// How it stands with all processes.
    news: watch::Receiver<Stand>,
    stopping: &'a dyn Fn(),
    end_seen: &'a dyn Fn(u32),
    ending: Ending,
    signals: watch::Receiver<Signals>,
    processors: Processors,
    /// While the launcher starts the client or ends it, which is real work.
    with_launcher: Option<Busy>,
    stdin: Input,
    stdout: Output,
    stderr: Output,
    /// What is decided now was last put off until then.
    until: Duration,
    /// When the client printed what was heard last, or was started.
    heard_at: Duration,
    /// Until it is known to be ready for its work, where others wait for that.
    ready: Option<Ready>,
    has_work: bool,
    pid: Option<u32>,
    /// Whether the last report has come.
    complete: bool,
    /// When the client ended, while what it left is looked at.
    ended_at: Option<Duration>,
    killed: bool,
    interrupted: bool,
    crash: Crash,
    /// Another process can not be run, so that this one is ended.
    broken_off: bool,
    /// Whether the order to cancel was given, or came too late.
    ordered: bool,
}

/// What woke the driver.
enum Woken {
    Status(Option<Status>),
    Stdout(io::Result<usize>),
    Stderr(io::Result<usize>),
    Sent(io::Result<usize>),
    Signals,
    News,
    Time,
    Interrupt,
}

impl Driver<'_> {
    async fn run(&mut self, launcher: &mut Watch) -> io::Result<Ended> {
        loop {
            if self.clock.now() >= self.until {
                self.processors.look(self.clock.now());
            }
            self.look_whether_ready();
            self.begin_with_all();
            let facts = self.facts();
            let until = match self.ending.next(self.clock.now(), &facts) {
                Act::WaitUntil(until) => until,
                Act::Finish => {
                    self.finish()?;
                    continue;
                }
                Act::Kill => {
                    self.processors.sample();
                    if facts.limit.is_some() {
                        (self.stopping)();
                    }
                    self.with_launcher = Some(self.clock.busy());
                    launcher.kill();
                    continue;
                }
                Act::Abandon => return self.broken(launcher, "does not answer"),
            };
            self.until = until;
            let look = self.ready.as_ref().map(Ready::next_look);
            let until = look.map_or(until, |look| look.min(until));
            let until = match self.crash(launcher) {
                Some(due) => until.min(due),
                None => until,
            };
            let until = self.order()?.map_or(until, |order| order.min(until));
            match self.wait(launcher, until).await? {
                Woken::Status(None) => {
                    return self.broken(launcher, "was killed, not by wirefault");
                }
                Woken::Status(Some(status)) => {
                    if let Some(ended) = self.status(status)? {
                        return Ok(ended);
                    }
                }
                Woken::Stdout(read) => {
                    let bytes = self.stdout.take(read?)?;
                    let events = self.talk.hear(bytes);
                    self.heard(events);
                }
                Woken::Stderr(read) => drop(self.stderr.take(read?)?),
                Woken::Sent(sent) => self.stdin.sent(sent),
                Woken::Signals => self.look_at_contact(),
                Woken::Time => self.processors.look(self.clock.now()),
                Woken::News => {
                    if self.news.borrow_and_update().broken && !self.broken_off {
                        self.broken_off = true;
                        self.kill(launcher);
                    }
                }
                Woken::Interrupt => {
                    self.interrupted = true;
                    self.error("the run was interrupted".to_owned());
                    self.kill(launcher);
                }
            }
        }
    }

    /// Has the process killed, for reasons that are not its own.
    fn kill(&mut self, launcher: &Watch) {
        self.ending.going(self.clock.now());
        self.with_launcher = Some(self.clock.busy());
        launcher.kill();
    }

    async fn wait(&mut self, launcher: &mut Watch, until: Duration) -> io::Result<Woken> {
        let look = self.processors.next_look();
        let until = look.map_or(until, |look| look.min(until));
        let woken = tokio::select! {
            // What the client said before it ended is heard before its end, and
            // a client that prints without end cannot hide what is rarer.
            biased;
            () = self.interrupt.raised(), if !self.interrupted => Woken::Interrupt,
            _ = self.signals.changed() => Woken::Signals,
            _ = self.news.changed() => Woken::News,
            sent = self.stdin.send() => Woken::Sent(sent),
            read = self.stdout.read() => Woken::Stdout(read),
            read = self.stderr.read() => Woken::Stderr(read),
            status = launcher.status() => Woken::Status(status?),
            _ = self.clock.sleep_until(until) => Woken::Time,
        };
        Ok(woken)
    }

    fn facts(&self) -> Facts {
        Facts {
            complete: self.together.all_complete(),
            last_traffic: self.log.last_traffic(),
            at_work: self.processors.at_work(),
            starved: self.processors.starved(),
            limit: self.signals.borrow().limit,
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.tell(ClientEvent::FinishSent);
        self.stdin.add(&control_line(&Control::Finish {})?);
        Ok(())
    }

    /// Takes what the client has said. It was said when it was printed, however late
    /// it is read.
    fn heard(&mut self, events: Vec<ClientEvent>) {
        let is_report = |event: &ClientEvent| matches!(event, ClientEvent::Report(_));
        let reported = events.iter().any(is_report);
        // Of several in one go only the first was dated exactly, and the last is
        // what the pipe tells of: they count as said now, which is never too early.
        let ago = if events.len() > 1 {
            Duration::ZERO
        } else {
            self.stdout.printed_ago()
        };
        let printed = self.clock.shortly_before(self.clock.now(), ago);
        let at = printed.min(self.ended_at.unwrap_or(Duration::MAX));
        self.heard_at = at.max(self.heard_at);
        for event in events {
            self.log.process_at(self.process, self.heard_at, event);
        }
        if reported && self.processors.sample() {
            self.tell(self.processors.run_delay());
        }
        if !self.complete && self.talk.is_complete() {
            let now = self.clock.now();
            self.complete = true;
            self.together.complete(now);
            self.processors.watch(now);
        }
    }

    fn hear_the_rest(&mut self) -> io::Result<()> {
        let mut events = Vec::new();
        let talk = &mut self.talk;
        self.stdout
            .take_the_rest(|bytes| events.extend(talk.hear(bytes)))?;
        self.stderr.take_the_rest(|_| ())?;
        self.heard(events);
        Ok(())
    }

    fn look_at_contact(&mut self) {
        // Of several processes, nobody knows which one it was.
        let contact = self.signals.borrow_and_update().contact;
        if contact && self.together.is_one() {
            self.processors.waits();
        }
    }

    fn error(&self, reason: String) {
        self.tell(ClientEvent::HarnessError { reason });
    }

    /// Leaves evidence. What is only noticed when the client has ended happened
    /// before that.
    fn tell(&self, event: ClientEvent) {
        let at = self.ended_at.unwrap_or(Duration::MAX);
        self.log.process_at(self.process, at, event);
    }
}
