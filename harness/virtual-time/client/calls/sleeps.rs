//! Sleeps, and waits for a word in memory.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use super::{ETIMEDOUT, MINUTE, is, timed};
use crate::raw::{after, call, timespec, to};

pub(super) fn sleeps() {
    timed("nanosleep", 60.0, || {
        let time = timespec(MINUTE);
        is(call(libc::SYS_nanosleep, &[to(&time), 0]), 0)
    });
    timed("std::thread::sleep", 60.0, || {
        std::thread::sleep(MINUTE);
        Ok(())
    });
    for (name, id) in [
        ("clock_nanosleep until a time of day", libc::CLOCK_REALTIME),
        (
            "clock_nanosleep until a monotonic time",
            libc::CLOCK_MONOTONIC,
        ),
        ("clock_nanosleep until a boot time", libc::CLOCK_BOOTTIME),
    ] {
        timed(name, 60.0, || {
            let time = after(id, 60);
            is(
                call(libc::SYS_clock_nanosleep, &[id as usize, 1, to(&time), 0]),
                0,
            )
        });
    }
    timed("many short sleeps", 0.3, || {
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(3));
        }
        Ok(())
    });
}

pub(super) fn futexes() {
    const PRIVATE: usize = libc::FUTEX_PRIVATE_FLAG as usize;
    let word = 0_u32;
    let bitset = PRIVATE | libc::FUTEX_WAIT_BITSET as usize;
    let futex = |operation: usize, time: &libc::timespec| {
        call(
            libc::SYS_futex,
            &[to(&word), operation, 0, to(time), 0, u32::MAX as usize],
        )
    };
    timed("futex for a time", 60.0, || {
        is(futex(PRIVATE, &timespec(MINUTE)), ETIMEDOUT)
    });
    timed("futex until a time of day", 60.0, || {
        let by_wall = bitset | libc::FUTEX_CLOCK_REALTIME as usize;
        is(futex(by_wall, &after(libc::CLOCK_REALTIME, 60)), ETIMEDOUT)
    });
    timed("futex until a monotonic time", 60.0, || {
        is(futex(bitset, &after(libc::CLOCK_MONOTONIC, 60)), ETIMEDOUT)
    });
    timed("futex until a past time", 0.0, || {
        is(futex(bitset, &after(libc::CLOCK_MONOTONIC, -5)), ETIMEDOUT)
    });
    timed(
        "futex lock until a time of day, and until its owner ends",
        90.0,
        || {
            // Owned by another thread, which lives as long as it sleeps.
            let owner = std::sync::atomic::AtomicU32::new(0);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    assert_eq!(
                        call(
                            libc::SYS_futex,
                            &[to(&owner), libc::FUTEX_LOCK_PI as usize, 0, 0]
                        ),
                        0
                    );
                    std::thread::sleep(Duration::from_secs(90));
                    assert_eq!(
                        call(
                            libc::SYS_futex,
                            &[to(&owner), libc::FUTEX_UNLOCK_PI as usize]
                        ),
                        0
                    );
                });
                while owner.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                let (began, time) = (Instant::now(), after(libc::CLOCK_REALTIME, 30));
                let result = call(
                    libc::SYS_futex,
                    &[to(&owner), libc::FUTEX_LOCK_PI as usize, 0, to(&time)],
                );
                is(result, ETIMEDOUT)?;
                is(began.elapsed().as_secs(), 30)
            })
            .and_then(|()| is(owner.load(Ordering::SeqCst), 0))
        },
    );
    timed("a condition", 60.0, || {
        let (mutex, condition) = (Mutex::new(()), Condvar::new());
        let (_guard, result) = condition
            .wait_timeout(mutex.lock().unwrap(), MINUTE)
            .unwrap();
        is(result.timed_out(), true)
    });
}
