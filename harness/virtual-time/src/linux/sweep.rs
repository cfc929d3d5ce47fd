//! Whether all are at rest: every thread asleep, twice, without having run in
//! between, the servers idle, and nothing under way in the kernel.
//!
//! Packets that wait in a processor's backlog are looked at here. For what is on its
//! way otherwise see `traffic` and `processors`.

use crate::linux::procfs::{Doing, Seen, ThreadFiles, has_backlog};
use crate::linux::session::{Session, nanos};
use crate::record::Doubt;
use crate::starting::Starting;
use crate::timeline::real_now;

/// How often each thread of the servers had run when all were first found asleep.
pub(crate) struct FirstLook(Vec<(i32, u64)>);

impl Session {
    /// The first of the two looks: none when somebody runs. What every thread was
    /// found in stands in its [`Thread`](crate::linux::tracee::Thread).
    ///
    /// Whatever a jump depends on is looked at between this and
    /// [`is_still_at_rest`](Self::is_still_at_rest): it is true for one point of
    /// time only if nobody has run meanwhile.
    pub(crate) fn look_for_rest(&mut self) -> Option<FirstLook> {
        if !self.servers_are_quiet() {
            return None;
        }
        let servers = self.look_at_servers()?;
        let tids: Vec<i32> = self.threads.keys().copied().collect();
        let none_runs = self.look_at_threads(&tids) && !self.has_backlog();
        none_runs.then_some(FirstLook(servers))
    }

    /// The second look: whether nobody has run since the first one, and nothing
    /// is under way.
    pub(crate) fn is_still_at_rest(&mut self, first: &FirstLook) -> bool {
        let tids: Vec<i32> = self.threads.keys().copied().collect();
        !self.has_backlog()
            && tids.iter().all(|tid| self.is_as_it_was(*tid))
            && self.look_at_servers().as_ref() == Some(&first.0)
            && !self.has_backlog()
            && self.are_all_quiet()
            && !Self::has_pending_stop()
    }

    fn servers_are_quiet(&mut self) -> bool {
        let now = real_now();
        let votes = self.voter.votes();
        if votes != self.votes {
            // Client and servers are at work with each other.
            self.votes = votes;
            self.servers_busy_since = None;
            self.restless_since = now;
        }
        if self.are_all_quiet() {
            self.servers_busy_since = None;
            return true;
        }
        // Their work is no fault of the client.
        self.restless_since = now;
        let since = *self.servers_busy_since.get_or_insert(now);
        if now - since > nanos(self.options.spin_after) {
            self.servers_busy_since = Some(now);
            self.doubt(Doubt::ServersNeverQuiet);
        }
        false
    }

    fn are_all_quiet(&self) -> bool {
        self.voter.is_quiet() && !Starting::is_any()
    }

    fn has_backlog(&self) -> bool {
        self.softnet.as_ref().is_some_and(has_backlog)
    }

    /// Tells of a client that does not rest.
    pub(crate) fn look_for_spin(&mut self) {
        let now = real_now();
        if self.options.jump && now - self.restless_since > nanos(self.options.spin_after) {
            self.restless_since = now;
            self.doubt(Doubt::Spin);
        }
    }

    /// How often each thread of the servers has run; none when one of them runs.
    fn look_at_servers(&mut self) -> Option<Vec<(i32, u64)>> {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let mut tids = self.voter.tids();
        tids.retain(|tid| *tid != own);
        self.servers.retain(|tid, _| tids.contains(tid));
        let mut seen = Vec::with_capacity(tids.len());
        for tid in tids {
            let Seen { doing, switches } = self.look_at_server(tid)?;
            match doing {
                Doing::Blocked(_) => seen.push((tid, switches)),
                // It has ended without having been withdrawn yet: its id may be
                // another thread's next.
                Doing::Ended => {
                    self.servers.remove(&tid);
                    return None;
                }
                Doing::Running | Doing::Hidden => return None,
            }
        }
        Some(seen)
    }

    /// A thread of the servers; none when it is on its way.
    ///
    /// It is so in a futex too: that is a lock, held by a thread that need not be
    /// listed (of another cell, in the memory allocator), waits for a processor,
    /// and has nothing to do with time.
    fn look_at_server(&mut self, tid: i32) -> Option<Seen> {
        let files = match self.servers.entry(tid) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(ThreadFiles::open(&format!("/proc/self/task/{tid}")).ok()?)
            }
        };
        let seen = files.look();
        let is_asleep = match seen.doing {
            Doing::Blocked(call) => call.waits_for_arrivals() && files.state() == Some('S'),
            _ => true,
        };
        is_asleep.then_some(seen)
    }

    /// Looks at every thread and remembers it. Tells whether none of them runs.
    fn look_at_threads(&mut self, tids: &[i32]) -> bool {
        // The wait for a socket begins when it is first seen, so that all have to
        // be looked at, at each time.
        let all = self
            .processes
            .values()
            .any(|process| process.has_socket_timeouts);
        // Who ran last is likely to run still, and one is enough.
        if let (false, Some(tid)) = (all, self.ran_last)
            && !self.look_at(tid)
        {
            return false;
        }
        let mut none_runs = true;
        for tid in tids {
            if self.look_at(*tid) {
                continue;
            }
            none_runs = false;
            self.ran_last = Some(*tid);
            if !all {
                return false;
            }
        }
        none_runs
    }

    /// Looks at a thread and remembers it. Tells whether it does not run.
    pub(crate) fn look_at(&mut self, tid: i32) -> bool {
        let seen = self.seen(tid);
        let now = self.now();
        let Some(thread) = self.threads.get_mut(&tid) else {
            return true;
        };
        if thread.switches != seen.switches || thread.doing != seen.doing {
            thread.since = now;
        }
        (thread.doing, thread.switches) = (seen.doing, seen.switches);
        let (is_stopped, is_being_woken) = (thread.is_stopped, thread.is_being_woken);
        match seen.doing {
            _ if is_being_woken => false,
            _ if is_stopped => true,
            Doing::Blocked(_) => true,
            Doing::Running => false,
            // The first thread of a process stays until the last one has ended.
            Doing::Ended => {
                if !std::path::Path::new(&format!("/proc/{tid}")).exists() {
                    self.ended(tid);
                }
                true
            }
            Doing::Hidden => {
                self.doubt(Doubt::Unreadable);
                false
            }
        }
    }

    /// Whether a thread has not run since it was looked at, and is asleep.
    fn is_as_it_was(&mut self, tid: i32) -> bool {
        let seen = self.seen(tid);
        let Some(thread) = self.threads.get(&tid) else {
            return true;
        };
        if (seen.doing, seen.switches) != (thread.doing, thread.switches) {
            return false;
        }
        if thread.is_stopped || !matches!(seen.doing, Doing::Blocked(_)) {
            return true;
        }
        let state = thread.files.as_ref().and_then(ThreadFiles::state);
        is_asleep(state, thread.is_held_by_its_child)
    }

    /// What a thread does.
    pub(crate) fn seen(&mut self, tid: i32) -> Seen {
        let ended = Seen {
            doing: Doing::Ended,
            switches: 0,
        };
        let Some(thread) = self.threads.get_mut(&tid) else {
            return ended;
        };
        if thread.files.is_none() {
            match ThreadFiles::open(&format!("/proc/{tid}/task/{tid}")) {
                Ok(files) => thread.files = Some(files),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return ended,
                Err(_) => {
                    return Seen {
                        doing: Doing::Hidden,
                        ..ended
                    };
                }
            }
        }
        let mut seen = thread.files.as_ref().map_or(ended, ThreadFiles::look);
        if let Doing::Blocked(call) = seen.doing {
            seen.doing = Doing::Blocked(thread.meant(call));
        }
        seen
    }
}

/// Whether a thread in this state, blocked in a call, stays so until somebody does
/// something or a time has come.
///
/// One that is being woken by another processor still looks blocked, and only its
/// state tells. One that is not to be interrupted (`D`) waits for a disk or for
/// memory, which end by themselves, unless it is held until its child has become a
/// program.
fn is_asleep(state: Option<char>, is_held_by_its_child: bool) -> bool {
    match state {
        Some('S') => true,
        Some('D') => is_held_by_its_child,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_asleep;

    /// A shell that was kept from running in the middle of a fork, for want of
    /// memory, was taken for one that is held; time jumped to the cell's deadline.
    #[test]
    fn a_thread_that_is_not_to_be_interrupted_sleeps_only_if_its_child_holds_it() {
        assert!(is_asleep(Some('S'), false));
        assert!(is_asleep(Some('D'), true));
        assert!(!is_asleep(Some('D'), false));
        assert!(!is_asleep(Some('R'), true));
        assert!(!is_asleep(None, true));
    }
}
