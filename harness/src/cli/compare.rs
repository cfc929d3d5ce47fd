//! `compare`: clients against each other in one run, or one run against another.
//! Starts no program, and needs neither suite nor clients.

use std::path::{Path, PathBuf};

use clap::Args;
use reports::record::RunRecord;

use super::Context;
use crate::comparison::{Among, Between};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::folder::read_whole;

/// Compare clients with each other, or a run with an earlier one
///
/// Of one run it tells in which cases clients differ, and how; only their codes may be
/// different. Of two it tells what changed from the first to the second, as with
/// another version of a client: exit code 1 when anything did, else 0.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run's folder; of two the earlier one
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// The folder of a later run
    #[arg(value_name = "LATER")]
    later: Option<PathBuf>,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    let cwd = &context.around.cwd;
    let width = context.around.width;
    let record = record(&arguments.run, cwd)?;
    let Some(later) = &arguments.later else {
        context.output.result(Among::of(&record).text(width))?;
        return Ok(Exit::AsExpected);
    };
    let between = Between::of(&record, &self::record(later, cwd)?);
    context.output.result(between.text(width))?;
    Ok(match between.is_unchanged() {
        true => Exit::AsExpected,
        false => Exit::Failed,
    })
}

fn record(folder: &Path, cwd: &Path) -> Result<RunRecord, Failure> {
    let refuse = |why: String| {
        let folder = folder.display();
        Failure::usage(format!(
            "`{folder}` is no folder of a run that came to its end: {why}"
        ))
    };
    let bytes = read_whole(&cwd.join(folder).join("run.json"))
        .map_err(|error| refuse(format!("run.json: {error}")))?;
    serde_json::from_slice(&bytes).map_err(|error| refuse(format!("run.json: {error}")))
}
