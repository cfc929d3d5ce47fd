//! The scenarios: finding the files, and reading them into Plans.

use std::path::{Path, PathBuf};

use scenarios::document::Source;
use scenarios::plan::Plan;
use scenarios::validate::{Known, scenario};

use crate::failure::Failure;
use crate::input::folder::Place;
use crate::input::mistakes::Mistakes;

/// Where the shipped scenarios lie below the root.
pub const FOLDER: &str = "scenarios/suite";

/// One scenario with its cases.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// `area/name`.
    pub id: String,
    /// Its file.
    pub source: Source,
    /// Whether its file was named on the command line.
    pub named: bool,
    /// Its cases, in the order of the file.
    pub plans: Vec<Plan>,
}

/// All scenarios that were read, by id.
#[derive(Clone, Debug, Default)]
pub struct Suite {
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
}

impl Suite {
    /// All cases in order.
    pub fn cases(&self) -> impl Iterator<Item = (&Scenario, &Plan)> {
        let scenarios = self.scenarios.iter();
        scenarios.flat_map(|scenario| scenario.plans.iter().map(move |plan| (scenario, plan)))
    }

    /// Reads the files; what is wrong in them is collected.
    pub fn read(files: &[File], seed: u64, known: &Known, mistakes: &mut Mistakes) -> Self {
        let mut suite = Self::default();
        for file in files {
            let Some(source) = mistakes.read(&file.path, &file.shown) else {
                continue;
            };
            match scenario(&source, &file.id, seed, known) {
                Ok(plans) => suite.scenarios.push(Scenario {
                    id: file.id.clone(),
                    source,
                    named: file.named,
                    plans,
                }),
                Err(found) => mistakes.add(&found, &source),
            }
        }
        suite
    }
}

/// A scenario's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// `area/name`.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
    /// How it is called.
    pub shown: PathBuf,
    /// Whether it was named on the command line.
    pub named: bool,
}

/// The files of a folder, `AREA/NAME.yaml`.
///
/// # Errors
/// When it cannot be listed.
pub fn files_in(folder: &Place, mistakes: &mut Mistakes) -> Result<Vec<File>, Failure> {
    let mut files = Vec::new();
    for area in folder.entries()? {
        if !area.is_folder() {
            if area.is_yaml() {
                misplaced(&area, folder, mistakes);
            }
            continue;
        }
        for file in area.entries()? {
            if file.is_folder() {
                misplaced(&file, folder, mistakes);
            } else if file.is_yaml() {
                files.push(File {
                    id: id_of(&file.path),
                    path: file.path,
                    shown: file.shown,
                    named: false,
                });
            }
        }
    }
    Ok(files)
}

/// A file in a place where nobody would look for it would silently never run.
fn misplaced(found: &Place, folder: &Place, mistakes: &mut Mistakes) {
    mistakes.add_line(&format!(
        "{}: scenarios lie exactly two levels deep, {}/AREA/NAME.yaml",
        found.shown.display(),
        folder.shown.display()
    ));
}

/// Files of folders that people keep, after others.
///
/// # Errors
/// When two files have the same id, or a folder cannot be listed.
pub fn with_those_of(
    mut files: Vec<File>,
    folders: &[Place],
    mistakes: &mut Mistakes,
) -> Result<Vec<File>, Failure> {
    for folder in folders {
        for file in files_in(folder, mistakes)? {
            unique(&files, &file)?;
            files.push(file);
        }
    }
    files.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(files)
}

/// Evidence, baseline and reports call a scenario by its id.
fn unique(files: &[File], file: &File) -> Result<(), Failure> {
    let Some(other) = files.iter().find(|other| other.id == file.id) else {
        return Ok(());
    };
    Err(Failure::usage(format!(
        "`{}` and `{}` would both be the scenario `{}`: rename one of them or its folder",
        other.shown.display(),
        file.shown.display(),
        file.id
    )))
}

/// Files named on the command line, after the shipped ones. One that is shipped
/// is the shipped one.
///
/// # Errors
/// When two files have the same id.
pub fn with_named(
    mut files: Vec<File>,
    named: &[PathBuf],
    cwd: &Path,
) -> Result<Vec<File>, Failure> {
    for shown in named {
        let path = cwd.join(shown);
        let same = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let is_same =
            |file: &&mut File| std::fs::canonicalize(&file.path).is_ok_and(|other| other == same);
        if let Some(file) = files.iter_mut().find(is_same) {
            file.named = true;
            continue;
        }
        let file = File {
            id: id_of(&same),
            path,
            shown: shown.clone(),
            named: true,
        };
        unique(&files, &file)?;
        files.push(file);
    }
    files.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(files)
}

/// The id of a file: its last folder and its name, in characters that an id may
/// have.
fn id_of(path: &Path) -> String {
    let word = |part: Option<&std::ffi::OsStr>| {
        let text = part.unwrap_or_default().to_string_lossy().to_lowercase();
        let slug: String = text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        match slug.trim_matches('-') {
            "" => "here".to_owned(),
            slug => slug.to_owned(),
        }
    };
    let area = word(path.parent().and_then(Path::file_name));
    format!("{area}/{}", word(path.file_stem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_last_folder_and_the_name() {
        for (path, id) in [
            ("scenarios/suite/redirect/loop.yaml", "redirect/loop"),
            ("/tmp/My Tests/Über 1.yaml", "my-tests/ber-1"),
            ("x.yaml", "here/x"),
        ] {
            assert_eq!(id_of(Path::new(path)), id);
        }
    }

    #[test]
    fn two_files_with_one_id_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a/same/x.yaml", "b/same/x.yaml"].map(PathBuf::from);
        for file in &files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let failure = with_named(Vec::new(), &files, folder.path()).unwrap_err();
        assert!(failure.message.contains("same/x"), "{}", failure.message);
        let twice = [files[0].clone(), files[0].clone()];
        assert_eq!(
            with_named(Vec::new(), &twice, folder.path()).unwrap().len(),
            1
        );
    }
}
