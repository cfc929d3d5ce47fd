//! What `/proc` tells of processes. Read only; a process that is gone reads as
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The facts of one process that sweeping needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Process id.
    pub(super) pid: i32,
    /// `R`, `S`, `D`, `Z`, `T` and so on.
    pub(super) state: char,
    /// Its parent.
    pub(super) parent: i32,
    /// Its session.
    pub(super) session: i32,
    /// Ticks from boot to its start. With the id it names a process for good.
    pub(super) started: u64,
}

impl Stat {
    /// The process with this id.
    pub(super) fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Every process there is.
    pub(super) fn all() -> Vec<Self> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(Self::of)
            .collect()
    }

    /// Whether it has not ended. The first thread of a process may have ended
    /// before the others, which reads the same as a process that has.
    pub(super) fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// A line of `/proc/PID/stat`. The name stands in parentheses and may hold
    /// any character, parentheses and blanks included.
    fn parse(line: &str) -> Option<Self> {
        let (head, rest) = line.rsplit_once(')')?;
        let pid = head.split_once(" (")?.0.parse().ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            pid,
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }
}

/// Time that the first thread of a process was ready but not running. It can
/// still be read of one that has ended and was not waited for.
pub(super) fn run_delay_ns(pid: i32) -> u64 {
    schedstat(&format!("/proc/{pid}/schedstat")).map_or(0, |(_, delay)| delay)
}

/// Nanoseconds on a processor, and ready but not running.
fn schedstat(path: &str) -> Option<(u64, u64)> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// How much a process and all below it have used the processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Nanoseconds on a processor, over all threads.
    pub(crate) run_ns: u64,
    /// Nanoseconds ready but not running, by thread.
    pub(crate) delay_ns: BTreeMap<i32, u64>,
    /// Whether a thread runs, wants to run, or waits for a disk.
    pub(crate) wants_to_run: bool,
}

/// Processes looked at in one go: no more than a client can be expected to have.
const MOST_PROCESSES: usize = 256;

impl Usage {
    /// Reads it for the process `pid` and all its descendants.
    pub(crate) fn of_tree(pid: u32) -> Self {
        let mut usage = Self::default();
        let mut seen = BTreeSet::new();
        let mut next = vec![i64::from(pid)];
        while let Some(pid) = next.pop() {
            if seen.len() < MOST_PROCESSES && seen.insert(pid) {
                usage.add_process(pid, &mut next);
            }
        }
        usage
    }

    fn add_process(&mut self, pid: i64, children: &mut Vec<i64>) {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return;
        };
        for task in tasks.flatten() {
            let Some(tid) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let folder = format!("/proc/{pid}/task/{tid}");
            if let Some((run, delay)) = schedstat(&format!("{folder}/schedstat")) {
                self.run_ns += run;
                self.delay_ns.insert(tid, delay);
            }
            let stat = fs::read_to_string(format!("{folder}/stat")).unwrap_or_default();
            self.wants_to_run |=
                Stat::parse(&stat).is_some_and(|stat| matches!(stat.state, 'R' | 'D'));
            let below = fs::read_to_string(format!("{folder}/children")).unwrap_or_default();
            children.extend(
                below
                    .split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<i64>().ok()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_does_not_shift_the_fields() {
        let line = "4711 (a) S (b) c) R 17 4711 99 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1";
        assert_eq!(
            Stat::parse(line),
            Some(Stat {
                pid: 4711,
                state: 'R',
                parent: 17,
                session: 99,
                started: 123_456,
            })
        );
    }

    #[test]
    fn this_process_is_found_among_all_and_has_run() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(Stat::all().iter().any(|stat| stat.pid == own));
        let usage = Usage::of_tree(std::process::id());
        assert!(usage.run_ns > 0, "{usage:?}");
        assert!(usage.wants_to_run, "the thread that asks is running");
    }

    #[test]
    fn a_process_that_is_gone_reads_as_nothing() {
        assert_eq!(Stat::of(-1), None);
        assert_eq!(run_delay_ns(-1), 0);
    }
}
