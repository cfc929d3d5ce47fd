//! Waits for descriptors.

use std::os::fd::RawFd;

use super::{MINUTE, is, timed, usize_of};
use crate::raw::{call, timespec, timeval, to, to_mut};

pub(super) fn sets(pipe: RawFd) {
    let bit = 1_u64 << pipe;
    let mut set = [bit; 16];
    timed("select", 60.0, || {
        let mut left = timeval(MINUTE);
        let args = [
            usize_of(pipe) + 1,
            to_mut(&mut set),
            0,
            0,
            to_mut(&mut left),
        ];
        is(call(libc::SYS_select, &args), 0)?;
        is((set[0], set[1], left.tv_sec), (0, bit, 0))
    });
    let mut set = [bit; 16];
    timed("pselect6", 60.0, || {
        let mut left = timespec(MINUTE);
        let args = [
            usize_of(pipe) + 1,
            to_mut(&mut set),
            0,
            0,
            to_mut(&mut left),
            0,
        ];
        is(call(libc::SYS_pselect6, &args), 0)?;
        is((set[0], set[1], left.tv_sec), (0, bit, 0))
    });
    timed("select of nothing", 60.0, || {
        let mut left = timeval(MINUTE);
        is(call(libc::SYS_select, &[0, 0, 0, 0, to_mut(&mut left)]), 0)
    });
}

pub(super) fn polls(pipe: RawFd) {
    let asked = libc::pollfd {
        fd: pipe,
        events: libc::POLLIN,
        revents: 7,
    };
    timed("poll", 60.0, || {
        let mut fd = asked;
        is(call(libc::SYS_poll, &[to_mut(&mut fd), 1, 60_000]), 0)?;
        is(fd.revents, 0)
    });
    timed("poll of nothing at once", 0.0, || {
        let mut fd = asked;
        is(call(libc::SYS_poll, &[to_mut(&mut fd), 1, 0]), 0)
    });
    timed("ppoll", 60.0, || {
        let (mut fd, mut left) = (asked, timespec(MINUTE));
        is(
            call(
                libc::SYS_ppoll,
                &[to_mut(&mut fd), 1, to_mut(&mut left), 0, 8],
            ),
            0,
        )?;
        is((fd.revents, left.tv_sec), (0, 0))
    });
}

pub(super) fn epolls(pipe: RawFd) {
    let epoll = usize::try_from(call(libc::SYS_epoll_create1, &[0])).unwrap();
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: 0,
    };
    let add = [
        epoll,
        libc::EPOLL_CTL_ADD as usize,
        usize_of(pipe),
        to(&event),
    ];
    assert_eq!(call(libc::SYS_epoll_ctl, &add), 0);
    let event = to_mut(&mut event);
    timed("epoll_wait", 60.0, || {
        is(call(libc::SYS_epoll_wait, &[epoll, event, 1, 60_000]), 0)
    });
    timed("epoll_pwait", 60.0, || {
        is(
            call(libc::SYS_epoll_pwait, &[epoll, event, 1, 60_000, 0, 8]),
            0,
        )
    });
    timed("epoll_pwait2", 60.0, || {
        let time = timespec(MINUTE);
        is(
            call(libc::SYS_epoll_pwait2, &[epoll, event, 1, to(&time), 0, 8]),
            0,
        )
    });
}
