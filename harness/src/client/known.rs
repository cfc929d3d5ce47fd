//! The clients: finding and reading their manifests, choosing among them, and
//! whether their programs are there. Nothing here starts a program.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use globset::Glob;
use scenarios::document::Source;
use scenarios::document::decode::nearest;
use scenarios::manifest::{Manifest, decode};

use crate::failure::Failure;
use crate::input::folder::Place;
use crate::input::mistakes::Mistakes;

/// Where the manifests lie below the root.
pub const FOLDER: &str = "clients";

/// A client that is known.
#[derive(Clone, Debug)]
pub struct Known {
    /// What it says of itself.
    pub manifest: Manifest,
    /// The manifest's file.
    pub source: Source,
}

/// Reads all manifests of these folders, `NAME.yaml` or `ECOSYSTEM/NAME.yaml`.
/// Clients with defects to switch on, which is what the others are held against, come
/// first; the rest by name.
///
/// # Errors
/// When the folders cannot be listed.
pub fn load(folders: &[Place], mistakes: &mut Mistakes) -> Result<Vec<Known>, Failure> {
    let mut clients: Vec<Known> = Vec::new();
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    let mut files = Vec::new();
    for folder in folders {
        files.extend(manifests(folder)?);
    }
    for file in files {
        let Some(source) = mistakes.read(&file.path, &file.shown) else {
            continue;
        };
        let mut manifest = match decode(&source) {
            Ok(manifest) => manifest,
            Err(found) => {
                mistakes.add(&found, &source);
                continue;
            }
        };
        // Programs lie beside their manifest, wherever the current folder is.
        manifest.file = file.path.display().to_string();
        if let Some(other) = places.insert(manifest.name.clone(), source.path.clone()) {
            mistakes.add_line(&format!(
                "{}: `{other}` has the client `{}` already: names are unique over all manifests",
                source.path, manifest.name
            ));
            continue;
        }
        clients.push(Known { manifest, source });
    }
    clients.sort_by_key(|known| {
        let plain = known.manifest.defects.is_empty();
        (plain, known.manifest.name.clone())
    });
    Ok(clients)
}

/// Those of a folder of one ecosystem, or of several.
fn manifests(folder: &Place) -> Result<Vec<Place>, Failure> {
    let mut found = Vec::new();
    for entry in folder.entries()? {
        match entry.is_folder() {
            true => found.extend(entry.entries()?.into_iter().filter(Place::is_yaml)),
            false => found.push(entry),
        }
    }
    found.retain(Place::is_yaml);
    Ok(found)
}

/// The clients with these names or globs, in the order of `known`; without any, all
/// that need nothing from a registry.
///
/// # Errors
/// When a name or glob fits no client.
pub fn choose<'a>(known: &'a [Known], wanted: &[String]) -> Result<Vec<&'a Known>, Failure> {
    let names = || known.iter().map(|client| client.manifest.name.as_str());
    let mut globs = Vec::new();
    for text in wanted {
        let glob = Glob::new(text)
            .map_err(|error| Failure::usage(format!("`{text}` is no client: {error}")))?
            .compile_matcher();
        if !names().any(|name| glob.is_match(name)) {
            let hint = match nearest(text, names()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(Failure::usage(format!("no client fits `{text}`: {hint}")));
        }
        globs.push(glob);
    }
    let meant = |manifest: &Manifest| {
        let is_named = globs.iter().any(|glob| glob.is_match(&manifest.name));
        is_named || globs.is_empty() && manifest.install.is_none()
    };
    Ok(known
        .iter()
        .filter(|client| meant(&client.manifest))
        .collect())
}

/// The first program of a client that is not to be found.
pub fn missing_program(manifest: &Manifest, path: &[PathBuf]) -> Option<String> {
    let found = |program: &String| find_program(program, path).is_some();
    let missing = manifest.programs.iter().find(|program| !found(program))?;
    Some(format!("program `{missing}` is not in PATH"))
}

/// Where a program is.
pub fn find_program(program: &str, path: &[PathBuf]) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        let data = std::fs::metadata(file);
        data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(runs);
    }
    path.iter().map(|folder| folder.join(program)).find(runs)
}
