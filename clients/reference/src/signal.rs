//! Something that happens once and that can be waited for together with a socket.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::clock::{self, timespec};

/// How often is looked where the machine gives no descriptor to wait for.
const LOOK: Duration = Duration::from_millis(10);

/// It has happened, or not yet.
#[derive(Debug)]
pub(crate) struct Signal {
    set: AtomicBool,
    /// Becomes readable when it happens. None where the machine gives no descriptor;
    /// then it is seen at the next look.
    woken: Option<OwnedFd>,
}

impl Default for Signal {
    fn default() -> Self {
        Self {
            set: AtomicBool::new(false),
            woken: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok(),
        }
    }
}

impl Signal {
    /// It happens.
    pub(crate) fn set(&self) {
        self.set.store(true, Ordering::SeqCst);
        if let Some(woken) = &self.woken {
            // Full means that it is readable already.
            let _ = rustix::io::write(woken, &1_u64.to_ne_bytes());
        }
    }

    /// Whether it has happened.
    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::SeqCst)
    }

    /// What becomes readable when it happens.
    pub(crate) fn woken(&self) -> Option<&OwnedFd> {
        self.woken.as_ref()
    }
}

/// Waits until one of these happens, or until then.
pub(crate) fn wait(signals: &[&Signal], until: Option<Instant>) {
    while !signals.iter().any(|signal| signal.is_set()) {
        let left = until.map(|until| until.saturating_duration_since(clock::now()));
        if left == Some(Duration::ZERO) {
            break;
        }
        let woken: Vec<_> = signals.iter().filter_map(|signal| signal.woken()).collect();
        if woken.len() < signals.len() {
            clock::sleep(left.map_or(LOOK, |left| left.min(LOOK)));
            continue;
        }
        let mut woken: Vec<_> = woken
            .into_iter()
            .map(|woken| PollFd::new(woken, PollFlags::IN))
            .collect();
        // An interrupted wait is looked at again; nothing else goes wrong here.
        let _ = poll(&mut woken, left.map(timespec).as_ref());
    }
}
