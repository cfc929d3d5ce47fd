//! The system calls that no safe wrapper offers. Nothing else in this crate is
//! unsafe, and nothing here decides anything.
#![expect(
    unsafe_code,
    reason = "TCP_INFO, SO_MEMINFO, SIOCOUTQ and receive time stamps have no safe wrapper"
)]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// As much of `struct tcp_info` as is looked at. The kernel fills what fits.
pub(super) const TCP_INFO_BYTES: usize = 148;

/// `getsockopt(TCP_INFO)`, as the bytes the kernel wrote.
pub(super) fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<[u8; TCP_INFO_BYTES]> {
    let mut info = [0_u8; TCP_INFO_BYTES];
    let mut length = TCP_INFO_BYTES as libc::socklen_t;
    // SAFETY: the buffer is `length` bytes long and outlives the call, and the
    // kernel writes at most `length` bytes into it.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done == 0 {
        Ok(info)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `ioctl(SIOCOUTQ)`: bytes written that the peer has not acknowledged.
pub(super) fn unacknowledged(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (the same number as TIOCOUTQ) writes one int to the
    // address given, which is valid for the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if done == 0 {
        Ok(u64::try_from(bytes).unwrap_or(0))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `getsockopt(SO_MEMINFO)`, its last number: packets that this socket dropped.
pub(super) fn drops(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // `asm-generic/socket.h` and `linux/sock_diag.h`; libc lacks the first.
    const SO_MEMINFO: libc::c_int = 55;
    const DROPS: usize = 8;
    let mut info = [0_u32; DROPS + 1];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the buffer is `length` bytes long and outlives the call, and the
    // kernel writes at most `length` bytes into it.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    if (length as usize) < size_of_val(&info) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(info[DROPS])
}

/// `setsockopt(SO_TIMESTAMPNS)`: receive calls tell when bytes arrived.
pub(super) fn stamp_arrivals(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is one int, valid for the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// `recvmsg`: how many bytes were read, and the wall clock's time at which the
/// last of them arrived, where the kernel tells.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    into: &mut [u8],
) -> io::Result<(usize, Option<Duration>)> {
    let mut control = [0_u64; 8];
    let mut part = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    // SAFETY: all-zero is a valid msghdr: null pointers with zero lengths.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message points to one buffer and one control buffer, both
    // with their true lengths, and both outlive the call.
    let read = unsafe {
        libc::recvmsg(
            socket.as_raw_fd(),
            &raw mut message,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the message is the one that the kernel just filled.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if header.is_null() {
        return Ok((read, None));
    }
    // SAFETY: a header that is not null lies within the control buffer, which is
    // aligned for it; a SCM_TIMESTAMPNS one is followed by a timespec, which is
    // read without relying on its alignment.
    let stamp = unsafe {
        if (*header).cmsg_level != libc::SOL_SOCKET || (*header).cmsg_type != libc::SCM_TIMESTAMPNS
        {
            return Ok((read, None));
        }
        libc::CMSG_DATA(header)
            .cast::<libc::timespec>()
            .read_unaligned()
    };
    let seconds = u64::try_from(stamp.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(stamp.tv_nsec).unwrap_or(0);
    Ok((read, Some(Duration::new(seconds, nanos))))
}
