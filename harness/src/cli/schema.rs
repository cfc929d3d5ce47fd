//! `schema`: the JSON Schema that editors complete and check documents with.

use clap::{Args, ValueEnum};
use scenarios::schema::{Document, schema};

use super::Context;
use crate::exit::Exit;
use crate::failure::Failure;

/// Print the JSON Schema of scenarios or manifests, for editors
///
/// What it cannot say is told in its `$comment`. Exit codes: 0, 2 usage.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What it describes
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// A scenario
    Scenario,
    /// A client's manifest
    Manifest,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    let document = match arguments.what {
        What::Scenario => Document::Scenario,
        What::Manifest => Document::Manifest,
    };
    let text = serde_json::to_string_pretty(&schema(document))
        .map_err(|error| Failure::internal(format!("the schema cannot be written: {error}")))?;
    context.output.result(text + "\n")?;
    Ok(Exit::AsExpected)
}
