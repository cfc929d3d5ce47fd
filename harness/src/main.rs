//! The binary `wirefault`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if args
        .next()
        .is_some_and(|word| word == harness::launch::ARGUMENT)
    {
        return harness::launch::main(args);
    }
    ExitCode::FAILURE
}
