//! `list`: what there is. Starts no program.

use clap::{Args, ValueEnum};
use reports::harmless::one_line;
use reports::layout::{pad, width, wrap};
use scenarios::{assertions, faults, models};
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use super::arguments::Common;
use super::workspace::Workspace;
use crate::client::known;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::selection::Selection;
use crate::input::words::{self, Word};

/// List scenarios, clients, faults, models, assertions or all words
///
/// Starts no program. Exit codes: 0, 2 usage, 3 a file is invalid.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What to list
    what: What,

    /// Only these, by id or glob; for scenarios
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,

    /// As JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Cases of the shipped scenarios, or of those named
    Scenarios,
    /// Clients with what they can do, and whether their programs are here
    Clients,
    /// What a step of a script can do
    Faults,
    /// What a server's application can remember
    Models,
    /// What an expectation can say
    Assertions,
    /// Every word of scenarios and manifests
    Words,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    if arguments.what != What::Scenarios && !arguments.scenarios.is_empty() {
        return Err(Failure::usage("only scenarios can be selected"));
    }
    let entries = match arguments.what {
        What::Scenarios => scenarios(arguments, context)?,
        What::Clients => clients(arguments, context)?,
        What::Faults => faults(),
        What::Models => models(),
        What::Assertions => assertions(),
        What::Words => words::all()?.iter().map(word).collect(),
    };
    let text = if arguments.what == What::Words && !arguments.json {
        by_map(&words::all()?, context.around.width)
    } else if arguments.json {
        let values: Vec<&Value> = entries.iter().map(|entry| &entry.json).collect();
        pretty(&values)?
    } else {
        lines(&entries)
    };
    context.output.result(text)?;
    Ok(Exit::AsExpected)
}

/// One thing, for people and for programs.
struct Entry {
    name: String,
    text: String,
    json: Value,
}

fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::internal(format!("cannot write JSON: {error}")))?;
    Ok(format!("{text}\n"))
}

/// Names in a column of their own, each text beside its name.
fn lines(entries: &[Entry]) -> String {
    let width = entries
        .iter()
        .map(|e| e.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    for entry in entries {
        for (place, line) in entry.text.lines().enumerate() {
            let name = if place == 0 { entry.name.as_str() } else { "" };
            out.push_str(format!("{name:width$}  {}", one_line(line)).trim_end());
            out.push('\n');
        }
    }
    out
}

fn faults() -> Vec<Entry> {
    let name = |listed: &faults::Listed| match listed.place {
        "step" => listed.word.to_owned(),
        place => format!("{place}.{}", listed.word),
    };
    faults::all()
        .map(|listed| Entry {
            name: name(&listed),
            text: format!("{}\n  {}", listed.summary, listed.example),
            json: json!({
                "name": name(&listed),
                "place": listed.place,
                "word": listed.word,
                "summary": listed.summary,
                "example": listed.example,
            }),
        })
        .collect()
}

fn models() -> Vec<Entry> {
    let models = models::all();
    models
        .map(|one| explained(one.word, one.summary, one.example))
        .collect()
}

fn assertions() -> Vec<Entry> {
    let assertions = assertions::LIST.iter();
    assertions
        .map(|one| explained(one.word, one.summary, one.example))
        .collect()
}

fn explained(word: &str, summary: &str, example: &str) -> Entry {
    Entry {
        name: word.to_owned(),
        text: format!("{summary}\n  {example}"),
        json: json!({ "name": word, "summary": summary, "example": example }),
    }
}

fn word(one: &Word) -> Entry {
    Entry {
        name: one.word.to_owned(),
        text: format!("{}\n  {}", one.summary, one.example),
        json: json!({
            "name": one.word,
            "document": one.document,
            "of": one.of,
            "summary": one.summary,
            "example": one.example,
        }),
    }
}

/// Between the columns of the list of words.
const INDENT: &str = "  ";

/// All words, under the map that they belong to.
fn by_map(words: &[Word], to: usize) -> String {
    let mut out = String::new();
    let mut document = "";
    for words in words.chunk_by(|a, b| (a.document, a.of) == (b.document, b.of)) {
        let Some(first) = words.first() else { continue };
        if first.document != document {
            document = first.document;
            let gap = if out.is_empty() { "" } else { "\n" };
            out.push_str(gap);
            out.push_str(&format!("Words of a {document}\n"));
        }
        out.push_str(&format!("\n{}\n", first.of));
        let column = words.iter().map(|one| width(one.word)).max().unwrap_or(0);
        let room = to.saturating_sub(column + INDENT.len() * 3).max(40);
        for one in words {
            let mut name = one.word;
            let summary = wrap(&one_line(&one.summary), room);
            let example = wrap(&one_line(&one.example), room);
            let example = example.iter().map(|line| format!("{INDENT}{line}"));
            for line in summary.into_iter().chain(example) {
                out.push_str(&format!("{INDENT}{}{INDENT}{line}\n", pad(name, column)));
                name = "";
            }
        }
    }
    out
}

fn scenarios(arguments: &Arguments, context: &Context<'_, '_>) -> Result<Vec<Entry>, Failure> {
    let selection = Selection::parse(&arguments.scenarios)?;
    let mut workspace = Workspace::open(&arguments.common, context)?;
    let suite = workspace.scenarios(&selection, 0, &context.around.cwd)?;
    workspace.check()?;
    let picked = match selection.is_everything() {
        // A list is of all there is, slow ones included.
        true => suite.cases().collect(),
        false => selection.pick(&suite, true)?,
    };
    Ok(picked
        .iter()
        .map(|(scenario, plan)| Entry {
            name: one_line(&plan.case.to_string()),
            text: plan.title.clone(),
            json: json!({
                "case": plan.case.to_string(),
                "scenario": scenario.id,
                "columns": plan.case.columns,
                "file": plan.file,
                "title": plan.title,
                "why": plan.why,
                "refs": plan.refs,
                "tags": plan.tags,
                "needs": plan.needs,
                "proves": plan.proves,
            }),
        })
        .collect())
}

fn clients(arguments: &Arguments, context: &Context<'_, '_>) -> Result<Vec<Entry>, Failure> {
    let mut workspace = Workspace::open(&arguments.common, context)?;
    workspace.check()?;
    let entries = workspace.clients.iter().map(|known| {
        let manifest = &known.manifest;
        let missing = known::missing_program(manifest, &context.around.path);
        let state = missing.as_deref().unwrap_or("programs found");
        Entry {
            name: one_line(&manifest.name),
            text: format!("{}\n  {state}", manifest.title),
            json: json!({
                "name": manifest.name,
                "title": manifest.title,
                "file": known.source.path,
                "programs": manifest.programs,
                "missing": missing,
                "abilities": manifest.abilities,
                "operations": manifest.operations.keys().collect::<Vec<_>>(),
                "defects": manifest.defects,
            }),
        }
    });
    Ok(entries.collect())
}
