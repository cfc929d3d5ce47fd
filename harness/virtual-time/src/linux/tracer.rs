//! The tracer of one cell, as seen by those who run the cell: a thread that
//! owns all tracees of the cell and its time.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::entry::Entry;
use crate::linux::gate::Gate;
use crate::linux::session::Session;
use crate::linux::shared::Shared;
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
        let shared = Arc::new(Shared::new()?);
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
        self.shared.admit(gate);
    }

    /// How the entrances of programs went, as far as they are over.
    pub fn entries(&self) -> Vec<Entry> {
        self.shared.entries()
    }

    /// Waits until so many programs have entered, been refused, or failed to
    /// start.
    pub fn wait_for_entries(&self, count: usize) -> Vec<Entry> {
        self.shared.wait_for_entries(count)
    }

    /// Whoever started this program has seen its end.
    pub fn end_seen(&self, pid: u32) {
        self.shared.end_seen(pid);
    }

    /// What makes the run doubtful so far.
    pub fn doubts(&self) -> Vec<Doubt> {
        self.shared.doubts()
    }

    /// Kills what is still traced, and tells about the run. From now on nobody
    /// drives the voter's time.
    pub fn finish(mut self) -> TimeRecord {
        self.end()
    }

    fn end(&mut self) -> TimeRecord {
        self.shared.end();
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
