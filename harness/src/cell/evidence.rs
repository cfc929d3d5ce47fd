//! The evidence of one cell: numbered, stamped, written down as it comes.
//!
//! Servers record from their own thread, the harness records what it sees of
//! the client. Entries are JSON Lines in `events.jsonl`; they reach the file
//! when the servers are about to wait and at once for the harness's own, so a
//! killed run leaves its record. Nothing here judges: the few counters serve to
//! tell when a cell is over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
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
    entries: Vec<Entry>,
    traffic: Traffic,
    watch: Watch,
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
            watch: Watch::of(&plan),
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
        let mut state = self.state();
        let at = at.min(self.now());
        if event == ClientEvent::Work {
            state.watch.has_work(at);
            self.show(&state);
        }
        state.push(at, Event::Client(event));
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

    /// All entries so far, and why some of them are not in the file, if so.
    pub fn entries(&self) -> (Vec<Entry>, Option<String>) {
        let mut state = self.state();
        state.write();
        (state.entries.clone(), state.broken.clone())
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
        let signals = Signals {
            order: state.watch.order(),
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
        let due = state.watch.sees(&event, now);
        state.push(now, Event::Server(event));
        if counted || due {
            self.show(&state);
        }
    }

    fn flush(&self) {
        self.state().write();
    }
}

impl State {
    fn push(&mut self, at: Duration, event: Event) {
        let entry = Entry {
            n: self.entries.len() as u64 + 1,
            at_us: u64::try_from(at.as_micros()).unwrap_or(u64::MAX),
            event,
        };
        match write_entry(&entry, &mut self.unwritten) {
            Ok(()) => self.unwritten.push(b'\n'),
            Err(error) => self.break_off(&error.to_string()),
        }
        self.entries.push(entry);
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

/// Reads `events.jsonl`. The last line may be torn, as a killed run leaves it;
/// it is then dropped.
pub fn read(path: &Path) -> Result<Vec<Entry>, ReadError> {
    let bytes = crate::run::folder::read_whole(path)?;
    let mut entries = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(entry) => entries.push(entry),
            Err(_) if !line.ends_with(b"\n") => break,
            Err(error) => {
                return Err(ReadError::Line {
                    line: index + 1,
                    reason: error.to_string(),
                });
            }
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests;
