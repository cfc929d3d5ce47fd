//! A client that is killed at its moment, and started again in the same folder with the
//! same work.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use scenarios::evidence::ClientEvent;

use super::{Crash, Driver, Input, Kept, Output};
use crate::cell::folder::CellFolder;
use crate::launch::{Launcher, Stdin, Watch};

/// How another process takes the place of one that was killed.
pub(in crate::cell) struct Again<'a> {
    /// How long after the end of that one.
    pub(in crate::cell) after: Duration,
    pub(in crate::cell) stdin: Stdin,
    /// A launcher for it, and its way into virtual time.
    pub(in crate::cell) launcher: &'a dyn Fn() -> io::Result<(Launcher, Option<OwnedFd>)>,
}

impl Driver<'_> {
    /// Has the client killed if that is due; when to look again, where it will be.
    pub(super) fn crash(&mut self, launcher: &Watch) -> Option<Duration> {
        let due = self.signals.borrow().crash?;
        let lives = self.has_work && self.ended_at.is_none();
        if self.crash.ordered.is_some() || !lives || self.interrupted || self.broken_off {
            return None;
        }
        let now = self.clock.now();
        if now < due {
            return Some(due);
        }
        self.crash.ordered = Some(now);
        self.processors.sample();
        self.log
            .process_at(self.process, now, ClientEvent::CrashOrdered);
        // What its end cuts off, it has not sat out.
        (self.stopping)();
        self.kill(launcher);
        None
    }

    /// Whether the end that was just seen is the crash.
    pub(super) fn is_crash(&self, killed: bool) -> bool {
        let Crash { ordered, made, .. } = self.crash;
        killed && ordered.is_some() && !made && !self.interrupted && !self.broken_off
    }

    /// Starts the next process when its time has come; none: the run was interrupted.
    pub(super) async fn start_again(
        &mut self,
        again: &Again<'_>,
        (stdout, stderr): (&Path, &Path),
    ) -> io::Result<Option<Watch>> {
        // It takes a while to be ready.
        let (launcher, door) = (again.launcher)()?;
        let ended = self.crash.ordered.unwrap_or_default();
        let at = ended.saturating_add(again.after);
        let busy = tokio::select! {
            biased;
            () = self.interrupt.raised() => {
                self.error("the run was interrupted".to_owned());
                self.together.ended(self.clock.now(), self.complete);
                return Ok(None);
            }
            busy = self.clock.sleep_until(at) => busy,
        };
        self.with_launcher = Some(self.clock.busy());
        drop(busy);
        let launched = launcher.launch(&self.args, again.stdin, door)?;
        self.talk.again();
        self.stdin = Input::new(launched.stdin);
        let kept = |printed| Kept::create(&CellFolder::again(printed));
        self.stdout = Output::new(launched.stdout, kept(stdout)?);
        self.stderr = Output::new(launched.stderr, kept(stderr)?);
        self.ending.starting_again(self.clock.now());
        (self.killed, self.has_work, self.pid) = (false, false, None);
        Ok(Some(launched.watch))
    }
}
