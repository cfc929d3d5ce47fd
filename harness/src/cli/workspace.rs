//! What several commands read first: root, clients, scenarios, baseline.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reports::harmless::one_line;
use reports::time::RealTime;
use scenarios::validate;
use sha2::{Digest, Sha256};

use super::Context;
use super::arguments::Common;
use crate::baseline::Baseline;
use crate::client::build::is_installed;
use crate::client::known::{self, Known};
use crate::failure::Failure;
use crate::id;
use crate::input::folder::Place;
use crate::input::mistakes::Mistakes;
use crate::input::root::Root;
use crate::input::selection::Selection;
use crate::input::suite::{self, Suite};
use crate::run::RunOptions;
use crate::run::folder::RunFolder;

/// The folder of the baseline below the root.
const BASELINE: &str = "baseline";

/// What was read, and what was wrong in it.
pub(super) struct Workspace {
    pub(super) root: Root,
    pub(super) clients: Vec<Known>,
    own_scenarios: Vec<Place>,
    pub(super) mistakes: Mistakes,
}

impl Workspace {
    /// Finds the root and reads the clients.
    pub(super) fn open(common: &Common, context: &Context<'_, '_>) -> Result<Self, Failure> {
        let root = Root::find(common.root.as_deref(), context.around)?;
        let mut mistakes = Mistakes::new(common.color_messages(context.around));
        let cwd = &context.around.cwd;
        let mut folders = vec![root.place(known::FOLDER)];
        folders.extend(Place::named("--clients", &common.client_folders, cwd)?);
        let clients = known::load(&folders, &mut mistakes)?;
        let own_scenarios = Place::named("--scenarios", &common.scenario_folders, cwd)?;
        Ok(Self {
            root,
            clients,
            own_scenarios,
            mistakes,
        })
    }

    /// What scenarios may refer to.
    pub(super) fn known(&self) -> validate::Known {
        let defects = self
            .clients
            .iter()
            .flat_map(|known| &known.manifest.defects);
        validate::Known {
            defects: defects.cloned().collect::<BTreeSet<String>>(),
        }
    }

    /// Reads the scenarios that a selection needs.
    pub(super) fn scenarios(
        &mut self,
        selection: &Selection,
        seed: u64,
        cwd: &Path,
    ) -> Result<Suite, Failure> {
        let mut files = Vec::new();
        if selection.needs_suite() {
            let shipped = self.root.place(suite::FOLDER);
            files = suite::files_in(&shipped, &mut self.mistakes)?;
            let own = &self.own_scenarios;
            files = suite::with_those_of(files, own, &mut self.mistakes)?;
        }
        let files = suite::with_named(files, &selection.files, cwd)?;
        let known = self.known();
        Ok(Suite::read(&files, seed, &known, &mut self.mistakes))
    }

    /// Reads the baseline: the given folder, none for `none`, else the root's.
    pub(super) fn baseline(
        &mut self,
        given: Option<&Path>,
        cwd: &Path,
    ) -> Result<Baseline, Failure> {
        let (folder, shown): (PathBuf, PathBuf) = match given {
            Some(word) if word == Path::new("none") => return Ok(Baseline::default()),
            Some(given) if !cwd.join(given).is_dir() => {
                return Err(Failure::usage(format!(
                    "--baseline: `{}` is no folder; write `none` to run without a baseline",
                    given.display()
                )));
            }
            Some(given) => (cwd.join(given), given.to_owned()),
            None => (
                self.root.folder().join(BASELINE),
                self.root.shown(Path::new(BASELINE)),
            ),
        };
        Baseline::load(&folder, &shown, &mut self.mistakes)
    }

    /// Goes on only if nothing was wrong.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        std::mem::replace(&mut self.mistakes, Mistakes::new(false)).check()
    }
}

/// What comes from a registry may take minutes, so that it is said before.
pub(super) fn say_what_is_set_up(chosen: &[Known], context: &mut Context<'_, '_>) {
    let is_missing = |known: &&Known| {
        let manifest = &known.manifest;
        known::missing_program(manifest, &context.around.path).is_none()
            && !is_installed(manifest, context.around)
    };
    let missing: Vec<&str> = chosen
        .iter()
        .filter(is_missing)
        .map(|known| known.manifest.name.as_str())
        .collect();
    if !missing.is_empty() {
        let names = one_line(&missing.join(", "));
        context
            .output
            .message(&format!("wirefault: setting up {names}"));
    }
}

/// How cells are run by a command of this program.
pub(super) fn run_options(
    folder: &RunFolder,
    jobs: Option<u16>,
    real_time: Option<RealTime>,
    context: &Context<'_, '_>,
) -> Result<RunOptions, Failure> {
    let mut options = RunOptions::new(folder.path.clone())?;
    options.wirefault.clone_from(&context.around.wirefault);
    options.interrupt = (context.interrupt)()?;
    options.real_time = real_time;
    if let Some(jobs) = jobs {
        options.jobs = usize::from(jobs);
    }
    Ok(options)
}

/// Digest over all files that take part, by name and text.
pub(super) fn digest<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut files: Vec<(&str, &str)> = files.collect();
    files.sort_unstable();
    files.dedup();
    let mut hash = Sha256::new();
    for part in files.into_iter().flat_map(|(name, text)| [name, text]) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    id::hex(&hash.finalize())
}
