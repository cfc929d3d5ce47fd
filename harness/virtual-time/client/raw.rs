//! System calls without a library between.

use std::time::Duration;

/// A number that points to a value.
pub(crate) fn to<T>(value: &T) -> usize {
    std::ptr::from_ref(value) as usize
}

/// As [`to`], for what the kernel writes.
pub(crate) fn to_mut<T>(value: &mut T) -> usize {
    std::ptr::from_mut(value) as usize
}

/// Makes a call. What it returns, or its error number below zero.
pub(crate) fn call(nr: i64, args: &[usize]) -> i64 {
    let arg = |index: usize| args.get(index).copied().unwrap_or(0);
    // SAFETY: every pointer that the callers here pass is made by `to` or
    // `to_mut` of a value that lives over the call and has the kernel's layout.
    let result = unsafe { libc::syscall(nr, arg(0), arg(1), arg(2), arg(3), arg(4), arg(5)) };
    if result == -1 {
        -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap())
    } else {
        result
    }
}

/// A `struct timespec`.
pub(crate) fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap(),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

/// A `struct timeval`.
pub(crate) fn timeval(time: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: i64::try_from(time.as_secs()).unwrap(),
        tv_usec: i64::from(time.subsec_micros()),
    }
}

/// A clock by a system call of our own, past the vDSO.
pub(crate) fn clock(id: i32) -> Duration {
    let mut time = timespec(Duration::ZERO);
    assert_eq!(
        call(libc::SYS_clock_gettime, &[id as usize, to_mut(&mut time)]),
        0
    );
    Duration::new(
        u64::try_from(time.tv_sec).unwrap(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

/// A point in the time of a clock.
pub(crate) fn after(clock_id: i32, seconds: i64) -> libc::timespec {
    let mut time = timespec(clock(clock_id));
    time.tv_sec += seconds;
    time
}

/// Has SIGALRM run an empty handler, so that it interrupts.
pub(crate) fn catch_alarms() {
    extern "C" fn nothing(_: libc::c_int) {
        ALARMS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: all zeroes is a valid value; the handler only counts.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        assert_eq!(
            libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()),
            0
        );
    }
}

/// How often SIGALRM came.
pub(crate) static ALARMS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// Runs `child` in a fork; tells the process id.
pub(crate) fn fork(child: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the tests that use it have one thread when they do.
    match unsafe { libc::fork() } {
        0 => {
            let code = i32::from(!child());
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(code) }
        }
        pid => {
            assert!(pid > 0);
            pid
        }
    }
}

/// Waits for a child; tells whether it ended well.
pub(crate) fn wait(pid: i32) -> bool {
    let mut status = 0_i32;
    let args = [pid as usize, to_mut(&mut status), 0, 0];
    loop {
        let result = call(libc::SYS_wait4, &args);
        if result != -i64::from(libc::EINTR) {
            return result == i64::from(pid) && status == 0;
        }
    }
}
