//! From cases and clients to cells: which are going to run, and why the others
//! are not.

use std::sync::Arc;

use scenarios::judge::not_run;
use scenarios::manifest::{Lack, Manifest};
use scenarios::plan::Plan;
use scenarios::verdict::Verdict;

use crate::baseline::Baseline;
use crate::client::build::{built, installed, is_installed};
use crate::client::known::{self, Known};
use crate::client::version::version;
use crate::failure::Failure;
use crate::id;
use crate::run::planned::{Planned, PlannedCell};
use crate::run::{CellJob, Client};
use crate::surroundings::Surroundings;

/// Whether what a client needs from its registry is fetched when it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installs {
    /// It is.
    Yes,
    /// Nothing is fetched.
    No,
}

/// A client of a run, and whether it can run here.
#[derive(Clone, Debug)]
pub struct Contender {
    /// The client; its version is empty when it can not run.
    pub client: Arc<Client>,
    /// Why it can not run here.
    pub hindrance: Option<String>,
    /// Why it could not be installed or built, although its tools are here.
    pub broken: Option<String>,
}

impl Contender {
    /// Looks for the programs of all these clients, asks their versions and builds
    /// those that must be built, all at once since runtimes are slow to start. What
    /// comes from a registry is fetched only if that is wanted.
    pub fn prepare(chosen: &[Known], installs: Installs, around: &Surroundings) -> Vec<Self> {
        std::thread::scope(|scope| {
            let asked: Vec<_> = chosen
                .iter()
                .map(|known| scope.spawn(|| Self::ask(&known.manifest, installs, around)))
                .collect();
            asked
                .into_iter()
                .zip(chosen)
                .map(|(asked, known)| {
                    asked.join().unwrap_or_else(|_| {
                        Self::hindered(&known.manifest, "its version can not be asked".to_owned())
                    })
                })
                .collect()
        })
    }

    fn ask(manifest: &Manifest, installs: Installs, around: &Surroundings) -> Self {
        if let Some(missing) = known::missing_program(manifest, &around.path) {
            return Self::hindered(manifest, missing);
        }
        if installs == Installs::No && !is_installed(manifest, around) {
            let how = format!("not set up; `wirefault clients setup {}`", manifest.name);
            return Self::hindered(manifest, how);
        }
        let manifest = match installed(manifest, around) {
            Ok(manifest) => manifest,
            Err(why) => return Self::broken(manifest, "can not be installed", why),
        };
        let manifest = &manifest;
        let version = match version(manifest, around) {
            Ok(version) => version,
            Err(why) => return Self::hindered(manifest, why),
        };
        match built(manifest, &version, around) {
            Ok(manifest) => Self {
                client: Arc::new(Client {
                    manifest,
                    version: reports::harmless::one_line(&version),
                    defects: Vec::new(),
                }),
                hindrance: None,
                broken: None,
            },
            Err(why) => Self::broken(manifest, "can not be built", why),
        }
    }

    fn broken(manifest: &Manifest, what: &str, why: String) -> Self {
        Self {
            broken: Some(why),
            ..Self::hindered(manifest, what.to_owned())
        }
    }

    /// Nothing is run while a client is broken: its cells would show nothing, and
    /// that is no fault of the scenarios.
    ///
    /// # Errors
    /// When one of them can not be installed or built.
    pub fn all_built(contenders: &[Self]) -> Result<(), Failure> {
        let broken = contenders.iter().filter_map(|contender| {
            let why = contender.broken.as_ref()?;
            Some((contender.client.manifest.name.as_str(), why.as_str()))
        });
        let broken: Vec<_> = broken.collect();
        if broken.is_empty() {
            return Ok(());
        }
        Err(Failure::broken_build(&broken))
    }

    fn hindered(manifest: &Manifest, why: String) -> Self {
        Self {
            client: Arc::new(Client {
                manifest: manifest.clone(),
                version: String::new(),
                defects: Vec::new(),
            }),
            hindrance: Some(why),
            broken: None,
        }
    }

    /// Why this client does not do this case, and with which verdict.
    pub fn objection(&self, plan: &Plan) -> Option<(Verdict, String)> {
        if let Some(why) = &self.hindrance {
            return Some((Verdict::Skipped, why.clone()));
        }
        let lacks = self.client.manifest.lacks(plan)?;
        Some((Verdict::Unsupported, cannot(lacks)))
    }
}

/// What a client can not do that a case needs.
fn cannot(lacks: Lack) -> String {
    match lacks {
        Lack::Ability(_) => format!("has no ability `{lacks}`"),
        Lack::Operation(_) => format!("has no {lacks}"),
        Lack::OtherAnswers => format!("takes no {lacks}"),
    }
}

/// What is planned, and the work that comes of it.
#[derive(Clone, Debug)]
pub struct Cells {
    /// All cells.
    pub planned: Planned,
    /// Those that are going to run.
    pub jobs: Vec<CellJob>,
}

impl Cells {
    /// Every case with every client, so often.
    pub fn plan(
        plans: &[&Plan],
        contenders: &[Contender],
        repeats: u32,
        baseline: &Baseline,
        (digest, seed): (String, u64),
    ) -> Self {
        let mut cells = Self {
            planned: Planned::new(digest, seed),
            jobs: Vec::new(),
        };
        for plan in plans {
            let plan = Arc::new((*plan).clone());
            for contender in contenders {
                cells.add(&plan, contender, repeats, baseline);
            }
        }
        cells
    }

    fn add(&mut self, plan: &Arc<Plan>, contender: &Contender, repeats: u32, baseline: &Baseline) {
        let client = &contender.client;
        let name = &client.manifest.name;
        let case = plan.case.to_string();
        let known = baseline.entry(name, &client.version, &case);
        let objection = contender.objection(plan);
        for repeat in 1..=repeats {
            let id = cell_id(&case, name, repeat);
            if objection.is_none() {
                self.jobs.push(CellJob {
                    id: id.clone(),
                    plan: Arc::clone(plan),
                    client: Arc::clone(client),
                    repeat,
                });
            }
            let not_run = objection.clone();
            self.planned.cells.push(PlannedCell {
                id,
                case: plan.case.clone(),
                file: plan.file.clone(),
                client: name.clone(),
                client_version: client.version.clone(),
                repeat,
                baseline: known.map(|entry| entry.says.clone()),
                not_run: not_run.map(|(verdict, why)| self::not_run(plan, verdict, why)),
            });
        }
    }
}

/// A repeat has its number behind the case and the client; the first one has none.
fn cell_id(case: &str, client: &str, repeat: u32) -> String {
    match repeat {
        1 => id::cell(&[case, client]),
        n => id::cell(&[case, client, &format!("r{n}")]),
    }
}
