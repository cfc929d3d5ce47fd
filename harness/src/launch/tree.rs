//! Killing all that is left of a tree of processes.
//!
//! Stopped before it is killed, a tree cannot grow while it is looked at: a
//! program that forks faster than it is killed ends all the same.

use std::collections::BTreeSet;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal,
    waitpid,
};

use super::procfs::Stat;

/// Rounds of stopping, killing and reaping; each waits 100 ms at most.
const ROUNDS: usize = 50;

/// Looks at the tree until no new process shows up in it.
const LOOKS: usize = 100;

/// Time that one round gives the killed to be gone.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Swept {
    /// Living processes that were killed.
    pub(super) killed: u32,
    /// Processes that could not be killed in time.
    pub(super) left: u32,
}

/// Kills the children of this process that `belongs` names, and everything
/// below them, and reaps what becomes a child of this process by that. `keep`
/// is killed but neither reaped nor counted.
pub(super) fn sweep(keep: Option<Pid>, belongs: impl Fn(&Stat) -> bool) -> Swept {
    let keep = keep.map(|pid| pid.as_raw_nonzero().get());
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS {
        let tree = freeze(&belongs);
        for stat in &tree.all {
            if send(stat, Signal::KILL) && stat.is_alive() && Some(stat.pid) != keep {
                killed.insert((stat.pid, stat.started));
            }
        }
        if reap(&tree.children, keep) {
            return Swept {
                killed: count(killed.len()),
                left: 0,
            };
        }
    }
    let left = Tree::below_us(&belongs).all.len();
    Swept {
        killed: count(killed.len()),
        left: count(left),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The processes that belong.
struct Tree {
    /// Children of this process.
    children: Vec<Stat>,
    /// These and all below them.
    all: Vec<Stat>,
}

impl Tree {
    fn below_us(belongs: impl Fn(&Stat) -> bool) -> Self {
        let own = getpid().as_raw_nonzero().get();
        let everyone = Stat::all();
        let children: Vec<Stat> = everyone
            .iter()
            .filter(|stat| stat.parent == own && belongs(stat))
            .copied()
            .collect();
        let mut all = children.clone();
        let mut next = 0;
        while let Some(parent) = all.get(next).map(|stat| stat.pid) {
            next += 1;
            let below = everyone.iter().filter(|stat| stat.parent == parent);
            let new: Vec<Stat> = below.filter(|stat| !all.contains(stat)).copied().collect();
            all.extend(new);
        }
        Self { children, all }
    }
}

/// Stops the tree, until a look finds nobody in it that was not stopped.
fn freeze(belongs: impl Fn(&Stat) -> bool) -> Tree {
    let mut stopped = BTreeSet::new();
    let mut tree = Tree::below_us(&belongs);
    for _ in 0..LOOKS {
        let mut found = false;
        for stat in tree.all.iter().filter(|stat| stat.is_alive()) {
            if stopped.insert((stat.pid, stat.started)) {
                found |= send(stat, Signal::STOP);
            }
        }
        if !found {
            break;
        }
        tree = Tree::below_us(&belongs);
    }
    tree
}

/// Sends a signal to exactly this process: an id may have been given to another
/// one since it was read, so the start time is compared through a descriptor.
fn send(stat: &Stat, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(stat.pid) else {
        return false;
    };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    Stat::of(stat.pid).is_some_and(|now| now.started == stat.started)
        && pidfd_send_signal(&process, signal).is_ok()
}

/// Waits a while for killed children and reaps them. True when there are none.
fn reap(children: &[Stat], keep: Option<i32>) -> bool {
    let mut none = true;
    let mut patience = PATIENCE;
    for pid in children.iter().filter_map(|stat| Pid::from_raw(stat.pid)) {
        let gone = wait_for_end(pid, &patience);
        if !gone {
            // One that does not go uses up the round's patience with all.
            patience = Timespec::default();
        }
        if Some(pid.as_raw_nonzero().get()) == keep {
            none &= gone;
        } else {
            // A parent that dies hands its children to this process, so a reaped
            // child calls for another look.
            none = false;
            if gone {
                reap_one(pid);
            }
        }
    }
    none
}

/// Reaps a child that has ended: how it did; none where it can not be reaped in ten
/// seconds. One in virtual time can only be reaped when its tracer has seen the end
/// as well, which takes a moment.
pub(super) fn reap_one(pid: Pid) -> Option<WaitStatus> {
    const LOOKS: usize = 10_000;
    let millisecond = Timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    for _ in 0..LOOKS {
        match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(None) => {}
            Ok(Some((_, status))) => return Some(status),
            Err(_) => return None,
        }
        let _ = poll(&mut [], Some(&millisecond));
    }
    None
}

/// Waits for the end of a child, and tells whether it came.
fn wait_for_end(pid: Pid, patience: &Timespec) -> bool {
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return true;
    };
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    matches!(poll(&mut fds, Some(patience)), Ok(1))
}
