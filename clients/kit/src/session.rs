//! Reads the work from stdin, and the control lines that follow it.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, BufRead};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::messages::Messages;
use crate::protocol::{Control, VERSION, Work};

/// A client's end of the protocol.
pub struct Session {
    /// What is to be done.
    pub work: Work,
    /// Where reports go.
    pub messages: Messages,
    /// What the harness says later.
    pub controls: Controls,
}

/// The work cannot be had.
#[derive(Debug)]
pub enum NoWork {
    /// Stdin cannot be read.
    Unreadable(io::Error),
    /// Stdin ended before a line came.
    Nothing,
    /// The line is not the work.
    NotWork(serde_json::Error),
    /// The harness speaks another version.
    OtherVersion(u32),
}

impl fmt::Display for NoWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "stdin cannot be read: {error}"),
            Self::Nothing => f.write_str(
                "no work on stdin: this program is started by wirefault and expects one JSON line",
            ),
            Self::NotWork(error) => write!(f, "the first line on stdin is not the work: {error}"),
            Self::OtherVersion(version) => {
                write!(
                    f,
                    "protocol version {version}, this client speaks {VERSION}"
                )
            }
        }
    }
}

impl std::error::Error for NoWork {}

impl Session {
    /// Reads the work from stdin; a thread goes on reading control lines. That
    /// thread keeps no program alive.
    ///
    /// # Errors
    /// There is no work, or none of this protocol.
    pub fn open() -> Result<Self, NoWork> {
        let work = read_work(&mut io::stdin().lock())?;
        let controls = Controls::default();
        let theirs = controls.clone();
        std::thread::spawn(move || theirs.follow(io::stdin().lock()));
        Ok(Self {
            work,
            messages: Messages::stdout(),
            controls,
        })
    }
}

/// Reads the work from the first line.
///
/// # Errors
/// There is no work, or none of this protocol.
pub fn read_work(input: &mut impl BufRead) -> Result<Work, NoWork> {
    let mut line = String::new();
    if input.read_line(&mut line).map_err(NoWork::Unreadable)? == 0 {
        return Err(NoWork::Nothing);
    }
    let work: Work = serde_json::from_str(&line).map_err(NoWork::NotWork)?;
    if work.protocol == VERSION {
        Ok(work)
    } else {
        Err(NoWork::OtherVersion(work.protocol))
    }
}

#[derive(Default)]
struct Said {
    finish: bool,
    cancelled: BTreeSet<u32>,
    /// What is done when a call is cancelled.
    waiting: Vec<(u32, Act)>,
}

type Act = Box<dyn FnOnce() + Send>;

/// What the harness has said so far. Clones share it.
#[derive(Clone, Default)]
pub struct Controls(Arc<(Mutex<Said>, Condvar)>);

impl Controls {
    /// Takes control lines until they end. The end of stdin counts as `finish`,
    /// since nothing more can come. A line that is not understood is passed
    /// over: a later harness may say more.
    pub fn follow(&self, lines: impl BufRead) {
        for line in lines.lines() {
            let Ok(line) = line else { break };
            match serde_json::from_str(&line) {
                Ok(Control::Finish {}) => self.tell(|said| said.finish = true),
                Ok(Control::Cancel { call }) => self.cancel(call),
                Err(_) => {}
            }
        }
        self.tell(|said| said.finish = true);
    }

    /// Blocks until the harness says `finish` or is gone.
    pub fn wait_for_finish(&self) {
        let mut said = self.said();
        while !said.finish {
            said = self.0.1.wait(said).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Blocks until this call is cancelled (true) or the harness says `finish`
    /// or is gone (false).
    pub fn wait_for_cancel(&self, call: u32) -> bool {
        let mut said = self.said();
        while !said.cancelled.contains(&call) && !said.finish {
            said = self.0.1.wait(said).unwrap_or_else(PoisonError::into_inner);
        }
        said.cancelled.contains(&call)
    }

    /// Does this when the call is cancelled; at once, if it is already.
    pub fn when_cancelled(&self, call: u32, act: impl FnOnce() + Send + 'static) {
        let mut said = self.said();
        if !said.cancelled.contains(&call) {
            said.waiting.push((call, Box::new(act)));
            return;
        }
        drop(said);
        act();
    }

    /// Whether this call has been cancelled.
    pub fn is_cancelled(&self, call: u32) -> bool {
        self.said().cancelled.contains(&call)
    }

    fn cancel(&self, call: u32) {
        let mut acts = Vec::new();
        self.tell(|said| {
            said.cancelled.insert(call);
            let waiting = std::mem::take(&mut said.waiting);
            let (now, later) = waiting.into_iter().partition(|(of, _)| *of == call);
            (acts, said.waiting) = (now, later);
        });
        // Not under the lock: they may ask what was said.
        for (_, act) in acts {
            act();
        }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut Said)) {
        change(&mut self.said());
        self.0.1.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_the_first_line_and_no_more() {
        let mut input = &b"{\"protocol\":1,\"calls\":[],\"limits\":{}}\n{\"finish\":{}}\n"[..];
        let work = read_work(&mut input).unwrap();
        assert!(work.calls.is_empty());
        assert_eq!(input, b"{\"finish\":{}}\n");
    }

    #[test]
    fn calls_that_follow_each_other_with_one_number_are_made_beside_each_other() {
        let call = |id, more: &str| {
            format!(r#"{{"id":{id},"method":"GET","url":"http://127.0.0.1:1/"{more}}}"#)
        };
        let (beside, other) = (r#","group":2,"at_once":3"#, r#","group":3"#);
        let calls = [
            call(1, ""),
            call(2, ""),
            call(3, beside),
            call(4, beside),
            call(5, other),
        ];
        let line = format!(
            r#"{{"protocol":1,"calls":[{}],"limits":{{}}}}"#,
            calls.join(",")
        );
        let work = read_work(&mut line.as_bytes()).unwrap();
        let groups: Vec<Vec<u32>> = work
            .groups()
            .map(|group| group.iter().map(|call| call.id).collect())
            .collect();
        assert_eq!(groups, [vec![1], vec![2], vec![3, 4], vec![5]]);
        assert_eq!((work.calls[0].at_once, work.calls[2].at_once), (1, 3));
    }

    #[test]
    fn no_work_is_told_apart() {
        assert!(matches!(read_work(&mut &b""[..]), Err(NoWork::Nothing)));
        assert!(matches!(
            read_work(&mut &b"hello\n"[..]),
            Err(NoWork::NotWork(_))
        ));
        assert!(matches!(
            read_work(&mut &b"{\"protocol\":9,\"calls\":[],\"limits\":{}}\n"[..]),
            Err(NoWork::OtherVersion(9))
        ));
    }

    #[test]
    fn a_cancelled_call_is_known_and_others_are_not() {
        let controls = Controls::default();
        controls.follow(&b"{\"cancel\":{\"call\":2}}\nnonsense\n"[..]);
        assert!(controls.is_cancelled(2));
        assert!(!controls.is_cancelled(1));
        assert!(controls.wait_for_cancel(2));
        assert!(
            !controls.wait_for_cancel(1),
            "the end of stdin ends the wait"
        );
    }

    #[test]
    fn waiting_ends_when_finish_comes() {
        let controls = Controls::default();
        let waiter = std::thread::spawn({
            let controls = controls.clone();
            move || controls.wait_for_finish()
        });
        controls.follow(&b"{\"finish\":{}}\n"[..]);
        waiter.join().unwrap();
    }
}
