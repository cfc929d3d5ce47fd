//! Every timed call takes its true time, and returns what it should.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use support::{CLIENT, run, within};

#[test]
fn every_timed_call_takes_its_time_and_returns_what_it_should() {
    let ran = run(&[CLIENT, "calls"]).checked();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in ran.stdout().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<f64>().unwrap();
        // These take real work, which takes longer on a busy machine.
        let is_work = fields[0].starts_with("a shell") || fields[0] == "many short sleeps";
        let late = if is_work { 1.0 } else { 0.1 };
        let is_right = |seen: f64| (number(1) - 0.005..number(1) + late).contains(&seen);
        count += 1;
        if fields[4] != "ok" || !is_right(number(2)) || !is_right(number(3)) {
            wrong.push(line.to_owned());
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(count, 45, "{}", ran.stdout());
    within(ran.real, 0.0, 20.0);
}

#[test]
fn a_program_that_reads_clocks_in_many_threads_and_processes_sees_one_time() {
    let ran = run(&[CLIENT, "consistent"]).checked();
    assert_eq!(ran.stdout(), "consistent\n");
    within(ran.real, 0.0, 20.0);
    within(ran.virtual_time, 670.0, 690.0);
}
