//! What the kernel knows of a TCP socket, and the few things only it can do.
//!
//! Facts are read here and interpreted elsewhere. A question that the kernel
//! does not answer is answered with the fact that makes nobody wait.

mod peers;
mod proc_net;
mod raw;
mod sock_diag;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use socket2::{SockFilter, SockRef};

pub(crate) use peers::{Peer, Peers};

/// States of a TCP connection that are told apart here (`enum tcp_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TcpState {
    /// The peer has not ended its direction.
    PeerOpen,
    /// The peer's FIN has arrived.
    PeerFin,
    /// The connection is over: reset, or ended by both.
    Over,
}

/// Bytes received and not yet read, a FIN not counted.
pub(crate) fn unread(socket: BorrowedFd<'_>) -> u64 {
    rustix::io::ioctl_fionread(socket).unwrap_or(0)
}

/// Bytes written and not yet acknowledged; an own FIN counts as one.
pub(crate) fn unacknowledged(socket: BorrowedFd<'_>) -> u64 {
    raw::unacknowledged(socket).unwrap_or(0)
}

/// The connection's state.
pub(crate) fn state(socket: BorrowedFd<'_>) -> TcpState {
    const FIN_SEEN: [u8; 4] = [6, 8, 9, 11];
    match raw::tcp_info(socket) {
        Ok(info) if info[0] == 7 => TcpState::Over,
        Ok(info) if FIN_SEEN.contains(&info[0]) => TcpState::PeerFin,
        Ok(_) => TcpState::PeerOpen,
        Err(_) => TcpState::Over,
    }
}

/// A tick of the kernel's timer at 250 Hz; at 100 Hz times are coarser.
const TICK: Duration = Duration::from_millis(4);

/// Time since bytes last arrived, as `TCP_INFO` counts it.
fn since_data(socket: BorrowedFd<'_>) -> Duration {
    let millis = raw::tcp_info(socket).map_or(0, |info| {
        u32::from_ne_bytes([info[52], info[53], info[54], info[55]])
    });
    Duration::from_millis(millis.into())
}

/// Makes [`receive`] tell when bytes arrived. Accepted sockets inherit it from
/// their listener.
pub(crate) fn stamp_arrivals(socket: BorrowedFd<'_>) -> io::Result<()> {
    raw::stamp_arrivals(socket)
}

/// Reads what is there: how many bytes, and how long before `called` (now) the
/// last of them had arrived. `empty_at` is when the socket was last seen empty.
///
/// A stamp of the kernel is exact, but a FIN behind the bytes overwrites it. It
/// is held against `TCP_INFO`, which counts in ticks and looks at bytes only.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    into: &mut [u8],
    called: WallTime,
    empty_at: WallTime,
) -> io::Result<(usize, Duration)> {
    let (read, stamp) = raw::receive(socket, into)?;
    if read == 0 {
        return Ok((0, Duration::ZERO));
    }
    let stamped = stamp.map(|stamp| called.0.saturating_sub(stamp));
    let unread_for = called.0.saturating_sub(empty_at.0);
    let age = match stamped {
        Some(stamped) if unread_for < 2 * TICK => stamped,
        Some(stamped) => {
            let counted = since_data(socket).saturating_sub(TICK);
            if counted > stamped + TICK {
                counted
            } else {
                stamped
            }
        }
        None => since_data(socket),
    };
    Ok((read, age))
}

/// The wall clock, as the kernel stamps arrivals with it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WallTime(Duration);

impl WallTime {
    /// Now.
    pub(crate) fn now() -> Self {
        let now = clock_gettime(ClockId::Realtime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
        Self(Duration::new(seconds, nanos))
    }
}

/// From here on nothing arrives on this socket any more: a filter drops all
/// segments before they are looked at. What is in its queue stays. So "nothing
/// had arrived" can be made true and acted on without a gap between the two.
pub(crate) fn deafen(socket: impl AsFd) -> io::Result<()> {
    const RETURN: u16 = 0x06;
    SockRef::from(&socket).attach_filter(&[SockFilter::new(RETURN, 0, 0, 0)])
}

/// Undoes [`deafen`]; what was dropped is sent again by the peer's kernel.
pub(crate) fn hear(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).detach_filter()
}

/// Makes closing this socket send RST and forget what is unsent.
pub(crate) fn reset_on_close(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).set_linger(Some(Duration::ZERO))
}
