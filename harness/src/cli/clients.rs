//! `clients`: makes clients ready, and tells their versions.

use clap::{Args, Subcommand};
use reports::harmless::one_line;
use reports::layout::{pad, width};

use super::Context;
use super::arguments::Common;
use super::workspace::{Workspace, say_what_is_set_up};
use crate::client::known::{self, Known};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::plan::{Contender, Installs};

/// Set clients up, or tell their versions
///
/// Clients that come from a registry are installed from the lock file beside their
/// manifest, and programs that must be compiled are compiled: once, into
/// `wirefault` in the cache folder (XDG_CACHE_HOME, else ~/.cache). Exit codes: 0, 2
/// usage, 3 a manifest is invalid, 7 a client could not be set up.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Install and build what is not there yet
    ///
    /// Goes on after a failure. A client whose programs are missing is left out, with
    /// the reason.
    Setup {
        /// Clients, by name or glob; default: all
        #[arg(value_name = "NAME")]
        clients: Vec<String>,
    },
    /// Tell the version of each client that is set up
    ///
    /// Fetches nothing.
    Versions {
        /// Clients, by name or glob; default: all
        #[arg(value_name = "NAME")]
        clients: Vec<String>,
    },
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    let mut workspace = Workspace::open(&arguments.common, context)?;
    workspace.check()?;
    let (wanted, installs) = match &arguments.what {
        What::Setup { clients } => (clients, Installs::Yes),
        What::Versions { clients } => (clients, Installs::No),
    };
    let all = ["*".to_owned()];
    let wanted = match wanted.as_slice() {
        [] => &all[..],
        wanted => wanted,
    };
    let chosen: Vec<Known> = known::choose(&workspace.clients, wanted)?
        .into_iter()
        .cloned()
        .collect();
    let names = chosen.iter().map(|known| width(&known.manifest.name));
    let column = names.max().unwrap_or(0);
    let mut broken = Vec::new();
    // One after the other, so that each line says what is done.
    for known in chosen {
        let known = [known];
        if installs == Installs::Yes {
            say_what_is_set_up(&known, context);
        }
        let contenders = Contender::prepare(&known, installs, context.around);
        for contender in contenders {
            context.output.result(line(&contender, column))?;
            broken.extend(Some(contender).filter(|contender| contender.broken.is_some()));
        }
    }
    Contender::all_built(&broken)?;
    Ok(Exit::AsExpected)
}

fn line(contender: &Contender, column: usize) -> String {
    let name = pad(&one_line(&contender.client.manifest.name), column);
    let (mark, state) = match (&contender.hindrance, contender.client.version.as_str()) {
        (Some(why), _) => ("–", why.as_str()),
        (None, "") => ("✓", "ready"),
        (None, version) => ("✓", version),
    };
    format!("{mark} {name}  {}\n", one_line(state))
}
