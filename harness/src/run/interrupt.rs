//! Stopping a run early, on SIGINT, on SIGTERM, or by a caller's word.
//!
//! The signal handler only writes a byte; a thread that sleeps on the other
//! end turns it into a value that any number of waiters can watch.

use std::io::Read;
use std::sync::Arc;

use tokio::sync::watch;

use super::HarnessError;

/// A flag that, once raised, stops a run. Clones are the same flag.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<watch::Sender<bool>>);

impl Default for Interrupt {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Interrupt {
    /// A flag that SIGINT and SIGTERM raise. A second signal ends the process
    /// as it would have without this. To be called once, by the program's main
    /// function.
    pub fn on_signals() -> Result<Self, HarnessError> {
        let system = |source| HarnessError::System {
            what: "SIGINT and SIGTERM cannot be handled",
            source,
        };
        let (mut read, write) = std::io::pipe().map_err(system)?;
        crate::system::on_interrupt_write_to(write.into()).map_err(system)?;
        let raised = Self::default();
        let flag = raised.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                let mut byte = [0];
                while matches!(read.read(&mut byte), Ok(1)) {
                    flag.raise();
                }
            })
            .map_err(system)?;
        Ok(raised)
    }

    /// Stops the run.
    pub fn raise(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is raised.
    pub(crate) async fn raised(&self) {
        let mut watching = self.0.subscribe();
        // An error would mean that no sender is left, and `self` holds one.
        let _ = watching.wait_for(|raised| *raised).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_flag_is_seen_by_all_its_clones() {
        let one = Interrupt::default();
        let other = one.clone();
        assert!(!other.is_raised());
        one.raise();
        assert!(other.is_raised());
    }
}
