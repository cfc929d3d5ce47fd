//! What the kernel tells of a TCP socket's sending.

use std::os::fd::{AsRawFd, BorrowedFd};

/// How far a TCP socket has got with what was written to it.
pub(crate) struct Sending {
    /// Bytes that were written and not yet sent for the first time.
    pub(crate) unsent: u32,
    /// Grows with every byte that was sent or acknowledged.
    pub(crate) progress: u64,
}

/// Where these lie in the kernel's `struct tcp_info`, which only grows.
const BYTES_ACKED: usize = 120;
const NOTSENT_BYTES: usize = 144;
const BYTES_SENT: usize = 200;
const LENGTH: usize = 208;

/// Tells about a TCP socket; none for what is not one.
pub(crate) fn sending(socket: BorrowedFd<'_>) -> Option<Sending> {
    let mut info = [0_u8; LENGTH];
    let mut length = LENGTH as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info` and their number
    // to `length`; both live over the call.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    // An older kernel tells less; the rest stays zero.
    if done != 0 {
        return None;
    }
    let number = |at: usize| info[at..][..8].try_into().map_or(0, u64::from_ne_bytes);
    Some(Sending {
        unsent: number(NOTSENT_BYTES) as u32,
        progress: number(BYTES_ACKED) + number(BYTES_SENT),
    })
}
