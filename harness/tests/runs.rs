//! Runs of many cells: order, slots, interrupts, and a harness that is killed.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod needs;
mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use harness::run::{Interrupt, RunEvent, run_cells};
use rustix::process::{Pid, Signal, kill_process};
use scenarios::evidence::{ClientEvent, Event};
use scenarios::verdict::Verdict;
use scripted_servers::clock::RealClock;
use scripted_servers::event::What;
use support::cells::{adapter, job, odd, options, plan};
use support::{eventually, is_alive};
use tempfile::TempDir;

fn ids(events: &[RunEvent]) -> (Vec<String>, Vec<String>) {
    let (mut started, mut finished) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            RunEvent::Started { id } => started.push(id.clone()),
            RunEvent::Finished { id, .. } => finished.push(id.clone()),
            RunEvent::Interrupted { .. } => {}
        }
    }
    (started, finished)
}

#[test]
fn results_come_in_the_order_of_the_jobs_whoever_ends_first() {
    let run = TempDir::new().unwrap();
    let slow = adapter(&["sh", "-c", "sleep 0.5"]);
    let jobs = vec![
        job("slow", plan(), slow),
        job("quick-1", plan(), odd("good-then-exit")),
        job("quick-2", plan(), odd("good-then-exit")),
    ];
    let mut events = Vec::new();
    let done = run_cells(jobs, &options(run.path()), &mut |event| events.push(event)).unwrap();
    let order: Vec<&str> = done.iter().map(|done| done.id.as_str()).collect();
    assert_eq!(order, ["slow", "quick-1", "quick-2"]);
    let (started, finished) = ids(&events);
    assert_eq!(started, ["slow", "quick-1", "quick-2"]);
    assert_eq!(finished.last().map(String::as_str), Some("slow"));
}

#[test]
fn a_client_that_waits_gives_its_slot_to_the_next_cell() {
    let run = TempDir::new().unwrap();
    let mut plan = plan();
    plan.deadline = Duration::from_secs(3);
    let jobs = vec![
        job("idle", plan.clone(), odd("idle")),
        // Connected, and then deaf: it waits as well.
        job("connected", plan.clone(), odd("deaf-to-finish")),
        job("last", plan, odd("idle")),
    ];
    let mut options = options(run.path());
    options.jobs = 1;
    let mut events = Vec::new();
    run_cells(jobs, &options, &mut |event| events.push(event)).unwrap();
    assert!(
        matches!(
            &events[..3],
            [
                RunEvent::Started { .. },
                RunEvent::Started { .. },
                RunEvent::Started { .. }
            ]
        ),
        "{events:?}"
    );
}

#[test]
fn a_client_that_keeps_a_processor_busy_keeps_its_slot() {
    let run = TempDir::new().unwrap();
    let mut plan = plan();
    plan.deadline = Duration::from_millis(800);
    let busy = adapter(&["sh", "-c", "while :; do :; done"]);
    let jobs = vec![
        job("one", plan.clone(), busy.clone()),
        job("two", plan, busy),
    ];
    let mut options = options(run.path());
    options.jobs = 1;
    let clock = RealClock::start();
    let mut starts = Vec::new();
    run_cells(jobs, &options, &mut |event| {
        if matches!(event, RunEvent::Started { .. }) {
            starts.push(clock.now());
        }
    })
    .unwrap();
    assert!(
        starts[1] - starts[0] >= Duration::from_millis(800),
        "{starts:?}"
    );
}

#[test]
fn no_more_cells_are_under_way_than_may_wait() {
    let run = TempDir::new().unwrap();
    let jobs = (0..6)
        .map(|n| job(&format!("cell-{n}"), plan(), odd("good-then-exit")))
        .collect();
    let mut options = options(run.path());
    options.jobs = 2;
    options.waiting_per_slot = 1;
    let (mut under_way, mut most) = (0, 0);
    run_cells(jobs, &options, &mut |event| {
        match event {
            RunEvent::Started { .. } => under_way += 1,
            RunEvent::Finished { .. } => under_way -= 1,
            RunEvent::Interrupted { .. } => {}
        }
        most = most.max(under_way);
    })
    .unwrap();
    assert_eq!((under_way, most), (0, 2));
}

#[test]
fn an_interrupt_stops_the_run_and_returns_what_is_done() {
    let run = TempDir::new().unwrap();
    let jobs = vec![
        job("done", plan(), odd("good-then-exit")),
        job("running", plan(), odd("idle")),
        job("never", plan(), odd("good-then-exit")),
    ];
    let mut options = options(run.path());
    options.jobs = 2;
    options.waiting_per_slot = 1;
    let interrupt = options.interrupt.clone();
    let mut missing = None;
    let events_of_running = run.path().join("cells/running/events.jsonl");
    let done = run_cells(jobs, &options, &mut |event| match event {
        RunEvent::Finished { id, .. } => {
            assert_eq!(id, "done");
            wait_for_client(&events_of_running);
            interrupt.raise();
        }
        RunEvent::Interrupted { missing: count } => missing = Some(count),
        RunEvent::Started { .. } => {}
    })
    .unwrap();
    let ids: Vec<&str> = done.iter().map(|done| done.id.as_str()).collect();
    assert_eq!((ids, missing), (vec!["done"], Some(2)));
    let pid = wait_for_client(&events_of_running);
    assert!(!is_alive(pid));
    let (_, verdict) = harness::cell::judge_again(&run.path().join("cells/running")).unwrap();
    assert_eq!(verdict.verdict, Verdict::Error);
    assert!(!run.path().join("cells/never").exists());
}

/// The process id of the client whose evidence this is.
fn wait_for_client(events: &Path) -> i32 {
    eventually("the start of a client", || {
        let entries = harness::cell::evidence::read(events).ok()?;
        entries.iter().find_map(|entry| match &entry.event {
            Event::Client(ClientEvent::Spawned { pid, .. }) => i32::try_from(*pid).ok(),
            _ => None,
        })
    })
}

/// Where the run of a child of these tests goes.
const FOLDER: &str = "WIREFAULT_TEST_FOLDER";

#[test]
#[ignore = "other tests start this as a process of its own, to end it"]
fn a_run_without_end() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let mut long = plan();
    long.quiet = Duration::from_secs(20);
    let endless = job("endless", long, odd("deaf-to-finish"));
    let jobs = vec![job("ended", plan(), odd("good-then-exit")), endless];
    let mut options = options(&folder);
    options.interrupt = Interrupt::on_signals().unwrap();
    let done = run_cells(jobs, &options, &mut |_| {}).unwrap();
    let ids: Vec<&str> = done.iter().map(|done| done.id.as_str()).collect();
    assert_eq!(ids, ["ended"]);
}

/// A process that runs [`a_run_without_end`], at the point where one cell is
/// judged and the client of the other has reported.
struct EndlessRun {
    folder: TempDir,
    process: Child,
    client: i32,
}

impl EndlessRun {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_run_without_end", "--ignored"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let cells = folder.path().join("cells");
        let events = cells.join("endless/events.jsonl");
        eventually("a report", || {
            let entries = harness::cell::evidence::read(&events).ok()?;
            let is_report = |event: &Event| matches!(event, Event::Client(ClientEvent::Report(_)));
            entries
                .iter()
                .any(|entry| is_report(&entry.event))
                .then_some(())
        });
        let verdict = cells.join("ended/verdict.json");
        eventually("a verdict", || verdict.exists().then_some(()));
        Self {
            client: wait_for_client(&events),
            folder,
            process,
        }
    }

    fn cell(&self, id: &str) -> PathBuf {
        self.folder.path().join("cells").join(id)
    }

    fn signal(&mut self, signal: Signal) -> ExitStatus {
        let id = Pid::from_raw(i32::try_from(self.process.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        let status = eventually("the end of the run", || self.process.try_wait().unwrap());
        eventually("the end of the client", || {
            (!is_alive(self.client)).then_some(())
        });
        status
    }
}

#[test]
fn a_run_that_is_killed_leaves_evidence_that_can_be_judged_and_no_client() {
    let mut run = EndlessRun::start();
    assert_eq!(run.signal(Signal::KILL).code(), None);
    let entries = harness::cell::evidence::read(&run.cell("endless").join("events.jsonl")).unwrap();
    let delivered = entries.iter().filter(|entry| {
        matches!(&entry.event, Event::Server(event) if matches!(event.what, What::Delivered { .. }))
    });
    assert_eq!(delivered.count(), 1);
    let (_, verdict) = harness::cell::judge_again(&run.cell("endless")).unwrap();
    assert_eq!(verdict.delivered.get("api"), Some(&1));
    assert_eq!(verdict.ended_by, None);
    let (_, verdict) = harness::cell::judge_again(&run.cell("ended")).unwrap();
    assert_eq!(verdict.delivered.get("api"), Some(&1));
}

#[test]
fn sigterm_and_sigint_end_a_run_in_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut run = EndlessRun::start();
        assert_eq!(run.signal(signal).code(), Some(0));
        let (_, verdict) = harness::cell::judge_again(&run.cell("endless")).unwrap();
        assert_eq!(verdict.verdict, Verdict::Error);
    }
}

/// With the shipped kit, which ends the program when nothing is left to do.
const LATER_RETRY: &str = r#"
import { run } from 'KIT';
await run(async (call, limits, signal) => {
  setTimeout(() => fetch(call.url).then((answer) => answer.text()), 3000);
  return fetch(call.url, { signal });
});
"#;

#[test]
fn a_retry_of_a_node_program_three_seconds_after_its_report_is_seen() {
    if !needs::is_there("node", "a retry three seconds after the report") {
        return;
    }
    let run = TempDir::new().unwrap();
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/node/kit.mjs");
    let kit = kit.canonicalize().unwrap();
    let program = run.path().join("later-retry.mjs");
    let text = LATER_RETRY.replace("KIT", &kit.to_string_lossy());
    std::fs::write(&program, text).unwrap();
    let client = adapter(&["node", &program.to_string_lossy()]);
    let jobs = vec![job("cell", plan(), client)];
    let done = run_cells(jobs, &options(run.path()), &mut |_| {}).unwrap();
    let verdict = &done[0].verdict;
    assert_eq!(verdict.delivered.get("api"), Some(&2), "{verdict:?}");
    assert_eq!(verdict.verdict, Verdict::Fail, "{verdict:?}");
}
