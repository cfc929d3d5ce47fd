//! What the kernel tells of one end of a TCP connection.

use std::os::fd::RawFd;

/// Where things lie in the kernel's `struct tcp_info`, which only grows.
const STATE: usize = 0;
const UNACKED: usize = 24;
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;
const NOTSENT_BYTES: usize = 144;
const BYTES_SENT: usize = 200;
const BYTES_RETRANS: usize = 208;
const LENGTH: usize = 216;

/// How far one end of a TCP connection has got. All but the state is of one
/// point of time, at which the kernel did not work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// As in the kernel's `tcp_states.h`.
    pub(crate) state: u8,
    /// Bytes sent for the first time, without a FIN.
    pub(crate) sent: u64,
    /// Bytes of those that the peer has acknowledged, SYN and FIN included.
    pub(crate) acked: u64,
    /// Segments sent and not acknowledged.
    pub(crate) unacked: u32,
    /// Bytes that were written and not yet sent for the first time, a FIN
    /// included.
    pub(crate) unsent: u32,
    /// Bytes received in order, a FIN included.
    pub(crate) received: u64,
}

/// Asks a descriptor; none for what is no TCP socket, and where the kernel is too
/// old to tell all of it.
pub(crate) fn tcp_info(socket: RawFd) -> Option<TcpInfo> {
    let mut info = [0_u8; LENGTH];
    let mut length = LENGTH as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info` and their number
    // to `length`; both live over the call.
    let done = unsafe {
        libc::getsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done != 0 || (length as usize) < LENGTH {
        return None;
    }
    let long = |at: usize| info[at..][..8].try_into().map_or(0, u64::from_ne_bytes);
    let short = |at: usize| info[at..][..4].try_into().map_or(0, u32::from_ne_bytes);
    Some(TcpInfo {
        state: info[STATE],
        sent: long(BYTES_SENT).saturating_sub(long(BYTES_RETRANS)),
        acked: long(BYTES_ACKED),
        unacked: short(UNACKED),
        unsent: short(NOTSENT_BYTES),
        received: long(BYTES_RECEIVED),
    })
}
