//! Programs that this process is starting.
//!
//! Until a new process has become its program it holds every descriptor of this
//! one, so that what is closed meanwhile ends only then: others wait for ends that
//! are under way.

use std::sync::atomic::{AtomicUsize, Ordering};

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// A program is being started; time jumps in no cell of this process.
#[derive(Debug)]
#[must_use]
pub struct Starting(());

impl Starting {
    /// To be held over each start of a program, until its process has become it.
    pub fn begin() -> Self {
        UNDER_WAY.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// Whether any is.
    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        expect(dead_code, reason = "without a tracer nobody asks")
    )]
    pub(crate) fn is_any() -> bool {
        UNDER_WAY.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    }
}
