//! The folder of a run: making it, finding the latest, writing its files.

use std::io::Read;
use std::path::{Path, PathBuf};

use reports::record::RunRecord;
use serde::Serialize;

use crate::failure::Failure;
use crate::id;
use crate::run::planned::{self, Planned};
use crate::surroundings::Surroundings;

/// Where runs lie in the current folder unless `--out` says otherwise.
pub const PARENT: &str = "wirefault-runs";

/// The link to the latest run.
pub const LATEST: &str = "latest";

/// The most of a client's stderr that a record keeps.
const STDERR_KEPT: usize = 2000;

/// A run's folder.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
    /// How it is called.
    pub shown: PathBuf,
}

impl RunFolder {
    /// Makes the folder: the given one, which must be new or empty, or one of
    /// its own under [`PARENT`] with the link to it. `kind` stands in front of
    /// the name where it is not a plain run.
    ///
    /// # Errors
    /// When it cannot be made or has something in it.
    pub fn make(out: Option<&Path>, kind: &str, around: &Surroundings) -> Result<Self, Failure> {
        let Some(out) = out else {
            let name = format!("{kind}{}", id::run(around.now, around.entropy));
            let shown = Path::new(PARENT).join(&name);
            let path = around.cwd.join(&shown);
            std::fs::create_dir_all(&path)
                .map_err(|error| Failure::place("cannot make the run's folder", &shown, &error))?;
            // A convenience: a file system without links does without.
            let link = around.cwd.join(PARENT).join(LATEST);
            let fresh = link.with_extension(&name);
            let _ = std::os::unix::fs::symlink(&name, &fresh)
                .and_then(|()| std::fs::rename(&fresh, &link));
            return Ok(Self { path, shown });
        };
        let path = around.cwd.join(out);
        std::fs::create_dir_all(&path)
            .map_err(|error| Failure::place("cannot make the run's folder", out, &error))?;
        let mut entries = std::fs::read_dir(&path)
            .map_err(|error| Failure::place("cannot list the run's folder", out, &error))?;
        if entries.next().is_some() {
            return Err(Failure::usage(format!(
                "--out: `{}` is not empty; a run needs a folder of its own",
                out.display()
            )));
        }
        Ok(Self {
            path,
            shown: out.to_owned(),
        })
    }

    /// Makes the folder of a run in this one.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn inside(&self, name: &str) -> Result<Self, Failure> {
        let inside = Self {
            path: self.path.join(name),
            shown: self.shown.join(name),
        };
        std::fs::create_dir(&inside.path).map_err(|error| {
            Failure::place("cannot make the run's folder", &inside.shown, &error)
        })?;
        Ok(inside)
    }

    /// Writes what is planned.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn write_planned(&self, planned: &Planned) -> Result<(), Failure> {
        self.write_json(planned::FILE, planned)
    }

    /// Writes the record.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn write_record(&self, record: &RunRecord) -> Result<(), Failure> {
        self.write_json("run.json", record)
    }

    /// Writes a value as JSON, whole or not at all.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut bytes = serde_json::to_vec_pretty(value)
            .map_err(|error| Failure::internal(format!("cannot write `{name}`: {error}")))?;
        bytes.push(b'\n');
        self.write(Path::new(name), &bytes)
    }

    /// Writes a file whole or not at all.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn write(&self, name: &Path, bytes: &[u8]) -> Result<(), Failure> {
        write_whole(&self.path.join(name), bytes)
            .map_err(|error| Failure::file("cannot write", &self.shown.join(name), &error))
    }

    /// The end of what a cell's client wrote to stderr, if it wrote anything.
    pub fn stderr(&self, cell: &str) -> Option<String> {
        stderr(&self.path.join("cells").join(cell))
    }
}

/// The end of what the client of the cell with this folder wrote to stderr.
pub fn stderr(cell: &Path) -> Option<String> {
    let text = read_whole(&cell.join("stderr")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim_end();
    let from = text.len().saturating_sub(STDERR_KEPT);
    let from = text.ceil_char_boundary(from);
    (!text.is_empty()).then(|| text[from..].to_owned())
}

/// Reads a file of a run's folder, which may come from a stranger.
///
/// # Errors
/// When it cannot be read, or is a pipe or a device, which may have no end.
pub fn read_whole(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    scenarios::document::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file whole or not at all, with the folders above it. A device such as
/// `/dev/stdout` is written to; it must not be replaced by a file.
///
/// # Errors
/// When that is not possible.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if is_no_file(path) {
        return std::fs::write(path, bytes);
    }
    let part = make_room(path)?;
    std::fs::write(&part, bytes)?;
    std::fs::rename(&part, path)
}

/// Tries whether [`write_whole`] will be able to write here, before there is
/// something to write.
///
/// # Errors
/// When it will not.
pub fn try_place(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Err(std::io::Error::other("this is a folder"));
    }
    if is_no_file(path) {
        return Ok(());
    }
    let part = make_room(path)?;
    std::fs::write(&part, "")?;
    std::fs::remove_file(&part)
}

/// Whether something is there that is no file.
fn is_no_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// Makes the folders above a file, and gives the name to write it under.
fn make_room(path: &Path) -> std::io::Result<PathBuf> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    Ok(part.into())
}
