//! What goes into a run and what comes out of it, as plain data.

use std::path::PathBuf;
use std::sync::Arc;

use reports::time::{RealTime, Time};
use scenarios::manifest::Manifest;
use scenarios::plan::Plan;
use scenarios::verdict::CellVerdict;

use super::interrupt::Interrupt;

/// One cell to run: a case with a client.
#[derive(Clone, Debug)]
pub struct CellJob {
    /// A slug and a short hash; also the name of the cell's folder. Letters,
    /// digits, `.`, `_` and `-` only.
    pub id: String,
    /// The case, which its repeats and clients share.
    pub plan: Arc<Plan>,
    /// Who does the work.
    pub client: Arc<Client>,
    /// Which repeat, from 1.
    pub repeat: u32,
}

/// A client as it takes part in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// What it can do and how it is started.
    pub manifest: Manifest,
    /// Its version, as it prints it.
    pub version: String,
    /// Defects that are switched on: an adapter gets `--defect NAME` for each.
    pub defects: Vec<String>,
}

/// One cell that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct CellDone {
    /// The job's id.
    pub id: String,
    /// The judge's words.
    pub verdict: CellVerdict,
    /// The time that it ran in; none where its client never ran.
    pub time: Option<Time>,
}

/// How a run is done.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The run's folder; cells get a folder each in `cells` below it.
    pub folder: PathBuf,
    /// The binary `wirefault`, which is started again for every client.
    pub wirefault: PathBuf,
    /// CPU slots: cells that may be busy at once.
    pub jobs: usize,
    /// Cells that may be under way at once, for each slot.
    pub waiting_per_slot: usize,
    /// Why cells run in real time. None: they run in virtual time, where their
    /// case can.
    pub real_time: Option<RealTime>,
    /// What stops the run early.
    pub interrupt: Interrupt,
}

impl RunOptions {
    /// Cells that may be under way at once.
    pub fn at_once(&self) -> usize {
        self.jobs.max(1) * self.waiting_per_slot.max(1)
    }

    /// The usual way: a slot for every processor, this binary as `wirefault`, real
    /// time, and an interrupt that nothing triggers.
    pub fn new(folder: PathBuf) -> Result<Self, HarnessError> {
        Ok(Self {
            folder,
            wirefault: std::env::current_exe().map_err(HarnessError::OwnBinary)?,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            waiting_per_slot: 32,
            real_time: Some(RealTime::not_asked()),
            interrupt: Interrupt::default(),
        })
    }
}

/// What is told while a run goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// A cell began.
    Started {
        /// The job's id.
        id: String,
    },
    /// A cell is over and judged.
    Finished {
        /// The job's id.
        id: String,
        /// The judge's words.
        verdict: Box<CellVerdict>,
    },
    /// The run was interrupted: no further cell begins, those under way are
    /// stopped, and neither is among the results.
    Interrupted {
        /// Cells that will have no result.
        missing: usize,
    },
}

/// The run as a whole could not be done. What goes wrong in one cell is that
/// cell's verdict instead.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    /// The run's folder cannot be used.
    #[error("the run's folder `{}` cannot be used: {source}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A record in a cell's folder cannot be read.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Record {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Our own binary is not known.
    #[error("cannot tell where this program's own binary is: {0}")]
    OwnBinary(std::io::Error),
    /// The operating system refused something that every run needs.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
}
