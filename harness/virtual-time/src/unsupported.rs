//! What stands in for the tracer on other systems and processors: everything is
//! there, and refuses.

use std::convert::Infallible;
use std::io;
use std::process::Command;
use std::sync::Arc;

use crate::entry::Entry;
use crate::options::Options;
use crate::record::{Doubt, TimeRecord};
use crate::unavailable::Unavailable;
use crate::voter::Voter;

/// The tracer's side of one program's entrance. There is none here.
#[derive(Debug)]
pub struct Gate(Infallible);

/// The program's side.
pub type Door = std::os::fd::OwnedFd;

/// The tracer of one cell. There is none here.
#[derive(Debug)]
pub struct Tracer(Infallible);

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, Unavailable::Platform)
}

/// Refuses.
pub fn gate() -> io::Result<(Gate, Door)> {
    Err(unsupported())
}

/// Does nothing: the program runs in real time.
pub fn enter(_: &mut Command, _: Door) {}

/// Tells that there is no virtual time here.
pub fn probe() -> Result<(), Unavailable> {
    Err(Unavailable::Platform)
}

impl Tracer {
    /// Refuses.
    pub fn start(
        _: Arc<dyn Voter>,
        _: Options,
        _: impl FnMut(&Doubt) + Send + 'static,
    ) -> io::Result<Self> {
        Err(unsupported())
    }

    /// There is no such value.
    pub fn admit(&self, gate: Gate) {
        match gate.0 {}
    }

    /// There is no such value.
    pub fn entries(&self) -> Vec<Entry> {
        match self.0 {}
    }

    /// There is no such value.
    pub fn wait_for_entries(&self, _: usize) -> Vec<Entry> {
        match self.0 {}
    }

    /// There is no such value.
    pub fn doubts(&self) -> Vec<Doubt> {
        match self.0 {}
    }

    /// There is no such value.
    pub fn finish(self) -> TimeRecord {
        match self.0 {}
    }
}
