//! Every timed call takes its true time, and returns what it should.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use support::{CLIENT, Ran, can_trace, run, run_with, within};
use virtual_time::{Note, Options};

#[test]
fn every_timed_call_takes_its_time_and_returns_what_it_should() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "calls"]).checked();
    assert_eq!(ran.record.notes, []);
    all_are_right(&ran);
}

#[test]
fn so_it_does_where_the_vdso_cannot_be_changed() {
    if !can_trace() {
        return;
    }
    let mut options = Options::default();
    options.change_vdso = false;
    let ran = run_with(options, &[CLIENT, "calls"]).checked();
    assert!(
        ran.record
            .notes
            .iter()
            .all(|note| note.what == Note::ClockReadsStop)
    );
    assert!(!ran.record.notes.is_empty());
    all_are_right(&ran);
}

#[test]
fn a_signal_ends_a_wait_early_and_at_its_time() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "signal-in-wait"]).checked();
    within(ran.virtual_time, 70.0, 80.0);
    within(ran.real, 0.0, 45.0);
}

#[test]
fn a_thread_that_becomes_another_program_is_followed() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "exec-from-a-thread"]).checked();
    within(ran.virtual_time, 70.0, 80.0);
    within(ran.real, 0.0, 45.0);
}

#[test]
fn a_process_whose_first_thread_has_ended_is_followed() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "first-thread-ends"]).checked();
    within(ran.virtual_time, 60.0, 70.0);
    within(ran.real, 0.0, 45.0);
}

#[test]
fn a_process_that_is_held_by_its_child_waits_as_long_as_that() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "held-by-its-child"]).checked();
    within(ran.virtual_time, 70.0, 80.0);
    within(ran.real, 0.0, 45.0);
}

#[test]
fn a_loop_of_waits_takes_its_time() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "poll-loop", "50"]).checked();
    within(ran.virtual_time, 60.0, 70.0);
    within(ran.real, 0.0, 45.0);
    assert!(
        (1000..=1210).contains(&ran.record.jumps),
        "{:?}",
        ran.record
    );
}

fn all_are_right(ran: &Ran) {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in ran.stdout().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<f64>().unwrap();
        // These do real work, or have the processors change between several, which
        // takes longer on a busy machine.
        let work = [
            "a shell",
            "a fork",
            "eight threads",
            "two threads",
            "many short",
        ];
        let is_work = work.iter().any(|name| fields[0].starts_with(name));
        let late = if is_work { 5.0 } else { 2.0 };
        let is_right = |seen: f64| (number(1) - 0.005..number(1) + late).contains(&seen);
        count += 1;
        if fields[4] != "ok" || !is_right(number(2)) || !is_right(number(3)) {
            wrong.push(line.to_owned());
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(count, 45, "{}", ran.stdout());
    within(ran.real, 0.0, 45.0);
}

#[test]
fn a_program_that_reads_clocks_in_many_threads_and_processes_sees_one_time() {
    if !can_trace() {
        return;
    }
    let ran = run(&[CLIENT, "consistent"]).checked();
    assert_eq!(ran.stdout(), "consistent\n");
    within(ran.real, 0.0, 45.0);
    within(ran.virtual_time, 670.0, 690.0);
}
