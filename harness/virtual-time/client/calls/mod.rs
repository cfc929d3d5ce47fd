//! Every timed call, one after the other. Each prints a line: its name, the
//! seconds that it should take, those that passed by the monotonic clock and by
//! the wall clock, and what is wrong with its result, or `ok`.

mod others;
mod polls;
mod sleeps;
mod sockets;
mod timers;

use std::os::fd::{AsRawFd, RawFd};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

const MINUTE: Duration = Duration::from_secs(60);
const EINTR: i64 = -(libc::EINTR as i64);
const EAGAIN: i64 = -(libc::EAGAIN as i64);
const ETIMEDOUT: i64 = -(libc::ETIMEDOUT as i64);

/// Runs one call.
fn timed(name: &str, seconds: f64, run: impl FnOnce() -> Result<(), String>) {
    let (began, wall) = (Instant::now(), SystemTime::now());
    let result = run();
    let (mono, wall) = (began.elapsed(), wall.elapsed().unwrap());
    let result = result.err().unwrap_or_else(|| "ok".to_owned());
    println!(
        "{name}\t{seconds}\t{}\t{}\t{result}",
        mono.as_secs_f64(),
        wall.as_secs_f64()
    );
}

fn is<T: PartialEq + std::fmt::Debug>(seen: T, wanted: T) -> Result<(), String> {
    if seen == wanted {
        Ok(())
    } else {
        Err(format!("{seen:?} where {wanted:?} was due"))
    }
}

fn usize_of(fd: RawFd) -> usize {
    usize::try_from(fd).unwrap()
}

pub(crate) fn all() -> ExitCode {
    let (pipe, _writer) = std::io::pipe().unwrap();
    let pipe = pipe.as_raw_fd();
    others::clocks();
    polls::sets(pipe);
    polls::polls(pipe);
    polls::epolls(pipe);
    sleeps::sleeps();
    sleeps::futexes();
    timers::timerfds();
    timers::alarms(pipe);
    sockets::sockets();
    others::signals();
    others::processes();
    others::threads();
    others::refused();
    ExitCode::SUCCESS
}
