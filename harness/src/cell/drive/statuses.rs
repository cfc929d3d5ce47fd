//! What the launcher tells the driver: the client's start, its end, and the
//! sweep of what it left; or that the launcher itself is gone.

use std::io;
use std::time::Duration;

use scenarios::evidence::ClientEvent;

use super::{Driver, Ended, Ready};
use crate::cell::talk::Talk;
use crate::launch::{Status, Watch};

impl Driver<'_> {
    /// Acts on a status; the end, when it was the last one.
    pub(super) fn status(&mut self, status: Status) -> io::Result<Option<Ended>> {
        match status {
            Status::Spawned { pid } => self.spawned(pid),
            Status::NotSpawned { missing, reason } => {
                self.together.ended(self.clock.now(), self.complete);
                let ended = Ended::NotStarted { missing, reason };
                return Ok(Some(self.unless_interrupted(ended)));
            }
            Status::Exited {
                code,
                signal,
                killed,
                monotonic_ns,
                run_delay_ns,
            } => {
                let ago = crate::launch::monotonic_ns().saturating_sub(monotonic_ns);
                let ago = Duration::from_nanos(ago);
                let ended_at = self.clock.before(self.clock.now(), ago);
                // It was not killed before that was ordered.
                let ended_at = ended_at.max(self.crash.ordered.unwrap_or_default());
                let is_crash = self.is_crash(killed);
                // What it left behind is killed now.
                self.with_launcher = Some(self.clock.busy());
                self.ended_at = Some(ended_at);
                self.killed = killed;
                if is_crash {
                    self.processors.crashed(run_delay_ns);
                } else {
                    self.processors.ended(run_delay_ns);
                }
                // The servers first. They take their time, but what the client
                // left in its pipes stays there, and its time is known.
                if is_crash {
                    self.crash.made = true;
                    (self.together.client_crashed)(ended_at);
                } else {
                    self.together.ended(ended_at, self.complete);
                    self.complete = true;
                }
                self.ready = None;
                (self.end_seen)(self.pid.unwrap_or_default());
                self.exited(code, signal)?;
                self.ending.ended(ended_at, self.clock.now());
            }
            Status::Swept { count, left } if self.crash.made && !self.crash.swept => {
                self.crash.swept = true;
                self.swept(count, left)?;
                let ended = self.unless_interrupted(Ended::Crashed);
                return Ok(Some(ended));
            }
            Status::Swept { count, left } => return self.swept(count, left).map(Some),
        }
        Ok(None)
    }

    fn spawned(&mut self, pid: u32) {
        let now = self.clock.now();
        self.with_launcher = None;
        self.heard_at = now;
        self.pid = Some(pid);
        self.processors.started(pid, now);
        let args = self.args.clone();
        self.tell(ClientEvent::Spawned { pid, args });
        // One that takes the place of a killed one has its work at once.
        let waits = self.together.working().is_none();
        if waits && self.together.is_one() {
            self.together.ready();
        } else if waits {
            self.ending.waits_for_others(now);
            self.ready = Some(Ready::from(now));
        }
    }

    /// Looks, where that is due, whether the process waits for its work.
    pub(super) fn look_whether_ready(&mut self) {
        let now = self.clock.now();
        let Some(ready) = self.ready.as_mut().filter(|ready| now >= ready.next_look()) else {
            return;
        };
        if ready.is_ready(now, self.processors.wants_to_run()) {
            self.ready = None;
            // What it was kept from while it loaded is not held against its work.
            if self.processors.sample() {
                self.tell(self.processors.run_delay());
            }
            self.together.ready();
        }
    }

    /// Whether the process has been started and is not known to have ended.
    fn is_running(&self) -> bool {
        self.pid.is_some() && self.ended_at.is_none()
    }

    /// Hands over the work, once all processes are ready for it.
    pub(super) fn begin_with_all(&mut self) {
        let began = self.together.working();
        let Some(began) = began.filter(|_| !self.has_work && self.is_running()) else {
            return;
        };
        self.has_work = true;
        // The deadline is that of the whole work.
        self.ending.working(began);
        let at = if self.crash.made {
            self.heard_at
        } else {
            began
        };
        self.log.process_at(self.process, at, ClientEvent::Work);
        if let Talk::Protocol { work, .. } = &self.talk {
            self.stdin.add(work);
        }
    }

    /// All that is left of an ended client is what it has printed.
    fn exited(&mut self, code: Option<i32>, signal: Option<i32>) -> io::Result<()> {
        self.stdin.end();
        self.hear_the_rest()?;
        let (stdout, stderr) = (self.stdout.seen(), self.stderr.seen());
        if let Some(event) = self.talk.conclude(code, stdout, stderr) {
            self.tell(event);
        }
        let killed = self.killed;
        self.tell(self.processors.run_delay());
        self.tell(ClientEvent::Exited {
            code,
            signal,
            killed,
        });
        Ok(())
    }

    fn swept(&mut self, count: u32, left: u32) -> io::Result<Ended> {
        self.ended_at = None;
        // What was killed together with the client was not left behind by it.
        if count > 0 && !self.killed {
            self.tell(ClientEvent::Swept { count });
        }
        if left > 0 {
            self.error(format!(
                "{left} processes that the client started could not be killed"
            ));
        }
        self.hear_the_rest()?;
        self.stdout.end()?;
        self.stderr.end()?;
        let limit = self.signals.borrow().limit;
        let ended = Ended::Ran(self.ending.ended_by(self.killed, limit));
        Ok(self.unless_interrupted(ended))
    }

    fn unless_interrupted(&self, ended: Ended) -> Ended {
        if self.interrupted {
            Ended::Interrupted
        } else {
            ended
        }
    }

    /// Without its launcher the client is dead too: the kernel has seen to that,
    /// and what it had started is swept here.
    pub(super) fn broken(&mut self, launcher: &mut Watch, how: &str) -> io::Result<Ended> {
        let count = launcher.abandon();
        self.together.ended(self.clock.now(), self.complete);
        self.processors.give_back();
        self.hear_the_rest()?;
        self.error(format!(
            "the launcher, which starts and watches the client, {how}"
        ));
        if count > 0 {
            self.tell(ClientEvent::Swept { count });
        }
        self.stdout.end()?;
        self.stderr.end()?;
        Ok(Ended::Broken)
    }
}
