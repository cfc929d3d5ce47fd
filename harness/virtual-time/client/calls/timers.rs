//! Timers, by descriptor and by signal.

use std::os::fd::RawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{EINTR, MINUTE, is, timed, usize_of};
use crate::raw::{ALARMS, after, call, catch_alarms, timespec, timeval, to, to_mut};

pub(super) fn timerfds() {
    let create =
        |id: i32| usize::try_from(call(libc::SYS_timerfd_create, &[id as usize, 0])).unwrap();
    let read = |fd: usize| {
        let mut count = 0_u64;
        let read = call(libc::SYS_read, &[fd, to_mut(&mut count), 8]);
        if read == 8 {
            i64::try_from(count).unwrap()
        } else {
            read
        }
    };
    let none = timespec(Duration::ZERO);
    timed("timerfd for a time", 60.0, || {
        let fd = create(libc::CLOCK_MONOTONIC);
        let setting = libc::itimerspec {
            it_interval: none,
            it_value: timespec(MINUTE),
        };
        is(
            call(libc::SYS_timerfd_settime, &[fd, 0, to(&setting), 0]),
            0,
        )?;
        let mut asked = libc::pollfd {
            fd: i32::try_from(fd).unwrap(),
            events: libc::POLLIN,
            revents: 0,
        };
        is(
            call(libc::SYS_poll, &[to_mut(&mut asked), 1, usize::MAX]),
            1,
        )?;
        is(read(fd), 1)?;
        is(call(libc::SYS_close, &[fd]), 0)
    });
    timed("timerfd until a time, then again and again", 70.0, || {
        let fd = create(libc::CLOCK_REALTIME);
        let setting = libc::itimerspec {
            it_interval: timespec(Duration::from_secs(5)),
            it_value: after(libc::CLOCK_REALTIME, 60),
        };
        is(
            call(libc::SYS_timerfd_settime, &[fd, 1, to(&setting), 0]),
            0,
        )?;
        for _ in 0..3 {
            is(read(fd), 1)?;
        }
        is(call(libc::SYS_close, &[fd]), 0)
    });
    timed("timerfd tells what is left", 20.0, || {
        let fd = create(libc::CLOCK_MONOTONIC);
        let setting = libc::itimerspec {
            it_interval: none,
            it_value: timespec(MINUTE),
        };
        is(
            call(libc::SYS_timerfd_settime, &[fd, 0, to(&setting), 0]),
            0,
        )?;
        std::thread::sleep(Duration::from_secs(20));
        let mut left = setting;
        let off = libc::itimerspec {
            it_interval: none,
            it_value: none,
        };
        is(
            call(
                libc::SYS_timerfd_settime,
                &[fd, 0, to(&off), to_mut(&mut left)],
            ),
            0,
        )?;
        is(left.it_value.tv_sec, 39)
    });
    timed("timerfd with a time that is none", 0.0, || {
        let fd = create(libc::CLOCK_MONOTONIC);
        let wrong = libc::timespec {
            tv_sec: 1,
            tv_nsec: 2_000_000_000,
        };
        let setting = libc::itimerspec {
            it_interval: none,
            it_value: wrong,
        };
        is(
            call(libc::SYS_timerfd_settime, &[fd, 0, to(&setting), 0]),
            -i64::from(libc::EINVAL),
        )?;
        let right = libc::itimerspec {
            it_interval: none,
            it_value: none,
        };
        is(
            call(libc::SYS_timerfd_settime, &[9999, 0, to(&right), 0]),
            -i64::from(libc::EBADF),
        )
    });
}

pub(super) fn alarms(pipe: RawFd) {
    catch_alarms();
    let alarm = |seconds: usize| call(libc::SYS_alarm, &[seconds]);
    timed("alarm", 60.0, || {
        is(alarm(60), 0)?;
        is(call(libc::SYS_pause, &[]), EINTR)
    });
    timed("alarm tells what is left", 20.0, || {
        is(alarm(60), 0)?;
        std::thread::sleep(Duration::from_secs(20));
        is(alarm(0), 40)
    });
    timed("setitimer", 50.0, || {
        let before = ALARMS.load(Ordering::SeqCst);
        let seconds = |seconds| timeval(Duration::from_secs(seconds));
        let setting = libc::itimerval {
            it_interval: seconds(20),
            it_value: seconds(10),
        };
        is(call(libc::SYS_setitimer, &[0, to(&setting), 0]), 0)?;
        for _ in 0..3 {
            is(call(libc::SYS_pause, &[]), EINTR)?;
        }
        let mut left = setting;
        is(call(libc::SYS_getitimer, &[0, to_mut(&mut left)]), 0)?;
        is((left.it_interval.tv_sec, left.it_value.tv_sec), (20, 19))?;
        let off = libc::itimerval {
            it_interval: seconds(0),
            it_value: seconds(0),
        };
        is(call(libc::SYS_setitimer, &[0, to(&off), 0]), 0)?;
        is(ALARMS.load(Ordering::SeqCst) - before, 3)
    });
    timed("alarm in a read", 30.0, || {
        is(alarm(30), 0)?;
        let mut byte = 0_u8;
        is(
            call(libc::SYS_read, &[usize_of(pipe), to_mut(&mut byte), 1]),
            EINTR,
        )
    });
}
