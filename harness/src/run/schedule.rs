//! Which cell begins when.
//!
//! A cell begins when a processor is free and not too many are under way. It
//! holds its processor until its client waits for something. Cells run on
//! threads of their own; this one only starts them and takes their results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use scripted_servers::clock::{Clock, RealClock};
use tokio::sync::mpsc;

use super::{CellDone, CellJob, HarnessError, RunEvent, RunOptions, Slot};
use crate::cell;

/// Time beyond its deadline after which a cell is given up. Everything that a
/// cell waits for is bounded well below this.
const MARGIN: Duration = Duration::from_secs(90);

/// Runs all cells; results are in the order of the jobs. After an interrupt
/// only the cells that were done by then are among them.
pub fn run_cells(
    jobs: Vec<CellJob>,
    options: &RunOptions,
    seen: &mut dyn FnMut(RunEvent),
) -> Result<Vec<CellDone>, HarnessError> {
    prepare(options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| HarnessError::System {
            what: "no runtime to run cells on",
            source,
        })?;
    let (tell, told) = mpsc::unbounded_channel();
    let mut schedule = Schedule {
        to_come: to_come(&jobs, options),
        results: jobs.iter().map(|_| None).collect(),
        jobs: jobs.into_iter().map(Arc::new).collect(),
        options: Arc::new(options.clone()),
        holding: BTreeSet::new(),
        under_way: BTreeMap::new(),
        threads: BTreeMap::new(),
        clock: RealClock::start(),
        tell,
        seen,
    };
    runtime.block_on(schedule.run(told));
    for thread in std::mem::take(&mut schedule.threads).into_values() {
        // A cell's thread catches its panics; what is left is its cleaning up.
        let _ = thread.join();
    }
    Ok(schedule.results.into_iter().flatten().collect())
}

/// Cells in the order of their beginning, the first one last: that of the jobs, but
/// where waiting takes no time, those begin first that wait all the same.
fn to_come(jobs: &[CellJob], options: &RunOptions) -> Vec<usize> {
    let waits =
        |index: &usize| options.real_time.is_none() && jobs[*index].plan.real_time().is_some();
    let (first, rest): (Vec<usize>, Vec<usize>) = (0..jobs.len()).partition(waits);
    first.into_iter().chain(rest).rev().collect()
}

fn prepare(options: &RunOptions) -> Result<(), HarnessError> {
    crate::launch::become_subreaper().map_err(|source| HarnessError::System {
        what: "this process cannot take over what a killed launcher leaves",
        source,
    })?;
    raise_descriptors();
    let cells = options.folder.join("cells");
    std::fs::create_dir_all(&cells).map_err(|source| HarnessError::Folder {
        path: cells,
        source,
    })
}

/// Takes as many descriptors as may be had: a cell needs some twenty. Launchers
/// give clients the usual number.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = maximum;
    // Up to the maximum this is always allowed.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}

/// What a cell tells.
enum Message {
    SlotFree(usize),
    Done(usize, Option<Box<CellDone>>),
}

struct Schedule<'a> {
    jobs: Vec<Arc<CellJob>>,
    results: Vec<Option<CellDone>>,
    options: Arc<RunOptions>,
    /// Cells that have yet to begin, the next one last.
    to_come: Vec<usize>,
    /// Cells that hold a slot.
    holding: BTreeSet<usize>,
    /// Cells under way, and when each is given up.
    under_way: BTreeMap<usize, Duration>,
    /// Threads of cells, those that were given up left out. A thread that has ended
    /// keeps its stack until it is joined.
    threads: BTreeMap<usize, JoinHandle<()>>,
    clock: Arc<dyn Clock>,
    tell: mpsc::UnboundedSender<Message>,
    seen: &'a mut dyn FnMut(RunEvent),
}

impl Schedule<'_> {
    async fn run(&mut self, mut told: mpsc::UnboundedReceiver<Message>) {
        let interrupt = self.options.interrupt.clone();
        let mut interrupted = false;
        loop {
            if !interrupted && interrupt.is_raised() {
                interrupted = true;
                self.interrupted();
            }
            while !interrupted && self.may_begin() {
                self.begin();
            }
            if self.under_way.is_empty() {
                return;
            }
            let clock = self.clock.clone();
            let give_up = self
                .under_way
                .values()
                .min()
                .copied()
                .unwrap_or(clock.now());
            tokio::select! {
                Some(message) = told.recv() => self.take(message),
                () = interrupt.raised(), if !interrupted => {}
                _ = clock.sleep_until(give_up) => self.give_up(),
            }
        }
    }

    fn may_begin(&self) -> bool {
        let slots = self.options.jobs.max(1);
        let most = self.options.at_once();
        !self.to_come.is_empty() && self.holding.len() < slots && self.under_way.len() < most
    }

    fn begin(&mut self) {
        let Some(index) = self.to_come.pop() else {
            return;
        };
        let job = self.jobs[index].clone();
        (self.seen)(RunEvent::Started { id: job.id.clone() });
        self.holding.insert(index);
        let until = self.clock.now() + job.plan.deadline + MARGIN;
        self.under_way.insert(index, until);
        let options = self.options.clone();
        let (tell, tell_of_slot) = (self.tell.clone(), self.tell.clone());
        // Nobody listens any more to a cell that was given up.
        let slot = Slot::new(move || drop(tell_of_slot.send(Message::SlotFree(index))));
        let started = std::thread::Builder::new()
            .name(format!("cell {}", job.id))
            .spawn(move || {
                let (done, remains) = cell::run_cell(&job, &options, slot);
                drop(tell.send(Message::Done(index, done.map(Box::new))));
                drop(remains);
            });
        match started {
            Ok(thread) => drop(self.threads.insert(index, thread)),
            Err(error) => self.lose(index, format!("no thread for the cell: {error}")),
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::SlotFree(index) => {
                self.holding.remove(&index);
            }
            Message::Done(index, done) => {
                self.holding.remove(&index);
                self.join_ended();
                let known = self.under_way.remove(&index).is_some();
                if let (true, Some(done)) = (known, done) {
                    (self.seen)(RunEvent::Finished {
                        id: done.id.clone(),
                        verdict: Box::new(done.verdict.clone()),
                    });
                    self.results[index] = Some(*done);
                }
            }
        }
    }

    fn join_ended(&mut self) {
        for (_, thread) in self
            .threads
            .extract_if(.., |_, thread| thread.is_finished())
        {
            // A cell's thread catches its panics.
            let _ = thread.join();
        }
    }

    /// Gives up the cells whose time is over, so that one that is stuck does not
    /// keep all results back.
    fn give_up(&mut self) {
        let now = self.clock.now();
        let over: Vec<usize> = self
            .under_way
            .iter()
            .filter(|(_, until)| **until <= now)
            .map(|(index, _)| *index)
            .collect();
        for index in over {
            let reason = format!(
                "the cell did not come to an end within {} s after its deadline",
                MARGIN.as_secs()
            );
            // Who knows when it comes back.
            self.threads.remove(&index);
            self.lose(index, reason);
        }
    }

    fn lose(&mut self, index: usize, reason: String) {
        let lost = cell::lost(&self.jobs[index], reason);
        self.take(Message::Done(index, Some(Box::new(lost))));
    }

    fn interrupted(&mut self) {
        let done = self.results.iter().flatten().count();
        let missing = self.results.len() - done;
        (self.seen)(RunEvent::Interrupted { missing });
    }
}
