//! Programs of which a tracer has something to tell.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::raw::{call, timespec, to, to_mut, wait};

pub(crate) fn by_name(name: &str, args: &[String]) -> ExitCode {
    match name {
        "nothing" => {}
        "sleep" => std::thread::sleep(Duration::from_secs(args[0].parse().unwrap())),
        "hang" => hang(),
        "spin" => spin(),
        "recvmmsg" => recvmmsg(),
        "posix-timer" => posix_timer(args[0].parse().unwrap()),
        "thirty-two-bits" => thirty_two_bits(),
        "poll-loop" => poll_loop(&args[0]),
        "leave-a-child" => leave_a_child(),
        "signal-in-wait" => signal_in_wait(),
        "linger" => linger(),
        "held-back" => held_back(&args[0]),
        "stopped" => stopped(),
        "exec-from-a-thread" => exec_from_a_thread(),
        "first-thread-ends" => first_thread_ends(),
        "pauses-of-a-housekeeper" => pauses_of_a_housekeeper(),
        "held-by-its-child" => held_by_its_child(),
        other => {
            eprintln_unknown(other);
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "the test that asked wrongly shows it")]
fn eprintln_unknown(name: &str) {
    eprintln!("there is no role `{name}`");
}

/// Waits for a connection that nobody makes.
fn hang() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _ = listener.accept();
}

fn spin() {
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// A wait that no tracer of ours knows how to end.
fn recvmmsg() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Also from inside of the call it stays for 200 ms only.
    let time = timespec(Duration::from_millis(200));
    socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
    let mut byte = 0_u8;
    let mut part = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // SAFETY: all zeroes is a valid value.
    let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
    message.msg_hdr.msg_iov = &raw mut part;
    message.msg_hdr.msg_iovlen = 1;
    let fd = usize::try_from(socket.as_raw_fd()).unwrap();
    assert_eq!(
        call(
            libc::SYS_recvmmsg,
            &[fd, to_mut(&mut message), 1, 0, to(&time)]
        ),
        1
    );
}

fn posix_timer(millis: u64) {
    let mut timer = 0_i32;
    // SIGEV_NONE, in a struct of 64 bytes.
    let mut event = [0_u32; 16];
    event[3] = 1;
    assert_eq!(
        call(libc::SYS_timer_create, &[1, to(&event), to_mut(&mut timer)]),
        0
    );
    let setting = libc::itimerspec {
        it_interval: timespec(Duration::ZERO),
        it_value: timespec(Duration::from_millis(millis)),
    };
    let timer = usize::try_from(timer).unwrap();
    assert_eq!(
        call(libc::SYS_timer_settime, &[timer, 0, to(&setting), 0]),
        0
    );
}

/// Asks for its process id by the numbers of the 32-bit architecture.
fn thirty_two_bits() {
    let result: u64;
    // SAFETY: getpid touches nothing but the register of its result.
    unsafe {
        std::arch::asm!("int 0x80", inlateout("rax") 20_u64 => result);
    }
    assert!(result > 0);
}

/// Waits in polls of this many milliseconds for a minute.
fn poll_loop(millis: &str) {
    let millis: usize = millis.parse().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        assert_eq!(call(libc::SYS_poll, &[0, 0, millis]), 0);
    }
}

/// Ends before what it has started.
#[expect(clippy::zombie_processes, reason = "that is what it is for")]
fn leave_a_child() {
    // It holds nothing that anybody waits for.
    let mut child = Command::new("sleep");
    child.arg("1000000").stdin(Stdio::null());
    child.stdout(Stdio::null()).stderr(Stdio::null());
    let child = child.spawn().unwrap();
    println!("{}", child.id());
}

/// A signal with a handler ends a wait early, at its virtual time.
fn signal_in_wait() {
    crate::raw::catch_alarms();
    let began = Instant::now();
    call(libc::SYS_alarm, &[10]);
    let result = call(libc::SYS_poll, &[0, 0, 60_000]);
    assert_eq!(result, -i64::from(libc::EINTR));
    assert_eq!(began.elapsed().as_secs(), 10);
    let result = call(libc::SYS_poll, &[0, 0, 60_000]);
    assert_eq!(result, 0);
    assert_eq!(began.elapsed().as_secs(), 70);
}

/// Closes a socket whose bytes nobody takes, and waits for that for a second.
fn linger() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let _never_read = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    while stream.write(&[0; 1 << 16]).is_ok() {}
    stream.set_nonblocking(false).unwrap();
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 1,
    };
    let (fd, level) = (
        usize::try_from(stream.as_raw_fd()).unwrap(),
        libc::SOL_SOCKET as usize,
    );
    let option = [
        fd,
        level,
        libc::SO_LINGER as usize,
        to(&linger),
        size_of_val(&linger),
    ];
    assert_eq!(call(libc::SYS_setsockopt, &option), 0);
    drop(stream);
}

/// Asks again and again, each time in two writes of which the kernel holds the
/// second one back until the first was acknowledged; gives up after a second.
fn held_back(address: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    for _ in 0..10 {
        stream.write_all(b"a").unwrap();
        stream.write_all(b"b").unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
}

/// Is stopped by a signal, and goes on after ten seconds of another process.
fn stopped() {
    let began = Instant::now();
    let own = std::process::id();
    let script = format!("sleep 10; kill -CONT {own}");
    let mut other = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    assert_eq!(
        call(libc::SYS_kill, &[own as usize, libc::SIGSTOP as usize]),
        0
    );
    assert_eq!(began.elapsed().as_secs(), 10);
    assert!(other.wait().unwrap().success());
}

/// Becomes another program by a thread that is not the first.
fn exec_from_a_thread() {
    std::thread::sleep(Duration::from_secs(10));
    let thread = std::thread::spawn(|| Command::new("sleep").arg("60").exec());
    let _ = thread.join();
}

/// Its first thread ends long before the process does.
fn first_thread_ends() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(60));
        std::process::exit(0);
    });
    call(libc::SYS_exit, &[0]);
}

/// Starts a process as vfork does, and is held until that ends after a minute.
fn held_by_its_child() {
    let flags = usize::try_from(libc::CLONE_VFORK | libc::SIGCHLD).unwrap();
    let child = call(libc::SYS_clone, &[flags, 0, 0, 0, 0]);
    if child == 0 {
        std::thread::sleep(Duration::from_secs(60));
        std::process::exit(0);
    }
    std::thread::sleep(Duration::from_secs(10));
    assert!(wait(i32::try_from(child).unwrap()));
}

/// Waits without a limit for a thread that makes thirty pauses, beside one that
/// sleeps for a minute.
fn pauses_of_a_housekeeper() {
    let _sleeper = std::thread::spawn(|| std::thread::sleep(Duration::from_secs(60)));
    let pauses = || (0..30).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    let housekeeper = std::thread::Builder::new().name("housekeeper".to_owned());
    housekeeper.spawn(pauses).unwrap().join().unwrap();
}
