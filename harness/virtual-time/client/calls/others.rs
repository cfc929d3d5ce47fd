//! Clocks, signals, processes and threads.

use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use super::{EAGAIN, MINUTE, is, timed};
use crate::raw::{call, clock, fork, timespec, to, to_mut, wait};

/// The clocks of the library and of the kernel agree.
pub(super) fn clocks() {
    timed("clocks agree", 0.0, || {
        let real = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let apart = clock(libc::CLOCK_REALTIME).abs_diff(real);
        is(apart < Duration::from_millis(50), true)?;
        let cpu = clock(libc::CLOCK_PROCESS_CPUTIME_ID);
        is(cpu < Duration::from_secs(5), true)
    });
}

pub(super) fn signals() {
    timed("rt_sigtimedwait", 60.0, || {
        let (set, time) = (1_u64 << (libc::SIGUSR2 - 1), timespec(MINUTE));
        is(
            call(libc::SYS_rt_sigtimedwait, &[to(&set), 0, to(&time), 8]),
            EAGAIN,
        )
    });
    timed("semtimedop", 60.0, || {
        let set = call(libc::SYS_semget, &[0, 1, 0o600]);
        let (set, time) = (usize::try_from(set).unwrap(), timespec(MINUTE));
        let down = libc::sembuf {
            sem_num: 0,
            sem_op: -1,
            sem_flg: 0,
        };
        let result = call(libc::SYS_semtimedop, &[set, to(&down), 1, to(&time)]);
        is(
            call(libc::SYS_semctl, &[set, 0, libc::IPC_RMID as usize]),
            0,
        )?;
        is(result, EAGAIN)
    });
    timed("epoll_wait over the end of a child", 60.0, || {
        let epoll = usize::try_from(call(libc::SYS_epoll_create1, &[0])).unwrap();
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let child = fork(|| {
            std::thread::sleep(Duration::from_secs(10));
            true
        });
        is(
            call(
                libc::SYS_epoll_wait,
                &[epoll, to_mut(&mut event), 1, 60_000],
            ),
            0,
        )?;
        is(wait(child), true)
    });
    timed("poll over the end of a child", 60.0, || {
        let child = fork(|| {
            std::thread::sleep(Duration::from_secs(10));
            true
        });
        is(call(libc::SYS_poll, &[0, 0, 60_000]), 0)?;
        is(wait(child), true)
    });
}

pub(super) fn processes() {
    timed("a fork sleeps", 30.0, || {
        let began = Instant::now();
        let child = fork(|| {
            std::thread::sleep(Duration::from_secs(30));
            began.elapsed().as_secs() == 30
        });
        is(wait(child), true)
    });
    timed("a shell sleeps", 42.0, || {
        let script = "sleep 25; a=$(date +%s); sleep 17; b=$(date +%s); [ $((b-a)) -ge 17 ] && [ $((b-a)) -le 18 ]";
        is(
            Command::new("sh")
                .args(["-c", script])
                .status()
                .unwrap()
                .success(),
            true,
        )
    });
}

pub(super) fn threads() {
    let sleeper = |seconds: f64| {
        std::thread::spawn(move || std::thread::sleep(Duration::from_secs_f64(seconds)))
    };
    timed("eight threads sleep at once", 7.0, || {
        let all: Vec<_> = (0..8).map(|_| sleeper(7.0)).collect();
        all.into_iter()
            .try_for_each(|one| one.join().map_err(|_| "panic".to_owned()))
    });
    timed("two threads wake in their order", 7.0, || {
        let began = Instant::now();
        let later = sleeper(7.0);
        std::thread::sleep(Duration::from_millis(3500));
        let first = began.elapsed();
        later.join().unwrap();
        is((3500..4000).contains(&first.as_millis()), true)
    });
    timed("real work takes real time", 0.05, || {
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        Ok(())
    });
}

pub(super) fn refused() {
    timed("io_uring is unknown", 0.0, || {
        let mut parameters = [0_u64; 32];
        is(
            call(libc::SYS_io_uring_setup, &[8, to_mut(&mut parameters)]),
            -i64::from(libc::ENOSYS),
        )
    });
}
