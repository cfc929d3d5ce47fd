//! The right to keep a processor busy, so that load does not change results.

use std::fmt;
use std::sync::{Arc, Mutex};

/// One slot, given back when it is released or dropped.
pub(crate) struct Slot(Option<Box<dyn FnOnce() + Send>>);

impl Slot {
    /// A slot that tells of its end.
    pub(crate) fn new(given_back: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(given_back)))
    }

    /// As so many parts: it is given back when all of them are.
    pub(crate) fn parts(self, number: u32) -> Vec<Self> {
        let whole = Arc::new(Mutex::new(self));
        let part = |_| {
            let whole = whole.clone();
            Self::new(move || drop(whole))
        };
        (0..number).map(part).collect()
    }

    /// Gives it back, the first time.
    pub(crate) fn release(&mut self) {
        if let Some(given_back) = self.0.take() {
            given_back();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.release();
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.0.is_some();
        out.debug_struct("Slot").field("held", &held).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_slot_in_parts_is_given_back_with_the_last_of_them() {
        let given = Arc::new(AtomicBool::new(false));
        let tell = given.clone();
        let slot = Slot::new(move || tell.store(true, Ordering::Relaxed));
        let mut parts = slot.parts(3);
        drop(parts.pop());
        parts[0].release();
        parts[0].release();
        assert!(!given.load(Ordering::Relaxed));
        parts[1].release();
        assert!(given.load(Ordering::Relaxed));
    }
}
