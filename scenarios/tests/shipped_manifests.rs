//! Every manifest that is shipped decodes, and so does the one that the README
//! of the clients shows.

use std::path::{Path, PathBuf};

use scenarios::document::{Source, render};
use scenarios::manifest::{Manifest, decode};

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn decoded(path: &Path, text: &str) -> Manifest {
    let source = Source {
        path: path.display().to_string(),
        text: text.to_owned(),
    };
    decode(&source).unwrap_or_else(|found| panic!("{}", render(&found, &source, false)))
}

#[test]
fn every_manifest_decodes_and_bears_the_name_of_its_file() {
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients");
    let files: Vec<_> = inside(&clients)
        .into_iter()
        .filter(|path| path.is_dir())
        .flat_map(|folder| inside(&folder))
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    assert!(files.len() >= 9, "{files:?}");
    for file in files {
        let manifest = decoded(&file, &std::fs::read_to_string(&file).unwrap());
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        assert_eq!(stem, Some(manifest.name.as_str()));
    }
}

#[test]
fn the_manifest_in_the_readme_decodes() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/README.md");
    let text = std::fs::read_to_string(&readme).unwrap();
    let block = text
        .split("```yaml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    assert_eq!(decoded(&readme, block).name, "my-curl");
}
