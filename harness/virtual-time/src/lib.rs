//! Runs whole client processes, unmodified and of any runtime, in virtual time:
//! minutes of waiting pass in milliseconds, and every clock that the programs
//! read says that they passed.
mod options;
mod record;
mod timeline;
mod unavailable;
mod virtual_time;
mod voter;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod blob;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod clocks;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod filter;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod follow;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod gate;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod jump;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod procfs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod session;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sockets;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sweep;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sys;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod timers;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracee;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tracer;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod vdso;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod wait;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod wake;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use gate::{Door, Entry, Gate, enter, gate, probe};
pub use options::Options;
pub use record::{Counted, Doubt, Held, Note, TimeRecord};
pub use timeline::Timeline;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use tracer::Tracer;
pub use unavailable::Unavailable;
pub use virtual_time::{Busy, Sleep, Sleeper, Swept, VirtualTime};
pub use voter::Voter;
