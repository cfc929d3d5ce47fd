//! Every mistake that a scenario can have, with the message a person sees.
//!
//! Each file in `rejects` holds one mistake. A new diagnostic needs a file here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use scenarios::document::{MAX_BYTES, Source, Unreadable, ids, render};
use scenarios::validate::{Known, scenario};

fn known() -> Known {
    Known {
        defects: BTreeSet::from(["retries-post-on-reset".to_owned()]),
    }
}

/// The rendered mistakes of a file, and their ids.
fn rejected(file: &Path) -> (String, Vec<&'static str>) {
    let (source, found) = match Source::read(file) {
        Ok(source) => match scenario(&source, "area/name", 1, &known()) {
            Ok(_) => panic!("{} has no mistake", file.display()),
            Err(found) => (source, found),
        },
        Err(Unreadable::Rejected(source, found)) => (source, found),
        Err(Unreadable::Io(error)) => panic!("{}: {error}", file.display()),
    };
    let ids = found.iter().map(|one| one.id).collect();
    (render(&found, &source, false), ids)
}

/// The ids of the mistakes in manifests, which have a test of their own.
fn of_manifests() -> Vec<&'static str> {
    let sources = files_in("tests/manifests");
    let sources = sources.iter().filter_map(|file| Source::read(file).ok());
    let found = sources.filter_map(|source| scenarios::manifest::decode(&source).err());
    found.flatten().map(|one| one.id).collect()
}

fn files() -> Vec<PathBuf> {
    files_in("tests/rejects")
}

fn files_in(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{folder} is empty");
    files
}

#[test]
fn every_mistake_is_explained() {
    let mut seen = BTreeSet::from([ids::TOO_LARGE]);
    for file in files() {
        let (message, found) = rejected(&file);
        seen.extend(found);
        let name = file.file_stem().expect("a name").to_string_lossy();
        insta::assert_snapshot!(name.into_owned(), message);
    }
    seen.extend(of_manifests());
    let missing: Vec<_> = ids::ALL
        .iter()
        .map(|(id, _)| id)
        .filter(|id| !seen.contains(*id))
        .collect();
    assert!(missing.is_empty(), "no file causes {missing:?}");
}

#[test]
fn no_mistake_of_a_file_is_told_twice() {
    for file in files() {
        let (message, _) = rejected(&file);
        let titles: Vec<_> = message
            .lines()
            .filter(|line| line.starts_with("error["))
            .collect();
        let distinct: BTreeSet<_> = titles.iter().collect();
        assert_eq!(
            distinct.len(),
            titles.len(),
            "{}: {message}",
            file.display()
        );
    }
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("large.yaml");
    std::fs::write(&file, vec![b'a'; 10 * MAX_BYTES]).expect("written");
    let Err(Unreadable::Rejected(mut source, found)) = Source::read(&file) else {
        panic!("read");
    };
    source.path = "large.yaml".to_owned();
    insta::assert_snapshot!("too-large", render(&found, &source, false));
}
