//! Runs whole client processes, unmodified and of any runtime, in virtual time:
//! minutes of waiting pass in milliseconds, and every clock that the programs
//! read says that they passed.
//!
//! A [`Tracer`] owns the programs of one cell and its time. A program gets in
//! through a [`gate`]: whoever forks it has it [`enter`] between fork and exec.
//! Those who take part without being traced, as scripted servers in the
//! tracer's own process, share the time through a [`Voter`]; [`VirtualTime`] is
//! one, ready for use. What became of time is told by a [`TimeRecord`]: nothing
//! that makes it doubtful is silent.
//!
//! How it works, and its limits, stand in the crate's README. It supports Linux
//! on x86-64; elsewhere everything is there and refuses ([`probe`]).
//!
//! It knows neither cells nor HTTP nor any async runtime. All unsafe code is in
//! `linux/sys` and `linux/blob.rs`.

#![cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "what only a tracer uses")
)]

mod entry;
mod options;
mod record;
mod starting;
mod timeline;
mod unavailable;
mod virtual_time;
mod voter;

pub use entry::Entry;
pub use options::Options;
pub use record::{Counted, Doubt, Held, Note, TimeRecord};
pub use starting::Starting;
pub use timeline::Timeline;
pub use unavailable::Unavailable;
pub use virtual_time::{Busy, Sleep, Sleeper, Swept, VirtualTime, Watched};
pub use voter::Voter;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use linux::{
    gate::{Door, Gate, enter, gate, probe},
    tracer::Tracer,
};

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod unsupported;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use unsupported::{Door, Gate, Tracer, enter, gate, probe};
