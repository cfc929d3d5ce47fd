//! `doctor`: what can run here and why not, tried for real.

use clap::Args;
use reports::harmless::one_line;
use reports::layout::{pad, width, wrap};
use reports::words::word;

use super::Context;
use super::arguments::Common;
use super::workspace::Workspace;
use crate::doctor::{self, Fact};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::plan::{Contender, Installs};

/// Tell what can run here, and why not
///
/// Starts each client's version command, builds what must be built and tries the kernel features that
/// exact counting needs. Exit codes: 0 all kernel features are there (clients
/// may be missing), 2 usage, 3 a manifest is invalid, 7 a feature is missing.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    common: Common,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    let mut workspace = Workspace::open(&arguments.common, context)?;
    workspace.check()?;
    let contenders = Contender::prepare(&workspace.clients, Installs::No, context.around);
    let mut text = String::from("Clients\n");
    let named = contenders.iter().map(|c| one_line(&c.client.manifest.name));
    let column = named.map(|name| width(&name)).max().unwrap_or(0);
    for contender in &contenders {
        text.push_str(&client(contender, column, context.around.width));
    }
    text.push_str("\nKernel\n");
    let facts = doctor::kernel();
    for Fact {
        name,
        needed_for,
        found,
    } in &facts
    {
        match found {
            Ok(how) => text.push_str(&format!("  ✓ {name}: {}\n", one_line(how))),
            Err(why) => text.push_str(&format!(
                "  ✗ {name}: {}; needed for {needed_for}\n",
                one_line(why)
            )),
        }
    }
    text.push_str("\nTime\n");
    // Without it everything works, and waits.
    text.push_str(&match virtual_time::probe() {
        Ok(()) => "  ✓ virtual: waiting takes no time (`--time`)\n".to_owned(),
        Err(why) => format!("  – real: {why}\n"),
    });
    context.output.result(text)?;
    Ok(match facts.iter().all(|fact| fact.found.is_ok()) {
        true => Exit::AsExpected,
        false => Exit::CellError,
    })
}

/// A line for whether it can run, and below it what it can do.
fn client(contender: &Contender, column: usize, to: usize) -> String {
    let hindrance = contender.broken.as_ref().or(contender.hindrance.as_ref());
    let (mark, state) = match (hindrance, contender.client.version.as_str()) {
        (Some(why), _) => ("–", format!("can not run: {why}")),
        (None, "") => ("✓", "can run".to_owned()),
        (None, version) => ("✓", version.to_owned()),
    };
    let room = to.saturating_sub(column + 6).max(20);
    let mut lines = wrap(&one_line(&state), room);
    lines.extend(wrap(&abilities(contender), room));
    let mut text = String::new();
    for (place, line) in lines.iter().enumerate() {
        let name = one_line(&contender.client.manifest.name);
        let (mark, name) = if place == 0 {
            (mark, name.as_str())
        } else {
            (" ", "")
        };
        let line = format!("  {mark} {}  {line}", pad(name, column));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn abilities(contender: &Contender) -> String {
    let abilities = &contender.client.manifest.abilities;
    let operations = contender.client.manifest.operations.keys();
    let mut words: Vec<String> = abilities.iter().map(word).collect();
    words.extend(operations.map(word));
    words.join(", ")
}
