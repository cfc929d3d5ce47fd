//! The tracer, for Linux on x86-64.
//!
//! [`gate`] lets programs in, [`tracer`] is the handle of the thread whose state
//! is in [`session`]. A stop comes in through `follow`; `wait`, `clocks`,
//! `timers` and `sockets` say what the call means for time. `sweep` tells when
//! all are at rest, `jump` moves time ahead, `wake` wakes those who are due.

pub(crate) mod gate;
pub(crate) mod tracer;
mod traffic;

mod blob;
mod calls;
mod clocks;
mod filter;
mod follow;
mod jump;
mod memory;
mod processors;
mod procfs;
mod session;
mod shared;
mod sockets;
mod sweep;
mod sys;
mod timers;
mod tracee;
mod vdso;
mod wait;
mod wake;
