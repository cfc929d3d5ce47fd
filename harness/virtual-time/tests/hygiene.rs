//! Nothing stays behind: no process, descriptor, thread or mapping, however a
//! run ends.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use support::{CLIENT, can_trace, launcher, run, within};
use virtual_time::{Options, Tracer, VirtualTime};

fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// How many mappings there are of each file; those without a name come and go
/// with the allocator.
fn mappings() -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for line in std::fs::read_to_string("/proc/self/maps").unwrap().lines() {
        if let Some(name) = line.split_whitespace().nth(5) {
            *all.entry(name.to_owned()).or_default() += 1;
        }
    }
    all
}

fn children() -> String {
    let own = std::process::id();
    std::fs::read_to_string(format!("/proc/self/task/{own}/children")).unwrap()
}

fn exists(pid: &str) -> bool {
    // A zombie is gone; somebody else has yet to see it.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[allow(
    clippy::disallowed_methods,
    reason = "it asks again until it is so, within a limit"
)]
fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("it never was: {what}");
}

// In one test, as what one does shows in what another counts.
#[test]
fn nothing_stays_behind() {
    if !can_trace() {
        return;
    }
    two_hundred_runs();
    an_end_before_the_clients();
    a_client_that_leaves_a_child();
    a_tracer_that_is_killed();
}

fn two_hundred_runs() {
    // What is made once is made by the first.
    run(&[CLIENT, "sleep", "60"]).checked();
    until("one thread is left", || count("/proc/self/task") <= 2);
    let before = (count("/proc/self/fd"), mappings());
    for _ in 0..200 {
        let ran = run(&[CLIENT, "sleep", "60"]).checked();
        within(ran.virtual_time, 60.0, 70.0);
    }
    until("one thread is left", || count("/proc/self/task") <= 2);
    assert_eq!((count("/proc/self/fd"), mappings()), before);
    assert_eq!(children(), "");
}

fn an_end_before_the_clients() {
    let before = count("/proc/self/fd");
    let tracer = Tracer::start(VirtualTime::begin(), Options::default(), |_| {}).unwrap();
    let mut launcher = launcher(&[CLIENT, "hang"], &tracer).spawn().unwrap();
    tracer.wait_for_entries(1);
    drop(tracer);
    assert_eq!(launcher.wait().unwrap().code(), Some(255));
    drop(launcher);
    assert_eq!(count("/proc/self/fd"), before);
}

fn a_client_that_leaves_a_child() {
    let ran = run(&[CLIENT, "leave-a-child"]);
    let pid = ran.stdout().trim().to_owned();
    assert!(!pid.is_empty(), "{ran:#?}");
    until("the child that was left is gone", || !exists(&pid));
}

fn a_tracer_that_is_killed() {
    let mut tracing = Command::new(CLIENT)
        .args(["trace", CLIENT, "hang"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(tracing.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let pid = line.trim().strip_prefix("traced ").unwrap().to_owned();
    assert!(exists(&pid));
    tracing.kill().unwrap();
    tracing.wait().unwrap();
    until("the tracee is gone", || !exists(&pid));
}
