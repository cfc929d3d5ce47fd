//! The time that a cell ran in: virtual, in which waiting is jumped over, or
//! real, and then why. In `cell.json`, in `run.json` and in the reports.

use std::collections::BTreeMap;

use scenarios::evidence::{HeldWait, Told, VirtualTimeTold};
use serde::{Deserialize, Serialize};

/// Long waits of a cell that are listed; the cell's evidence has more.
const LISTED: usize = 5;

/// The time that a cell ran in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Time {
    /// Waiting was jumped over.
    Virtual(VirtualTime),
    /// Waiting was waited for.
    Real(RealTime),
}

/// What became of a cell's virtual time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualTime {
    /// How often time was moved ahead.
    pub jumps: u64,
    /// By how much in all, in microseconds.
    pub jumped_us: u64,
    /// Who waited where most was jumped over, the longest first; up to five.
    pub held: Vec<HeldWait>,
    /// How many more waits of 100 ms and more there were.
    pub held_not_listed: u64,
    /// What a reader should know, and how often it was seen.
    pub notes: Vec<Told>,
    /// Why the times are not to be trusted. Empty: they are true.
    pub doubts: Vec<Told>,
}

/// Why a cell ran in real time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RealTime {
    /// In a word.
    pub why: WhyReal,
    /// In words.
    pub reason: String,
}

/// Why a cell ran in real time, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyReal {
    /// The run was to have it so.
    NotAsked,
    /// There is no virtual time on this machine.
    Unavailable,
    /// The case depends on the kernel's own timers.
    KernelTimers,
    /// The system did not let the client be traced.
    Refused,
}

impl RealTime {
    /// The run was to have it so.
    pub fn not_asked() -> Self {
        Self {
            why: WhyReal::NotAsked,
            reason: "virtual time was not asked for".to_owned(),
        }
    }

    /// There is no virtual time on this machine, for this reason.
    pub fn unavailable(reason: impl ToString) -> Self {
        Self {
            why: WhyReal::Unavailable,
            reason: reason.to_string(),
        }
    }

    /// The case depends on the kernel's own timers, in this way.
    pub fn kernel_timers(reason: &str) -> Self {
        Self {
            why: WhyReal::KernelTimers,
            reason: reason.to_owned(),
        }
    }
}

impl From<&VirtualTimeTold> for Time {
    fn from(told: &VirtualTimeTold) -> Self {
        if let Some(reason) = &told.refused {
            return Self::Real(RealTime {
                why: WhyReal::Refused,
                reason: reason.clone(),
            });
        }
        let mut held = told.held.clone();
        held.sort_by_key(|held| std::cmp::Reverse(held.us));
        let left_out = held.len().saturating_sub(LISTED) as u64;
        held.truncate(LISTED);
        Self::Virtual(VirtualTime {
            jumps: told.jumps,
            jumped_us: told.jumped_us,
            held,
            held_not_listed: told.held_not_listed + left_out,
            notes: told.notes.clone(),
            doubts: told.doubts.clone(),
        })
    }
}

impl VirtualTime {
    /// In words: how much was jumped over, and who waited.
    pub(crate) fn told(&self) -> String {
        let jumps = match self.jumps {
            1 => "1 jump".to_owned(),
            n => format!("{n} jumps"),
        };
        let mut text = format!("virtual, {jumps} over {}", duration(self.jumped_us));
        for held in &self.held {
            let HeldWait { thread, call, .. } = held;
            text.push_str(&format!("\n{} by {thread} in {call}", duration(held.us)));
        }
        if self.held_not_listed > 0 {
            text.push_str(&format!("\nand {} shorter waits", self.held_not_listed));
        }
        for note in &self.notes {
            text.push_str(&format!("\n{}", note.what));
        }
        text
    }
}

/// One line on the times of cells: how many ran in which, how much waiting was
/// jumped over, and why it was not. None where there is no time.
pub fn summary<'a>(times: impl Iterator<Item = &'a Time>) -> Option<String> {
    let (mut jumped, mut jumped_us) = (0_usize, 0_u64);
    let mut real: BTreeMap<&str, usize> = BTreeMap::new();
    for time in times {
        match time {
            Time::Virtual(time) => {
                jumped += 1;
                jumped_us += time.jumped_us;
            }
            Time::Real(time) => *real.entry(&time.reason).or_default() += 1,
        }
    }
    let mut parts = Vec::new();
    if jumped > 0 {
        parts.push(format!(
            "{} in virtual time, {} of waiting jumped over",
            cells_of(jumped),
            duration(jumped_us)
        ));
    }
    let in_real: usize = real.values().sum();
    if in_real > 0 {
        let why: Vec<String> = match real.len() {
            1 => real.keys().map(|why| (*why).to_owned()).collect(),
            _ => real.iter().map(|(why, n)| format!("{why} ({n})")).collect(),
        };
        parts.push(format!(
            "{} in real time: {}",
            cells_of(in_real),
            why.join(", ")
        ));
    }
    (!parts.is_empty()).then(|| format!("Time: {}.", parts.join("; ")))
}

fn cells_of(count: usize) -> String {
    match count {
        1 => "1 cell".to_owned(),
        n => format!("{n} cells"),
    }
}

/// A duration as people say it, rounded, in two units at most.
fn duration(us: u64) -> String {
    let (ms, tenths) = (
        us.saturating_add(500) / 1000,
        us.saturating_add(50_000) / 100_000,
    );
    let seconds = us.saturating_add(500_000) / 1_000_000;
    match seconds {
        _ if ms < 1000 => format!("{ms} ms"),
        _ if tenths < 600 => format!("{}.{} s", tenths / 10, tenths % 10),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(us: u64) -> HeldWait {
        HeldWait {
            at_us: 0,
            thread: "main".to_owned(),
            call: "poll".to_owned(),
            us,
            jumps: 1,
        }
    }

    #[test]
    fn the_longest_waits_come_first_and_the_others_are_counted() {
        let told = VirtualTimeTold {
            held: [3, 9, 1, 7, 5, 8, 2].map(held).to_vec(),
            held_not_listed: 4,
            ..VirtualTimeTold::default()
        };
        let Time::Virtual(time) = Time::from(&told) else {
            panic!("{told:?}")
        };
        let listed: Vec<u64> = time.held.iter().map(|held| held.us).collect();
        assert_eq!((listed, time.held_not_listed), (vec![9, 8, 7, 5, 3], 6));
    }

    #[test]
    fn a_client_that_was_not_taken_ran_in_real_time() {
        let told = VirtualTimeTold {
            jumps: 2,
            refused: Some("no ptrace".to_owned()),
            ..VirtualTimeTold::default()
        };
        let json = serde_json::to_value(Time::from(&told)).unwrap();
        let right = r#"{"mode":"real","why":"refused","reason":"no ptrace"}"#;
        assert_eq!(json.to_string(), {
            let right: serde_json::Value = serde_json::from_str(right).unwrap();
            right.to_string()
        });
    }

    #[test]
    fn a_line_sums_up_the_times_and_groups_why_they_were_real() {
        let jumped = |jumped_us| {
            Time::Virtual(VirtualTime {
                jumped_us,
                ..VirtualTime::default()
            })
        };
        let drops = || Time::Real(RealTime::kernel_timers("a port drops SYNs"));
        let refused = || {
            Time::Real(RealTime {
                why: WhyReal::Refused,
                reason: "no ptrace".to_owned(),
            })
        };
        let summed = |times: &[Time]| summary(times.iter());
        assert_eq!(summed(&[]), None);
        assert_eq!(
            summed(&[jumped(60_000_000), drops(), jumped(5_000_000)]).unwrap(),
            "Time: 2 cells in virtual time, 1 min 5 s of waiting jumped over; 1 cell in real \
             time: a port drops SYNs."
        );
        assert_eq!(
            summed(&[drops(), refused(), drops()]).unwrap(),
            "Time: 3 cells in real time: a port drops SYNs (2), no ptrace (1)."
        );
    }

    #[test]
    fn the_time_of_a_cell_says_who_waited_for_how_long() {
        let told = VirtualTimeTold {
            jumps: 7,
            jumped_us: 61_000_000,
            held: [60_000_000, 1_000_000].map(held).to_vec(),
            held_not_listed: 3,
            notes: vec![Told {
                what: "a process was stopped by a signal".to_owned(),
                times: 1,
            }],
            ..VirtualTimeTold::default()
        };
        let Time::Virtual(time) = Time::from(&told) else {
            panic!("{told:?}")
        };
        assert_eq!(
            time.told(),
            "virtual, 7 jumps over 1 min 1 s\n1 min 0 s by main in poll\n1.0 s by main in \
             poll\nand 3 shorter waits\na process was stopped by a signal"
        );
    }

    #[test]
    fn durations_have_two_units_at_most() {
        for (us, right) in [
            (999_499, "999 ms"),
            (999_500, "1.0 s"),
            (1_260_000, "1.3 s"),
            (59_949_999, "59.9 s"),
            (59_950_000, "1 min 0 s"),
            (299_990_000, "5 min 0 s"),
            (7_384_000_000, "2 h 3 min"),
        ] {
            assert_eq!(duration(us), right);
        }
    }
}
