//! Sees to it that the kernel stamps arrivals before anything arrives.
//!
//! The first socket of a machine that asks for stamps makes the kernel begin
//! with them, and that takes it a while, on a busy machine more than a while. So
//! one connection of this process asks before all others, and stays.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::raw;

/// A connection that asks for stamps as long as this process lives.
static KEPT: Mutex<Option<(TcpStream, TcpStream)>> = Mutex::new(None);

/// Looks until the first stamp; each waits for a millisecond at most.
const LOOKS: usize = 2000;

const MILLISECOND: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

/// Waits until the kernel stamps arrivals. Only the first call takes any time.
pub(super) fn begin() -> io::Result<()> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.is_none() {
        *kept = Some(stamping_pair()?);
    }
    Ok(())
}

fn stamping_pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    sender.set_nodelay(true)?;
    let receiver = accepted_from(&listener, &sender)?;
    raw::stamp_arrivals(receiver.as_fd())?;
    for _ in 0..LOOKS {
        sender.write_all(&[0])?;
        let mut fds = [PollFd::new(&receiver, PollFlags::IN)];
        poll(&mut fds, Some(&MILLISECOND))?;
        match raw::receive(receiver.as_fd(), &mut [0; 64]) {
            Ok((_, Some(_))) => return Ok((sender, receiver)),
            Ok((_, None)) => {
                // Nothing comes: a pause.
                let mut nothing = [PollFd::new(&receiver, PollFlags::IN)];
                poll(&mut nothing, Some(&MILLISECOND))?;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("the kernel stamps no arrivals"))
}

/// The other end of this connection: anybody may connect to a port.
fn accepted_from(listener: &TcpListener, sender: &TcpStream) -> io::Result<TcpStream> {
    loop {
        let (receiver, peer) = listener.accept()?;
        if peer == sender.local_addr()? {
            return Ok(receiver);
        }
    }
}
