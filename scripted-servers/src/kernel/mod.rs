//! What the kernel knows of a TCP socket, and the few things only it can do.
//!
//! Facts are read here and interpreted elsewhere. A question that the kernel
//! does not answer is an error, and no fact.

mod peers;
mod proc_net;
mod raw;
mod sock_diag;
mod stamps;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::time::{ClockId, clock_getres, clock_gettime};
use socket2::{SockFilter, SockRef};

use crate::clock::Clock;

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
pub(crate) fn unread(socket: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(rustix::io::ioctl_fionread(socket)?)
}

/// Bytes written and not yet acknowledged; an own FIN counts as one.
pub(crate) fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    raw::unacknowledged(socket)
}

/// Bytes written that were never sent, for want of room at the peer; an own FIN
/// counts as one. Kernels before 4.6 do not tell, and say 0.
pub(crate) fn unsent(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let info = raw::tcp_info(socket)?;
    Ok(u32::from_ne_bytes([info[144], info[145], info[146], info[147]]).into())
}

/// The connection's state.
pub(crate) fn state(socket: BorrowedFd<'_>) -> io::Result<TcpState> {
    const FIN_SEEN: [u8; 4] = [6, 8, 9, 11];
    Ok(match raw::tcp_info(socket)?[0] {
        7 => TcpState::Over,
        state if FIN_SEEN.contains(&state) => TcpState::PeerFin,
        _ => TcpState::PeerOpen,
    })
}

/// A tick of the kernel's timer at 250 Hz; at 100 Hz times are coarser.
const TICK: Duration = Duration::from_millis(4);

/// What `TCP_INFO` tells of what has arrived.
struct Arrivals {
    /// Time since bytes last arrived, in ticks. Where the machine that this one runs
    /// on has held all its processors, ticks come late and then at once, and what
    /// arrived before that seems as much older.
    since_data: Duration,
    /// A FIN has arrived behind them.
    has_fin: bool,
}

impl Arrivals {
    fn at(socket: BorrowedFd<'_>) -> io::Result<Self> {
        // As in the kernel's `tcp_states.h`: all states that a FIN does not lead to.
        const WITHOUT_FIN: [u8; 4] = [1, 3, 4, 5];
        let info = raw::tcp_info(socket)?;
        let millis = u32::from_ne_bytes([info[52], info[53], info[54], info[55]]);
        Ok(Self {
            since_data: Duration::from_millis(millis.into()),
            has_fin: !WITHOUT_FIN.contains(&info[0]),
        })
    }

    /// How long ago the bytes arrived, of which the stamp tells this.
    fn age_by(&self, stamped: Duration) -> Duration {
        if self.has_fin && self.since_data > stamped + 2 * TICK {
            self.since_data.saturating_sub(TICK)
        } else {
            stamped
        }
    }
}

/// Time since the peer last acknowledged something, as `TCP_INFO` counts it in
/// ticks, which are granted here: it is no less than told. A FIN acknowledges as
/// well, a RST does not. None where the kernel does not tell.
pub(crate) fn since_acknowledgement(socket: BorrowedFd<'_>) -> Option<Duration> {
    let info = raw::tcp_info(socket).ok()?;
    let millis = u32::from_ne_bytes([info[56], info[57], info[58], info[59]]);
    Some(Duration::from_millis(millis.into()) + tick())
}

/// The kernel's tick, which is what its coarse clocks count in.
fn tick() -> Duration {
    let coarse = clock_getres(ClockId::MonotonicCoarse);
    let nanos = u64::try_from(coarse.tv_nsec).unwrap_or(0);
    Duration::from_nanos(nanos).max(Duration::from_millis(1))
}

/// Makes [`receive`] tell when bytes arrived, from the first one on. Accepted
/// sockets inherit it from their listener.
pub(crate) fn stamp_arrivals(socket: BorrowedFd<'_>) -> io::Result<()> {
    raw::stamp_arrivals(socket)?;
    stamps::begin()
}

/// Reads what is there: how many bytes, and when the last of them had arrived,
/// on the cell's clock, if that can be known. `called` is now, `empty_at` is when
/// the socket was last seen empty.
///
/// A stamp of the kernel is exact, but a FIN behind the bytes overwrites it. Then it
/// is held against `TCP_INFO`, which counts in ticks and looks at bytes only.
/// Without a stamp the ticks are all there is, and are read as early: what came
/// before a client's end must not seem to come after it.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    into: &mut [u8],
    called: Moment,
    empty_at: Duration,
    clock: &dyn Clock,
) -> io::Result<(usize, io::Result<Duration>)> {
    let (read, stamp) = raw::receive(socket, into)?;
    if read == 0 {
        return Ok((0, Ok(called.cell)));
    }
    // Ages are compared, not times: a clock that jumps makes much of a tick.
    let ago = |real| clock.before(called.cell, real);
    let arrived = match stamp.map(|stamp| called.since(stamp)) {
        // The wall clock was set back, or the stamp is of just now.
        Some(Err(later)) => Ok(called.cell + later),
        Some(Ok(stamped)) if called.cell.saturating_sub(empty_at) < 2 * TICK => Ok(ago(stamped)),
        Some(Ok(stamped)) => Arrivals::at(socket).map(|seen| ago(seen.age_by(stamped))),
        None => Arrivals::at(socket)
            .map(|seen| clock.shortly_before(called.cell, seen.since_data + TICK)),
    };
    Ok((read, arrived))
}

/// One moment on two clocks: the cell's, and the wall clock, which the kernel
/// stamps arrivals with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) cell: Duration,
    wall: Duration,
}

impl Moment {
    /// Now. A thread that is kept from running between its looks at the two
    /// clocks would date everything wrongly by as much, so it looks again.
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        const APART: Duration = Duration::from_micros(20);
        const LOOKS: usize = 8;
        let (mut best, mut apart) = Self::look(clock);
        for _ in 1..LOOKS {
            if apart < APART {
                break;
            }
            let (moment, distance) = Self::look(clock);
            if distance < apart {
                (best, apart) = (moment, distance);
            }
        }
        best
    }

    /// Both clocks, and how far apart the looks at them were at most.
    fn look(clock: &dyn Clock) -> (Self, Duration) {
        let cell = clock.now();
        let now = clock_gettime(ClockId::Realtime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanos = u32::try_from(now.tv_nsec).unwrap_or(0);
        let wall = Duration::new(seconds, nanos);
        (Self { cell, wall }, clock.now().saturating_sub(cell))
    }

    /// How long before this moment a time of the wall clock was; or, as an error,
    /// how long after it.
    fn since(self, wall: Duration) -> Result<Duration, Duration> {
        self.wall
            .checked_sub(wall)
            .ok_or(wall.saturating_sub(self.wall))
    }
}

/// Packets that a socket has dropped so far. A listening socket that is deaf
/// counts each SYN once.
pub(crate) fn drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    raw::drops(socket)
}

/// Whether some socket of this network namespace tries to connect to this
/// address.
pub(crate) fn is_sought(address: SocketAddr) -> io::Result<bool> {
    proc_net::is_sought(address)
}

/// From here on nothing arrives on this socket any more: a filter drops all
/// segments before they are looked at. What is in its queue stays. So "nothing
/// had arrived" can be made true and acted on without a gap between the two.
pub(crate) fn deafen(socket: impl AsFd) -> io::Result<()> {
    const RETURN: u16 = 0x06;
    SockRef::from(&socket).attach_filter(&[SockFilter::new(RETURN, 0, 0, 0)])
}

/// Undoes [`deafen`]; what was dropped is sent again by the peer's kernel, except a
/// RST.
pub(crate) fn hear(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).detach_filter()
}

/// Sends RST and forgets what is unsent. At once, as closing would not: while a
/// program is being started its process holds every descriptor of this one.
pub(crate) fn reset(socket: impl AsFd) -> io::Result<()> {
    rustix::net::connect_unspec(socket)?;
    Ok(())
}

/// Ends both directions at once as closing does: by FIN, or by RST when bytes are
/// unread.
pub(crate) fn end(socket: BorrowedFd<'_>) -> io::Result<()> {
    if unread(socket)? > 0 {
        return reset(socket);
    }
    SockRef::from(&socket).shutdown(std::net::Shutdown::Both)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Once the ticks of a whole machine came 35 ms late, while a minute was jumped
    /// over: a second request that came after it seemed to have come before.
    #[test]
    fn ticks_are_believed_only_where_a_fin_has_overwritten_the_stamp() {
        let arrivals = |has_fin| Arrivals {
            since_data: 80 * MS,
            has_fin,
        };
        assert_eq!(arrivals(false).age_by(45 * MS), 45 * MS);
        assert_eq!(arrivals(true).age_by(45 * MS), 76 * MS);
        assert_eq!(arrivals(true).age_by(75 * MS), 75 * MS);
    }
}
