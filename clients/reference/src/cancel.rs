//! Whether the caller still wants a call.
//!
//! A token can be waited for together with a socket, so that a call is given up
//! in the moment in which its caller says so, whatever it waits for.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use client_kit::session::Controls;

use crate::clock;
use crate::signal::{self, Signal};

/// One call's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Token(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    cancelled: Signal,
    /// Parts of the call, which end with it.
    children: Mutex<Vec<Weak<Inner>>>,
}

impl Token {
    /// The token of a call, which the harness may cancel.
    pub(crate) fn of(call: u32, controls: &Controls) -> Self {
        let token = Self::default();
        // The session lives longer than the call, and must not keep its token.
        let weak: Weak<Inner> = Arc::downgrade(&token.0);
        controls.when_cancelled(call, move || {
            if let Some(inner) = weak.upgrade() {
                inner.cancel();
            }
        });
        token
    }

    /// The token of a part of the call: it ends with the call, or alone.
    pub(crate) fn child(&self) -> Self {
        let child = Self::default();
        self.0.children().push(Arc::downgrade(&child.0));
        // A cancel that came meanwhile may have missed it.
        if self.is_cancelled() {
            child.cancel();
        }
        child
    }

    /// The call, or this part of it, is not wanted any more.
    pub(crate) fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether the caller wants the call no more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_set()
    }

    /// What is set when it is cancelled.
    pub(crate) fn signal(&self) -> &Signal {
        &self.0.cancelled
    }

    /// What becomes readable when it is cancelled.
    pub(crate) fn woken(&self) -> Option<&OwnedFd> {
        self.0.cancelled.woken()
    }

    /// Waits so long, or until the call is cancelled.
    pub(crate) fn sleep(&self, wait: Duration) {
        signal::wait(&[self.signal()], Some(clock::now() + wait));
    }
}

impl Inner {
    fn cancel(&self) {
        self.cancelled.set();
        let children = std::mem::take(&mut *self.children());
        for child in children.iter().filter_map(Weak::upgrade) {
            child.cancel();
        }
    }

    fn children(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Self>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_ends_a_sleep_at_once_and_another_calls_does_not() {
        let controls = Controls::default();
        let (first, second) = (Token::of(1, &controls), Token::of(2, &controls));
        controls.follow(&b"{\"cancel\":{\"call\":1}}\n"[..]);
        let began = clock::now();
        first.sleep(Duration::from_secs(60));
        assert!(clock::now() - began < Duration::from_secs(30));
        assert!(first.is_cancelled() && !second.is_cancelled());
        second.sleep(Duration::from_millis(20));
        assert!(clock::now() - began >= Duration::from_millis(20));
    }

    #[test]
    fn a_cancel_that_came_before_is_known() {
        let controls = Controls::default();
        controls.follow(&b"{\"cancel\":{\"call\":7}}\n"[..]);
        assert!(Token::of(7, &controls).is_cancelled());
    }

    #[test]
    fn a_cancel_wakes_a_sleeper() {
        let controls = Controls::default();
        let token = Token::of(1, &controls);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| token.sleep(Duration::from_secs(60)));
            controls.follow(&b"{\"cancel\":{\"call\":1}}\n"[..]);
            sleeper.join().unwrap();
        });
        assert!(token.is_cancelled());
    }

    #[test]
    fn a_part_ends_with_its_call_or_alone() {
        let token = Token::default();
        let (alone, other) = (token.child(), token.child());
        alone.cancel();
        assert!(alone.is_cancelled() && !token.is_cancelled() && !other.is_cancelled());
        token.cancel();
        assert!(other.is_cancelled() && token.child().is_cancelled());
    }
}
