//! `selftest`: proves that each scenario can tell a good client from a bad one,
//! and that it notices when its fault does not happen.

use std::path::PathBuf;

use clap::Args;
use reports::harmless::one_line;
use reports::layout::wrap;
use reports::time;
use scenarios::document::decode::counted;

use super::Context;
use super::arguments::{Common, Time};
use super::workspace::{Workspace, run_options};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::selection::Selection;
use crate::run::folder::RunFolder;
use crate::run::plan::{Contender, Installs};
use crate::run::progress::{Counts, Progress};
use crate::run::run_cells;
use crate::selftest::{self, Selftest};

/// Prove that the scenarios tell good clients from bad ones
///
/// For each case with the reference client: the good one passes; with the
/// defect that the scenario names switched on it fails with the finding that
/// the scenario names, at level must; with all faults replaced by plain answers
/// the verdict is inconclusive, because a required fault did not happen. Exit
/// codes: 0 all of this holds, 1 something does not, 2 usage, 3 a file is
/// invalid, 6 interrupted.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Scenarios: ids, globs or files, as for `run`. Default: every shipped
    /// scenario; in real time without those tagged `slow`
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,

    /// Folder for the evidence; must be new or empty
    ///
    /// Default: wirefault-runs/selftest-TIME-XXXX.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Cells that may use a processor at once; default: as many as there are
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// Which time cells run in
    #[arg(long, value_name = "TIME", default_value = "auto")]
    time: Time,

    /// Seed of all randomness. Default: another one each time
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Runs each case with each defect and prints which scenario catches which;
    /// a scenario that catches none, or of all scenarios a defect that none
    /// catches, is a failure
    #[arg(long)]
    matrix: bool,

    #[command(flatten)]
    common: Common,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    let selection = Selection::parse(&arguments.scenarios)?;
    let seed = arguments.seed.unwrap_or(u64::from(context.around.entropy));
    let mut workspace = Workspace::open(&arguments.common, context)?;
    let suite = workspace.scenarios(&selection, seed, &context.around.cwd)?;
    workspace.check()?;
    let real_time = arguments.time.real_time(context.output)?;
    let plans: Vec<_> = selection
        .pick(&suite, real_time.is_none())?
        .into_iter()
        .map(|(_, plan)| plan)
        .collect();
    let reference: Vec<_> = workspace
        .clients
        .iter()
        .filter(|known| !known.manifest.defects.is_empty())
        .cloned()
        .collect();
    let contenders = Contender::prepare(&reference, Installs::No, context.around);
    let [contender] = contenders.as_slice() else {
        return Err(Failure::usage(format!(
            "selftest needs exactly one client with defects to switch on, found {}",
            contenders.len()
        )));
    };
    if let Some(why) = &contender.hindrance {
        return Err(Failure::usage(format!(
            "the reference client can not run here: {why}"
        )));
    }
    let mut selftest = Selftest::plan(&plans, contender, arguments.matrix);
    let folder = RunFolder::make(arguments.out.as_deref(), "selftest-", context.around)?;
    let options = run_options(&folder, arguments.jobs, real_time, context)?;
    let differs = |_: &str, _: &scenarios::verdict::CellVerdict| false;
    let jobs = selftest.take_jobs();
    let all = jobs.len();
    let mut progress = Progress::new(
        Counts { all, done: 0 },
        context.around.stderr_is_terminal,
        &differs,
    );
    let done = run_cells(jobs, &options, &mut |event| {
        progress.seen(&event, context.output);
    });
    progress.finish();
    let done = done?;
    let times = time::summary(done.iter().filter_map(|done| done.time.as_ref()));
    let mut results = selftest.results(done);
    if let Some(matrix) = results.matrix.take() {
        context.output.result(matrix.text(context.around.width))?;
        context.output.result("\n")?;
        results
            .failures
            .extend(holes(&matrix, selection.is_everything()));
    }
    context.output.result(text(&results, plans.len(), all))?;
    for line in times
        .iter()
        .flat_map(|line| wrap(line, context.around.width))
    {
        context.output.result(format!("{}\n", one_line(&line)))?;
    }
    context.output.result(format!(
        "Run folder: {}\n",
        one_line(&folder.shown.display().to_string())
    ))?;
    Ok(match (results.missing, results.failures.is_empty()) {
        (0, true) if plans.is_empty() => Exit::Inconclusive,
        (0, true) => Exit::AsExpected,
        (0, false) => Exit::Failed,
        (_, _) => Exit::Incomplete,
    })
}

/// Scenarios that catch nothing, and defects that nothing catches. Of a selection of
/// scenarios nobody expects that it catches every defect.
fn holes(matrix: &selftest::Matrix, is_everything: bool) -> Vec<selftest::Failure> {
    let hole = |case: String, should: &str, but: &str| selftest::Failure {
        case,
        should: should.to_owned(),
        but: but.to_owned(),
        cell: None,
    };
    let rows = matrix.empty_rows().map(|scenario| {
        let should = "catch at least one defect of the reference client";
        hole(
            scenario.to_owned(),
            should,
            "it catches none: any client would pass it",
        )
    });
    let columns = matrix.empty_columns().filter(|_| is_everything);
    let columns = columns.map(|defect| {
        let should = "be caught by at least one scenario";
        hole(format!("defect {defect}"), should, "none catches it")
    });
    rows.chain(columns).collect()
}

fn text(results: &selftest::Results, cases: usize, cells: usize) -> String {
    let mut text = String::new();
    for failure in &results.failures {
        text.push_str(&format!(
            "{}\n    should    {}\n    but       {}\n",
            one_line(&failure.case),
            one_line(&failure.should),
            one_line(&failure.but)
        ));
        if let Some(id) = &failure.cell {
            text.push_str(&format!("    evidence  cells/{id}\n"));
        }
        text.push('\n');
    }
    if results.missing > 0 {
        let (cells, have) = match results.missing {
            1 => ("1 cell".to_owned(), "has"),
            n => (format!("{n} cells"), "have"),
        };
        text.push_str(&format!("Interrupted: {cells} {have} no result.\n"));
    }
    let verb = match results.failures.len() {
        0 if cells == 0 => "nothing ran, so nothing is proved".to_owned(),
        0 => "all of it holds".to_owned(),
        1 => "1 thing does not hold".to_owned(),
        n => format!("{n} things do not hold"),
    };
    text.push_str(&format!(
        "Selftest: {} in {}, {verb}.\n",
        counted(cases, "case"),
        counted(cells, "cell")
    ));
    text
}
