//! The right to keep a processor busy, so that load does not change results.

use std::fmt;

/// One slot, given back when it is released or dropped.
pub(crate) struct Slot(Option<Box<dyn FnOnce() + Send>>);

impl Slot {
    /// A slot that tells of its end.
    pub(crate) fn new(given_back: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(given_back)))
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
