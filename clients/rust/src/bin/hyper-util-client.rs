//! The hyper-util client as a program of its own, to try it by hand.

use std::process::ExitCode;

fn main() -> ExitCode {
    rust_clients::hyper_util(std::env::args().skip(1))
}
