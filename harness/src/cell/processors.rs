//! What a client does to the processors, and they to it: when it gives its slot
//! back, and how long it was ready but not running.

use std::collections::BTreeMap;
use std::time::Duration;

use scenarios::evidence::ClientEvent;

use crate::launch::Usage;
use crate::run::Slot;

/// Time between two looks at whether the client still uses a processor.
const IDLE_CHECK: Duration = Duration::from_millis(100);

/// The client as seen from the processors.
pub(super) struct Processors {
    slot: Slot,
    slot_is_held: bool,
    /// Its waiting takes no time, so the slot is needed to the end.
    keeps_slot: bool,
    pid: Option<u32>,
    last: Option<Look>,
    next_look: Option<Duration>,
    /// When the client was last seen at work, while that is looked at.
    at_work: Option<Duration>,
    /// Run delay by thread, as last seen; threads that have ended keep theirs.
    delays: BTreeMap<i32, u64>,
}

/// What was seen at a look.
struct Look {
    at: Duration,
    run_ns: u64,
}

impl Processors {
    /// A client that has yet to start, with its slot.
    pub(super) fn new(slot: Slot, keeps_slot: bool) -> Self {
        Self {
            slot,
            slot_is_held: true,
            keeps_slot,
            pid: None,
            last: None,
            next_look: None,
            at_work: None,
            delays: BTreeMap::new(),
        }
    }

    /// The client runs.
    pub(super) fn started(&mut self, pid: u32, now: Duration) {
        self.pid = Some(pid);
        self.next_look = (!self.keeps_slot).then_some(now + IDLE_CHECK);
    }

    /// The client has reached a server, or has gone idle without: the slot is no
    /// longer needed.
    pub(super) fn waits(&mut self) {
        if !self.keeps_slot {
            self.give_back();
        }
    }

    /// The client has ended.
    pub(super) fn give_back(&mut self) {
        self.slot.release();
        self.slot_is_held = false;
        if self.at_work.is_none() {
            self.next_look = None;
        }
    }

    /// From here on it matters when the client was last at work.
    pub(super) fn watch(&mut self, now: Duration) {
        self.at_work = Some(now);
        self.last = None;
        self.next_look = Some(now);
    }

    /// When the client was last seen to run, or to wait for a processor or a
    /// disk; none while that is not looked at.
    pub(super) fn at_work(&self) -> Option<Duration> {
        self.at_work
    }

    /// When [`Processors::look`] is to be called, if at all.
    pub(super) fn next_look(&self) -> Option<Duration> {
        self.next_look
    }

    /// Looks at whether the client is at work. One that never connects gives its
    /// slot back when it has gone idle.
    pub(super) fn look(&mut self, now: Duration) {
        let Some(pid) = self.pid else {
            return;
        };
        let usage = Usage::of_tree(pid);
        self.delays.extend(&usage.delay_ns);
        if self.next_look.is_none_or(|due| now < due) {
            return;
        }
        let ran = self.last.as_ref().map(|last| Look {
            at: now.saturating_sub(last.at),
            run_ns: usage.run_ns.saturating_sub(last.run_ns),
        });
        let is_still = ran.as_ref().is_some_and(|ran| ran.run_ns == 0) && !usage.wants_to_run;
        if self.slot_is_held && is_still {
            self.waits();
        }
        // A runtime that does a little by itself now and then is not at work.
        let is_busy = ran.is_some_and(|ran| u128::from(ran.run_ns) * 2 > ran.at.as_nanos());
        if self.at_work.is_some() && (is_busy || usage.wants_to_run) {
            self.at_work = Some(now);
        }
        self.last = Some(Look {
            at: now,
            run_ns: usage.run_ns,
        });
        let goes_on = self.slot_is_held && !self.keeps_slot || self.at_work.is_some();
        self.next_look = goes_on.then_some(now + IDLE_CHECK);
    }

    /// Whether the client runs just now, wants to, or waits for a disk.
    pub(super) fn wants_to_run(&self) -> bool {
        self.pid.is_some_and(|pid| Usage::of_tree(pid).wants_to_run)
    }

    /// Reads the run delay of every thread that there is now. Tells whether the
    /// client could be read: one that has just ended can not, and is not known to
    /// have had none.
    pub(super) fn sample(&mut self) -> bool {
        let Some(pid) = self.pid else { return false };
        let usage = Usage::of_tree(pid);
        let is_there = i32::try_from(pid).is_ok_and(|tid| usage.delay_ns.contains_key(&tid));
        self.delays.extend(usage.delay_ns);
        is_there
    }

    /// The client has ended, and does not come again; its first thread had this run
    /// delay.
    pub(super) fn ended(&mut self, run_delay_ns: u64) {
        self.give_back();
        self.crashed(run_delay_ns);
    }

    /// The client has ended, and comes again.
    pub(super) fn crashed(&mut self, run_delay_ns: u64) {
        self.at_work = None;
        self.next_look = None;
        if let Some(tid) = self.pid.and_then(|pid| i32::try_from(pid).ok()) {
            self.delays.insert(tid, run_delay_ns);
        }
    }

    /// The most that one thread of the client was kept from running.
    pub(super) fn starved(&self) -> Duration {
        Duration::from_nanos(self.delays.values().max().copied().unwrap_or(0))
    }

    /// The run delay so far.
    pub(super) fn run_delay(&self) -> ClientEvent {
        let micros = self.delays.values().sum::<u64>() / 1000;
        ClientEvent::RunDelay { micros }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading of 0 behind the report of a client that had ended made 2.4 s
    /// without a processor seem to be its own silence.
    #[test]
    fn a_client_that_has_ended_has_no_reading() {
        let mut processors = Processors::new(Slot::new(|| {}), true);
        assert!(!processors.sample());
        processors.started(std::process::id(), Duration::ZERO);
        assert!(processors.sample());
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        processors.started(child.id(), Duration::ZERO);
        assert!(!processors.sample());
    }
}
