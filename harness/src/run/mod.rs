//! Runs cells: as many at once as the machine takes without changing what they
//! show.

mod interrupt;
mod job;

pub use interrupt::Interrupt;
pub use job::{CellDone, CellJob, Client, HarnessError, RunEvent, RunOptions};
