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
    pid: Option<u32>,
    /// Nanoseconds on a processor, at the last look.
    last_run: Option<u64>,
    next_look: Option<Duration>,
    /// Run delay by thread, as last seen; threads that have ended keep theirs.
    delays: BTreeMap<i32, u64>,
}

impl Processors {
    /// A client that has yet to start, with its slot.
    pub(super) fn new(slot: Slot) -> Self {
        Self {
            slot,
            pid: None,
            last_run: None,
            next_look: None,
            delays: BTreeMap::new(),
        }
    }

    /// The client runs.
    pub(super) fn started(&mut self, pid: u32, now: Duration) {
        self.pid = Some(pid);
        self.next_look = Some(now + IDLE_CHECK);
    }

    /// The slot is no longer needed: the client has reached a server, or has
    /// ended.
    pub(super) fn give_back(&mut self) {
        self.slot.release();
        self.next_look = None;
    }

    /// When [`Processors::look`] is to be called, if at all.
    pub(super) fn next_look(&self) -> Option<Duration> {
        self.next_look
    }

    /// A client that never connects gives its slot back when it has gone idle.
    pub(super) fn look(&mut self, now: Duration) {
        let (Some(pid), Some(due)) = (self.pid, self.next_look) else {
            return;
        };
        if now < due {
            return;
        }
        let usage = Usage::of_tree(pid);
        if self.last_run == Some(usage.run_ns) && !usage.wants_to_run {
            self.give_back();
        } else {
            self.last_run = Some(usage.run_ns);
            self.next_look = Some(now + IDLE_CHECK);
        }
    }

    /// Reads the run delay of every thread that there is now.
    pub(super) fn sample(&mut self) {
        if let Some(pid) = self.pid {
            self.delays.extend(Usage::of_tree(pid).delay_ns);
        }
    }

    /// The client has ended; its first thread had this run delay.
    pub(super) fn ended(&mut self, run_delay_ns: u64) {
        self.give_back();
        if let Some(tid) = self.pid.and_then(|pid| i32::try_from(pid).ok()) {
            self.delays.insert(tid, run_delay_ns);
        }
    }

    /// The run delay so far.
    pub(super) fn run_delay(&self) -> ClientEvent {
        let micros = self.delays.values().sum::<u64>() / 1000;
        ClientEvent::RunDelay { micros }
    }
}
