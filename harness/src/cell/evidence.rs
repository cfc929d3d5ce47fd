//! The evidence of one cell: numbered, stamped, written down as it comes.
//!
//! Servers record from their own thread, the harness records what it sees of
//! the client. Entries are JSON Lines in `events.jsonl`; they reach the file
//! when the servers are about to wait and at once for the harness's own, so a
//! killed run leaves its record. The file is the evidence: nothing of it is kept
//! in memory, neither while it is written nor while it is read. Nothing here
//! judges: the few counters serve to tell when a cell is over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scenarios::evidence::{ClientEvent, Entry, Event};
use scenarios::plan::Plan;
use scenarios::verdict::EndedBy;
use scripted_servers::clock::Clock;
use scripted_servers::event::{ServerEvent, What};
use scripted_servers::record::Record;
use tokio::sync::watch;

use super::order::{Order, Watch};

/// What a cell waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// The client has connected to a server.
    pub contact: bool,
    /// A count was reached at which the client is to be stopped.
    pub limit: Option<EndedBy>,
    /// A call is to be cancelled, from some time on.
    pub order: Option<Order>,
    /// The client is to be killed and started again, from some time on.
    pub crash: Option<Duration>,
}

/// Takes events, numbers them, and writes them down.
pub struct EvidenceLog {
    clock: Arc<dyn Clock>,
    plan: Plan,
    state: Mutex<State>,
    signals: watch::Sender<Signals>,
}

#[derive(Default)]
struct State {
    file: Option<File>,
    unwritten: Vec<u8>,
    /// How many entries there are.
    count: u64,
    traffic: Traffic,
    cancel: Watch,
    crash: Watch,
    broken: Option<String>,
}

/// Bytes held back at most; then they are written, whoever waits.
const MOST_UNWRITTEN: usize = 64 * 1024;

impl EvidenceLog {
    /// A log that writes into a new file. The Plan says at which counts a cell
    /// is stopped.
    pub fn create(path: &Path, clock: Arc<dyn Clock>, plan: Plan) -> std::io::Result<Self> {
        let state = State {
            file: Some(File::create_new(path)?),
            cancel: Watch::of_cancel(&plan),
            crash: Watch::of_crash(&plan),
            ..State::default()
        };
        Ok(Self {
            clock,
            plan,
            state: Mutex::new(state),
            signals: watch::Sender::new(Signals::default()),
        })
    }

    /// Takes what the harness saw, and writes it down at once.
    pub fn client(&self, event: ClientEvent) {
        self.client_at(Duration::MAX, event);
    }

    /// As [`EvidenceLog::client`], for what is known to have happened at a time
    /// that is over by now. Entries keep the order in which they were written.
    pub fn client_at(&self, at: Duration, event: ClientEvent) {
        self.process_at(1, at, event);
    }

    /// As [`EvidenceLog::client_at`], of one process of a fleet.
    pub fn process_at(&self, process: u32, at: Duration, event: ClientEvent) {
        let mut state = self.state();
        let at = at.min(self.now());
        if event == ClientEvent::Work {
            state.cancel.has_work(at);
            state.crash.has_work(at);
            self.show(&state);
        }
        state.push(at, process, Event::Client(event));
        state.write();
    }

    /// What a cell waits for, as it changes.
    pub fn signals(&self) -> watch::Receiver<Signals> {
        self.signals.subscribe()
    }

    /// When the client last did something that a server saw; none: never.
    pub fn last_traffic(&self) -> Option<Duration> {
        self.state().traffic.last
    }

    /// Writes down what is left: why not all of it is in the file, if so.
    pub fn finish(&self) -> Option<String> {
        let mut state = self.state();
        state.write();
        state.broken.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere must not cost the evidence.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Wakes those who wait, where something is new.
    fn show(&self, state: &State) {
        let call = self.plan.cancel.as_ref().map(|cancel| cancel.call);
        let order = state.cancel.due().zip(call);
        let signals = Signals {
            order: order.map(|(due, call)| Order { call, due }),
            crash: state.crash.due(),
            ..state.traffic.signals(&self.plan)
        };
        self.signals.send_if_modified(|shown| {
            let changed = *shown != signals;
            *shown = signals;
            changed
        });
    }
}

impl Record for EvidenceLog {
    fn record(&self, event: ServerEvent) {
        let mut state = self.state();
        // Read under the lock, so that times do not run backwards in the file.
        let now = self.now();
        let counted = state.traffic.count(&event, now);
        let due = state.cancel.sees(&event, now) | state.crash.sees(&event, now);
        state.push(now, 1, Event::Server(event));
        if counted || due {
            self.show(&state);
        }
    }

    fn flush(&self) {
        self.state().write();
    }
}

impl State {
    fn push(&mut self, at: Duration, process: u32, event: Event) {
        self.count += 1;
        let entry = Entry {
            n: self.count,
            at_us: u64::try_from(at.as_micros()).unwrap_or(u64::MAX),
            process,
            event,
        };
        match write_entry(&entry, &mut self.unwritten) {
            Ok(()) => self.unwritten.push(b'\n'),
            Err(error) => self.break_off(&error.to_string()),
        }
        if self.unwritten.len() >= MOST_UNWRITTEN {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.unwritten.is_empty() {
            return;
        }
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(&self.unwritten)
        {
            self.break_off(&error.to_string());
        }
        self.unwritten.clear();
    }

    /// What is in the file stays a whole beginning: nothing more goes in.
    fn break_off(&mut self, reason: &str) {
        self.file = None;
        self.broken
            .get_or_insert_with(|| format!("the evidence cannot be written: {reason}"));
    }
}

/// Appends an entry as JSON, in the text that serde would write. Most entries
/// are the servers', who have a fast way for theirs.
fn write_entry(entry: &Entry, out: &mut Vec<u8>) -> std::io::Result<()> {
    let Event::Server(event) = &entry.event else {
        return Ok(serde_json::to_writer(out, entry)?);
    };
    let Entry { n, at_us, .. } = entry;
    write!(out, r#"{{"n":{n},"at_us":{at_us},"event":{{"server":"#)?;
    event.write_json(out);
    out.extend_from_slice(b"}}");
    Ok(())
}

/// What the client has done so far, as far as ending a cell needs it.
#[derive(Debug, Default)]
struct Traffic {
    last: Option<Duration>,
    connections: u64,
    requests: u64,
    delivered: BTreeMap<Arc<str>, u64>,
    /// Exchanges under way that no route expects, by server and connection.
    unexpected: BTreeSet<(Arc<str>, Option<u32>)>,
}

impl Traffic {
    /// Counts an event, and tells whether a limit may now be reached.
    fn count(&mut self, event: &ServerEvent, now: Duration) -> bool {
        let exchange = || (event.server.clone(), event.connection);
        match &event.what {
            What::Accepted { .. } => self.connections += 1,
            What::Started { .. } => self.requests += 1,
            What::Head { queue: None, .. } => {
                self.unexpected.insert(exchange());
            }
            What::Head { .. } => {
                self.unexpected.remove(&exchange());
            }
            What::Delivered { drained: false, .. } => {
                if !self.unexpected.contains(&exchange()) {
                    *self.delivered.entry(event.server.clone()).or_default() += 1;
                }
            }
            What::Delivered { .. } | What::Malformed { .. } | What::PeerEnded { .. } => {}
            _ => return false,
        }
        self.last = Some(now);
        true
    }

    fn signals(&self, plan: &Plan) -> Signals {
        let delivered = |server: &str| self.delivered.get(server).copied().unwrap_or(0);
        let limit = if plan.has_enough(delivered) {
            Some(EndedBy::Enough)
        } else if plan.is_over_cap(self.requests, self.connections) {
            Some(EndedBy::Cap)
        } else {
            None
        };
        Signals {
            contact: self.connections > 0,
            limit,
            order: None,
            crash: None,
        }
    }
}

/// Why evidence cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A line is not an entry.
    #[error("line {line} is not an entry of evidence: {reason}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
}

/// A longer line is no entry: heads, the longest that one tells of, are limited.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// The entries of an `events.jsonl`, read one by one. The last line may be torn,
/// as a killed run leaves it; it is then dropped. They also end where the file
/// cannot be read on, which is told by [`Entries::end`].
#[derive(Debug)]
pub struct Entries {
    file: BufReader<File>,
    line: Vec<u8>,
    number: usize,
    error: Option<ReadError>,
}

impl Entries {
    /// Those of a file, which may come from a stranger.
    ///
    /// # Errors
    /// When it cannot be opened, or is a pipe or a device.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Ok(Self {
            file: BufReader::with_capacity(64 * 1024, scenarios::document::open(path)?),
            line: Vec::new(),
            number: 0,
            error: None,
        })
    }

    /// Whether all of it was read.
    ///
    /// # Errors
    /// When the file could not be read on.
    pub fn end(self) -> Result<(), ReadError> {
        self.error.map_or(Ok(()), Err)
    }

    fn read(&mut self) -> Result<Option<Entry>, ReadError> {
        self.line.clear();
        self.number += 1;
        let mut rest = (&mut self.file).take(LONGEST_LINE);
        if rest.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        let is_whole = self.line.ends_with(b"\n");
        match serde_json::from_slice(&self.line) {
            Ok(entry) => Ok(Some(entry)),
            Err(_) if !is_whole && self.file.fill_buf()?.is_empty() => Ok(None),
            Err(error) => Err(ReadError::Line {
                line: self.number,
                reason: error.to_string(),
            }),
        }
    }
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.error.is_some() {
            return None;
        }
        self.read().unwrap_or_else(|error| {
            self.error = Some(error);
            None
        })
    }
}

/// Reads a whole `events.jsonl`, for who wants to see all of it at once.
///
/// # Errors
/// When it cannot be read to its end.
pub fn read(path: &Path) -> Result<Vec<Entry>, ReadError> {
    let mut entries = Entries::open(path)?;
    let all = entries.by_ref().collect();
    entries.end()?;
    Ok(all)
}

#[cfg(test)]
mod tests;
