//! The system calls that have to do with time: which of them the filter stops,
//! under which arguments, and which of them a thread may be asleep in.
//!
//! The filter and the sweep read the same table, so that a wait that the filter
//! lets pass is never missed by the sweep.

/// A system call and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// Number.
    pub(crate) nr: u64,
    /// Arguments, as they lie in the registers.
    pub(crate) args: [u64; 6],
}

macro_rules! calls {
    ($($name:ident = $number:ident),* $(,)?) => {
        $(pub(crate) const $name: u64 = libc::$number as u64;)*

        /// The name of a call, or its number where it is none of ours.
        pub(crate) fn name(nr: u64) -> String {
            match nr {
                $($name => stringify!($number)["SYS_".len()..].to_owned(),)*
                IO_PGETEVENTS => "io_pgetevents".to_owned(),
                FUTEX_WAIT => "futex_wait".to_owned(),
                other => format!("system call {other}"),
            }
        }
    };
}

calls! {
    ACCEPT = SYS_accept, ACCEPT4 = SYS_accept4, ALARM = SYS_alarm, CLOCK_GETTIME = SYS_clock_gettime,
    CLOSE = SYS_close, CLOCK_NANOSLEEP = SYS_clock_nanosleep, CLONE = SYS_clone, CLONE3 = SYS_clone3, CONNECT = SYS_connect,
    EPOLL_PWAIT = SYS_epoll_pwait, EPOLL_PWAIT2 = SYS_epoll_pwait2, EPOLL_WAIT = SYS_epoll_wait,
    FCNTL = SYS_fcntl, FLOCK = SYS_flock, FORK = SYS_fork, FUTEX = SYS_futex,
    FUTEX_WAITV = SYS_futex_waitv, GETITIMER = SYS_getitimer, GETRANDOM = SYS_getrandom,
    GETTIMEOFDAY = SYS_gettimeofday, IO_GETEVENTS = SYS_io_getevents,
    IO_URING_SETUP = SYS_io_uring_setup, MQ_TIMEDRECEIVE = SYS_mq_timedreceive, MQ_TIMEDSEND = SYS_mq_timedsend,
    MSGRCV = SYS_msgrcv, MSGSND = SYS_msgsnd, NANOSLEEP = SYS_nanosleep, OPEN = SYS_open, OPENAT = SYS_openat,
    PAUSE = SYS_pause, POLL = SYS_poll, PPOLL = SYS_ppoll, PSELECT6 = SYS_pselect6, READ = SYS_read,
    READV = SYS_readv, RECVFROM = SYS_recvfrom, RECVMMSG = SYS_recvmmsg, RECVMSG = SYS_recvmsg,
    RESTART_SYSCALL = SYS_restart_syscall, RT_SIGSUSPEND = SYS_rt_sigsuspend,
    RT_SIGTIMEDWAIT = SYS_rt_sigtimedwait, SELECT = SYS_select, SEMOP = SYS_semop, SEMTIMEDOP = SYS_semtimedop,
    SENDFILE = SYS_sendfile, SENDMMSG = SYS_sendmmsg, SENDMSG = SYS_sendmsg, SENDTO = SYS_sendto,
    SETITIMER = SYS_setitimer, SETSOCKOPT = SYS_setsockopt, SPLICE = SYS_splice, TEE = SYS_tee, TIME = SYS_time,
    TIMERFD_SETTIME = SYS_timerfd_settime, TIMER_SETTIME = SYS_timer_settime, VFORK = SYS_vfork,
    VMSPLICE = SYS_vmsplice, WAIT4 = SYS_wait4, WAITID = SYS_waitid, WRITE = SYS_write, WRITEV = SYS_writev,
}

/// Two that the C library's bindings do not list.
pub(crate) const IO_PGETEVENTS: u64 = 333;
pub(crate) const FUTEX_WAIT: u64 = 455;

/// When the filter stops a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// Always.
    Always,
    /// When this argument, a pointer to a timeout, is not null.
    Pointer(u8),
    /// When this argument, a count of milliseconds, is above zero.
    Positive(u8),
    /// A futex operation that waits, with a timeout.
    Futex,
    /// A clock that virtual time moves.
    Clock,
    /// A socket's timeout.
    SocketTimeout,
    /// Never: the call is refused as unknown to the kernel.
    Refuse,
}

/// Every call that the filter looks at.
pub(crate) const LOOKED_AT: &[(u64, Stop)] = &[
    (FUTEX, Stop::Futex),
    (EPOLL_WAIT, Stop::Positive(3)),
    (EPOLL_PWAIT, Stop::Positive(3)),
    (POLL, Stop::Positive(2)),
    (EPOLL_PWAIT2, Stop::Pointer(3)),
    (PPOLL, Stop::Pointer(2)),
    (SELECT, Stop::Pointer(4)),
    (PSELECT6, Stop::Pointer(4)),
    (NANOSLEEP, Stop::Always),
    (CLOCK_NANOSLEEP, Stop::Always),
    (RT_SIGTIMEDWAIT, Stop::Pointer(2)),
    (SEMTIMEDOP, Stop::Pointer(3)),
    (CLOCK_GETTIME, Stop::Clock),
    (GETTIMEOFDAY, Stop::Always),
    (TIME, Stop::Always),
    (ALARM, Stop::Always),
    (SETITIMER, Stop::Always),
    (GETITIMER, Stop::Always),
    (TIMERFD_SETTIME, Stop::Always),
    (TIMER_SETTIME, Stop::Always),
    (SETSOCKOPT, Stop::SocketTimeout),
    // Nobody waits in these without being told that it is not understood.
    (RECVMMSG, Stop::Pointer(4)),
    (MQ_TIMEDSEND, Stop::Pointer(4)),
    (MQ_TIMEDRECEIVE, Stop::Pointer(4)),
    (IO_GETEVENTS, Stop::Pointer(4)),
    (IO_PGETEVENTS, Stop::Pointer(4)),
    (FUTEX_WAITV, Stop::Pointer(3)),
    (FUTEX_WAIT, Stop::Pointer(4)),
    // Its timeouts could not be seen. Every runtime falls back to epoll.
    (IO_URING_SETUP, Stop::Refuse),
];

/// Futex operations, flags aside, that take a timeout.
pub(crate) const FUTEX_WAITS: [u32; 5] = [
    libc::FUTEX_WAIT as u32,
    libc::FUTEX_WAIT_BITSET as u32,
    libc::FUTEX_LOCK_PI as u32,
    libc::FUTEX_WAIT_REQUEUE_PI as u32,
    libc::FUTEX_LOCK_PI2 as u32,
];

/// The bits of a futex operation that are no flags.
pub(crate) const FUTEX_OPERATION: u32 = 127;

/// A futex timeout is by CLOCK_REALTIME.
pub(crate) const FUTEX_CLOCK_REALTIME: u64 = libc::FUTEX_CLOCK_REALTIME as u64;

/// Socket options that set a timeout, in both widths.
pub(crate) const TIMEOUT_OPTIONS: [u32; 4] = [
    libc::SO_RCVTIMEO as u32,
    libc::SO_SNDTIMEO as u32,
    66, // SO_RCVTIMEO_NEW
    67, // SO_SNDTIMEO_NEW
];

/// Calls, beside the timed ones, in which a thread may sleep until something
/// happens that virtual time need not know.
const WAITS_FOR_EVENTS: &[u64] = &[
    READ,
    WRITE,
    READV,
    WRITEV,
    ACCEPT,
    ACCEPT4,
    CONNECT,
    RECVFROM,
    RECVMSG,
    RECVMMSG,
    SENDTO,
    SENDMSG,
    SENDMMSG,
    SENDFILE,
    SPLICE,
    TEE,
    VMSPLICE,
    OPEN,
    OPENAT,
    FCNTL,
    FLOCK,
    PAUSE,
    WAIT4,
    WAITID,
    RT_SIGSUSPEND,
    MSGRCV,
    MSGSND,
    SEMOP,
    GETRANDOM,
    CLONE,
    CLONE3,
    FORK,
    VFORK,
    // without a timeout
    MQ_TIMEDSEND,
    MQ_TIMEDRECEIVE,
    IO_GETEVENTS,
    IO_PGETEVENTS,
    FUTEX_WAITV,
    FUTEX_WAIT,
    RT_SIGTIMEDWAIT,
    SEMTIMEDOP,
    RESTART_SYSCALL, // only ever with a record of what is restarted
];

impl Call {
    /// Whether this is a wait that ends by a timeout, by the rules of the filter.
    pub(crate) fn is_timed_wait(&self) -> bool {
        let argument = |index: u8| self.args[usize::from(index)];
        if self.nr == RESTART_SYSCALL {
            return true;
        }
        LOOKED_AT.iter().any(|(nr, stop)| {
            *nr == self.nr
                && match stop {
                    Stop::Always => matches!(self.nr, NANOSLEEP | CLOCK_NANOSLEEP),
                    Stop::Pointer(index) => argument(*index) != 0,
                    // The kernel takes the lower half as a signed number.
                    Stop::Positive(index) => argument(*index) as i32 > 0,
                    Stop::Futex => {
                        argument(3) != 0 && FUTEX_WAITS.contains(&self.futex_operation())
                    }
                    Stop::Clock | Stop::SocketTimeout | Stop::Refuse => false,
                }
        })
    }

    /// The futex operation without its flags.
    pub(crate) fn futex_operation(&self) -> u32 {
        self.args[1] as u32 & FUTEX_OPERATION
    }

    /// Whether it is known what a thread that sleeps in this call waits for.
    pub(crate) fn is_known_wait(&self) -> bool {
        WAITS_FOR_EVENTS.contains(&self.nr) || self.always_sleeps() || self.is_timed_wait()
    }

    /// Whether a thread that is blocked in this call waits for something to arrive.
    /// A futex is none of these: nobody can tell who is to wake it.
    pub(crate) fn waits_for_arrivals(&self) -> bool {
        matches!(
            self.nr,
            POLL | PPOLL
                | SELECT
                | PSELECT6
                | EPOLL_WAIT
                | EPOLL_PWAIT
                | EPOLL_PWAIT2
                | READ
                | READV
                | ACCEPT
                | ACCEPT4
                | RECVFROM
                | RECVMSG
                | RECVMMSG
        )
    }

    /// Whether a thread that is blocked in this call waits for an event of any
    /// kind, with a timeout or without.
    fn always_sleeps(&self) -> bool {
        matches!(
            self.nr,
            FUTEX
                | POLL
                | PPOLL
                | SELECT
                | PSELECT6
                | EPOLL_WAIT
                | EPOLL_PWAIT
                | EPOLL_PWAIT2
                | NANOSLEEP
                | CLOCK_NANOSLEEP
                | WAIT4
                | WAITID
        )
    }
}
