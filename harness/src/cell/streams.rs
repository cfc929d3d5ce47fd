//! The pipes to and from a client.
//!
//! Both of its outputs are always read, so that it never waits for us, and what
//! it does not read never makes us wait for it.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

use super::kept::Kept;
use crate::client::command::Seen;
use crate::launch::{Written, last_written};

/// Bytes read at once.
const CHUNK: usize = 32 * 1024;

/// Bytes that are read of a stream once the client has ended. A pipe holds far
/// less; only something that still writes could make it more.
const REST: usize = 16 * 1024 * 1024;

/// Bytes that a pipe takes whole or not at all (POSIX, the least `PIPE_BUF`).
const SHORT: usize = 512;

/// What a client prints, on one of its two outputs.
pub(super) struct Output {
    pipe: Option<pipe::Receiver>,
    chunk: Vec<u8>,
    kept: Kept,
    written: Option<Written>,
}

impl Output {
    /// Reads from a pipe and keeps what comes.
    pub(super) fn new(pipe: pipe::Receiver, kept: Kept) -> Self {
        Self {
            pipe: Some(pipe),
            chunk: vec![0; CHUNK],
            kept,
            written: None,
        }
    }

    /// Waits for bytes; how many there are in [`Output::chunk`]. None means the
    /// end, after which this never comes back. May be dropped while it waits.
    pub(super) async fn read(&mut self) -> io::Result<usize> {
        match &mut self.pipe {
            Some(pipe) => pipe.read(&mut self.chunk).await,
            None => std::future::pending().await,
        }
    }

    /// Takes what [`Output::read`] has read: it is kept, and handed out.
    pub(super) fn take(&mut self, count: usize) -> io::Result<&[u8]> {
        if count == 0 {
            self.pipe = None;
        } else {
            // Behind the read: a later write makes this late, never early.
            self.written = self.pipe.as_ref().and_then(last_written);
        }
        let bytes = &self.chunk[..count];
        self.kept.take(bytes)?;
        Ok(bytes)
    }

    /// How long ago what was read last had been printed, at least.
    pub(super) fn printed_ago(&self) -> Duration {
        self.written.map_or(Duration::ZERO, Written::ago)
    }

    /// Reads all that is there now and takes it. Past the runtime, which may
    /// not know yet that there is something.
    pub(super) fn take_the_rest(&mut self, mut hear: impl FnMut(&[u8])) -> io::Result<()> {
        let mut room = REST;
        while let Some(pipe) = self.pipe.as_ref().filter(|_| room > 0) {
            match rustix::io::read(pipe.as_fd(), &mut self.chunk) {
                Ok(count) => {
                    room = room.saturating_sub(count);
                    hear(self.take(count)?);
                }
                Err(rustix::io::Errno::AGAIN) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// All that went by.
    pub(super) fn seen(&self) -> &Seen {
        self.kept.seen()
    }

    /// Nothing more is read.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.kept.end()
    }
}

/// What a client is told.
pub(super) struct Input {
    pipe: Option<pipe::Sender>,
    unsent: Vec<u8>,
}

impl Input {
    /// Writes into a pipe; without one, nowhere.
    pub(super) fn new(pipe: Option<pipe::Sender>) -> Self {
        Self {
            pipe,
            unsent: Vec::new(),
        }
    }

    /// Adds bytes to what is to be told.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
    }

    /// Tells a short line at once and whole; false: the pipe does not take it now,
    /// and nothing of it was told.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub(super) fn tell_now(&mut self, line: &[u8]) -> io::Result<bool> {
        debug_assert!(line.len() <= SHORT, "{} bytes", line.len());
        let pipe = self.pipe.as_ref().ok_or(ErrorKind::BrokenPipe)?;
        if !self.unsent.is_empty() {
            return Ok(false);
        }
        match pipe.try_write(line) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until the pipe takes bytes; how many. Never comes back while there
    /// is nothing to tell. May be dropped while it waits.
    pub(super) async fn send(&mut self) -> io::Result<usize> {
        match &mut self.pipe {
            Some(pipe) if !self.unsent.is_empty() => pipe.write(&self.unsent).await,
            _ => std::future::pending().await,
        }
    }

    /// Takes note of what [`Input::send`] has done.
    pub(super) fn sent(&mut self, sent: io::Result<usize>) {
        match sent {
            Ok(count) => drop(self.unsent.drain(..count)),
            // The client has closed its stdin. Its reports tell what it makes
            // of that.
            Err(_) => self.end(),
        }
    }

    /// Nobody reads any more.
    pub(super) fn end(&mut self) {
        self.pipe = None;
        self.unsent.clear();
    }
}
