//! Clients against servers that share their virtual time.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use support::{CLIENT, can_trace, installed, run_by, run_in, within};
use virtual_time::{Busy, Options, Timeline, VirtualTime, Voter, Watched};

/// What the server does with a request.
#[derive(Clone, Copy)]
enum Answer {
    /// It waits so long in virtual time.
    After(Duration),
    /// It works so long, really.
    Work(Duration),
    /// It sends so many bytes, one each second.
    Drip(u32),
    /// It is unavailable the first time, for a minute.
    UnavailableOnce,
}

/// A server in a thread of the test's process.
struct Server {
    time: Arc<VirtualTime>,
    /// When requests came.
    requests: Arc<Mutex<Vec<Duration>>>,
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(time: &Arc<VirtualTime>, answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let requests: Arc<Mutex<Vec<Duration>>> = Arc::default();
        let (shared, over, seen) = (time.clone(), is_over.clone(), requests.clone());
        // Until the thread is listed nobody would see that it is to run.
        let starts = time.busy();
        let thread = std::thread::spawn(move || {
            let _swept = shared.sweep_this_thread();
            drop(starts);
            loop {
                let (stream, _) = listener.accept().unwrap();
                if over.load(Ordering::SeqCst) {
                    return;
                }
                serve(&shared, stream, answer, &seen);
            }
        });
        Self {
            time: time.clone(),
            requests,
            address,
            is_over,
            thread: Some(thread),
        }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            // Nobody drives time any more, and it may still wait for one.
            while !thread.is_finished() {
                self.time.advance_to(u64::MAX);
                std::thread::yield_now();
            }
            thread.join().unwrap();
        }
    }
}

fn watch(time: &Arc<VirtualTime>, stream: &TcpStream) -> Watched {
    let (own, peer) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
    time.watch(stream.as_raw_fd(), own, peer)
}

/// Blocks this thread until `at`, and gives `busy` up meanwhile: as it is looked at,
/// in a call that waits for something to arrive.
fn block_until(time: &Arc<VirtualTime>, at: Duration, busy: Busy) -> Busy {
    let (mut end, mut other) = UnixStream::pair().unwrap();
    let (give, given) = std::sync::mpsc::channel();
    let _sleeper = time.call_at(at, move |busy| {
        give.send(busy).unwrap();
        other.write_all(b"x").unwrap();
    });
    // Only now: before, there was no deadline to bound a jump.
    drop(busy);
    end.read_exact(&mut [0]).unwrap();
    given.recv().unwrap()
}

/// One connection: requests without bodies, and whole answers.
fn serve(
    time: &Arc<VirtualTime>,
    mut stream: TcpStream,
    answer: Answer,
    requests: &Mutex<Vec<Duration>>,
) {
    stream.set_nodelay(true).unwrap();
    let _watched = watch(time, &stream);
    let mut received = Vec::new();
    while !received.ends_with(b"\r\n\r\n") {
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(length) => received.extend_from_slice(&chunk[..length]),
        }
    }
    let busy = time.busy();
    requests.lock().unwrap().push(time.now());
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
    let ok = format!("{head} 2\r\n\r\nok");
    match answer {
        Answer::After(delay) => {
            let _busy = block_until(time, time.now() + delay, busy);
            let _ = stream.write_all(ok.as_bytes());
        }
        Answer::Work(length) => {
            work(length);
            let _ = stream.write_all(ok.as_bytes());
        }
        Answer::UnavailableOnce if requests.lock().unwrap().len() == 1 => {
            let unavailable = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n";
            work(Duration::from_millis(30));
            let _ = stream.write_all(unavailable.as_bytes());
        }
        Answer::UnavailableOnce => {
            let _ = stream.write_all(ok.as_bytes());
        }
        Answer::Drip(count) => {
            let mut busy = busy;
            let _ = stream.write_all(format!("{head} {count}\r\n\r\n").as_bytes());
            for _ in 0..count {
                busy = block_until(time, time.now() + Duration::from_secs(1), busy);
                if stream.write_all(b"x").is_err() {
                    return;
                }
            }
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "work that takes real time, and sleeps in it"
)]
fn work(length: Duration) {
    std::thread::sleep(length);
}

/// curl's exit code, its own measure of the time, and how often time jumped.
fn curl(time: &Arc<VirtualTime>, server: &Server, limit: &str) -> (Option<i32>, f64, u64) {
    let args = [
        "curl",
        "-s",
        "-o",
        "/dev/null",
        "-m",
        limit,
        "-w",
        "%{time_total}",
        &server.url(),
    ];
    let ran = run_in(time, Options::default(), &args);
    assert_eq!(ran.record.doubts, [], "{ran:#?}");
    (
        ran.output.status.code(),
        ran.stdout().parse().unwrap(),
        ran.record.jumps,
    )
}

#[test]
fn an_answer_after_five_seconds_is_in_time_for_a_limit_of_ten() {
    if !can_trace() {
        return;
    }
    if !installed("curl", &["--version"]) {
        return;
    }
    let time = VirtualTime::begin();
    let server = Server::start(&time, Answer::After(Duration::from_secs(5)));
    let (code, seconds, jumps) = curl(&time, &server, "10");
    assert_eq!(code, Some(0));
    assert!((5.0..9.9).contains(&seconds), "{seconds}");
    assert!(jumps >= 1, "time did not jump");
}

#[test]
fn an_answer_after_fifteen_seconds_is_too_late_for_a_limit_of_ten() {
    if !can_trace() {
        return;
    }
    if !installed("curl", &["--version"]) {
        return;
    }
    let time = VirtualTime::begin();
    let server = Server::start(&time, Answer::After(Duration::from_secs(15)));
    let (code, seconds, jumps) = curl(&time, &server, "10");
    assert_eq!(code, Some(28));
    assert!((9.99..14.9).contains(&seconds), "{seconds}");
    assert!(jumps >= 1, "time did not jump");
}

#[test]
fn a_total_limit_fires_within_a_drip_at_its_time() {
    if !can_trace() {
        return;
    }
    if !installed("curl", &["--version"]) {
        return;
    }
    let time = VirtualTime::begin();
    let server = Server::start(&time, Answer::Drip(300));
    let (code, seconds, jumps) = curl(&time, &server, "240");
    assert_eq!(code, Some(28));
    assert!((239.99..250.0).contains(&seconds), "{seconds}");
    // Each byte but those that came while somebody worked.
    assert!(jumps >= 200, "{jumps}");
}

/// Clients that give up after a second: what asks whether they are there, and
/// what comes before the URL.
const IMPATIENT: [(&str, &[&str], &[&str]); 3] = [
    ("curl", &["--version"], &["-sf", "-m", "1"]),
    (
        "python3",
        &["-c", "pass"],
        &[
            "-c",
            "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=1).read()",
        ],
    ),
    (
        "node",
        &["-e", "0"],
        &[
            "-e",
            "fetch(process.argv[1], {signal: AbortSignal.timeout(1000)}).then(r => r.text())",
        ],
    ),
];

#[test]
fn real_work_of_a_server_is_never_a_timeout_of_the_client() {
    if !can_trace() {
        return;
    }
    for (client, asked, args) in IMPATIENT {
        if !installed(client, asked) {
            continue;
        }
        for _ in 0..5 {
            let time = VirtualTime::begin();
            let server = Server::start(&time, Answer::Work(Duration::from_millis(30)));
            let url = server.url();
            let mut program = vec![client];
            program.extend(args);
            program.push(&url);
            let ran = run_in(&time, Options::default(), &program).checked();
            within(ran.virtual_time, 0.03, 10.0);
        }
    }
}

/// Keeps the processors busy for as long as it lives.
struct Spinning(Arc<AtomicBool>, Vec<JoinHandle<()>>);

impl Spinning {
    fn start(count: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let spin = |_| {
            let is_over = is_over.clone();
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..count).map(spin).collect();
        Self(is_over, threads)
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        for thread in self.1.drain(..) {
            thread.join().unwrap();
        }
    }
}

#[test]
fn retry_after_a_minute_is_a_minute_also_while_the_processors_are_busy() {
    if !can_trace() {
        return;
    }
    if !installed("curl", &["--version"]) {
        return;
    }
    let _spinning = Spinning::start(4);
    for _ in 0..20 {
        let time = VirtualTime::begin();
        let server = Server::start(&time, Answer::UnavailableOnce);
        let url = server.url();
        let args = ["curl", "-sf", "-m", "90", "--retry", "1", &url];
        let ran = run_in(&time, Options::default(), &args).checked();
        let requests = server.requests.lock().unwrap().clone();
        let [first, second] = requests[..] else {
            panic!("{ran:#?}");
        };
        // From the answer, which took 30 ms and what the processors left of them.
        within(second - first, 60.03, 63.0);
        assert!(ran.record.jumps >= 1, "{ran:#?}");
    }
}

/// A server's thread that wants memory may have to wait for the lock of the
/// allocator, held by a thread of another cell that has no processor just then. One
/// cell of some ten thousand had its time moved to the client's timeout there.
#[test]
fn a_server_that_waits_for_a_lock_is_at_work() {
    if !can_trace() {
        return;
    }
    if !installed("curl", &["--version"]) {
        return;
    }
    let time = VirtualTime::begin();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (shared, starts) = (time.clone(), time.busy());
    let wanted: Arc<Mutex<()>> = Arc::default();
    let (has_come, come) = std::sync::mpsc::channel();
    // Nobody looks at this thread.
    let (held, holds) = (wanted.clone(), std::sync::mpsc::channel());
    let holder = std::thread::spawn(move || {
        let _held = held.lock().unwrap();
        holds.0.send(()).unwrap();
        come.recv().unwrap();
        work(Duration::from_millis(100));
    });
    holds.1.recv().unwrap();
    let server = std::thread::spawn(move || {
        let _swept = shared.sweep_this_thread();
        drop(starts);
        let (mut stream, _) = listener.accept().unwrap();
        let _watched = watch(&shared, &stream);
        let _ = stream.read(&mut [0; 4096]).unwrap();
        has_come.send(()).unwrap();
        let _locked = wanted.lock().unwrap();
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
        let _ = stream.write_all(answer.as_bytes());
    });
    let ran = run_in(&time, Options::default(), &["curl", "-s", "-m", "10", &url]).checked();
    within(ran.virtual_time, 0.1, 9.0);
    holder.join().unwrap();
    server.join().unwrap();
}

#[test]
fn bytes_that_the_kernel_holds_back_are_waited_for() {
    if !can_trace() {
        return;
    }
    let time = VirtualTime::begin();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (shared, starts) = (time.clone(), time.busy());
    // It answers each two bytes with one, so that its acknowledgements are
    // delayed: they are to go with the answers.
    let server = std::thread::spawn(move || {
        let _swept = shared.sweep_this_thread();
        drop(starts);
        let (mut stream, _) = listener.accept().unwrap();
        let _watched = watch(&shared, &stream);
        let mut answered = 0;
        while stream.read_exact(&mut [0; 2]).is_ok() {
            stream.write_all(b"c").unwrap();
            answered += 1;
        }
        answered
    });
    let program = [CLIENT, "held-back", &address];
    let ran = run_in(&time, Options::default(), &program).checked();
    assert_eq!(ran.record.notes, []);
    assert_eq!(server.join().unwrap(), 10);
}

/// Answers, as the kernel could, just when the tracer has found all asleep and asks
/// for deadlines.
struct LateAnswer {
    time: Arc<VirtualTime>,
    listener: TcpListener,
    stream: Mutex<Option<TcpStream>>,
    at: Mutex<At>,
}

/// Where the tracer is in its attempt to move time.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Beginning,
    /// It has found everybody quiet, with two bytes to be answered.
    FirstLook,
    /// They have been answered with one.
    Answered,
}

impl LateAnswer {
    /// Whether two bytes have come; none without a connection.
    fn has_two(&self) -> Option<bool> {
        let mut stream = self.stream.lock().unwrap();
        if stream.is_none() {
            let accepted = self.listener.accept().ok()?.0;
            accepted.set_nonblocking(true).unwrap();
            *stream = Some(accepted);
        }
        let has = stream.as_ref()?.peek(&mut [0; 2]);
        Some(has.is_ok_and(|length| length == 2))
    }

    fn answer(&self) {
        let mut stream = self.stream.lock().unwrap();
        let stream = stream.as_mut().unwrap();
        stream.read_exact(&mut [0; 2]).unwrap();
        stream.write_all(b"c").unwrap();
    }
}

impl Voter for LateAnswer {
    fn timeline(&self) -> &Timeline {
        self.time.timeline()
    }

    fn is_quiet(&self) -> bool {
        let mut at = self.at.lock().unwrap();
        let has_two = self.has_two();
        if has_two == Some(true) {
            *at = At::FirstLook;
        }
        *at != At::Beginning || has_two.is_none()
    }

    fn votes(&self) -> u64 {
        self.time.votes()
    }

    fn next_deadline(&self) -> Option<u64> {
        let mut at = self.at.lock().unwrap();
        if *at == At::FirstLook {
            self.answer();
            *at = At::Answered;
        }
        None
    }

    fn advance_to(&self, now: u64) -> usize {
        *self.at.lock().unwrap() = At::Beginning;
        self.time.advance_to(now)
    }

    fn sockets(&self, look: &mut dyn FnMut(i32, SocketAddr, SocketAddr)) {
        self.time.sockets(look);
    }

    fn tids(&self) -> Vec<i32> {
        Vec::new()
    }
}

#[test]
fn who_is_woken_between_the_two_looks_is_not_jumped_over() {
    if !can_trace() {
        return;
    }
    let time = VirtualTime::begin();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let voter = Arc::new(LateAnswer {
        time: time.clone(),
        listener,
        stream: Mutex::default(),
        at: Mutex::new(At::Beginning),
    });
    let program = [CLIENT, "held-back", &address];
    let ran = run_by(voter, &time, Options::default(), &program).checked();
    assert_eq!(ran.record.jumps, 0, "{ran:#?}");
}
