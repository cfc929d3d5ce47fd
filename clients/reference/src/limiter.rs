//! How many calls are open at the same time, and how many wait for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::failure::{Failure, Kind};
use crate::policy::Patience;
use crate::signal::{self, Signal};

/// The gate through which the calls of a client go.
#[derive(Debug)]
pub(crate) struct Limiter {
    /// Calls that are open; none: any number.
    in_flight: Option<u32>,
    /// Calls that wait; none: any number.
    queue: Option<u32>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: u32,
    /// Those that wait, each with what tells it that its turn has come.
    waiting: VecDeque<Arc<Signal>>,
}

/// A call that is open, until this is dropped.
#[derive(Debug)]
pub(crate) struct Open<'a>(&'a Limiter);

impl Limiter {
    /// A gate that nobody has gone through.
    pub(crate) fn new(in_flight: Option<u32>, queue: Option<u32>) -> Self {
        Self {
            in_flight,
            queue,
            state: Mutex::default(),
        }
    }

    /// Waits for a call's turn, in the order of coming. The failure proves that nothing
    /// of it was sent.
    pub(crate) fn enter(&self, patience: &Patience) -> Result<Open<'_>, Failure> {
        let Some(turn) = self.come()? else {
            return Ok(Open(self));
        };
        let cancelled = patience.token.signal();
        signal::wait(&[&*turn, cancelled], patience.deadline);
        let left = self.leave(&turn);
        if !left {
            return Ok(Open(self));
        }
        if patience.token.is_cancelled() {
            return Err(Failure::cancelled());
        }
        Err(Failure {
            sent: false,
            ..Failure::new(Kind::TotalTimeout, "the call's turn did not come in time")
        })
    }

    /// Opens a call, or puts it into the queue.
    fn come(&self) -> Result<Option<Arc<Signal>>, Failure> {
        let mut state = self.state();
        if self.in_flight.is_none_or(|most| state.open < most) {
            state.open += 1;
            return Ok(None);
        }
        let waiting = u32::try_from(state.waiting.len()).unwrap_or(u32::MAX);
        if self.queue.is_some_and(|most| waiting >= most) {
            let note = format!("{} calls are open and {waiting} wait", state.open);
            return Err(Failure::new(Kind::QueueFull, note));
        }
        let turn = Arc::new(Signal::default());
        state.waiting.push_back(Arc::clone(&turn));
        Ok(Some(turn))
    }

    /// Takes a call out of the queue; false: its turn came before that, and it is open.
    fn leave(&self, turn: &Arc<Signal>) -> bool {
        let mut state = self.state();
        let place = state.waiting.iter().position(|one| Arc::ptr_eq(one, turn));
        place.is_some_and(|place| state.waiting.remove(place).is_some())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open<'_> {
    /// The place goes to whoever waits longest.
    fn drop(&mut self) {
        let mut state = self.0.state();
        match state.waiting.pop_front() {
            Some(turn) => turn.set(),
            None => state.open -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::cancel::Token;
    use crate::defects::Defects;
    use crate::policy::Policy;
    use client_kit::protocol::Limits;

    fn patience(total_ms: u64) -> Patience {
        let limits = Limits {
            total_ms: Some(total_ms),
            ..Limits::default()
        };
        Policy::new(&limits, &Defects::default()).patience(&Token::default())
    }

    #[test]
    fn beyond_the_queue_a_call_is_given_up_at_once() {
        let limiter = Limiter::new(Some(1), Some(0));
        let open = limiter.enter(&patience(60_000)).unwrap();
        let full = limiter.enter(&patience(60_000)).unwrap_err();
        assert!(full.kind == Kind::QueueFull && full.proves_unsent());
        drop(open);
        assert!(limiter.enter(&patience(60_000)).is_ok());
    }

    #[test]
    fn whoever_waits_gets_the_place_and_no_two_have_it() {
        let limiter = Limiter::new(Some(1), None);
        let patience = patience(60_000);
        let first = limiter.enter(&patience).unwrap();
        thread::scope(|scope| {
            let second = scope.spawn(|| limiter.enter(&patience).map(drop));
            while limiter.state().waiting.is_empty() {
                thread::yield_now();
            }
            assert_eq!(limiter.state().open, 1);
            drop(first);
            second.join().unwrap().unwrap();
        });
        assert_eq!(limiter.state().open, 0);
    }

    #[test]
    fn a_wait_ends_with_the_call_and_leaves_the_queue() {
        let limiter = Limiter::new(Some(1), None);
        let _open = limiter.enter(&patience(60_000)).unwrap();
        let late = limiter.enter(&patience(20)).unwrap_err();
        assert!(late.kind == Kind::TotalTimeout && !late.sent);
        let cancelled = patience(60_000);
        cancelled.token.cancel();
        assert!(limiter.enter(&cancelled).unwrap_err().kind == Kind::Cancelled);
        assert!(limiter.state().waiting.is_empty());
    }

    #[test]
    fn without_limits_all_are_open() {
        let limiter = Limiter::new(None, None);
        let all: Vec<_> = (0..9).map(|_| limiter.enter(&patience(60_000))).collect();
        assert!(all.iter().all(Result::is_ok));
    }
}
