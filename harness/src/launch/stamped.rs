//! A pipe of which the kernel tells when it was last written to.
//!
//! On a busy machine the harness may read what a client printed long after it
//! was printed. A pipe without a name keeps no times; one that was opened by a
//! name in a folder has the times of a file.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, Timespec, Timestamps};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::time::{ClockId, clock_gettime};

const NEVER: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// File times lag behind by up to a tick of the kernel's timer, and more where
/// the timer itself is late.
const LAG: Duration = Duration::from_millis(20);

/// A pipe to read from and to write to. The folder is only used to make it;
/// where that does not work, the pipe keeps no times.
pub(super) fn pipe(folder: &Path) -> io::Result<(OwnedFd, OwnedFd)> {
    let ends = named(&folder.join(".pipe")).or_else(|error| {
        tracing::debug!(%error, "no pipe with times; reports are stamped when they are read");
        pipe_with(PipeFlags::CLOEXEC)
    });
    let (read, write) = ends?;
    let never = Timestamps {
        last_access: NEVER,
        last_modification: NEVER,
    };
    rustix::fs::futimens(&read, &never)?;
    // Since Linux 6.13 a file that has been looked at gets the exact time with
    // its next change; without a look it is the time of the last tick, which on
    // a machine that gets no turn can be long ago.
    let _ = last_written(&read);
    Ok((read, write))
}

fn named(path: &Path) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let ends = open(path);
    rustix::fs::unlink(path)?;
    ends
}

fn open(path: &Path) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    // Without waiting for the other end, which is opened next.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let read = rustix::fs::open(path, flags, Mode::empty())?;
    let write = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((read, write))
}

/// When this pipe was last written to; none where that is not known. The first
/// write after such a look is dated exactly where the kernel can; see [`pipe`].
pub(crate) fn last_written(pipe: impl AsFd) -> Option<Written> {
    let stat = rustix::fs::fstat(pipe).ok()?;
    let written = nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64);
    // Nothing was written, or this file system keeps no times of pipes.
    (written > 0).then_some(Written(written))
}

/// When a pipe was written to, by the clock on the wall.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written(u64);

impl Written {
    /// How long ago that was, at least.
    pub(crate) fn ago(self) -> Duration {
        let now = clock_gettime(ClockId::Realtime);
        let now = nanos(now.tv_sec, now.tv_nsec);
        Duration::from_nanos(now.saturating_sub(self.0)).saturating_sub(LAG)
    }
}

fn nanos(seconds: i64, nanos: i64) -> u64 {
    let (seconds, nanos) = (u64::try_from(seconds), u64::try_from(nanos));
    seconds.unwrap_or(0) * 1_000_000_000 + nanos.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_write_behind_a_look_is_never_dated_before_it_by_more_than_the_lag() {
        let folder = tempfile::tempdir().unwrap();
        let (read, write) = pipe(folder.path()).unwrap();
        let (mut read, mut write) = (File::from(read), File::from(write));
        for _ in 0..1000 {
            let before = clock_gettime(ClockId::Realtime);
            write.write_all(b"x").unwrap();
            let written = last_written(&read).unwrap();
            let before = nanos(before.tv_sec, before.tv_nsec);
            assert!(written.0 + LAG.as_nanos() as u64 >= before);
            read.read_exact(&mut [0]).unwrap();
        }
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "the age of what was written is what is tested"
    )]
    fn what_is_read_late_is_known_to_be_old() {
        let folder = tempfile::tempdir().unwrap();
        let (read, write) = pipe(folder.path()).unwrap();
        assert!(last_written(&read).is_none(), "nothing was written");
        let mut write = File::from(write);
        write.write_all(b"a report").unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let mut read = File::from(read);
        read.read_exact(&mut [0; 8]).unwrap();
        let written = last_written(&read).unwrap();
        assert!(written.ago() >= Duration::from_millis(200) - LAG);
        drop(write);
        assert_eq!(
            last_written(&read).unwrap().0,
            written.0,
            "an end is no write"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_pipe_that_keeps_no_times_says_that_it_does_not_know() {
        let (read, write) = pipe(Path::new("/nowhere")).unwrap();
        File::from(write).write_all(b"x").unwrap();
        assert!(last_written(&read).is_none());
    }
}
