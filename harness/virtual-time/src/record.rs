//! What is told about a run in virtual time. Plain data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Long waits that are listed singly; further ones are counted.
const LISTED: usize = 64;

/// Waits jumped over that are worth a line.
pub(crate) const LONG_NS: u64 = 100_000_000;

/// What became of time in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeRecord {
    /// How often time was moved ahead.
    pub jumps: u64,
    /// By how much in all, in nanoseconds.
    pub jumped_ns: u64,
    /// The waits that were jumped over for 100 ms or more, in order, up to 64.
    /// Those of the same holder that follow each other stand together.
    pub held: Vec<Held>,
    /// How many more there were.
    pub held_not_listed: u64,
    /// What a reader should know; none of it makes the run doubtful.
    pub notes: Vec<Counted<Note>>,
    /// Why the run's times are not to be trusted, and how often it was seen.
    /// Empty: they are true.
    pub doubts: Vec<Counted<Doubt>>,
}

/// Something, and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted<T> {
    /// What was seen.
    pub what: T,
    /// How often.
    pub times: u64,
}

/// Counts `what` in a list. Tells whether it is new there.
fn count<T: PartialEq>(list: &mut Vec<Counted<T>>, what: T) -> bool {
    if let Some(known) = list.iter_mut().find(|known| known.what == what) {
        known.times += 1;
        return false;
    }
    list.push(Counted { what, times: 1 });
    true
}

/// Whose deadline time was moved to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    /// When the first wait was jumped over, in nanoseconds since the beginning.
    pub at_ns: u64,
    /// The thread's name, or `(servers)`.
    pub thread: String,
    /// The system call that it waited in, or the kind of timer.
    pub call: String,
    /// How much was jumped over, in nanoseconds.
    pub ns: u64,
    /// In how many jumps.
    pub jumps: u64,
}

/// Something that a reader should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The vDSO could not be changed.
    ClockReadsStop,
    /// A short POSIX timer.
    ShortPosixTimerIsReal,
    /// A process was stopped by job control.
    StoppedByJobControl,
    /// A socket held bytes back.
    UnsentBytesJumpedOver,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClockReadsStop => {
                "the clock reads of a process go through the kernel, as its vDSO could not be changed: slower, but as true"
            }
            Self::ShortPosixTimerIsReal => {
                "a POSIX timer of at most 100 ms ran in real time"
            }
            Self::StoppedByJobControl => "a process was stopped by a signal",
            Self::UnsentBytesJumpedOver => {
                "time was moved ahead while a socket held bytes that the kernel did not send, as its peer took none"
            }
        })
    }
}

/// Why the times of a run are not to be trusted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// A call with a timeout that is not understood.
    UnhandledCall(String),
    /// A thread was found in a timed wait whose beginning was not seen.
    UnrecordedWait(String),
    /// A thread slept in a call of which it is not known what it waits for.
    UnknownWait(String),
    /// A call by the numbers of another architecture.
    ForeignAbi,
    /// A POSIX timer of more than 100 ms, or one for a point in time.
    LongPosixTimer,
    /// A timer descriptor that could not be followed.
    UnfollowedTimer,
    /// The client did not rest for a long time in which no server had work.
    Spin,
    /// A server was busy with one thing for a long time.
    ServersNeverQuiet,
    /// All wait, and nobody for a time.
    Stuck,
    /// A process could not be looked at.
    Unreadable,
    /// The tracer itself has failed.
    TracerFailed,
}

impl Doubt {
    /// Whether this says something about the client, rather than about how well
    /// it could be followed.
    pub fn is_the_clients(&self) -> bool {
        matches!(self, Self::Stuck)
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnhandledCall(call) => {
                write!(f, "a thread waited in {call} with a timeout, which virtual time does not know how to end")
            }
            Self::UnrecordedWait(call) => {
                write!(f, "a thread was found in {call} with a timeout whose beginning was not seen")
            }
            Self::UnknownWait(call) => {
                write!(f, "a thread slept in {call}, and it is not known whether that ends by time")
            }
            Self::ForeignAbi => f.write_str(
                "a program made system calls by the numbers of another architecture (32-bit or x32)",
            ),
            Self::LongPosixTimer => f.write_str(
                "a program set a POSIX timer (timer_settime) of more than 100 ms or for a point in time, which stays in real time",
            ),
            Self::UnfollowedTimer => f.write_str("a timerfd could not be followed and stays in real time"),
            Self::Spin => f.write_str(
                "the client did not rest once for a long real time without work for a server, so its computing counts as waiting",
            ),
            Self::ServersNeverQuiet => f.write_str(
                "the servers were busy for a long real time without getting on, so their work counts as waiting",
            ),
            Self::Stuck => f.write_str(
                "every thread of the client waits for something that nobody will do, and none of them for a time: it hangs",
            ),
            Self::Unreadable => f.write_str(
                "a process could not be looked at (too few file descriptors, or a program that may not be read)",
            ),
            Self::TracerFailed => f.write_str("the tracer has failed; this is a bug of it"),
        }
    }
}

impl TimeRecord {
    /// Whether the times of the run are true.
    pub fn is_trustworthy(&self) -> bool {
        self.doubts.iter().all(|doubt| doubt.what.is_the_clients())
    }

    /// Whether everybody waited, and nobody for a time.
    pub fn is_stuck(&self) -> bool {
        self.doubts.iter().any(|doubt| doubt.what == Doubt::Stuck)
    }

    pub(crate) fn note(&mut self, note: Note) {
        count(&mut self.notes, note);
    }

    /// Tells whether this is the first of its kind.
    pub(crate) fn doubt(&mut self, doubt: Doubt) -> bool {
        count(&mut self.doubts, doubt)
    }

    /// Counts a jump, and lists it when it was long.
    pub(crate) fn jumped(
        &mut self,
        at_ns: u64,
        ns: u64,
        holder: impl FnOnce() -> (String, String),
    ) {
        self.jumps += 1;
        self.jumped_ns += ns;
        if ns < LONG_NS {
            return;
        }
        let (thread, call) = holder();
        if self.held_not_listed == 0
            && let Some(last) = self.held.last_mut()
            && last.thread == thread
            && last.call == call
        {
            last.ns += ns;
            last.jumps += 1;
        } else if self.held.len() >= LISTED {
            self.held_not_listed += 1;
        } else {
            self.held.push(Held {
                at_ns,
                thread,
                call,
                ns,
                jumps: 1,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(name: &str) -> impl FnOnce() -> (String, String) {
        let name = name.to_owned();
        || (name, "poll".to_owned())
    }

    #[test]
    fn only_long_waits_are_listed_and_only_so_many() {
        let mut record = TimeRecord::default();
        record.jumped(0, LONG_NS - 1, holder("short"));
        record.jumped(1, LONG_NS, holder("a"));
        record.jumped(2, LONG_NS, holder("a"));
        assert_eq!((record.jumps, record.held.len()), (3, 1));
        assert_eq!((record.held[0].ns, record.held[0].jumps), (2 * LONG_NS, 2));
        for wait in 0..200 {
            record.jumped(wait, LONG_NS, holder(if wait % 2 == 0 { "b" } else { "c" }));
        }
        assert_eq!((record.held.len(), record.held_not_listed), (LISTED, 137));
        assert_eq!(record.jumps, 203);
    }

    #[test]
    fn a_client_that_hangs_is_told_apart_from_a_run_that_cannot_be_trusted() {
        let mut record = TimeRecord::default();
        assert!(record.is_trustworthy() && !record.is_stuck());
        assert!(record.doubt(Doubt::Stuck));
        assert!(record.is_trustworthy() && record.is_stuck());
        assert!(!record.doubt(Doubt::Stuck));
        record.doubt(Doubt::Spin);
        assert!(!record.is_trustworthy());
    }

    #[test]
    fn a_record_survives_being_written_and_read() {
        let mut record = TimeRecord::default();
        record.jumped(1, LONG_NS, holder("main"));
        record.note(Note::ClockReadsStop);
        record.doubt(Doubt::UnhandledCall("recvmmsg".to_owned()));
        record.doubt(Doubt::Spin);
        let written = serde_json::to_string(&record).unwrap();
        assert_eq!(
            serde_json::from_str::<TimeRecord>(&written).unwrap(),
            record
        );
    }
}
