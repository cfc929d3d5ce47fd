//! `check`: reads files and tells what is wrong in them. Starts no program.

use std::path::{Path, PathBuf};

use clap::Args;
use scenarios::document::decode::counted;
use scenarios::document::{Diagnostics, Node, Source, Value, parse};

use super::Context;
use super::arguments::Common;
use super::workspace::Workspace;
use crate::baseline;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::selection::Selection;
use crate::input::suite::{self, Suite};

/// Check scenarios, manifests and baselines
///
/// Tells everything that is wrong, with file, line and column. Starts no
/// program. Exit codes: 0 all is well, 2 usage, 3 something is wrong.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Files to check; default: every shipped scenario, every manifest and the
    /// baseline
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    common: Common,
}

/// What a file is, by its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scenario,
    Manifest,
    Baseline,
}

/// Runs it.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_, '_>) -> Result<Exit, Failure> {
    let cwd = &context.around.cwd;
    let mut workspace = Workspace::open(&arguments.common, context)?;
    let text = if arguments.files.is_empty() {
        let suite = workspace.scenarios(&Selection::default(), 0, cwd)?;
        let baseline = workspace.baseline(None, cwd)?;
        let entries: usize = baseline.0.values().map(|entries| entries.len()).sum();
        format!(
            "{} with {}, {} and {} are fine\n",
            counted(suite.scenarios.len(), "scenario"),
            counted(suite.cases().count(), "case"),
            counted(workspace.clients.len(), "client"),
            match entries {
                1 => "1 entry of the baseline".to_owned(),
                n => format!("{n} entries of the baseline"),
            }
        )
    } else {
        let known = workspace.known();
        // Mistakes of files that were not asked about are not told.
        workspace.mistakes =
            crate::input::mistakes::Mistakes::new(arguments.common.color_messages(context.around));
        let mut cases = 0;
        for file in &arguments.files {
            cases += check(file, cwd, &known, &mut workspace)?;
        }
        let cases = match cases {
            0 => String::new(),
            n => format!(" with {}", counted(n, "case")),
        };
        match arguments.files.len() {
            1 => format!("1 file{cases} is fine\n"),
            files => format!("{files} files{cases} are fine\n"),
        }
    };
    workspace.check()?;
    context.output.result(text)?;
    Ok(Exit::AsExpected)
}

/// Checks one file and tells how many cases it has.
fn check(
    file: &Path,
    cwd: &Path,
    known: &scenarios::validate::Known,
    workspace: &mut Workspace,
) -> Result<usize, Failure> {
    let Some(source) = workspace.mistakes.read(&cwd.join(file), file) else {
        return Ok(0);
    };
    let found = match kind(&source) {
        Kind::Scenario => {
            let files = suite::with_named(Vec::new(), &[file.to_owned()], cwd)?;
            let suite = Suite::read(&files, 0, known, &mut workspace.mistakes);
            return Ok(suite.cases().count());
        }
        Kind::Manifest => scenarios::manifest::decode(&source).err(),
        Kind::Baseline => baseline::decode(&source).err(),
    };
    workspace.mistakes.add(&found.unwrap_or_default(), &source);
    Ok(0)
}

/// What a file is: that of which it has the most keys, so that a key that is
/// missing or misplaced is told as such. One that has none of either is what its
/// folder is for.
fn kind(source: &Source) -> Kind {
    let root = parse(source, &mut Diagnostics::new(source));
    let found: Vec<&str> = match &root {
        Some(Node {
            value: Value::Map(entries),
            ..
        }) => entries.iter().map(|(key, _)| key.text.as_str()).collect(),
        _ => Vec::new(),
    };
    let count = |known: Vec<&str>| found.iter().filter(|key| known.contains(key)).count();
    let scenario = count(scenarios::validate::keys().collect());
    let manifest = count(scenarios::manifest::keys().collect());
    let folder_of_clients = Path::new(&source.path)
        .components()
        .any(|part| part.as_os_str() == "clients");
    if found.contains(&"cells") && found.contains(&"client") {
        Kind::Baseline
    } else if manifest > scenario || (manifest == scenario && folder_of_clients) {
        Kind::Manifest
    } else {
        Kind::Scenario
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Kind {
        kind(&Source {
            path: path.to_owned(),
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_file_is_what_most_of_its_keys_say() {
        let manifest = "title: t\nstart: { adapter: [x] }\nversion: [x]\nabilities: [literal]\n";
        assert_eq!(of("x.yaml", manifest), Kind::Manifest);
        let with_server = format!("name: x\n{manifest}servers: {{ api: {{}} }}\n");
        assert_eq!(of("x.yaml", &with_server), Kind::Manifest);
        let scenario = "name: x\ntitle: t\nservers: {}\ncalls: []\nexpect: {}\n";
        assert_eq!(of("x.yaml", scenario), Kind::Scenario);
        let baseline = "client: x\ncells: {}\n";
        assert_eq!(of("x.yaml", baseline), Kind::Baseline);
    }

    #[test]
    fn a_file_that_says_nothing_of_itself_is_what_its_folder_is_for() {
        assert_eq!(of("clients/x.yaml", "title: t\n"), Kind::Manifest);
        assert_eq!(of("clients/x.yaml", "a: [\n"), Kind::Manifest);
        assert_eq!(of("suite/a/x.yaml", "title: t\n"), Kind::Scenario);
    }
}
