//! Whether the caller still wants a call.
//!
//! A token can be waited for together with a socket, so that a call is given up
//! in the moment in which its caller says so, whatever it waits for.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use client_kit::session::Controls;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::clock;
use crate::clock::timespec;

/// One call's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Token(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cancelled: AtomicBool,
    /// Becomes readable when the call is cancelled. None where the machine gives
    /// no descriptor; then a cancel is seen at the next look.
    woken: Option<OwnedFd>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            cancelled: AtomicBool::new(false),
            woken: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok(),
        }
    }
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

    /// Whether the caller wants the call no more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// What becomes readable when it is cancelled.
    pub(crate) fn woken(&self) -> Option<&OwnedFd> {
        self.0.woken.as_ref()
    }

    /// Waits so long, or until the call is cancelled.
    pub(crate) fn sleep(&self, wait: Duration) {
        let until = clock::now() + wait;
        while !self.is_cancelled() {
            let left = until.saturating_duration_since(clock::now());
            if left.is_zero() {
                break;
            }
            let Some(woken) = self.woken() else {
                clock::sleep(left);
                break;
            };
            // An interrupted wait is looked at again; nothing else goes wrong here.
            let _ = poll(
                &mut [PollFd::new(woken, PollFlags::IN)],
                Some(&timespec(left)),
            );
        }
    }
}

impl Inner {
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(woken) = &self.woken {
            // Full means that it is readable already.
            let _ = rustix::io::write(woken, &1_u64.to_ne_bytes());
        }
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
}
