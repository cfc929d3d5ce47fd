//! The tracer's thread: what it knows, and its loop.
//!
//! Only this thread may make ptrace requests, and it waits for its own tracees
//! only (`__WNOTHREAD`): neither another tracer's nor the children of the
//! process are its business.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, wait, waitid,
};

use crate::entry::Entry;
use crate::linux::gate::Gate;
use crate::linux::processors::Processors;
use crate::linux::procfs::ThreadFiles;
use crate::linux::shared::Shared;
use crate::linux::sys::Ticker;
use crate::linux::tracee::{Process, Thread};
use crate::options::Options;
use crate::record::{Doubt, Note, TimeRecord};
use crate::timeline::{real_now, timespec};
use crate::voter::Voter;

/// Of all threads' tracees and children only this thread's.
const OWN: u32 = (libc::__WALL | libc::__WNOTHREAD) as u32;

/// Stops that are handled before time is looked at again, so that a client which
/// stops without end does not hold it.
const STOPS_AT_ONCE: usize = 64;

/// The longest time between two looks at time.
const LONGEST_NS: u64 = 500_000;

/// The shortest wait worth being made.
const SHORTEST_NS: u64 = 5_000;

/// Between two looks at time while nothing is traced.
const IDLE_NS: u64 = 2_000_000;

/// Killed tracees are gone at once, save for those that the kernel holds.
const END_PATIENCE_NS: u64 = 5_000_000_000;

/// What the tracer's thread knows.
pub(crate) struct Session {
    pub(crate) voter: Arc<dyn Voter>,
    pub(crate) options: Options,
    pub(crate) record: TimeRecord,
    pub(crate) threads: BTreeMap<i32, Thread>,
    pub(crate) processes: HashMap<i32, Process>,
    /// The programs that have entered, as long as they live. What they leave behind
    /// does not move time: whoever started them has yet to see their end.
    pub(crate) entered: BTreeSet<i32>,
    /// Those that have ended and are not known to have been seen to.
    pub(crate) unseen: BTreeSet<i32>,
    /// Threads of the servers.
    pub(crate) servers: HashMap<i32, ThreadFiles>,
    pub(crate) processors: Option<Processors>,
    /// The thread that was found running last.
    pub(crate) ran_last: Option<i32>,
    pub(crate) softnet: Option<File>,
    /// Real time since when all that is traced has not rested, and since when the
    /// servers have not. Both begin anew whenever the servers get on with something.
    pub(crate) restless_since: u64,
    pub(crate) servers_busy_since: Option<u64>,
    /// How many votes the servers had raised then.
    pub(crate) votes: u64,
    /// Real time since when all wait and nobody for a time.
    pub(crate) stuck_since: Option<u64>,
    /// How far sockets that hold bytes back have got, and since which real time.
    pub(crate) held_back: Option<(u64, u64)>,
    shared: Arc<Shared>,
    doubtful: Box<dyn FnMut(&Doubt) + Send>,
    ticker: Ticker,
    gates: Vec<Gate>,
}

impl Session {
    pub(crate) fn new(
        voter: Arc<dyn Voter>,
        mut options: Options,
        shared: Arc<Shared>,
        doubtful: Box<dyn FnMut(&Doubt) + Send>,
    ) -> io::Result<Self> {
        // The kernel keeps so many bytes of a name.
        const NAME: usize = 15;
        for name in &mut options.soft_threads {
            let kept = name.floor_char_boundary(NAME);
            name.truncate(kept);
        }
        Ok(Self {
            voter,
            options,
            record: TimeRecord::default(),
            threads: BTreeMap::new(),
            processes: HashMap::new(),
            entered: BTreeSet::new(),
            unseen: BTreeSet::new(),
            servers: HashMap::new(),
            processors: Processors::own(),
            ran_last: None,
            softnet: File::open("/proc/net/softnet_stat").ok(),
            restless_since: real_now(),
            servers_busy_since: None,
            votes: 0,
            stuck_since: None,
            held_back: None,
            shared,
            doubtful,
            ticker: Ticker::new()?,
            gates: Vec::new(),
        })
    }

    pub(crate) fn run(mut self) -> TimeRecord {
        while !self.shared.is_ending() {
            self.open_gates();
            if self.threads.is_empty() {
                self.idle();
            } else {
                self.trace();
            }
        }
        self.kill_all();
        self.record
    }

    /// Follows the tracees until there is none, or a gate or an end is to be
    /// looked at.
    fn trace(&mut self) {
        let rest = nanos(self.options.rest);
        let (mut stopped_at, mut pause) = (real_now(), rest);
        self.restless_since = stopped_at;
        while !self.threads.is_empty() && !self.shared.is_ending() {
            self.open_gates();
            let mut any = self.handle_pending();
            let mut next = self.wake_due();
            let now = real_now();
            if any {
                (stopped_at, pause) = (now, rest);
                self.stuck_since = None;
            } else if now >= stopped_at + rest && self.options.jump {
                if self.try_jump() {
                    (stopped_at, pause) = (real_now(), rest);
                    next = self.wake_due();
                } else {
                    pause = (pause * 3 / 2).min(LONGEST_NS);
                    stopped_at = real_now() + pause - rest;
                }
            }
            self.look_for_spin();
            let to_look = (stopped_at + rest).saturating_sub(real_now());
            any = self.wait(next.min(to_look).clamp(SHORTEST_NS, LONGEST_NS));
            if any {
                (stopped_at, pause) = (real_now(), rest);
            }
        }
        self.ticker.disarm();
    }

    /// Handles what has stopped. Tells whether anything has.
    fn handle_pending(&mut self) -> bool {
        for handled in 0..STOPS_AT_ONCE {
            match wait(options(WaitOptions::NOHANG)) {
                Ok(Some((pid, status))) => self.handle(pid.as_raw_nonzero().get(), status.as_raw()),
                _ => return handled > 0,
            }
        }
        true
    }

    /// Waits for a stop, for so long. Tells whether there was one.
    fn wait(&mut self, ns: u64) -> bool {
        self.ticker.arm(ns);
        match wait(options(WaitOptions::empty())) {
            Ok(Some((pid, status))) => {
                self.handle(pid.as_raw_nonzero().get(), status.as_raw());
                true
            }
            Err(Errno::CHILD) => {
                // Somebody else has taken their ends.
                self.threads.clear();
                self.processes.clear();
                false
            }
            _ => false,
        }
    }

    /// Whether a stop waits to be handled.
    pub(crate) fn has_pending_stop() -> bool {
        let options = WaitIdOptions::EXITED
            | WaitIdOptions::STOPPED
            | WaitIdOptions::NOHANG
            | WaitIdOptions::NOWAIT;
        let options = options | WaitIdOptions::from_bits_retain(OWN);
        !matches!(waitid(WaitId::All, options), Ok(None))
    }

    /// Lets time pass as it really does until a program comes.
    fn idle(&mut self) {
        let now = self.voter.timeline().now();
        self.voter.advance_to(now);
        let next = self
            .voter
            .next_deadline()
            .unwrap_or(u64::MAX)
            .saturating_sub(now);
        let mut fds = vec![PollFd::new(&self.shared.news, PollFlags::IN)];
        fds.extend(
            self.gates
                .iter()
                .map(|gate| PollFd::from_borrowed_fd(gate.as_fd(), PollFlags::IN)),
        );
        // When it fails it is tried again at once.
        let _ = poll(&mut fds, Some(&timespec(next.min(IDLE_NS))));
    }

    fn open_gates(&mut self) {
        self.shared.news_seen();
        self.gates.extend(self.shared.new_gates());
        let ready = self.gates.extract_if(.., |gate| gate.is_ready());
        for gate in ready.collect::<Vec<_>>() {
            self.ticker.disarm();
            let entry = gate.admit();
            if let Entry::Traced { pid } = entry {
                self.entered.insert(pid);
                self.follow(pid);
            }
            self.shared.entered(entry);
        }
    }

    /// Kills all tracees and waits for their ends.
    fn kill_all(&mut self) {
        for gate in self.gates.drain(..) {
            drop(gate);
            self.shared.entered(Entry::Absent);
        }
        let until = real_now() + END_PATIENCE_NS;
        while !self.threads.is_empty() && real_now() < until {
            for process in self.processes.keys() {
                if let Some(pid) = Pid::from_raw(*process) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            self.wait(LONGEST_NS);
        }
        self.ticker.disarm();
    }

    /// Whether the end of a program has yet to be seen by those who started it.
    pub(crate) fn is_an_end_unseen(&mut self) -> bool {
        let shared = &self.shared;
        self.unseen.retain(|pid| !shared.is_end_seen(*pid));
        self.options.waits_for_seen_ends && !self.unseen.is_empty()
    }

    pub(crate) fn doubt(&mut self, doubt: Doubt) {
        if self.record.doubt(doubt.clone()) {
            (self.doubtful)(&doubt);
            self.shared.doubted(doubt);
        }
    }

    pub(crate) fn note(&mut self, note: Note) {
        self.record.note(note);
    }

    /// The traced programs' CLOCK_MONOTONIC.
    pub(crate) fn now(&self) -> u64 {
        self.voter.timeline().absolute()
    }

    /// How far their time is ahead.
    pub(crate) fn offset(&self) -> u64 {
        self.voter.timeline().jumped()
    }
}

fn options(options: WaitOptions) -> WaitOptions {
    options | WaitOptions::from_bits_retain(OWN)
}

/// A setting in nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
