//! A run: what is planned, its folder, and its cells, as many at once as the
//! machine takes without changing what they show.

pub mod folder;
mod interrupt;
mod job;
pub mod plan;
pub mod planned;
pub mod progress;
mod schedule;
mod slots;
pub mod timings;

pub use interrupt::Interrupt;
pub use job::{CellDone, CellJob, Client, HarnessError, RunEvent, RunOptions};
pub use schedule::run_cells;
pub(crate) use slots::Slot;
