//! The tracer of one cell, as seen by those who run the cell: a thread that
//! owns all tracees of the cell and its time.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use crate::entry::Entry;
use crate::linux::gate::Gate;
use crate::linux::session::Session;
use crate::options::Options;
use crate::record::{Doubt, TimeRecord};
use crate::voter::Voter;

/// The tracer of one cell. Several can be at work in one process.
///
/// The process may not wait for a traced program itself, by `Child::wait` or
/// otherwise: it would take stops that are the tracer's to see. So programs are
/// started by another process, which waits for them.
///
/// A tracer that is dropped kills all that it traces; so does the end of its
/// process, however that comes.
pub struct Tracer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<TimeRecord>>,
}

/// What the tracer's thread and its owner tell each other.
pub(crate) struct Shared {
    is_ending: AtomicBool,
    gates: Mutex<Vec<Gate>>,
    entries: Mutex<Vec<Entry>>,
    entered: Condvar,
    doubts: Mutex<Vec<Doubt>>,
    /// Readable when there is a gate or an order to end.
    pub(crate) news: OwnedFd,
}

impl Tracer {
    /// Starts a tracer, which drives the voter's time from now on: in real time
    /// while no program is traced. `doubtful` is called on the tracer's thread,
    /// and must not block, as soon as something makes the run doubtful or shows
    /// that the client hangs.
    pub fn start(
        voter: Arc<dyn Voter>,
        options: Options,
        doubtful: impl FnMut(&Doubt) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            is_ending: AtomicBool::new(false),
            gates: Mutex::default(),
            entries: Mutex::default(),
            entered: Condvar::new(),
            doubts: Mutex::default(),
            news: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        });
        let (inside, doubtful) = (shared.clone(), Box::new(doubtful));
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("tracer".to_owned())
            .spawn(move || {
                // What a thread has to make for itself.
                let session = match Session::new(voter, options, inside, doubtful) {
                    Ok(session) => session,
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        return TimeRecord::default();
                    }
                };
                let _ = ready.send(Ok(()));
                session.run()
            })?;
        let failed = |_| Err(io::Error::other("the tracer's thread has failed"));
        is_ready.recv().unwrap_or_else(failed)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Awaits one more program. Several may share one time.
    pub fn admit(&self, gate: Gate) {
        lock(&self.shared.gates).push(gate);
        self.shared.wake();
    }

    /// How the entrances of programs went, as far as they are over.
    pub fn entries(&self) -> Vec<Entry> {
        lock(&self.shared.entries).clone()
    }

    /// Waits until so many programs have entered, been refused, or failed to
    /// start.
    pub fn wait_for_entries(&self, count: usize) -> Vec<Entry> {
        let mut entries = lock(&self.shared.entries);
        while entries.len() < count {
            entries = self
                .shared
                .entered
                .wait(entries)
                .unwrap_or_else(PoisonError::into_inner);
        }
        entries.clone()
    }

    /// What makes the run doubtful so far.
    pub fn doubts(&self) -> Vec<Doubt> {
        lock(&self.shared.doubts).clone()
    }

    /// Kills what is still traced, and tells about the run. From now on nobody
    /// drives the voter's time.
    pub fn finish(mut self) -> TimeRecord {
        self.end()
    }

    fn end(&mut self) -> TimeRecord {
        self.shared.is_ending.store(true, Ordering::SeqCst);
        self.shared.wake();
        let Some(thread) = self.thread.take() else {
            return TimeRecord::default();
        };
        thread.join().unwrap_or_else(|_| {
            let mut record = TimeRecord::default();
            record.doubt(Doubt::TracerFailed);
            record
        })
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.end();
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer")
            .field("entries", &self.entries())
            .finish_non_exhaustive()
    }
}

impl Shared {
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
