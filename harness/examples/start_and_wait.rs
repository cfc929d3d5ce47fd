//! A harness reduced to one launch: starts the program that it is given, prints
//! its process id, and then only waits. Tests kill it in the middle.
//!
//! `start_and_wait WIREFAULT PROGRAM ARG...`

use std::ffi::OsString;
use std::path::PathBuf;

use harness::launch::{Launcher, Status, Stdin};

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let wirefault = PathBuf::from(args.next().unwrap_or_default());
    let args: Vec<String> = args.collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment: [(&'static str, OsString); 1] = [("PATH", path)];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let folder = std::env::current_dir()?;
        let launcher = Launcher::start(&wirefault, &environment, &folder)?;
        let mut launched = launcher.launch(&args, Stdin::Nothing, None)?;
        while let Some(status) = launched.watch.status().await? {
            if let Status::Spawned { pid } = status {
                println!("{pid}");
            }
        }
        Ok(())
    })
}
