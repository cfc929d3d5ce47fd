//! `run --time both`: the same cells in virtual and in real time, compared.

use std::path::Path;

use reports::harmless::one_line;
use reports::time::RealTime;
use scripted_servers::clock::RealClock;

use super::{Arguments, pass};
use crate::baseline::Baseline;
use crate::cli::workspace::run_options;
use crate::cli::{Context, present};
use crate::differences::{self, Differences};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::folder::RunFolder;
use crate::run::plan::Cells;

/// Runs the cells twice, each pass into a run's folder of its own.
pub(super) fn run(
    arguments: &Arguments,
    cells: &Cells,
    baseline: &Baseline,
    context: &mut Context<'_, '_>,
) -> Result<Exit, Failure> {
    let folder = RunFolder::make(arguments.out.as_deref(), "both-", context.around)?;
    let mut options = run_options(&folder, arguments.jobs, None, context)?;
    let passes = [("virtual", None), ("real", Some(RealTime::not_asked()))];
    let mut records = Vec::new();
    for (name, real_time) in passes {
        let clock = RealClock::start();
        let inside = folder.inside(name)?;
        options.folder.clone_from(&inside.path);
        options.real_time = real_time;
        let (record, _, timings) = pass(cells.clone(), &inside, baseline, &options, context)?;
        let took = clock.now();
        context.output.result(format!("In {name} time\n\n"))?;
        present::present(&record, &arguments.shown, &arguments.common, context)?;
        if arguments.timings {
            context.output.result(timings.to_string())?;
        }
        context.output.result("\n")?;
        records.push((record, took));
    }
    let [in_virtual, in_real] = records.as_slice() else {
        return Err(Failure::internal("two passes without two records"));
    };
    let found = Differences::between((&in_virtual.0, in_virtual.1), (&in_real.0, in_real.1));
    folder.write_json(differences::FILE, &found)?;
    context.output.result(found.text(context.around.width))?;
    context.output.result(closing(&folder.shown))?;
    let compared = match (found.differences.is_empty(), found.proves_nothing()) {
        (false, _) => Exit::Failed,
        (true, true) => Exit::Inconclusive,
        (true, false) => Exit::AsExpected,
    };
    let passes = records.iter().map(|(record, _)| Exit::of_record(record));
    Ok(Exit::winner(passes.chain([compared])))
}

fn closing(shown: &Path) -> String {
    let shown = one_line(&shown.display().to_string());
    format!(
        "Run folders: {shown}/virtual and {shown}/real; what differs is in {shown}/{}\n",
        differences::FILE
    )
}
