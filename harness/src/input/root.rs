//! The folder that holds suite, clients and baseline, and how paths below it
//! are shown.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::input::folder::Place;
use crate::surroundings::Surroundings;

/// The folder that the shipped files lie in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Absolute.
    folder: PathBuf,
    /// How it is written in front of a path: empty, `../..`, or absolute.
    shown: PathBuf,
}

impl Root {
    /// The given folder, else the nearest ancestor of the current folder that
    /// looks like one, else the source tree that the program was built from.
    ///
    /// # Errors
    /// When the given folder does not look like one, or none was found.
    pub fn find(given: Option<&Path>, around: &Surroundings) -> Result<Self, Failure> {
        if let Some(given) = given {
            let folder = around.cwd.join(given);
            if !is_root(&folder) {
                return Err(Failure::usage(format!(
                    "`{}` is no root: it needs the folders `scenarios/suite` and `clients`",
                    given.display()
                )));
            }
            return Ok(Self {
                folder,
                shown: given.to_owned(),
            });
        }
        for (depth, folder) in around.cwd.ancestors().enumerate() {
            if is_root(folder) {
                return Ok(Self {
                    folder: folder.to_owned(),
                    shown: std::iter::repeat_n("..", depth).collect(),
                });
            }
        }
        if is_root(&around.built_from) {
            return Ok(Self {
                folder: around.built_from.clone(),
                shown: around.built_from.clone(),
            });
        }
        Err(Failure::usage(format!(
            "no suite found: neither a folder above `{}` nor `{}`, where this program was built, \
             has `scenarios/suite` and `clients`; name one with --root",
            around.cwd.display(),
            around.built_from.display()
        )))
    }

    /// The folder itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A folder below it.
    pub fn place(&self, below: &str) -> Place {
        let below = Path::new(below);
        Place {
            path: self.folder.join(below),
            shown: self.shown(below),
        }
    }

    /// A path below it, as a person can use it from the current folder.
    pub fn shown(&self, below: &Path) -> PathBuf {
        self.shown.join(below)
    }
}

fn is_root(folder: &Path) -> bool {
    folder.join("scenarios/suite").is_dir() && folder.join("clients").is_dir()
}
