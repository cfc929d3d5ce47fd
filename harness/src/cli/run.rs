//! `run`: runs scenarios against clients and holds the result against the
//! baseline.

mod both;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use reports::harmless::one_line;
use reports::record::{Disposition, RunRecord};

use super::arguments::{Common, RunTime, Shown};
use super::workspace::{Workspace, digest, run_options, say_what_is_set_up};
use super::{Context, present};
use crate::baseline::{Baseline, Covered, dispose, fingerprint, propose};
use crate::client::ad_hoc;
use crate::client::known::{self, Known};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::id;
use crate::input::root::Root;
use crate::input::selection::Selection;
use crate::input::suite::{self, Scenario, Suite};
use crate::run::folder::RunFolder;
use crate::run::plan::{Cells, Contender, Installs};
use crate::run::progress::{Counts, Progress};
use crate::run::timings::{Stopwatch, Timings};
use crate::run::{RunOptions, run_cells};

/// Run scenarios against clients
///
/// Prints the matrix, scenario by client: a mark for the verdict and the number
/// of requests that the servers counted as delivered. Then what differs from
/// the baseline, with what proves it, and where the run's folder is.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Scenarios: ids, globs over `area/name[column=value]`, or files
    ///
    /// `redirect/loop` is a scenario with all its cases, `'redirect/*'` an
    /// area, `'*[after=half*'` some cases, `mine/case.yaml` a file. Default:
    /// every shipped scenario; in real time without those tagged `slow`.
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,

    /// A client, by name or glob; can be given several times
    ///
    /// Default: all that need nothing from a registry. One that does is set up when it
    /// is named. A client whose programs are missing is skipped.
    #[arg(long = "client", value_name = "NAME")]
    clients: Vec<String>,

    /// All clients, those that come from a registry too
    ///
    /// What is not there yet is set up first, as by `wirefault clients setup`.
    #[arg(long, conflicts_with = "clients")]
    all_clients: bool,

    /// Run this command line as a client, for programs that know nothing of
    /// wirefault
    ///
    /// Split into words as a shell would, but no shell runs. `{url}` is put in
    /// after splitting, also `{method}`, `{body_file}` and `{output}`. As in
    /// --command 'curl -sS --retry 3 {url}'. Without --client only this runs.
    /// Can be given several times; two of one program need names, as in
    /// --command 'patient=curl --retry 3 {url}'.
    #[arg(long = "command", value_name = "[NAME=]ARGS")]
    commands: Vec<String>,

    /// Folder for the run's evidence; must be new or empty
    ///
    /// Default: wirefault-runs/TIME-XXXX, with the link wirefault-runs/latest.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Folder of the baseline, or `none`
    ///
    /// Default: `baseline` in the root folder.
    #[arg(long, value_name = "DIR|none")]
    baseline: Option<PathBuf>,

    /// Cells that may use a processor at once
    ///
    /// Default: as many as there are processors. Cells that wait do not count.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,

    /// How often each cell runs; cells whose repeats differ are flaky
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,

    /// Which time cells run in
    ///
    /// `both` keeps its passes in the folders `virtual` and `real` of the run's
    /// folder, and what differs between them in `differences.json`.
    #[arg(long, value_name = "TIME", default_value = "auto")]
    time: RunTime,

    /// Tell how long the run took, and how long it would have to take at least
    #[arg(long)]
    timings: bool,

    /// Seed of all randomness; printed and stored, so that a run can be
    /// replayed. Default: another one each time
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten)]
    shown: Shown,

    #[command(flatten)]
    common: Common,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    let selection = Selection::parse(&arguments.scenarios)?;
    let seed = arguments.seed.unwrap_or(u64::from(context.around.entropy));
    let cwd = &context.around.cwd;
    let mut workspace = Workspace::open(&arguments.common, context)?;
    let suite = workspace.scenarios(&selection, seed, cwd)?;
    let baseline = workspace.baseline(arguments.baseline.as_deref(), cwd)?;
    workspace.check()?;
    let time = arguments.time.single()?;
    if time.is_none() && !arguments.shown.reports.is_empty() {
        return Err(Failure::usage(REPORT_OF_BOTH));
    }
    let real_time = match time {
        Some(time) => time.real_time(context.output)?,
        None => None,
    };
    // Both passes run the same, so what real time is too short for is in neither.
    let jumps = time.is_some() && real_time.is_none();
    let picked = selection.pick(&suite, jumps)?;
    let chosen = choose(arguments, &workspace.clients, cwd)?;

    say_what_is_set_up(&chosen, context);
    let contenders = Contender::prepare(&chosen, Installs::Yes, context.around);
    Contender::all_built(&contenders)?;
    let files = picked
        .iter()
        .map(|(scenario, _)| (scenario.id.as_str(), scenario.source.text.as_str()));
    let manifests = chosen
        .iter()
        .map(|known| (known.manifest.name.as_str(), known.source.text.as_str()));
    let digest = digest(files.chain(manifests));
    let plans: Vec<_> = picked.iter().map(|(_, plan)| *plan).collect();
    let mut cells = Cells::plan(
        &plans,
        &contenders,
        arguments.repeat,
        &baseline,
        (digest, seed),
    );
    cells.planned.date = Some(id::date(context.around.now));
    let names: Vec<&str> = chosen.iter().map(|c| c.manifest.name.as_str()).collect();
    let covered = covered(&selection, &suite, &workspace.root, cwd);
    let asks_for = |scenario: &str| selection.is_everything() || selection.names(scenario);
    let unmatched = baseline.unmatched(&names, &covered, &asks_for);
    (cells.planned.stale, cells.planned.unused) = (unmatched.stale, unmatched.unused);

    if time.is_none() {
        return both::run(arguments, &cells, &baseline, context);
    }
    let folder = RunFolder::make(arguments.out.as_deref(), "", context.around)?;
    present::try_places(&arguments.shown, context)?;
    let options = run_options(&folder, arguments.jobs, real_time, context)?;
    let (record, proposals, timings) = pass(cells, &folder, &baseline, &options, context)?;
    present::present(&record, &arguments.shown, &arguments.common, context)?;
    if arguments.timings {
        context.output.result(timings.to_string())?;
    }
    context.output.result(closing(&folder, &proposals))?;
    Ok(Exit::of_record(&record))
}

fn choose(arguments: &Arguments, known: &[Known], cwd: &Path) -> Result<Vec<Known>, Failure> {
    let mut chosen: Vec<Known> = Vec::new();
    let are_named = arguments.all_clients || !arguments.clients.is_empty();
    if arguments.commands.is_empty() || are_named {
        let all = ["*".to_owned()];
        let wanted = match arguments.all_clients {
            true => &all[..],
            false => &arguments.clients,
        };
        let found = known::choose(known, wanted)?;
        chosen.extend(found.into_iter().cloned());
    }
    for text in &arguments.commands {
        let manifest = ad_hoc::client(text, known, cwd)?;
        let name = &manifest.name;
        if chosen.iter().any(|other| other.manifest.name == *name) {
            return Err(Failure::usage(format!(
                "two clients are called `{name}`: give them names, as in --command NAME=ARGS"
            )));
        }
        chosen.push(Known {
            manifest,
            source: scenarios::document::Source {
                path: "--command".to_owned(),
                text: text.clone(),
            },
        });
    }
    Ok(chosen)
}

/// What to do for a report of both passes.
const REPORT_OF_BOTH: &str = "--report: with --time both there are two records; `wirefault judge \
                              DIR/virtual --report FORMAT=PATH` makes a report of one of them";

/// Runs the cells, and writes into the folder what came of them: the record, and
/// the baseline's entries for what differs from it, by client.
fn pass(
    cells: Cells,
    folder: &RunFolder,
    baseline: &Baseline,
    options: &RunOptions,
    context: &mut Context<'_, '_>,
) -> Result<(RunRecord, BTreeMap<String, String>, Timings), Failure> {
    folder.write_planned(&cells.planned)?;
    let (record, timings) = conduct(cells, folder, baseline, options, context)?;
    folder.write_record(&record)?;
    let proposals = propose(&record, baseline);
    for (client, text) in &proposals {
        let name = PathBuf::from("baseline").join(format!("{client}.yaml"));
        folder.write(&name, text.as_bytes())?;
    }
    Ok((record, proposals, timings))
}

/// Runs the cells and puts the record together.
fn conduct(
    cells: Cells,
    folder: &RunFolder,
    baseline: &Baseline,
    options: &RunOptions,
    context: &mut Context<'_, '_>,
) -> Result<(RunRecord, Timings), Failure> {
    let Cells {
        planned,
        jobs: work,
    } = cells;
    let entries: BTreeMap<&str, _> = planned
        .cells
        .iter()
        .map(|cell| {
            let entry = baseline.entry(&cell.client, &cell.client_version, &cell.case.to_string());
            (cell.id.as_str(), entry.map(|entry| &entry.says))
        })
        .collect();
    let differs = |id: &str, verdict: &scenarios::verdict::CellVerdict| {
        let entry = entries.get(id).copied().flatten();
        dispose(entry, verdict.verdict, &fingerprint(verdict)) != Disposition::Expected
    };
    // Cells that can not run are done before the run begins.
    let counts = Counts {
        all: planned.cells.len(),
        done: planned.cells.len() - work.len(),
    };
    let mut progress = Progress::new(counts, context.around.stderr_is_terminal, &differs);
    let mut stopwatch = Stopwatch::start();
    let done = run_cells(work, options, &mut |event| {
        stopwatch.seen(&event);
        progress.seen(&event, context.output);
    });
    progress.finish();
    let done = done?;
    let timings = stopwatch.stop(&done, options);
    let record = planned.record(done, &|id| folder.stderr(id));
    Ok((record, timings))
}

/// The scenarios that take part with all their cases.
fn covered(selection: &Selection, suite: &Suite, root: &Root, cwd: &Path) -> Vec<Covered> {
    let whole =
        |known: &&Scenario| selection.is_everything() || known.named || selection.names(&known.id);
    let shipped = std::fs::canonicalize(root.folder().join(suite::FOLDER));
    let is_shipped = |file: &str| {
        let file = std::fs::canonicalize(cwd.join(file));
        matches!((&shipped, file), (Ok(shipped), Ok(file)) if file.starts_with(shipped))
    };
    let known = suite.scenarios.iter().filter(whole);
    known
        .map(|known| Covered {
            id: known.id.clone(),
            cases: known
                .plans
                .iter()
                .map(|plan| plan.case.to_string())
                .collect(),
            outside: (!is_shipped(&known.source.path)).then(|| known.source.path.clone()),
        })
        .collect()
}

fn closing(folder: &RunFolder, proposals: &BTreeMap<String, String>) -> String {
    let shown = one_line(&folder.shown.display().to_string());
    let mut text = format!("Run folder: {shown}\n");
    if !proposals.is_empty() {
        text.push_str(
            "To accept what differs, say why in these files and copy them into the baseline:\n",
        );
        for client in proposals.keys() {
            text.push_str(&format!("  {shown}/baseline/{client}.yaml\n"));
        }
    }
    text
}
