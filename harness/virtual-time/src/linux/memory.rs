//! A traced process's memory, through `/proc`, and what lies in it by the
//! kernel's layouts.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::time::Timespec;

use crate::timeline::{nanos, timespec};

/// Microseconds to a second's fraction.
const MICRO: i64 = 1_000;

/// The memory of a process until it becomes another program.
pub(crate) struct Memory(File);

impl Memory {
    pub(crate) fn of(pid: i32) -> io::Result<Self> {
        let path = format!("/proc/{pid}/mem");
        File::options().read(true).write(true).open(path).map(Self)
    }

    pub(crate) fn read<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    pub(crate) fn read_vec(&self, at: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    /// Writes, also to what the process itself may only read.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Option<()> {
        self.0.write_all_at(bytes, at).ok()
    }

    pub(crate) fn word(&self, at: u64) -> Option<u64> {
        self.read(at).map(u64::from_ne_bytes)
    }

    /// A `struct timespec`, in nanoseconds.
    pub(crate) fn timespec(&self, at: u64) -> Option<u64> {
        self.pair(at)
            .map(|(tv_sec, tv_nsec)| nanos(Timespec { tv_sec, tv_nsec }))
    }

    /// A `struct timeval`, in nanoseconds.
    pub(crate) fn timeval(&self, at: u64) -> Option<u64> {
        let (tv_sec, micros) = self.pair(at)?;
        let tv_nsec = micros.saturating_mul(MICRO);
        Some(nanos(Timespec { tv_sec, tv_nsec }))
    }

    pub(crate) fn write_timespec(&self, at: u64, ns: u64) -> Option<()> {
        let time = timespec(ns);
        self.write_pair(at, time.tv_sec, time.tv_nsec)
    }

    pub(crate) fn write_timeval(&self, at: u64, ns: u64) -> Option<()> {
        let time = timespec(ns);
        self.write_pair(at, time.tv_sec, time.tv_nsec / MICRO)
    }

    fn pair(&self, at: u64) -> Option<(i64, i64)> {
        let bytes = self.read::<16>(at)?;
        let (first, second) = bytes.split_at(8);
        let number = |half: &[u8]| half.try_into().map(i64::from_ne_bytes).ok();
        Some((number(first)?, number(second)?))
    }

    fn write_pair(&self, at: u64, first: i64, second: i64) -> Option<()> {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&first.to_ne_bytes());
        bytes[8..].copy_from_slice(&second.to_ne_bytes());
        self.write(at, &bytes)
    }
}
