//! Moving time ahead when all are at rest: to the earliest time that anybody
//! waits for.

use crate::linux::calls;
use crate::linux::processors::Processors;
use crate::linux::procfs::{Doing, name};
use crate::linux::session::{Session, nanos};
use crate::linux::sockets::is_on_a_socket;
use crate::linux::traffic::Traffic;
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

/// What all wait for, if they are at rest.
#[derive(Default)]
struct Waits {
    hard: Earliest,
    /// Of threads whose waits do not hold time.
    soft: Earliest,
    /// Time must not be moved now.
    some_stay_real: bool,
    doubts: Vec<Doubt>,
}

impl Waits {
    fn earliest(&self) -> Option<(u64, Holder)> {
        self.hard.0.or(self.soft.0)
    }
}

impl Session {
    /// Jumps if all are at rest and somebody waits for a time. Tells whether it
    /// has.
    pub(crate) fn try_jump(&mut self) -> bool {
        if self.entered.is_empty() || self.is_an_end_unseen() {
            self.restless_since = real_now();
            return false;
        }
        let Some(by) = self.jump_at_rest() else {
            return false;
        };
        self.voter.timeline().jump(by);
        for process in self.processes.keys().copied().collect::<Vec<_>>() {
            self.tell_offset(process);
        }
        self.move_timerfds(by);
        true
    }

    /// How far to jump; none when not all are at rest, or nobody waits for a time.
    fn jump_at_rest(&mut self) -> Option<u64> {
        let Some(first) = self.look_for_rest() else {
            self.stuck_since = None;
            return None;
        };
        let waits = self.waits();
        // The kernel works on, and may have delivered something and woken somebody
        // until these looks: who is found by the second one.
        let is_under_way = waits.earliest().is_some() && self.is_anything_under_way();
        if !self.is_still_at_rest(&first) {
            self.stuck_since = None;
            return None;
        }
        self.restless_since = real_now();
        let earliest = waits.earliest();
        for doubt in waits.doubts {
            self.doubt(doubt);
        }
        // A timer that is gone may have been the earliest.
        if waits.some_stay_real || self.drop_closed_timers() {
            return None;
        }
        let Some((deadline, holder)) = earliest else {
            self.nobody_waits_for_a_time();
            return None;
        };
        self.stuck_since = None;
        let now = self.now();
        let by = deadline.saturating_sub(now);
        if by < NEAR_NS || is_under_way {
            return None;
        }
        let at = now - self.voter.timeline().began();
        let holder = self.describe(holder);
        self.record.jumped(at, by, || holder);
        Some(by)
    }

    /// Whether something is on its way that is to be waited for. What is not has
    /// reached its socket when this returns, or waits in a backlog.
    fn is_anything_under_way(&mut self) -> bool {
        let traffic = self.traffic();
        if self.waits_for_held_back(traffic) {
            return true;
        }
        if traffic == Traffic::Still || self.processors.as_ref().is_some_and(Processors::visit) {
            return false;
        }
        self.doubt(Doubt::TracerFailed);
        true
    }

    fn nobody_waits_for_a_time(&mut self) {
        let now = real_now();
        let since = *self.stuck_since.get_or_insert(now);
        if now - since > nanos(self.options.stuck_after) {
            self.stuck_since = Some(now);
            self.doubt(Doubt::Stuck);
        }
    }

    fn waits(&mut self) -> Waits {
        let mut waits = Waits::default();
        for tid in self.threads.keys().copied().collect::<Vec<_>>() {
            self.add_wait(tid, &mut waits);
        }
        let now = self.now();
        if let Some(left) = self.next_timerfd() {
            let deadline = now.saturating_add(left);
            waits.hard.or(deadline, Holder::TimerFd);
        }
        for (process, state) in &self.processes {
            if let Some(alarm) = state.alarm {
                waits.hard.or(alarm.deadline, Holder::Alarm(*process));
            }
        }
        if let Some(deadline) = self.voter.next_deadline() {
            let began = self.voter.timeline().began();
            let deadline = began.saturating_add(deadline);
            waits.hard.or(deadline, Holder::Servers);
        }
        waits
    }

    /// Adds what a thread waits for.
    fn add_wait(&mut self, tid: i32, waits: &mut Waits) {
        let Some(thread) = self.threads.get(&tid) else {
            return;
        };
        let Doing::Blocked(call) = thread.doing else {
            return;
        };
        if thread.is_stopped {
            return;
        }
        let wait = match thread.current_wait() {
            // A socket's timeout is asked for anew, as it can be changed.
            Some(wait) if wait.switches.is_none() => Some(*wait),
            _ if is_on_a_socket(&call) => self.socket_wait(tid),
            _ => None,
        };
        match wait {
            Some(wait) if wait.stays_real => waits.some_stay_real = true,
            Some(wait) => {
                let earliest = if wait.is_soft {
                    &mut waits.soft
                } else {
                    &mut waits.hard
                };
                earliest.or(wait.deadline, Holder::Thread(tid));
            }
            None if call.is_timed_wait() => {
                waits.some_stay_real = true;
                let doubt = Doubt::UnrecordedWait(calls::name(call.nr));
                waits.doubts.push(doubt);
            }
            None if !call.is_known_wait() => {
                let doubt = Doubt::UnknownWait(calls::name(call.nr));
                waits.doubts.push(doubt);
            }
            None => {}
        }
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
