//! What version a client is: its own words, asked for with a time limit.
//!
//! Asked for through a launcher, as every program of a client is started, so that
//! nothing is left of it. Only commands that start clients anyway may call this.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use scenarios::manifest::Manifest;
use scripted_servers::clock::RealClock;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use crate::launch::{Launched, Launcher, Status, Stdin};
use crate::surroundings::Surroundings;

/// How long a client may think about its version. Runtimes start in a second.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than any version has; the rest is read and forgotten.
const LONGEST: usize = 4096;

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
    if args.is_empty() {
        return Ok(String::new());
    }
    let text = first_words(&args, around, PATIENCE)
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
/// Nothing that it started is left afterwards.
///
/// # Errors
/// What it did instead, in words that follow its command line.
pub fn first_words(
    args: &[String],
    around: &Surroundings,
    patience: Duration,
) -> Result<String, String> {
    let path = std::env::join_paths(&around.path).unwrap_or_default();
    let own = |error: io::Error| format!("can not be started: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(own)?;
    runtime.block_on(async {
        let environment = [("PATH", path)];
        let mut launched = Launcher::start(&around.wirefault, &environment, &around.cwd)
            .and_then(|launcher| launcher.launch(args, Stdin::Nothing, None))
            .map_err(own)?;
        let clock = RealClock::start();
        tokio::select! {
            said = listen(&mut launched) => said,
            // Dropped, the launcher kills all of it.
            _ = clock.sleep_until(patience) => {
                Err(format!("does not end within {} s", patience.as_secs()))
            }
        }
    })
}

/// Hears a program out to its end.
async fn listen(launched: &mut Launched) -> Result<String, String> {
    let mut stdout = Heard::new(&mut launched.stdout);
    let mut stderr = Heard::new(&mut launched.stderr);
    let mut ended = None;
    loop {
        tokio::select! {
            biased;
            () = stdout.hear(), if stdout.open => {}
            () = stderr.hear(), if stderr.open => {}
            status = launched.watch.status() => match status {
                Ok(Some(Status::Spawned { .. })) => {}
                Ok(Some(Status::NotSpawned { reason, .. })) => {
                    return Err(format!("does not start: {reason}"));
                }
                Ok(Some(Status::Exited { code, signal, .. })) => ended = Some((code, signal)),
                Ok(Some(Status::Swept { .. })) => break,
                Ok(None) => return Err("has lost its launcher".to_owned()),
                Err(error) => return Err(format!("can not be waited for: {error}")),
            },
        }
    }
    stdout.hear_the_rest();
    match ended {
        Some((Some(0), _)) => Ok(String::from_utf8_lossy(&stdout.words).into_owned()),
        Some((Some(code), _)) => Err(format!("fails with exit code {code}")),
        Some((None, Some(signal))) => Err(format!("was ended by signal {signal}")),
        _ => Err("ended in an unknown way".to_owned()),
    }
}

/// What came out of a pipe.
struct Heard<'a> {
    pipe: &'a mut Receiver,
    open: bool,
    words: Vec<u8>,
    chunk: [u8; LONGEST],
}

impl<'a> Heard<'a> {
    fn new(pipe: &'a mut Receiver) -> Self {
        Self {
            pipe,
            open: true,
            words: Vec::new(),
            chunk: [0; LONGEST],
        }
    }

    async fn hear(&mut self) {
        let read = self.pipe.read(&mut self.chunk).await;
        self.take(read);
    }

    /// What lies in the pipe of a program that has ended. Asks the kernel: the runtime
    /// may not have heard yet that there is something.
    fn hear_the_rest(&mut self) {
        while self.open {
            match rustix::io::read(self.pipe.as_fd(), &mut self.chunk) {
                Err(rustix::io::Errno::INTR) => {}
                read => self.take(read.map_err(io::Error::from)),
            }
        }
    }

    /// What can not be read was not said.
    fn take(&mut self, read: io::Result<usize>) {
        let length = read.unwrap_or(0);
        self.open = length > 0;
        let room = LONGEST - self.words.len();
        self.words
            .extend_from_slice(&self.chunk[..length.min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use tokio::net::unix::pipe;

    use super::*;

    /// `curl --version` said nothing on a busy machine: its words and its end came
    /// between two turns of the runtime, which told of the end only.
    #[tokio::test]
    async fn words_that_the_runtime_has_not_heard_of_yet_are_heard() {
        let (sender, mut receiver) = pipe::pipe().unwrap();
        let mut heard = Heard::new(&mut receiver);
        {
            let hear = pin!(heard.hear());
            let polled = hear.poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        rustix::io::write(&sender, b"curl 8").unwrap();
        drop(sender);
        heard.hear_the_rest();
        assert_eq!(heard.words, b"curl 8");
    }
}
