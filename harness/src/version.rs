//! What version a client is: its own words, asked for with a time limit.
//!
//! Only commands that start clients anyway may call this.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use scenarios::manifest::Manifest;

use crate::surroundings::Surroundings;

/// How long a client may think about its version. Runtimes start in a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than any version has; the rest is not read.
const LONGEST: u64 = 4096;

/// The version of a client; empty where its manifest has no command for it.
///
/// # Errors
/// When the command does not start, fails, says nothing or takes too long:
/// then the client can not run here.
pub fn version(manifest: &Manifest, around: &Surroundings) -> Result<String, String> {
    let here = Path::new(&manifest.file).parent().unwrap_or(Path::new("."));
    let args: Vec<String> = manifest
        .version
        .iter()
        .map(|arg| fill(arg, &around.wirefault, here))
        .collect();
    let Some((program, rest)) = args.split_first() else {
        return Ok(String::new());
    };
    let text = first_words(program, rest, &around.path, PATIENCE)
        .map_err(|why| format!("`{}` {why}", args.join(" ")))?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.map(|line| line.chars().take(100).collect())
        .ok_or_else(|| format!("`{}` says nothing", args.join(" ")))
}

fn fill(arg: &str, wirefault: &Path, here: &Path) -> String {
    arg.replace("{wirefault}", &wirefault.display().to_string())
        .replace("{here}", &here.display().to_string())
}

/// What a program prints to stdout, and that it ends well within the time.
fn first_words(
    program: &str,
    args: &[String],
    path: &[PathBuf],
    patience: Duration,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    if let Ok(path) = std::env::join_paths(path) {
        command.env("PATH", path);
    }
    let mut child = command
        .spawn()
        .map_err(|error| format!("does not start: {error}"))?;
    let group = rustix::process::Pid::from_child(&child);
    let (send, said) = mpsc::channel();
    let stdout = child.stdout.take();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stdout) = stdout {
            // What can not be read was not said.
            let _ = stdout.take(LONGEST).read_to_end(&mut bytes);
        }
        // Whoever waits for it may have lost patience.
        let _ = send.send((bytes, child.wait()));
    });
    match said.recv_timeout(patience) {
        Ok((bytes, Ok(status))) if status.success() => {
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        Ok((_, Ok(status))) => Err(format!("fails: {status}")),
        Ok((_, Err(error))) => Err(format!("can not be waited for: {error}")),
        Err(_) => {
            // The thread reaps it.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            Err(format!("does not end within {} s", patience.as_secs()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, patience: Duration) -> Result<String, String> {
        let path = [PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
        first_words("sh", &["-c".to_owned(), script.to_owned()], &path, patience)
    }

    #[test]
    fn a_program_that_never_ends_is_stopped() {
        let said = shell("sleep 600", Duration::from_millis(50));
        assert!(said.unwrap_err().contains("does not end"));
    }

    #[test]
    fn a_program_that_fails_has_no_version() {
        let said = shell("echo 1.2; exit 3", PATIENCE);
        assert!(said.unwrap_err().contains("exit status: 3"));
    }

    #[test]
    fn the_environment_of_the_caller_is_not_seen() {
        let said = shell("echo ${CARGO_MANIFEST_DIR:-unset}", PATIENCE);
        assert_eq!(said.unwrap(), "unset\n");
    }
}
