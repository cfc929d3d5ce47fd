//! The folder of a cell: `RUN/cells/ID`, with everything that judging it again
//! needs, and a scratch folder for the client that goes when the cell is over.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use reports::time::Time;
use scenarios::manifest::Manifest;
use scenarios::plan::Plan;
use scenarios::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// The file that says what was run.
pub const RECORD: &str = "cell.json";

/// The file with the verdict.
pub const VERDICT: &str = "verdict.json";

/// `cell.json`: what was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// The cell's id.
    pub id: String,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Seed of all randomness in it.
    pub seed: u64,
    /// The client's version, as it prints it.
    pub client_version: String,
    /// Defects that were switched on.
    pub defects: Vec<String>,
    /// Why the client never ran, where that is known to be nobody's fault; the
    /// evidence then proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<NotRun>,
    /// The time that it ran in; none until it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// The case.
    pub plan: Plan,
    /// The client.
    pub manifest: Manifest,
}

/// Why a client never ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// The verdict on that.
    pub verdict: Verdict,
    /// In words.
    pub reason: String,
}

/// Paths in the folder of one cell.
#[derive(Clone, Debug)]
pub(super) struct CellFolder {
    path: PathBuf,
    /// How many processes work in it, each in a folder of its own.
    processes: u32,
}

impl CellFolder {
    /// The folder with this path, which need not be there.
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            processes: 1,
        }
    }

    /// Makes the fresh folder of a cell with so many processes in the run's folder.
    pub(super) fn create(run: &Path, id: &str, processes: u32) -> io::Result<Self> {
        if !is_plain(id) {
            return Err(io::Error::other(format!(
                "the id `{}` is not a plain name",
                id.escape_debug()
            )));
        }
        // Programs are started in it, and need its path whole.
        let path = std::path::absolute(run)?.join("cells").join(id);
        std::fs::create_dir(&path)?;
        let folder = Self { path, processes };
        for process in 1..=processes {
            std::fs::create_dir(folder.scratch(process))?;
        }
        Ok(folder)
    }

    /// `cell.json`.
    pub(super) fn record(&self) -> PathBuf {
        self.path.join(RECORD)
    }

    /// `events.jsonl`.
    pub(super) fn events(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// `verdict.json`.
    pub(super) fn verdict(&self) -> PathBuf {
        self.path.join(VERDICT)
    }

    /// What is of one process: the first has the plain name, the others their number
    /// behind it.
    fn of_process(&self, name: &str, process: u32) -> PathBuf {
        match process {
            1 => self.path.join(name),
            number => self.path.join(format!("{name}-{number}")),
        }
    }

    /// What a process of the client printed.
    pub(super) fn stdout(&self, process: u32) -> PathBuf {
        self.of_process("stdout", process)
    }

    /// What it complained of.
    pub(super) fn stderr(&self, process: u32) -> PathBuf {
        self.of_process("stderr", process)
    }

    /// Where what is printed is kept of a process that took the place of one that was
    /// killed.
    pub(super) fn again(printed: &Path) -> PathBuf {
        let mut name = printed.as_os_str().to_owned();
        name.push("-again");
        name.into()
    }

    /// The folder that it works in, and is at home in.
    pub(super) fn scratch(&self, process: u32) -> PathBuf {
        self.of_process("scratch", process)
    }

    /// The file with the content of one of its calls.
    pub(super) fn body(&self, process: u32, call: u32) -> PathBuf {
        self.scratch(process).join(format!("body-{call}"))
    }

    /// The file with the content of a job's queries.
    pub(super) fn query_body(&self, process: u32, call: u32) -> PathBuf {
        self.scratch(process).join(format!("query-{call}"))
    }

    /// The file that a command saves the answer's content in.
    pub(super) fn output(&self, process: u32) -> PathBuf {
        self.scratch(process).join("output")
    }

    /// A process's whole environment: what it needs to be found and to speak,
    /// a home of its own, and no way to a proxy or a cloud.
    pub(super) fn environment(&self, process: u32) -> Vec<(&'static str, OsString)> {
        let inherited = |name, default: &str| {
            let value = std::env::var_os(name).unwrap_or_else(|| default.into());
            (name, value)
        };
        let fixed = |name, value: &str| (name, OsString::from(value));
        vec![
            inherited("PATH", "/usr/local/bin:/usr/bin:/bin"),
            inherited("LANG", "C.UTF-8"),
            ("HOME", self.scratch(process).into()),
            ("TMPDIR", self.scratch(process).into()),
            fixed("AWS_EC2_METADATA_DISABLED", "true"),
            fixed("NO_GCE_CHECK", "true"),
            fixed("NO_COLOR", "1"),
            fixed("PYTHONDONTWRITEBYTECODE", "1"),
        ]
    }

    /// Removes what only the client needed. It may have made folders that we
    /// may not empty; they prove nothing, and stay.
    pub(super) fn remove_scratch(&self) {
        for process in 1..=self.processes {
            if let Err(error) = std::fs::remove_dir_all(self.scratch(process)) {
                tracing::debug!(%error, "a client's scratch folder stays");
            }
        }
    }
}

/// Whether an id is a name and nothing else: no separator, nothing hidden, and
/// not the folder itself or the one above.
pub(crate) fn is_plain(id: &str) -> bool {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-');
    !id.is_empty() && id.len() < 250 && !id.starts_with('.') && id.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_not_a_plain_name_gets_no_folder() {
        let run = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(run.path().join("cells")).unwrap();
        for id in [
            "", ".", "..", "../x", "a/b", "/tmp/x", "a\0b", "a b", ".hidden",
        ] {
            assert!(CellFolder::create(run.path(), id, 1).is_err(), "{id:?}");
        }
        assert_eq!(
            std::fs::read_dir(run.path().join("cells")).unwrap().count(),
            0
        );
    }

    #[test]
    fn a_folder_that_is_there_is_not_used_again() {
        let run = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(run.path().join("cells")).unwrap();
        CellFolder::create(run.path(), "a", 1).unwrap();
        let again = CellFolder::create(run.path(), "a", 1).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn each_process_has_files_of_its_own_and_its_folder_goes() {
        let run = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(run.path().join("cells")).unwrap();
        let folder = CellFolder::create(run.path(), "a", 3).unwrap();
        let scratch: std::collections::BTreeSet<_> = (1..=3).map(|at| folder.scratch(at)).collect();
        assert!(scratch.len() == 3 && scratch.iter().all(|path| path.is_dir()));
        assert_eq!(folder.stdout(1).file_name().unwrap(), "stdout");
        assert_eq!(folder.stdout(2).file_name().unwrap(), "stdout-2");
        folder.remove_scratch();
        assert!(!scratch.iter().any(|path| path.exists()));
    }

    #[test]
    fn the_environment_holds_no_proxy_and_a_home_inside_the_cell() {
        let folder = CellFolder::at(Path::new("/run/cells/a"));
        let environment = folder.environment(1);
        let names: Vec<&str> = environment.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            [
                "PATH",
                "LANG",
                "HOME",
                "TMPDIR",
                "AWS_EC2_METADATA_DISABLED",
                "NO_GCE_CHECK",
                "NO_COLOR",
                "PYTHONDONTWRITEBYTECODE"
            ]
        );
        assert_eq!(environment[2].1, "/run/cells/a/scratch");
    }
}
