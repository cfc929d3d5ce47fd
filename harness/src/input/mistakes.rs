//! Mistakes in scenarios, manifests and baselines, collected over all files and
//! rendered like a compiler's.

use std::path::Path;

use scenarios::document::decode::counted;
use scenarios::document::{self, Diagnostic, Source, Unreadable};

use crate::exit::Exit;
use crate::failure::Failure;

/// Mistakes of any number of files.
#[derive(Debug)]
pub struct Mistakes {
    color: bool,
    text: String,
    count: usize,
    files: usize,
}

impl Mistakes {
    /// None yet.
    pub const fn new(color: bool) -> Self {
        Self {
            color,
            text: String::new(),
            count: 0,
            files: 0,
        }
    }

    /// Those of one document.
    pub fn add(&mut self, found: &[Diagnostic], source: &Source) {
        if found.is_empty() {
            return;
        }
        self.text
            .push_str(&document::render(found, source, self.color));
        self.count += found.len();
        self.files += 1;
    }

    /// A file of which nothing more than one line can be said.
    pub fn add_line(&mut self, line: &str) {
        self.text.push_str("error: ");
        self.text.push_str(&document::harmless(line));
        self.text.push_str("\n\n");
        self.count += 1;
        self.files += 1;
    }

    /// Reads a document; what keeps it from being read is a mistake too.
    pub fn read(&mut self, file: &Path, shown: &Path) -> Option<Source> {
        match Source::read(file) {
            Ok(source) => Some(Source {
                path: shown.display().to_string(),
                ..source
            }),
            Err(Unreadable::Io(error)) => {
                self.add_line(&format!("{}: {error}", shown.display()));
                None
            }
            Err(Unreadable::Rejected(source, found)) => {
                let source = Source {
                    path: shown.display().to_string(),
                    ..source
                };
                let found: Vec<Diagnostic> = found
                    .into_iter()
                    .map(|one| Diagnostic {
                        path: source.path.clone(),
                        ..one
                    })
                    .collect();
                self.add(&found, &source);
                None
            }
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// None, or the failure that tells them all.
    ///
    /// # Errors
    /// When there is any.
    pub fn check(self) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        Err(Failure {
            exit: Exit::Invalid,
            message: format!(
                "{}{} in {}",
                self.text,
                counted(self.count, "mistake"),
                counted(self.files, "file")
            ),
        })
    }
}
