//! The program that the tests of this crate run: as a client that makes every
//! timed call, as one that misbehaves, and as the process between a tracer and
//! its client. No part of the product.

#![allow(
    unsafe_code,
    reason = "system calls are made as a program in C makes them"
)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "this program is a subject of tests, and waits as clients do"
)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod consistent;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod misbehave;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod raw;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod roles;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (role, rest) = args.split_first().unwrap();
    match role.as_str() {
        "launch" => roles::launch(rest),
        "launch-untraced" => roles::launch_untraced(rest),
        "trace" => roles::trace(rest),
        "trace-denied" => roles::trace_denied(rest),
        "may-be-traced" => roles::may_be_traced(),
        "calls" => calls::all(),
        "consistent" => consistent::all(),
        other => misbehave::by_name(other, rest),
    }
}
