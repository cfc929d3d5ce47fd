//! Runs cells: as many at once as the machine takes without changing what they
//! show.

mod interrupt;
mod job;
mod schedule;
mod slots;

pub use interrupt::Interrupt;
pub use job::{CellDone, CellJob, Client, HarnessError, RunEvent, RunOptions};
pub use schedule::run_cells;
pub(crate) use slots::Slot;
