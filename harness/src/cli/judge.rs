//! `judge`: the verdicts of a run's folder, from its evidence alone. Starts no
//! program, and needs neither suite nor clients.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use reports::record::RunRecord;

use super::arguments::{Common, Shown};
use super::{Context, present};
use crate::cell;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::planned::{self, Planned};
use crate::run_folder::{RunFolder, read_whole};

/// Judge a run's folder again
///
/// Reads what was planned, each cell's Plan and manifest and its events, and
/// gives the verdicts that they come to, also of a run that was killed in the
/// middle. Writes nothing into the folder and starts no program. The exit code
/// is that of the run; where a run was killed it is 6.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's folder
    #[arg(value_name = "RUN_DIR")]
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
    let planned = planned(&folder)?;
    present::try_places(&arguments.shown, context)?;
    let before = before(&folder, context);
    let mut verdicts = BTreeMap::new();
    for planned in planned.cells.iter().filter(|cell| cell.not_run.is_none()) {
        if before.has_no_result(&planned.id) {
            continue;
        }
        let of_cell = folder.path.join("cells").join(&planned.id);
        if !of_cell.is_dir() {
            continue;
        }
        match cell::judge_again(&of_cell) {
            Ok((_, verdict)) => {
                verdicts.insert(planned.id.clone(), verdict);
            }
            // Killed while it was being written; the cell is missing then.
            Err(error) => context
                .output
                .message(&reports::harmless::one_line(&error.to_string())),
        }
    }
    let record = planned.record(verdicts, &|id| folder.stderr(id));
    before.compare(&record, context);
    present::present(&record, &arguments.shown, &arguments.common, context)?;
    Ok(Exit::winner([Exit::of_record(&record), before.exit()]))
}

fn planned(folder: &RunFolder) -> Result<Planned, Failure> {
    let shown = folder.shown.join(planned::FILE);
    let bytes = read_whole(&folder.path.join(planned::FILE)).map_err(|error| {
        Failure::usage(format!(
            "`{}` is no run's folder: cannot read `{}`: {error}",
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
            Ok(record) => return Before::Record(Box::new(record)),
            Err(_) => (
                Before::Unreadable,
                "run.json can not be read; judged from the evidence alone.",
            ),
        },
    };
    context.output.message(says);
    before
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
