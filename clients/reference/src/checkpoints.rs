//! What a client has to know when it is killed and started again: which calls it had
//! begun, and how those ended that had.
//!
//! A line of a file for each, written whole by one call of the system before anything
//! rests on it: a call is begun before it is sent, and has ended before that is told. A
//! line that was torn is none.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use client_kit::protocol::Report;
use serde::{Deserialize, Serialize};

/// How far a call had come before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// It was going to be sent.
    Begun(u32),
    /// It was through, with this report.
    Ended(Report),
}

/// What is kept beyond the end of this process, if anything is.
#[derive(Debug, Default)]
pub struct Checkpoints(Option<Kept>);

#[derive(Debug)]
struct Kept {
    file: Mutex<File>,
    /// Whether a process before this one has kept something.
    was_here: bool,
    /// What that was, by the call.
    before: BTreeMap<u32, Line>,
}

impl Checkpoints {
    /// Goes on with what this file holds, and keeps what comes in it.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn in_file(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).open(path)?;
        let text = std::fs::read(path)?;
        let lines = text.split(|byte| *byte == b'\n');
        let mut before = BTreeMap::new();
        for line in lines.filter_map(|line| serde_json::from_slice(line).ok()) {
            let call = match &line {
                Line::Begun(call) => *call,
                Line::Ended(report) => report.call,
            };
            before.insert(call, line);
        }
        // Also ends a line that was torn.
        file.write_all(b"\n")?;
        Ok(Self(Some(Kept {
            file: Mutex::new(file),
            was_here: !text.is_empty(),
            before,
        })))
    }

    /// As if nothing had been kept, but that something was.
    pub(crate) fn forget(&mut self) {
        if let Some(kept) = &mut self.0 {
            kept.before.clear();
        }
    }

    /// Whether a process before this one had the same work.
    pub(crate) fn is_again(&self) -> bool {
        self.0.as_ref().is_some_and(|kept| kept.was_here)
    }

    /// How a call ended in a process before this one.
    pub(crate) fn ended_before(&self, call: u32) -> Option<&Report> {
        match self.0.as_ref()?.before.get(&call)? {
            Line::Ended(report) => Some(report),
            Line::Begun(_) => None,
        }
    }

    /// Whether a call was under way when the process before this one ended.
    pub(crate) fn was_under_way(&self, call: u32) -> bool {
        let before = self.0.as_ref().and_then(|kept| kept.before.get(&call));
        matches!(before, Some(Line::Begun(_)))
    }

    /// A call is going to be sent.
    pub(crate) fn begins(&self, call: u32) -> io::Result<()> {
        self.keep(&Line::Begun(call))
    }

    /// A call is through.
    pub(crate) fn ends(&self, report: &Report) -> io::Result<()> {
        self.keep(&Line::Ended(report.clone()))
    }

    fn keep(&self, line: &Line) -> io::Result<()> {
        let Some(kept) = &self.0 else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        let mut file = kept.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use client_kit::protocol::Shown;

    use super::*;

    fn report(call: u32) -> Report {
        Report {
            call,
            shown: Shown::Held {},
            claim: None,
            events: None,
        }
    }

    #[test]
    fn what_was_kept_is_there_again_and_a_torn_line_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoints");
        let first = Checkpoints::in_file(&path).unwrap();
        assert!(!first.is_again());
        for call in 1..=3 {
            first.begins(call).unwrap();
        }
        first.ends(&report(1)).unwrap();
        first.ends(&report(3)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();

        let second = Checkpoints::in_file(&path).unwrap();
        assert!(second.is_again());
        assert_eq!(second.ended_before(1), Some(&report(1)));
        assert!(!second.was_under_way(1) && !second.was_under_way(4));
        for torn_or_begun in [2, 3] {
            assert_eq!(second.ended_before(torn_or_begun), None);
            assert!(second.was_under_way(torn_or_begun));
        }
        second.ends(&report(2)).unwrap();
        let third = Checkpoints::in_file(&path).unwrap();
        assert_eq!(third.ended_before(2), Some(&report(2)));
    }

    #[test]
    fn without_a_file_nothing_is_kept() {
        let none = Checkpoints::default();
        none.begins(1).unwrap();
        none.ends(&report(1)).unwrap();
        assert!(!none.is_again() && !none.was_under_way(1));
    }
}
