//! The binary `wirefault`.
//!
//! It is also its own launcher of clients and holds the clients written in
//! Rust: those words come first, since what is started under a cell must set up
//! nothing that it does not need.

use std::process::ExitCode;

use harness::exit::Exit;
use harness::output::Output;
use harness::run::Interrupt;
use harness::surroundings::Surroundings;
use harness::{cli, launch};

/// Starts one of the clients that are linked in: `wirefault __client NAME`.
const CLIENT: &str = "__client";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == launch::ARGUMENT => launch::main(),
        Some(word) if word == CLIENT => client(args),
        _ => command_line(),
    }
}

fn client(mut args: impl Iterator<Item = std::ffi::OsString>) -> ExitCode {
    let name = args.next().unwrap_or_default();
    let args = args.map(|arg| arg.to_string_lossy().into_owned());
    match name.to_str() {
        Some("reference") => reference_client::main(args),
        Some("hyper-util") => rust_clients::hyper_util(args),
        _ => {
            Output::new(&mut std::io::stdout(), &mut std::io::stderr())
                .message(&format!("wirefault: no client {name:?} is linked in"));
            Exit::Usage.into()
        }
    }
}

fn command_line() -> ExitCode {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut output = Output::new(&mut out, &mut err);
    let around = match Surroundings::read() {
        Ok(around) => around,
        Err(error) => {
            output.message(&format!("wirefault: {error}"));
            return Exit::Internal.into();
        }
    };
    log(&around);
    let interrupt = || Interrupt::on_signals().map_err(Into::into);
    cli::main(std::env::args_os(), &around, &mut output, &interrupt).into()
}

/// Logs for debugging go to stderr; nothing that matters is only there.
fn log(around: &Surroundings) {
    let Some(filter) = &around.log else { return };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}
