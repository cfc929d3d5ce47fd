//! How long a run took, and how long it would have to take at least: its floor.
//!
//! The floor is the largest of three: the processor time of the clients, which the
//! processors share; the waiting of cells in real time, of which only so many are
//! under way at once; and the longest cell. What a run takes beyond it is wirefault's
//! own.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reports::time::Time;
use scripted_servers::clock::{Clock, RealClock};

use super::{CellDone, RunEvent, RunOptions};

/// Takes the time of a run while it goes on.
pub struct Stopwatch {
    clock: Arc<dyn Clock>,
    clients_before: Duration,
    began: BTreeMap<String, Duration>,
    took: BTreeMap<String, Duration>,
}

impl Stopwatch {
    /// From now on.
    pub fn start() -> Self {
        Self {
            clock: RealClock::start(),
            clients_before: children(),
            began: BTreeMap::new(),
            took: BTreeMap::new(),
        }
    }

    /// What happened just now.
    pub fn seen(&mut self, event: &RunEvent) {
        let now = self.clock.now();
        match event {
            RunEvent::Started { id } => drop(self.began.insert(id.clone(), now)),
            RunEvent::Finished { id, .. } => {
                if let Some(began) = self.began.remove(id) {
                    self.took.insert(id.clone(), now.saturating_sub(began));
                }
            }
            RunEvent::Interrupted { .. } => {}
        }
    }

    /// Up to now, for these cells.
    pub fn stop(self, done: &[CellDone], options: &RunOptions) -> Timings {
        let waits = |cell: &&CellDone| matches!(cell.time, Some(Time::Real { .. }));
        let waiting = done.iter().filter(waits);
        let waiting = waiting.filter_map(|cell| self.took.get(&cell.id));
        let longest = self.took.iter().max_by_key(|(_, took)| **took);
        Timings {
            cells: done.len(),
            wall: self.clock.now(),
            clients: children().saturating_sub(self.clients_before),
            processors: options.jobs.max(1),
            waiting: waiting.sum(),
            at_once: options.at_once(),
            longest: longest.map(|(id, took)| (id.clone(), *took)),
        }
    }
}

/// Processor time of all children that have been waited for, and of theirs.
fn children() -> Duration {
    // Times 16 and 17 of proc_pid_stat(5), in ticks; the name before them may have
    // blanks in it and ends with the last bracket.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let field = |number: usize| rest.split_ascii_whitespace().nth(number - 3);
    let ticks = [16, 17].map(|number| field(number).and_then(|text| text.parse::<u64>().ok()));
    let ticks: u64 = ticks.into_iter().flatten().sum();
    let in_a_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(ticks.saturating_mul(1000) / in_a_second)
}

/// What a run took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timings {
    /// Cells that ran.
    pub cells: usize,
    /// From the beginning to the end.
    pub wall: Duration,
    /// Processor time of the clients, their launchers included.
    pub clients: Duration,
    /// Cells that may use a processor at once.
    pub processors: usize,
    /// The time that cells in real time were under way, together.
    pub waiting: Duration,
    /// Cells that may be under way at once.
    pub at_once: usize,
    /// The cell that took longest.
    pub longest: Option<(String, Duration)>,
}

impl Timings {
    /// What the run would take if nothing but its clients took any time.
    pub fn floor(&self) -> Duration {
        let longest = self.longest.as_ref().map(|(_, took)| *took);
        self.shared()
            .max(self.waited())
            .max(longest.unwrap_or_default())
    }

    fn shared(&self) -> Duration {
        each(self.clients, self.processors)
    }

    fn waited(&self) -> Duration {
        each(self.waiting, self.at_once)
    }
}

fn each(all: Duration, parts: usize) -> Duration {
    all / u32::try_from(parts.max(1)).unwrap_or(u32::MAX)
}

impl fmt::Display for Timings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = Duration::as_secs_f64;
        let (wall, floor) = (seconds(&self.wall), seconds(&self.floor()));
        let times = if floor > 0.0 { wall / floor } else { 0.0 };
        writeln!(
            out,
            "Timings: {} cells in {wall:.1} s, {times:.2} times the floor of {floor:.1} s, the largest of",
            self.cells
        )?;
        writeln!(
            out,
            "  {:8.1} s  processor time of clients, {:.1} s, by {} at once",
            seconds(&self.shared()),
            seconds(&self.clients),
            self.processors
        )?;
        writeln!(
            out,
            "  {:8.1} s  cells in real time, {:.1} s, by {} at once",
            seconds(&self.waited()),
            seconds(&self.waiting),
            self.at_once
        )?;
        let (id, took) = match &self.longest {
            Some((id, took)) => (id.as_str(), *took),
            None => ("none", Duration::ZERO),
        };
        writeln!(out, "  {:8.1} s  the longest cell, {id}", seconds(&took))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings() -> Timings {
        Timings {
            cells: 10,
            wall: Duration::from_secs(12),
            clients: Duration::from_secs(18),
            processors: 2,
            waiting: Duration::from_secs(80),
            at_once: 10,
            longest: Some(("redirect-loop-curl-1".to_owned(), Duration::from_secs(4))),
        }
    }

    #[test]
    fn the_floor_is_the_largest_of_what_cannot_be_avoided() {
        let all = timings();
        assert_eq!(all.floor(), Duration::from_secs(9));
        let few = Timings {
            at_once: 4,
            ..timings()
        };
        assert_eq!(few.floor(), Duration::from_secs(20));
        let long = Timings {
            longest: Some(("x".to_owned(), Duration::from_secs(30))),
            ..timings()
        };
        assert_eq!(long.floor(), Duration::from_secs(30));
    }

    #[test]
    fn it_says_how_far_from_the_floor_a_run_was_and_what_the_floor_is() {
        insta::assert_snapshot!(timings().to_string(), @r"
        Timings: 10 cells in 12.0 s, 1.33 times the floor of 9.0 s, the largest of
               9.0 s  processor time of clients, 18.0 s, by 2 at once
               8.0 s  cells in real time, 80.0 s, by 10 at once
               4.0 s  the longest cell, redirect-loop-curl-1
        ");
    }

    #[test]
    fn the_time_of_children_is_counted_once_they_have_been_waited_for() {
        let before = children();
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let status = std::process::Command::new("sh")
            .args(["-c", script])
            .status();
        assert!(status.unwrap().success());
        assert!(children() > before);
    }
}
