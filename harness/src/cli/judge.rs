//! `judge`: the verdicts of a run's folder, from its evidence alone. Starts no
//! program, and needs neither suite nor clients.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use reports::record::RunRecord;
use scenarios::verdict::CellVerdict;

use super::arguments::{Common, Shown};
use super::{Context, present};
use crate::baseline::fingerprint;
use crate::cell;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::CellDone;
use crate::run::folder::{self, RunFolder, read_whole};
use crate::run::planned::{self, Planned, PlannedCell};

/// Judge a run's folder again, or one cell of it
///
/// Reads what was planned, each cell's Plan and manifest and its events, and
/// gives the verdicts that they come to, also of a run that was killed in the
/// middle. Writes nothing into the folder and starts no program. The exit code
/// is that of the run; where a run was killed it is 6. A cell's folder,
/// RUN/cells/ID, is judged from itself alone and held against no baseline.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's folder, or the folder of a cell
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    #[command(flatten)]
    shown: Shown,

    #[command(flatten)]
    common: Common,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    let folder = RunFolder {
        path: context.around.cwd.join(&arguments.folder),
        shown: arguments.folder.clone(),
    };
    if is_cell(&folder) {
        return cell_alone(&folder, arguments, context);
    }
    let planned = planned(&folder)?;
    present::try_places(&arguments.shown, context)?;
    let before = before(&folder, context);
    let mut done = Vec::new();
    for planned in planned.cells.iter().filter(|cell| cell.not_run.is_none()) {
        if before.has_no_result(&planned.id) {
            continue;
        }
        let of_cell = folder.path.join("cells").join(&planned.id);
        if !of_cell.is_dir() {
            continue;
        }
        match cell::judge_again(&of_cell) {
            Ok((record, verdict)) => done.push(CellDone {
                id: planned.id.clone(),
                verdict,
                time: record.time,
            }),
            // Killed while it was being written; the cell is missing then.
            Err(error) => context
                .output
                .message(&reports::harmless::one_line(&error.to_string())),
        }
    }
    let record = planned.record(done, &|id| folder.stderr(id));
    before.compare(&record, context);
    present::present(&record, &arguments.shown, &arguments.common, context)?;
    Ok(Exit::winner([Exit::of_record(&record), before.exit()]))
}

/// Whether this is the folder of a cell and not of a run.
fn is_cell(folder: &RunFolder) -> bool {
    let has = |name: &str| folder.path.join(name).is_file();
    has(cell::RECORD) && !has(planned::FILE)
}

/// Judges one cell.
fn cell_alone(
    folder: &RunFolder,
    arguments: &Arguments,
    context: &mut Context<'_, '_>,
) -> Result<Exit, Failure> {
    let (record, verdict) =
        cell::judge_again(&folder.path).map_err(|error| Failure::usage(error.to_string()))?;
    let ended = compare_cell(folder, &verdict, context);
    // The run's other files are not asked, so their digest is not known.
    let mut planned = Planned::new(String::new(), record.seed);
    let done = CellDone {
        id: record.id.clone(),
        verdict,
        time: record.time,
    };
    planned.cells.push(PlannedCell {
        id: record.id,
        case: record.plan.case,
        file: record.plan.file,
        client: record.manifest.name,
        client_version: record.client_version,
        repeat: record.repeat,
        baseline: None,
        not_run: None,
    });
    let record = planned.record(vec![done], &|_| folder::stderr(&folder.path));
    present::present(&record, &arguments.shown, &arguments.common, context)?;
    Ok(Exit::winner([Exit::of_record(&record), ended]))
}

/// As [`compare`], for one cell.
fn compare_cell(folder: &RunFolder, now: &CellVerdict, context: &mut Context<'_, '_>) -> Exit {
    let Ok(bytes) = read_whole(&folder.path.join(cell::VERDICT)) else {
        context
            .output
            .message("There is no verdict.json: the cell did not come to its end.");
        return Exit::Incomplete;
    };
    let before = serde_json::from_slice::<CellVerdict>(&bytes);
    let shows = |verdict: &CellVerdict| (verdict.verdict, fingerprint(verdict));
    if before.map_or(true, |before| shows(&before) != shows(now)) {
        context.output.message("Judged otherwise than when it ran.");
    }
    Exit::AsExpected
}

fn planned(folder: &RunFolder) -> Result<Planned, Failure> {
    let shown = folder.shown.join(planned::FILE);
    let bytes = read_whole(&folder.path.join(planned::FILE)).map_err(|error| {
        Failure::usage(format!(
            "`{}` is the folder neither of a run nor of a cell: cannot read `{}`: {error}",
            folder.shown.display(),
            shown.display()
        ))
    })?;
    let not_ours = |why: String| {
        Failure::usage(format!(
            "`{}` is not what a run writes: {why}",
            shown.display()
        ))
    };
    let planned: Planned =
        serde_json::from_slice(&bytes).map_err(|error| not_ours(error.to_string()))?;
    // An id names a folder, and a run's folder may come from a stranger.
    match planned.cells.iter().find(|cell| !cell::is_plain(&cell.id)) {
        Some(cell) => Err(not_ours(format!("`{}` is no cell's id", cell.id))),
        None => Ok(planned),
    }
}

/// What the run itself came to.
enum Before {
    /// It did not come to its end.
    Nothing,
    /// It cannot be told.
    Unreadable,
    /// This.
    Record(Box<RunRecord>),
}

fn before(folder: &RunFolder, context: &mut Context<'_, '_>) -> Before {
    let (before, says) = match read_whole(&folder.path.join("run.json")) {
        Err(_) => (
            Before::Nothing,
            "There is no run.json: the run did not come to its end.",
        ),
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(record) => {
                let record: RunRecord = record;
                interrupted(&record, context);
                return Before::Record(Box::new(record));
            }
            Err(_) => (
                Before::Unreadable,
                "run.json can not be read; judged from the evidence alone.",
            ),
        },
    };
    context.output.message(says);
    before
}

/// Says so when the run was stopped before all of its cells were done.
fn interrupted(record: &RunRecord, context: &mut Context<'_, '_>) {
    let (cells, have) = match record.missing.len() {
        0 => return,
        1 => ("1 cell".to_owned(), "has"),
        n => (format!("{n} cells"), "have"),
    };
    context.output.message(&format!(
        "The run was interrupted: {cells} {have} no result."
    ));
}

impl Before {
    /// Whether the run says that this cell was interrupted. Its evidence then
    /// proves nothing, and a harness that was told to stop is no broken one.
    fn has_no_result(&self, id: &str) -> bool {
        let Self::Record(record) = self else {
            return false;
        };
        record.missing.iter().any(|cell| cell.id == id)
    }

    /// What it means for the exit code.
    fn exit(&self) -> Exit {
        match self {
            Self::Nothing => Exit::Incomplete,
            Self::Unreadable | Self::Record(_) => Exit::AsExpected,
        }
    }

    /// Says so when the run came to other verdicts: then the judge has changed
    /// since, or somebody touched the evidence.
    fn compare(&self, record: &RunRecord, context: &mut Context<'_, '_>) {
        let Self::Record(before) = self else {
            return;
        };
        let was: BTreeMap<&str, _> = before
            .cells
            .iter()
            .map(|cell| (cell.id.as_str(), (cell.judged.verdict, &cell.fingerprint)))
            .collect();
        for cell in &record.cells {
            if was.get(cell.id.as_str()) != Some(&(cell.judged.verdict, &cell.fingerprint)) {
                context.output.message(&format!(
                    "{} [{}]: judged otherwise than when it ran",
                    reports::harmless::one_line(&cell.case()),
                    reports::harmless::one_line(&cell.client)
                ));
            }
        }
    }
}
