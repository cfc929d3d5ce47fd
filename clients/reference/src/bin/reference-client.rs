//! The reference client as a program of its own, to try it by hand.

use std::process::ExitCode;

fn main() -> ExitCode {
    reference_client::main(std::env::args().skip(1))
}
