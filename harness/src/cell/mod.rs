//! One cell: a fresh folder, armed servers, a client with its work, the end,
//! and the judgement.
//!
//! What goes wrong here is written into the evidence and makes the verdict
//! `error`; a cell is never lost.

mod drive;
mod ending;
pub mod evidence;
mod folder;
mod kept;
pub mod order;
mod processors;
mod stage;
mod streams;
mod talk;
mod time;
mod work;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reports::time::{RealTime, Time};
use scenarios::evidence::ClientEvent;
use scenarios::judge;
use scenarios::verdict::{CellVerdict, Verdict};
use scripted_servers::clock::Clock;

use self::drive::{Again, Ended, Errand, Together, drive_all};
use self::ending::Patience;
use self::evidence::{Entries, EvidenceLog, ReadError};
use self::folder::CellFolder;
use self::stage::{Stage, Unset};
use self::time::CellTime;
use self::work::{Assignment, Desk};
use crate::launch::{Launcher, Watch};
use crate::run::{CellDone, CellJob, HarnessError, RunOptions, Slot};

pub(crate) use self::folder::is_plain;
pub use self::folder::{CellRecord, NotRun, RECORD, VERDICT};

/// What is left to do when a cell is judged, and nobody needs to wait for: the
/// launcher's own end, and the client's scratch folder. Done when dropped.
#[derive(Default)]
pub(crate) struct Remains {
    watches: Vec<Watch>,
    folder: Option<CellFolder>,
}

impl Drop for Remains {
    fn drop(&mut self) {
        self.watches.clear();
        if let Some(folder) = &self.folder {
            folder.remove_scratch();
        }
    }
}

/// Runs one cell and judges it. None: the run was interrupted meanwhile.
pub(crate) fn run_cell(
    job: &CellJob,
    options: &RunOptions,
    slot: Slot,
) -> (Option<CellDone>, Remains) {
    // Launcher, servers and tracer are started from here.
    crate::priority::this_thread_first();
    let mut remains = Remains::default();
    let judged = match CellFolder::create(&options.folder, &job.id, job.plan.fleet) {
        Ok(folder) => {
            remains.folder = Some(folder.clone());
            run_in(&folder, job, options, slot, &mut remains)
        }
        Err(error) => {
            let reason = format!("no folder for the cell: {error}");
            Some((judge::not_run(&job.plan, Verdict::Error, reason), None))
        }
    };
    let done = judged.map(|(verdict, time)| CellDone {
        id: job.id.clone(),
        verdict,
        time,
    });
    (done, remains)
}

/// The verdict on a cell that is not known to have come to any end.
pub(crate) fn lost(job: &CellJob, reason: String) -> CellDone {
    CellDone {
        id: job.id.clone(),
        verdict: judge::not_run(&job.plan, Verdict::Error, reason),
        time: None,
    }
}

fn run_in(
    folder: &CellFolder,
    job: &CellJob,
    options: &RunOptions,
    slot: Slot,
    remains: &mut Remains,
) -> Option<(CellVerdict, Option<Time>)> {
    let not_run = |reason| Some((judge::not_run(&job.plan, Verdict::Error, reason), None));
    // First, as it takes longest to be ready.
    let launchers = (1..=job.plan.fleet).map(|process| {
        let environment = folder.environment(process);
        Launcher::start(&options.wirefault, &environment, &folder.scratch(process))
    });
    let launchers: io::Result<Vec<_>> = launchers.collect();
    let mut record = record_of(job);
    let real_time = real_time(job, options);
    let time = match time_of(job, real_time.is_some()) {
        Ok(time) => time,
        Err(error) => {
            let reason = format!("virtual time cannot begin: {error}");
            return not_run(reason);
        }
    };
    let clock = time.clock();
    let log = match prepare(folder, &record, &clock) {
        Ok(log) => Arc::new(log),
        Err(error) => {
            let reason = format!("the cell's record cannot be written: {error}");
            return not_run(reason);
        }
    };
    let cell = Cell {
        job,
        options,
        folder,
        clock,
        log: log.clone(),
    };
    let ended = unwind(|| cell.run(launchers, slot, &time, &mut remains.watches));
    record.time = real_time.map(Time::Real);
    if let Some(told) = time.end(&ended, job.plan.deadline) {
        record.time = Some(Time::from(&told));
        log.client(ClientEvent::VirtualTime(told));
    }
    match ended {
        Ok(Ended::Ran(ended_by)) => log.client(ClientEvent::End { ended_by }),
        Ok(Ended::Interrupted) => return None,
        // The evidence says what happened.
        Ok(Ended::Broken | Ended::Crashed) => {}
        Ok(Ended::NotStarted {
            missing: true,
            reason,
        }) => {
            record.time = None;
            record.not_run = Some(NotRun {
                verdict: Verdict::Skipped,
                reason,
            });
        }
        Ok(Ended::NotStarted { reason, .. }) | Err(reason) => {
            log.client(ClientEvent::HarnessError { reason });
        }
    }
    let verdict = conclude(folder, &record, &log);
    Some((verdict, record.time))
}

/// Why a cell runs in real time, as the run wants it or the case can only have it.
fn real_time(job: &CellJob, options: &RunOptions) -> Option<RealTime> {
    let kernel = || job.plan.real_time().map(RealTime::kernel_timers);
    options.real_time.clone().or_else(kernel)
}

fn time_of(job: &CellJob, is_real: bool) -> io::Result<CellTime> {
    if is_real {
        Ok(CellTime::real())
    } else {
        CellTime::begin_virtual(&job.client.manifest.soft_threads)
    }
}

/// Judges, and writes down the verdict.
fn conclude(folder: &CellFolder, record: &CellRecord, log: &EvidenceLog) -> CellVerdict {
    let verdict = match log.finish() {
        Some(reason) => Err(reason),
        None => unwind(|| Ok(verdict_on(record, &folder.events())))
            .map_err(|reason| format!("the judge broke: {reason}"))
            .and_then(|verdict| {
                verdict.map_err(|error| format!("the evidence cannot be read: {error}"))
            }),
    };
    let verdict =
        verdict.unwrap_or_else(|reason| judge::not_run(&record.plan, Verdict::Error, reason));
    let written = write_json(&folder.verdict(), &verdict).and_then(|()| {
        // Once more, with what is known now.
        write_json(&folder.record(), record)
    });
    match written {
        Ok(()) => verdict,
        Err(error) => {
            let reason = format!("the cell's folder cannot be finished: {error}");
            judge::not_run(&record.plan, Verdict::Error, reason)
        }
    }
}

/// The verdict on a cell by its record and the file with its evidence, of which
/// no more than an entry is in memory at a time.
fn verdict_on(record: &CellRecord, events: &Path) -> Result<CellVerdict, ReadError> {
    if let Some(not_run) = &record.not_run {
        let reason = not_run.reason.clone();
        return Ok(judge::not_run(&record.plan, not_run.verdict, reason));
    }
    let mut entries = Entries::open(events)?;
    let verdict = judge::judge(&record.plan, &record.manifest, entries.by_ref());
    entries.end().map(|()| verdict)
}

/// Judges a cell again by its folder.
pub fn judge_again(folder: &Path) -> Result<(CellRecord, CellVerdict), HarnessError> {
    let folder = CellFolder::at(folder);
    let unreadable = |path: &Path, reason: String| HarnessError::Record {
        path: path.to_owned(),
        reason,
    };
    let path = folder.record();
    let text = crate::run::folder::read_whole(&path)
        .map_err(|error| unreadable(&path, error.to_string()))?;
    let record = serde_json::from_slice(&text)
        .map_err(|error| unreadable(&path, format!("not a cell's record: {error}")))?;
    let path = folder.events();
    let verdict =
        verdict_on(&record, &path).map_err(|error| unreadable(&path, error.to_string()))?;
    Ok((record, verdict))
}

fn record_of(job: &CellJob) -> CellRecord {
    CellRecord {
        id: job.id.clone(),
        repeat: job.repeat,
        seed: job.plan.seed,
        client_version: job.client.version.clone(),
        defects: job.client.defects.clone(),
        not_run: None,
        time: None,
        plan: job.plan.as_ref().clone(),
        manifest: job.client.manifest.clone(),
    }
}

fn prepare(
    folder: &CellFolder,
    record: &CellRecord,
    clock: &Arc<dyn Clock>,
) -> io::Result<EvidenceLog> {
    write_json(&folder.record(), record)?;
    EvidenceLog::create(&folder.events(), clock.clone(), record.plan.clone())
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> io::Result<()> {
    let mut json = serde_json::to_vec_pretty(value)?;
    json.push(b'\n');
    std::fs::write(path, json)
}

/// Runs `work`; a panic in it becomes a reason in words.
fn unwind<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!(
            "a bug in wirefault: {}",
            words.unwrap_or("a panic")
        ))
    })
}

/// A cell while its client runs.
struct Cell<'a> {
    job: &'a CellJob,
    options: &'a RunOptions,
    folder: &'a CellFolder,
    clock: Arc<dyn Clock>,
    log: Arc<EvidenceLog>,
}

impl Cell<'_> {
    fn run(
        &self,
        launchers: io::Result<Vec<Launcher>>,
        slot: Slot,
        time: &CellTime,
        watches: &mut Vec<Watch>,
    ) -> Result<Ended, String> {
        let launchers =
            launchers.map_err(|error| format!("no launcher can be started: {error}"))?;
        let plan = &self.job.plan;
        let manifest = &self.job.client.manifest;
        let stage = match Stage::set(plan, manifest, self.clock.clone(), self.log.clone()) {
            Ok(stage) => stage,
            Err(Unset::Broken(reason)) => return Err(reason),
            // As a program that is missing.
            Err(Unset::Lacking(reason)) => {
                let missing = true;
                return Ok(Ended::NotStarted { missing, reason });
            }
        };
        let ended = self.run_client(launchers, &stage, slot, time);
        // Whatever happened, the servers' side is brought to its end.
        let closed = stage.close();
        let (ended, left) = ended?;
        *watches = left;
        closed?;
        Ok(ended)
    }

    fn launcher(&self, process: u32) -> io::Result<Launcher> {
        let (folder, wirefault) = (self.folder, &self.options.wirefault);
        Launcher::start(
            wirefault,
            &folder.environment(process),
            &folder.scratch(process),
        )
    }

    fn run_client(
        &self,
        launchers: Vec<Launcher>,
        stage: &Stage,
        slot: Slot,
        time: &CellTime,
    ) -> Result<(Ended, Vec<Watch>), String> {
        let plan = &self.job.plan;
        let own = |error: io::Error| format!("the client cannot be run: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(own)?;
        // Pipes are made for the runtime that is at work.
        let _here = runtime.enter();
        let together = Together {
            processes: plan.fleet,
            clock: &*self.clock,
            handed_over: &|at| stage.work_handed_over_at(at),
            client_ended: &|at| stage.client_ended(at),
            client_crashed: &|at| stage.client_crashed(at),
            stand: tokio::sync::watch::Sender::default(),
        };
        let stopping = || stage.stopping();
        let end_seen = |pid| time.end_seen(pid);
        // Only one that is alone is started again.
        let once_more = || Ok((self.launcher(1)?, time.door()?));
        let mut calls = stage.calls(plan, &self.job.client.manifest).into_iter();
        let mut errands = Vec::new();
        let slots = slot.parts(plan.fleet);
        for ((launcher, slot), process) in launchers.into_iter().zip(slots).zip(1..) {
            let folder = self.folder;
            let calls: Vec<_> = calls.by_ref().take(plan.calls_each()).collect();
            let desk = Desk { folder, process };
            let Assignment {
                args,
                talk,
                stdin,
                can_finish,
            } = work::assign(self.job, &self.options.wirefault, desk, calls)?;
            errands.push(Errand {
                process,
                together: &together,
                launcher,
                args,
                stdin,
                door: time.door().map_err(own)?,
                talk,
                patience: Patience {
                    deadline: plan.deadline,
                    quiet: plan.quiet,
                    can_finish,
                },
                log: &self.log,
                clock: &*self.clock,
                stdout: folder.stdout(process),
                stderr: folder.stderr(process),
                slot,
                keeps_slot: time.is_virtual(),
                interrupt: &self.options.interrupt,
                stopping: &stopping,
                again: Again {
                    after: plan
                        .crash
                        .as_ref()
                        .map_or(Duration::ZERO, |crash| crash.restart_after),
                    stdin,
                    launcher: &once_more,
                },
                end_seen: &end_seen,
            });
        }
        runtime
            .block_on(drive_all(errands, &*self.clock))
            .map_err(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_a_cell_becomes_a_reason_that_says_whose_fault_it_is() {
        let broken = unwind::<()>(|| panic!("nothing at {}", 7));
        assert_eq!(broken, Err("a bug in wirefault: nothing at 7".to_owned()));
        assert_eq!(unwind(|| Ok(1)), Ok(1));
    }
}
