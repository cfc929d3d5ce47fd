//! The command line: a file a command, and the one list of them.
//!
//! A command reads its arguments, calls the parts that do the work, and prints.
//! It decides nothing about scenarios, clients or verdicts.

mod arguments;
mod check;
mod clients;
mod compare;
mod doctor;
mod judge;
mod list;
mod present;
mod run;
mod schema;
mod selftest;
mod workspace;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::run::Interrupt;
use crate::surroundings::Surroundings;

/// Widest help text: longer lines are hard to read.
const HELP_WIDTH: usize = 100;

/// wirefault: fault injection for HTTP clients, judged from the servers' side.
///
/// Scripted servers misbehave on the wire at exact points, scenarios say how,
/// client programs of any runtime make the calls, and what they claim is held
/// against what the servers counted.
#[derive(Debug, Parser)]
#[command(name = "wirefault", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    List(list::Arguments),
    Check(check::Arguments),
    Judge(judge::Arguments),
    Compare(compare::Arguments),
    Clients(clients::Arguments),
    Selftest(selftest::Arguments),
    Doctor(doctor::Arguments),
    Schema(schema::Arguments),
}

/// What every command gets.
struct Context<'a, 'b> {
    around: &'a Surroundings,
    output: &'a mut Output<'b>,
    interrupt: &'a dyn Fn() -> Result<Interrupt, Failure>,
}

/// Runs the command that these arguments name, the program's own name first.
/// `interrupt` gives what stops a run early; only commands that run cells ask.
pub fn main(
    args: impl IntoIterator<Item = std::ffi::OsString>,
    around: &Surroundings,
    output: &mut Output<'_>,
    interrupt: &dyn Fn() -> Result<Interrupt, Failure>,
) -> Exit {
    let cli = match parse(args, around) {
        Ok(cli) => cli,
        Err(error) => return clap_says(&error, around, output),
    };
    let mut context = Context {
        around,
        output,
        interrupt,
    };
    let done = match cli.command {
        Command::Run(arguments) => run::run(&arguments, &mut context),
        Command::List(arguments) => list::run(&arguments, &mut context),
        Command::Check(arguments) => check::run(&arguments, &mut context),
        Command::Judge(arguments) => judge::run(&arguments, &mut context),
        Command::Compare(arguments) => compare::run(&arguments, &mut context),
        Command::Clients(arguments) => clients::run(&arguments, &mut context),
        Command::Selftest(arguments) => selftest::run(&arguments, &mut context),
        Command::Doctor(arguments) => doctor::run(&arguments, &mut context),
        Command::Schema(arguments) => schema::run(&arguments, &mut context),
    };
    match done {
        Ok(exit) => exit,
        Err(failure) => {
            let prefix = match failure.exit {
                Exit::Invalid => "",
                _ => "wirefault: ",
            };
            output.message(&format!("{prefix}{}", failure.message));
            failure.exit
        }
    }
}

fn parse(
    args: impl IntoIterator<Item = std::ffi::OsString>,
    around: &Surroundings,
) -> Result<Cli, clap::Error> {
    let command = Cli::command()
        .term_width(around.width.min(HELP_WIDTH))
        .after_help(Exit::help())
        .mut_subcommand("run", |command| command.after_help(Exit::help()));
    Cli::from_arg_matches(&command.try_get_matches_from(args)?)
}

/// Help goes to stdout, mistakes to stderr.
fn clap_says(error: &clap::Error, around: &Surroundings, output: &mut Output<'_>) -> Exit {
    let text = error.render();
    let terminal = match error.use_stderr() {
        true => around.stderr_is_terminal,
        false => around.stdout_is_terminal,
    };
    let text = match terminal && !around.no_color {
        true => text.ansi().to_string(),
        false => text.to_string(),
    };
    if error.use_stderr() {
        output.message(&text);
        return Exit::Usage;
    }
    match output.result(text) {
        Ok(()) => Exit::AsExpected,
        Err(failure) => failure.exit,
    }
}
