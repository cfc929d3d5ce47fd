//! The baseline: cells that are known to differ, a file a client.
//!
//! [`decode`] reads the files, [`fingerprint`] says in short what was seen,
//! [`dispose`] holds a cell against its entry, [`propose`] writes what the
//! files would have to say, [`Unmatched`] the
//! entries without a cell. Absence means: must pass.

mod decode;
mod dispose;
mod fingerprint;
mod propose;
mod unmatched;

use std::collections::BTreeMap;
use std::path::Path;

use reports::record::BaselineEntry;

pub use decode::decode;
pub use dispose::{dispose, dispose_repeats};
pub use fingerprint::{facts, fingerprint};
pub use propose::{UNSAID, propose};
pub use unmatched::{Covered, Unmatched};

use crate::failure::Failure;
use crate::input::mistakes::Mistakes;

/// All entries, by client and case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(pub BTreeMap<String, BTreeMap<String, Entry>>);

/// One entry and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it says.
    pub says: BaselineEntry,
    /// File and line.
    pub place: String,
}

impl Baseline {
    /// Reads all files of a folder; a folder that is not there has none.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn load(folder: &Path, shown: &Path, mistakes: &mut Mistakes) -> Result<Self, Failure> {
        let mut baseline = Self::default();
        let listed = match std::fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(baseline),
            Err(error) => return Err(Failure::file("cannot list", shown, &error)),
        };
        let mut names: Vec<_> = listed.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let name = Path::new(&name);
            if name.extension().is_none_or(|end| end != "yaml") {
                continue;
            }
            let Some(source) = mistakes.read(&folder.join(name), &shown.join(name)) else {
                continue;
            };
            match decode(&source) {
                Ok((client, entries)) => {
                    baseline.0.insert(client, entries);
                }
                Err(found) => mistakes.add(&found, &source),
            }
        }
        Ok(baseline)
    }

    /// The entry of a cell; none where it is not so with this version of the client.
    pub fn entry(&self, client: &str, version: &str, case: &str) -> Option<&Entry> {
        let entry = self.0.get(client)?.get(case)?;
        let mut not_with = entry.says.not_with.iter();
        (!not_with.any(|text| version.contains(text))).then_some(entry)
    }
}
