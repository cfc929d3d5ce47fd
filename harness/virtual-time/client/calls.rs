//! Every timed call, one after the other. Each prints a line: its name, the
//! seconds that it should take, those that passed by the monotonic clock and by
//! the wall clock, and what is wrong with its result, or `ok`.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime};

use crate::raw::{
    ALARMS, after, call, catch_alarms, clock, fork, timespec, timeval, to, to_mut, wait,
};

const MINUTE: Duration = Duration::from_secs(60);
const EINTR: i64 = -(libc::EINTR as i64);
const EAGAIN: i64 = -(libc::EAGAIN as i64);
const ETIMEDOUT: i64 = -(libc::ETIMEDOUT as i64);

/// Runs one call.
fn timed(name: &str, seconds: f64, run: impl FnOnce() -> Result<(), String>) {
    let (began, wall) = (Instant::now(), SystemTime::now());
    let result = run();
    let (mono, wall) = (began.elapsed(), wall.elapsed().unwrap());
    let result = result.err().unwrap_or_else(|| "ok".to_owned());
    println!(
        "{name}\t{seconds}\t{}\t{}\t{result}",
        mono.as_secs_f64(),
        wall.as_secs_f64()
    );
}

fn is<T: PartialEq + std::fmt::Debug>(seen: T, wanted: T) -> Result<(), String> {
    if seen == wanted {
        Ok(())
    } else {
        Err(format!("{seen:?} where {wanted:?} was due"))
    }
}

fn usize_of(fd: RawFd) -> usize {
    usize::try_from(fd).unwrap()
}

pub(crate) fn all() -> ExitCode {
    let (pipe, _writer) = std::io::pipe().unwrap();
    let pipe = pipe.as_raw_fd();
    clocks();
    sets(pipe);
    polls(pipe);
    epolls(pipe);
    sleeps();
    futexes();
    timerfds();
    alarms(pipe);
    sockets();
    signals();
    processes();
    threads();
    refused();
    ExitCode::SUCCESS
}

/// The clocks of the library and of the kernel agree.
fn clocks() {
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

fn sets(pipe: RawFd) {
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

fn polls(pipe: RawFd) {
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

fn epolls(pipe: RawFd) {
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

fn sleeps() {
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

fn futexes() {
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

fn timerfds() {
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

fn alarms(pipe: RawFd) {
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

fn sockets() {
    let timed_out = |result: std::io::Result<usize>| {
        is(
            result.map_err(|error| error.kind()),
            Err(ErrorKind::WouldBlock),
        )
    };
    let (mut ours, _theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(MINUTE)).unwrap();
    ours.set_write_timeout(Some(MINUTE)).unwrap();
    timed("SO_RCVTIMEO", 60.0, || timed_out(ours.read(&mut [0])));
    timed("SO_RCVTIMEO again", 60.0, || timed_out(ours.read(&mut [0])));
    // The first time some bytes went, which is what it then tells.
    timed("SO_SNDTIMEO", 60.0, || {
        let bytes = vec![0; 1 << 22];
        ours.set_nonblocking(true).unwrap();
        while ours.write(&bytes).is_ok() {}
        ours.set_nonblocking(false).unwrap();
        timed_out(ours.write(&bytes))
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    timed("SO_RCVTIMEO of accept", 60.0, || {
        let (level, option) = (libc::SOL_SOCKET as usize, libc::SO_RCVTIMEO as usize);
        let time = timeval(MINUTE);
        let listener = usize_of(listener.as_raw_fd());
        is(
            call(
                libc::SYS_setsockopt,
                &[listener, level, option, to(&time), 16],
            ),
            0,
        )?;
        is(call(libc::SYS_accept, &[listener, 0, 0]), EAGAIN)
    });
    timed("SO_RCVTIMEO that starts anew with each read", 80.0, || {
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.set_read_timeout(Some(MINUTE)).unwrap();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(20));
            server.write_all(b"x").unwrap();
            server
        });
        is(client.read(&mut [0]).ok(), Some(1))?;
        let _server = other.join().unwrap();
        timed_out(client.read(&mut [0]))
    });
}

fn signals() {
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

fn processes() {
    timed("a fork sleeps", 30.0, || {
        let began = Instant::now();
        let child = fork(|| {
            std::thread::sleep(Duration::from_secs(30));
            began.elapsed().as_secs() == 30
        });
        is(wait(child), true)
    });
    timed("a shell sleeps", 42.0, || {
        let script = "sleep 25; a=$(date +%s); sleep 17; b=$(date +%s); [ $((b-a)) = 17 ]";
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

fn threads() {
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
        is((first.as_secs_f64() * 10.0).round(), 35.0)
    });
    timed("real work takes real time", 0.05, || {
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        Ok(())
    });
}

fn refused() {
    timed("io_uring is unknown", 0.0, || {
        let mut parameters = [0_u64; 32];
        is(
            call(libc::SYS_io_uring_setup, &[8, to_mut(&mut parameters)]),
            -i64::from(libc::ENOSYS),
        )
    });
}
