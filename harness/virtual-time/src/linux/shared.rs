//! What the tracer's thread and its owner tell each other.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use crate::entry::Entry;
use crate::linux::gate::Gate;
use crate::record::Doubt;

/// The two sides' common ground.
pub(crate) struct Shared {
    is_ending: AtomicBool,
    gates: Mutex<Vec<Gate>>,
    entries: Mutex<Vec<Entry>>,
    entered: Condvar,
    doubts: Mutex<Vec<Doubt>>,
    /// Programs whose ends were seen by those who started them.
    seen: Mutex<BTreeSet<i32>>,
    /// Readable when there is a gate or an order to end.
    pub(crate) news: OwnedFd,
}

impl Shared {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            is_ending: AtomicBool::new(false),
            gates: Mutex::default(),
            entries: Mutex::default(),
            entered: Condvar::new(),
            doubts: Mutex::default(),
            seen: Mutex::default(),
            news: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub(crate) fn admit(&self, gate: Gate) {
        lock(&self.gates).push(gate);
        self.wake();
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        lock(&self.entries).clone()
    }

    pub(crate) fn wait_for_entries(&self, count: usize) -> Vec<Entry> {
        let mut entries = lock(&self.entries);
        while entries.len() < count {
            entries = self
                .entered
                .wait(entries)
                .unwrap_or_else(PoisonError::into_inner);
        }
        entries.clone()
    }

    pub(crate) fn doubts(&self) -> Vec<Doubt> {
        lock(&self.doubts).clone()
    }

    pub(crate) fn end_seen(&self, pid: u32) {
        lock(&self.seen).extend(i32::try_from(pid));
    }

    pub(crate) fn is_end_seen(&self, pid: i32) -> bool {
        lock(&self.seen).contains(&pid)
    }

    pub(crate) fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.wake();
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    pub(crate) fn new_gates(&self) -> Vec<Gate> {
        std::mem::take(&mut *lock(&self.gates))
    }

    pub(crate) fn entered(&self, entry: Entry) {
        lock(&self.entries).push(entry);
        self.entered.notify_all();
    }

    pub(crate) fn doubted(&self, doubt: Doubt) {
        lock(&self.doubts).push(doubt);
    }

    fn wake(&self) {
        // It can only fail when it is readable already.
        let _ = rustix::io::write(&self.news, &1_u64.to_ne_bytes());
    }

    /// To be called before what there is news about is looked at.
    pub(crate) fn news_seen(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.news, &mut count);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
