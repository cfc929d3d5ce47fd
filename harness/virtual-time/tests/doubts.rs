//! Nothing is silent: what makes a run doubtful is told by its name.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use support::{CLIENT, Ran, can_trace, launcher, run, run_in, run_with, within};
use virtual_time::{Doubt, Note, Options, Tracer, VirtualTime};

fn doubts(ran: &Ran) -> Vec<Doubt> {
    ran.record
        .doubts
        .iter()
        .map(|doubt| doubt.what.clone())
        .collect()
}

fn notes(ran: &Ran) -> Vec<Note> {
    ran.record.notes.iter().map(|note| note.what).collect()
}

#[test]
fn a_timed_call_that_is_not_understood() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "recvmmsg"]);
    assert_eq!(
        doubts(&ran),
        [Doubt::UnhandledCall("recvmmsg".to_owned())],
        "{ran:#?}"
    );
    assert!(!ran.record.is_trustworthy());
}

#[test]
fn a_posix_timer_is_noted_and_a_long_one_doubtful() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "posix-timer", "50"]).checked();
    assert_eq!(notes(&ran), [Note::ShortPosixTimerIsReal]);
    let ran = run(&[CLIENT, "posix-timer", "200"]);
    assert_eq!(doubts(&ran), [Doubt::LongPosixTimer]);
}

#[test]
fn calls_by_the_numbers_of_another_architecture() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "thirty-two-bits"]);
    // Where the kernel was built without that architecture the program dies.
    if ran.output.status.success() {
        assert_eq!(doubts(&ran), [Doubt::ForeignAbi]);
    } else {
        println!("skipped: this kernel has no 32-bit calls");
    }
}

#[test]
fn a_sleep_of_which_it_is_not_known_what_it_waits_for() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "linger"]);
    assert_eq!(
        doubts(&ran),
        [Doubt::UnknownWait("close".to_owned())],
        "{ran:#?}"
    );
}

#[test]
fn a_client_that_is_stopped_by_a_signal_is_noted_and_waits_for_the_next_one() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "stopped"]).checked();
    assert_eq!(notes(&ran), [Note::StoppedByJobControl]);
    within(ran.real, 0.0, 45.0);
}

#[test]
fn a_client_that_never_rests() {
    if !can_trace() {
        return;
    }
    let mut options = Options::default();
    options.spin_after = Duration::from_secs(1);
    let ran = run_with(options, &[CLIENT, "spin"]);
    assert_eq!(doubts(&ran), [Doubt::Spin]);
    assert!(!ran.record.is_stuck());
}

#[test]
fn servers_that_are_busy_without_end_are_not_the_clients_fault() {
    if !can_trace() {
        return;
    }
    let mut options = Options::default();
    options.spin_after = Duration::from_millis(300);
    let time = VirtualTime::begin();
    let busy = time.busy();
    let ran = run_in(&time, options, &[CLIENT, "sleep", "1"]);
    drop(busy);
    assert_eq!(doubts(&ran), [Doubt::ServersNeverQuiet]);
    within(ran.real, 1.0, 45.0);
}

/// Found by a million requests, each of which had the servers wait for the kernel:
/// some vote was held at every look for twenty seconds.
#[test]
fn servers_that_are_busy_at_every_look_but_get_on_are_no_doubt() {
    if !can_trace() {
        return;
    }
    let mut options = Options::default();
    options.spin_after = Duration::from_secs(1);
    let time = VirtualTime::begin();
    let at_work = Arc::new(AtomicBool::new(true));
    let (clock, goes_on) = (time.clone(), at_work.clone());
    let servers = std::thread::spawn(move || {
        let mut busy = clock.busy();
        while goes_on.load(Ordering::SeqCst) {
            let next = clock.busy();
            drop(std::mem::replace(&mut busy, next));
            std::thread::yield_now();
        }
    });
    let ran = run_in(&time, options, &[CLIENT, "sleep", "3"]);
    at_work.store(false, Ordering::SeqCst);
    servers.join().unwrap();
    assert_eq!(doubts(&ran), []);
    within(ran.real, 3.0, 45.0);
}

#[test]
fn a_client_that_waits_for_nothing_hangs_and_is_told_at_once() {
    if !can_trace() {
        return;
    }
    let mut options = Options::default();
    options.stuck_after = Duration::from_millis(500);
    let (tell, told) = mpsc::channel();
    let doubtful = move |doubt: &Doubt| tell.send(doubt.clone()).unwrap();
    let tracer = Tracer::start(VirtualTime::begin(), options, doubtful).unwrap();
    let mut launcher = launcher(&[CLIENT, "hang"], &tracer).spawn().unwrap();
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(Doubt::Stuck));
    let record = tracer.finish();
    // The tracer has killed it.
    assert!(!launcher.wait().unwrap().success());
    assert!(record.is_stuck() && record.is_trustworthy());
}

#[test]
fn a_program_that_does_not_exist_never_enters() {
    if !can_trace() {
        return;
    }
    let tracer = Tracer::start(VirtualTime::begin(), Options::default(), |_| {}).unwrap();
    let mut launcher = launcher(&["/no/such/program"], &tracer).spawn().unwrap();
    assert_eq!(launcher.wait().unwrap().code(), Some(127));
    // It did come to the door, but is no program.
    assert_eq!(tracer.wait_for_entries(1).len(), 1);
    assert_eq!(tracer.finish().doubts, []);
}

fn seccomp_filters() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let filters = status
        .lines()
        .find_map(|line| line.strip_prefix("Seccomp_filters:"));
    filters.unwrap().trim().parse().unwrap()
}

#[test]
fn where_ptrace_is_denied_the_program_runs_untraced_and_the_reason_is_told() {
    // A container may have filters of its own.
    let filters = format!("Seccomp_filters:\t{}", seccomp_filters() + 1);
    let script = format!("grep -qx '{filters}' /proc/self/status && exit 42");
    let mut tracing = Command::new(CLIENT)
        .args(["trace-denied", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(tracing.stdin.take());
    let output = tracing.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let why = "the system does not let this process trace the programs that it starts (ptrace): Operation not permitted (os error 1)";
    assert_eq!(told, format!("probe: {why}\nrefused: {why}\n"));
    // It ran to its own end, with no filter but the one that denies.
    assert_eq!(output.status.code(), Some(42));
}

#[test]
fn virtual_time_works_where_a_program_may_be_traced() {
    let asked = Command::new(CLIENT).arg("may-be-traced").status().unwrap();
    assert_eq!(virtual_time::probe().is_ok(), asked.success());
}

#[test]
fn it_works_for_an_ordinary_user() {
    if !can_trace() {
        return;
    }
    if !rustix::process::getuid().is_root() {
        println!("skipped: the tests run as an ordinary user already");
        return;
    }
    // The user must reach the program.
    let folder = std::env::temp_dir().join(format!("virtual-time-user-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("client");
    std::fs::copy(CLIENT, &program).unwrap();
    let program = program.to_str().unwrap();
    let nobody = [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ];
    let tracing = Command::new("setpriv")
        .args(nobody)
        .args([program, "trace", program, "sleep", "3600"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    if let Ok(mut tracing) = tracing {
        let mut line = String::new();
        BufReader::new(tracing.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert!(line.starts_with("traced "), "{line}");
        tracing.stdin.take().unwrap().write_all(b"x").unwrap();
        assert!(tracing.wait().unwrap().success());
    } else {
        println!("skipped: setpriv is not installed here");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
