//! Folders of scenarios and of manifests: those that are shipped, and those that
//! people keep elsewhere.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file or a folder, with what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it is.
    pub path: PathBuf,
    /// As a person can use it from the current folder.
    pub shown: PathBuf,
}

impl Place {
    /// Folders that were named by an option.
    ///
    /// # Errors
    /// When one of them is none.
    pub fn named(option: &str, given: &[PathBuf], cwd: &Path) -> Result<Vec<Self>, Failure> {
        let named = given.iter().map(|shown| {
            let path = cwd.join(shown);
            if !path.is_dir() {
                let shown = shown.display();
                return Err(Failure::usage(format!("{option}: `{shown}` is no folder")));
            }
            let shown = shown.clone();
            Ok(Self { path, shown })
        });
        named.collect()
    }

    /// What it holds, sorted.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn entries(&self) -> Result<Vec<Self>, Failure> {
        let failed = |error| Failure::file("cannot list", &self.shown, &error);
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            entries.push(Self {
                path: self.path.join(&name),
                shown: self.shown.join(&name),
            });
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.path.is_dir()
    }

    /// Whether it is called like a YAML file.
    pub fn is_yaml(&self) -> bool {
        let end = self.path.extension();
        end.is_some_and(|end| end == "yaml" || end == "yml")
    }
}
