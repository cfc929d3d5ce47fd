//! The calls to the kernel that safe crates do not offer, each in a safe form.
//!
//! Nothing here decides anything.

#![expect(
    unsafe_code,
    reason = "ptrace, seccomp, a signal for one thread, and code between fork and exec have no safe form"
)]

mod child;
mod ptrace;
mod socket;
mod ticker;

pub(crate) use child::{before_exec, fork_and_run};
pub(crate) use ptrace::{
    Regs, answer, detach, event_message, get_regs, interrupt, listen, resume, seize, set_regs,
};
pub(crate) use socket::{TcpInfo, tcp_info};
pub(crate) use ticker::Ticker;
