//! A client that is killed in the middle and started again.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use std::time::Duration;

use harness::run::run_cells;
use scenarios::evidence::ClientEvent;
use scenarios::moment::Moment;
use scenarios::plan::{Crash, Plan};
use scenarios::verdict::{EndedBy, Verdict};
use support::cells::{adapter, job, options, plan, run_one};
use support::{eventually, is_alive, pids_in};
use tempfile::TempDir;

/// One call, and a client that is killed so long after it has its work.
fn killed_after(millis: u64) -> Plan {
    Plan {
        crash: Some(Crash {
            line: 1,
            when: Moment::After(Duration::from_millis(millis)),
            restart_after: Duration::from_millis(200),
            withheld: false,
        }),
        ..plan()
    }
}

/// A shell that writes its process id into the cell's folder; the first of its lives
/// leaves a daemon and hangs.
fn shell(second_life: &str) -> harness::run::Client {
    let script = format!(
        r#"read -r work; echo $$ >> ../pids; echo "$work" >> ../works
        if test -e was-here; then {second_life}; fi
        echo mine > was-here
        trap '' TERM HUP INT
        setsid sh -c 'trap "" TERM HUP; echo $$ >> ../pids; sleep 1000' &
        sleep 1000"#
    );
    adapter(&["/bin/sh", "-c", &script])
}

const REPORTS: &str = r#"cat was-here; echo '{"report":{"call":1,"shown":{"held":{}}}}'; exit 0"#;

#[test]
fn the_next_process_has_the_same_folder_and_the_same_work() {
    let says = "cat was-here >&2; echo '{\"report\":{\"call\":1,\"shown\":{\"held\":{}}}}'; exit 0";
    let ran = run_one(killed_after(300), shell(says));
    let works = std::fs::read_to_string(ran.folder.join("works")).unwrap();
    let works: Vec<&str> = works.lines().collect();
    assert!(works.len() == 2 && works[0] == works[1], "{works:?}");
    let stderr = std::fs::read_to_string(ran.folder.join("stderr-again")).unwrap();
    assert_eq!(stderr, "mine\n");
    let order: Vec<&str> = ran
        .client()
        .into_iter()
        .filter_map(|event| match event {
            ClientEvent::Spawned { .. } => Some("spawned"),
            ClientEvent::Work => Some("work"),
            ClientEvent::CrashOrdered => Some("crash"),
            ClientEvent::Exited { killed: true, .. } => Some("killed"),
            ClientEvent::Exited { killed: false, .. } => Some("exited"),
            ClientEvent::Report(_) => Some("report"),
            _ => None,
        })
        .collect();
    assert_eq!(
        order,
        [
            "spawned", "work", "crash", "killed", "spawned", "work", "report", "exited"
        ]
    );
    assert_eq!(ran.done.verdict.ended_by, Some(EndedBy::Exit));
    let at = |wanted: fn(&ClientEvent) -> bool| {
        let mut entries = ran.entries.iter().filter_map(|entry| match &entry.event {
            scenarios::evidence::Event::Client(event) if wanted(event) => Some(entry.at_us),
            _ => None,
        });
        (entries.next().unwrap(), entries.next())
    };
    let (died, _) = at(|event| matches!(event, ClientEvent::Exited { .. }));
    let (_, again) = at(|event| matches!(event, ClientEvent::Spawned { .. }));
    assert!(again.unwrap() >= died + 190_000, "{died} {again:?}");
}

/// What the first process had started is dead before the second one is.
#[test]
fn nothing_of_the_killed_process_lives_on() {
    let check = r#"for pid in $(cat ../pids); do
        test $pid = $$ || { kill -0 $pid 2>/dev/null && echo alive >&2; }; done;
        echo '{"report":{"call":1,"shown":{"held":{}}}}'; exit 0"#;
    let ran = run_one(killed_after(300), shell(check));
    assert_eq!(
        std::fs::read_to_string(ran.folder.join("stderr-again")).unwrap(),
        ""
    );
    assert_eq!(pids_in(&ran.folder.join("pids")).len(), 3);
}

#[test]
fn the_deadline_is_that_of_the_whole_work() {
    let case = Plan {
        deadline: Duration::from_secs(2),
        ..killed_after(500)
    };
    let ran = run_one(case, shell("sleep 1000"));
    assert_eq!(ran.done.verdict.ended_by, Some(EndedBy::Deadline));
    let end = ran.entries.last().unwrap().at_us;
    assert!(end < 4_000_000, "{end}");
    let pids = pids_in(&ran.folder.join("pids"));
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_client_that_ends_before_it_can_be_killed_is_not_started_again() {
    let at_once = r#"read -r work; echo '{"report":{"call":1,"shown":{"held":{}}}}'"#;
    let ran = run_one(killed_after(5_000), adapter(&["/bin/sh", "-c", at_once]));
    let spawned = |event: &&&ClientEvent| matches!(event, ClientEvent::Spawned { .. });
    assert_eq!(ran.client().iter().filter(spawned).count(), 1);
    assert_eq!(ran.done.verdict.verdict, Verdict::Inconclusive);
}

#[test]
fn an_interrupt_between_two_lives_ends_the_cell() {
    let mut case = killed_after(300);
    case.crash.as_mut().unwrap().restart_after = Duration::from_secs(15);
    let run = TempDir::new().unwrap();
    let options = options(run.path());
    let pids = run.path().join("cells/cell/pids");
    let (interrupt, there) = (options.interrupt.clone(), pids.clone());
    let raiser = std::thread::spawn(move || {
        eventually("the first life", || {
            (pids_in(&there).len() == 2).then_some(())
        });
        eventually("its end", || {
            (!pids_in(&there).iter().any(|pid| is_alive(*pid))).then_some(())
        });
        interrupt.raise();
    });
    let done = run_cells(
        vec![job("cell", case, shell(REPORTS))],
        &options,
        &mut |_| {},
    )
    .unwrap();
    assert!(done.is_empty());
    raiser.join().unwrap();
    assert_eq!(pids_in(&pids).len(), 2, "nobody was started again");
}
