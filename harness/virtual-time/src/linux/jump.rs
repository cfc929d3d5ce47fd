//! Moving time ahead when all are at rest: to the earliest time that anybody
//! waits for.

use crate::linux::calls;
use crate::linux::processors::Processors;
use crate::linux::procfs::{Doing, name};
use crate::linux::session::{Session, nanos};
use crate::linux::sockets::is_on_a_socket;
use crate::record::Doubt;
use crate::timeline::real_now;

/// What is nearer than this comes by itself sooner than by a jump.
const NEAR_NS: u64 = 20_000;

/// Whose deadline it is.
#[derive(Clone, Copy)]
enum Holder {
    Thread(i32),
    Alarm(i32),
    TimerFd,
    Servers,
}

/// The earliest deadline found so far.
#[derive(Default)]
struct Earliest(Option<(u64, Holder)>);

impl Earliest {
    fn or(&mut self, deadline: u64, holder: Holder) {
        if self.0.is_none_or(|(at, _)| deadline < at) {
            self.0 = Some((deadline, holder));
        }
    }
}

impl Session {
    /// Jumps if all are at rest and somebody waits for a time. Tells whether it
    /// has.
    pub(crate) fn try_jump(&mut self) -> bool {
        if !self.is_at_rest() || !self.nothing_is_under_way() {
            self.stuck_since = None;
            return false;
        }
        self.restless_since = real_now();
        let Some(earliest) = self.earliest() else {
            return false;
        };
        let Some((deadline, holder)) = earliest.0 else {
            self.nobody_waits_for_a_time();
            return false;
        };
        self.stuck_since = None;
        let now = self.now();
        let by = deadline.saturating_sub(now);
        if by < NEAR_NS || self.sockets_hold_back(by) {
            return false;
        }
        let at = now - self.voter.timeline().began();
        let holder = self.describe(holder);
        self.record.jumped(at, by, || holder);
        self.voter.timeline().jump(by);
        for process in self.processes.keys().copied().collect::<Vec<_>>() {
            self.tell_offset(process);
        }
        self.move_timerfds(by);
        true
    }

    /// Whether all are still at rest when every processor has been seen to be done
    /// with what it was at.
    fn nothing_is_under_way(&mut self) -> bool {
        let visited = self.processors.as_ref().is_some_and(Processors::visit);
        if !visited {
            self.doubt(Doubt::TracerFailed);
        }
        visited && self.is_at_rest()
    }

    fn nobody_waits_for_a_time(&mut self) {
        let now = real_now();
        let since = *self.stuck_since.get_or_insert(now);
        if now - since > nanos(self.options.stuck_after) {
            self.stuck_since = Some(now);
            self.doubt(Doubt::Stuck);
        }
    }

    /// The earliest deadline of all. None: time must not be moved now.
    fn earliest(&mut self) -> Option<Earliest> {
        let (mut hard, mut soft) = (Earliest::default(), Earliest::default());
        for tid in self.threads.keys().copied().collect::<Vec<_>>() {
            self.deadline_of(tid, &mut hard, &mut soft)?;
        }
        self.drop_closed_timers();
        let now = self.now();
        if let Some(left) = self.next_timerfd() {
            hard.or(now.saturating_add(left), Holder::TimerFd);
        }
        for (process, state) in &self.processes {
            if let Some(alarm) = state.alarm {
                hard.or(alarm.deadline, Holder::Alarm(*process));
            }
        }
        if let Some(deadline) = self.voter.next_deadline() {
            let began = self.voter.timeline().began();
            hard.or(began.saturating_add(deadline), Holder::Servers);
        }
        Some(if hard.0.is_some() { hard } else { soft })
    }

    /// Adds a thread's deadline, if it has one. None: time must not be moved now.
    fn deadline_of(&mut self, tid: i32, hard: &mut Earliest, soft: &mut Earliest) -> Option<()> {
        let thread = self.threads.get(&tid)?;
        let Doing::Blocked(call) = thread.doing else {
            return Some(());
        };
        if thread.is_stopped {
            return Some(());
        }
        let is_soft = thread.is_soft;
        let wait = match thread.current_wait() {
            // A socket's timeout is asked for anew, as it can be changed.
            Some(wait) if wait.switches.is_none() => Some(*wait),
            _ if is_on_a_socket(&call) => self.socket_wait(tid),
            _ => None,
        };
        match wait {
            Some(wait) if wait.stays_real => return None,
            Some(wait) => {
                let earliest = if is_soft { soft } else { hard };
                earliest.or(wait.deadline, Holder::Thread(tid));
            }
            None if call.is_timed_wait() => {
                self.doubt(Doubt::UnrecordedWait(calls::name(call.nr)));
                return None;
            }
            None if !call.is_known_wait() => {
                self.doubt(Doubt::UnknownWait(calls::name(call.nr)));
            }
            None => {}
        }
        Some(())
    }

    fn describe(&self, holder: Holder) -> (String, String) {
        match holder {
            Holder::Thread(tid) => {
                let call = match self.threads.get(&tid).map(|thread| thread.doing) {
                    Some(Doing::Blocked(call)) => calls::name(call.nr),
                    _ => String::new(),
                };
                (name(tid), call)
            }
            Holder::Alarm(process) => (name(process), "alarm".to_owned()),
            Holder::TimerFd => ("(timer)".to_owned(), "timerfd".to_owned()),
            Holder::Servers => ("(servers)".to_owned(), "sleep_until".to_owned()),
        }
    }
}
