//! Cells with several processes of one client.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::run::{Client, run_cells};
use scenarios::evidence::{ClientEvent, Entry, Event};
use scenarios::plan::Plan;
use scenarios::verdict::{EndedBy, Outcome, Verdict};
use support::cells::{adapter, call, job, options, plan};
use support::{eventually, is_alive, pids_in, wirefault};
use tempfile::TempDir;

/// One call for each process.
fn fleet(processes: u32) -> Plan {
    Plan {
        calls: (1..=processes).map(call).collect(),
        fleet: processes,
        ..plan()
    }
}

struct Ran {
    done: harness::run::CellDone,
    entries: Vec<Entry>,
    folder: PathBuf,
    run: TempDir,
}

impl Ran {
    /// In real time, or in virtual time.
    fn of(plan: Plan, client: Client, real: bool) -> Self {
        let run = TempDir::new().unwrap();
        let mut options = options(run.path());
        if !real {
            options.real_time = None;
        }
        let jobs = vec![job("cell", plan, client)];
        let mut done = run_cells(jobs, &options, &mut |_| {}).unwrap();
        let folder = run.path().join("cells/cell");
        Self {
            done: done.remove(0),
            entries: harness::cell::evidence::read(&folder.join("events.jsonl")).unwrap(),
            folder,
            run,
        }
    }

    /// What was seen of the client, with the process and the time.
    fn client(&self) -> impl Iterator<Item = (u32, u64, &ClientEvent)> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Client(event) => Some((entry.process, entry.at_us, event)),
            Event::Server(_) => None,
        })
    }

    fn processes(&self, wanted: impl Fn(&ClientEvent) -> bool) -> Vec<u32> {
        let mut all: Vec<u32> = self
            .client()
            .filter(|(_, _, event)| wanted(event))
            .map(|(process, ..)| process)
            .collect();
        all.sort_unstable();
        all
    }
}

fn reference() -> Client {
    adapter(&[&wirefault().to_string_lossy(), "__client", "reference"])
}

/// A client in the shell's language, which knows the number of its call as `$id`.
fn shell(does: &str) -> Client {
    let script =
        format!(r#"read -r work; id=$(echo "$work" | sed 's/.*"id":\([0-9]*\).*/\1/'); {does}"#);
    adapter(&["/bin/sh", "-c", &script])
}

#[test]
fn every_process_makes_its_calls_and_all_begin_together() {
    for real in [true, false] {
        let ran = Ran::of(fleet(5), reference(), real);
        assert_eq!(
            ran.done.verdict.verdict,
            Verdict::Pass,
            "{:?}",
            ran.done.verdict
        );
        assert_eq!(ran.done.verdict.delivered["api"], 5);
        assert_eq!(ran.done.verdict.outcome, Outcome::Success);
        assert_eq!(ran.done.verdict.ended_by, Some(EndedBy::Exit));
        let each = [1, 2, 3, 4, 5];
        let reports = |event: &ClientEvent| matches!(event, ClientEvent::Report(_));
        assert_eq!(ran.processes(reports), each);
        assert_eq!(
            ran.processes(|event| matches!(event, ClientEvent::Exited { .. })),
            each
        );
        let own = ran.client().filter_map(|(process, _, event)| match event {
            ClientEvent::Report(report) => Some((process, report.call)),
            _ => None,
        });
        assert!(own.into_iter().all(|(process, call)| process == call));
        let spawned = ran.client().filter_map(|(_, at, event)| {
            matches!(event, ClientEvent::Spawned { .. }).then_some(at)
        });
        let last = spawned.max().unwrap();
        let work: Vec<u64> = ran
            .client()
            .filter_map(|(_, at, event)| (*event == ClientEvent::Work).then_some(at))
            .collect();
        assert_eq!(work.len(), 5);
        assert!(
            work.iter().all(|at| *at == work[0] && *at >= last),
            "{work:?} {last}"
        );
    }
}

#[test]
fn each_process_has_its_own_files_and_no_folder_stays() {
    let ran = Ran::of(fleet(3), shell("echo $id > own; pwd; exec >&2; pwd"), true);
    for (process, name) in [(1, "scratch"), (2, "scratch-2"), (3, "scratch-3")] {
        let stdout = if process == 1 {
            "stdout".to_owned()
        } else {
            format!("stdout-{process}")
        };
        let printed = std::fs::read_to_string(ran.folder.join(stdout)).unwrap();
        assert!(
            printed.trim_end().ends_with(&format!("/{name}")),
            "{printed}"
        );
        assert!(!ran.folder.join(name).exists());
    }
}

/// The others have reported, and wait to be told to finish, which is not before the
/// harness knows of that end.
#[test]
fn a_process_that_ends_without_a_report_has_crashed_whatever_the_others_do() {
    let does = r#"test $id = 2 && exit 3
        printf '{"report":{"call":%d,"shown":{"held":{}}}}\n' $id; read -r finish"#;
    for real in [true, false] {
        let ran = Ran::of(fleet(3), shell(does), real);
        let verdict = &ran.done.verdict;
        let outcomes: Vec<Outcome> = verdict.calls.iter().map(|call| call.outcome).collect();
        assert_eq!(outcomes, [Outcome::Held, Outcome::Crashed, Outcome::Held]);
        assert!(
            verdict.calls[1].shown.contains("exit code 3"),
            "{verdict:?}"
        );
        assert_eq!(verdict.ended_by, Some(EndedBy::Finish));
        assert_eq!(
            ran.processes(|event| *event == ClientEvent::FinishSent),
            [1, 3]
        );
    }
}

#[test]
fn a_process_that_hangs_does_not_hide_that_another_crashed() {
    let does = "test $id = 2 && exit 3; sleep 1000";
    let case = Plan {
        deadline: Duration::from_secs(2),
        ..fleet(3)
    };
    let ran = Ran::of(case, shell(does), false);
    let calls = ran.done.verdict.calls.iter();
    let outcomes: Vec<Outcome> = calls.map(|call| call.outcome).collect();
    assert_eq!(outcomes, [Outcome::Hung, Outcome::Crashed, Outcome::Hung]);
    assert_eq!(ran.done.verdict.ended_by, Some(EndedBy::Deadline));
}

/// Every process of the fleet writes its own id and that of a daemon.
const STUBBORN: &str = r#"trap '' TERM HUP INT; echo $$ >> ../pids
    setsid sh -c 'trap "" TERM HUP; echo $$ >> ../pids; sleep 1000' &
    sleep 1000"#;

fn none_lives(pids: &Path) {
    let all = pids_in(pids);
    assert!(all.len() >= 8, "{all:?}");
    eventually("the end of all processes", || {
        (!all.iter().any(|pid| is_alive(*pid))).then_some(())
    });
}

#[test]
fn at_the_deadline_nothing_of_any_process_is_left() {
    let case = Plan {
        deadline: Duration::from_secs(2),
        ..fleet(4)
    };
    let ran = Ran::of(case, shell(STUBBORN), true);
    assert_eq!(ran.done.verdict.ended_by, Some(EndedBy::Deadline));
    none_lives(&ran.folder.join("pids"));
}

#[test]
fn an_interrupt_ends_every_process() {
    let run = TempDir::new().unwrap();
    let options = options(run.path());
    let pids = run.path().join("cells/cell/pids");
    let (interrupt, there) = (options.interrupt.clone(), pids.clone());
    let raiser = std::thread::spawn(move || {
        eventually("all processes", || {
            (pids_in(&there).len() >= 8).then_some(())
        });
        interrupt.raise();
    });
    let jobs = vec![job("cell", fleet(4), shell(STUBBORN))];
    let done = run_cells(jobs, &options, &mut |_| {}).unwrap();
    assert!(done.is_empty());
    raiser.join().unwrap();
    none_lives(&pids);
}

#[test]
fn a_program_that_is_not_there_ends_the_whole_fleet() {
    let ran = Ran::of(fleet(3), adapter(&["/no/such/program"]), true);
    assert_eq!(ran.done.verdict.verdict, Verdict::Skipped);
    drop(ran.run);
}

#[test]
fn a_launcher_that_is_killed_ends_the_whole_fleet() {
    let does = "echo $$ >> ../pids; test $id = 2 && sleep 1 && kill -KILL $PPID; sleep 1000";
    let ran = Ran::of(fleet(3), shell(does), true);
    assert_eq!(ran.done.verdict.verdict, Verdict::Error);
    let all = pids_in(&ran.folder.join("pids"));
    assert_eq!(all.len(), 3);
    assert!(!all.iter().any(|pid| is_alive(*pid)));
}
