//! Whole cells with clients that have every bad habit.

mod needs;
mod support;

use std::path::Path;
use std::time::Duration;

use scenarios::evidence::{ClientEvent, Event, Shown};
use scenarios::verdict::{EndedBy, FindingName, Verdict};
use scripted_servers::clock::RealClock;
use scripted_servers::event::What;
use support::cells::{Ran, adapter, call, job, odd, options, plan, run_one};
use support::{is_alive, pids_in};

fn ended_by(ran: &Ran) -> Option<EndedBy> {
    ran.client().into_iter().find_map(|event| match event {
        ClientEvent::End { ended_by } => Some(*ended_by),
        _ => None,
    })
}

fn reports(ran: &Ran) -> usize {
    ran.client()
        .iter()
        .filter(|event| matches!(event, ClientEvent::Report(_)))
        .count()
}

#[test]
fn a_good_client_is_told_to_finish_after_its_reports_and_a_quiet_time() {
    let ran = run_one(plan(), odd("good"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Finish));
    assert_eq!(ran.exited(), (Some(0), None, false));
    assert_eq!(ran.delivered(), 1);
    let kinds: Vec<&str> = ran
        .client()
        .into_iter()
        .map(|event| match event {
            ClientEvent::Spawned { .. } => "spawned",
            ClientEvent::Work => "work",
            ClientEvent::Report(_) => "report",
            ClientEvent::RunDelay { .. } => "run delay",
            ClientEvent::FinishSent => "finish",
            ClientEvent::Exited { .. } => "exited",
            ClientEvent::End { .. } => "end",
            _ => "other",
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "spawned",
            "work",
            "report",
            "run delay",
            "finish",
            "run delay",
            "exited",
            "end"
        ]
    );
    let time = |wanted: fn(&ClientEvent) -> bool| {
        let entry = ran
            .entries
            .iter()
            .find(|entry| matches!(&entry.event, Event::Client(event) if wanted(event)));
        entry.unwrap().at_us
    };
    let report = time(|event| matches!(event, ClientEvent::Report(_)));
    let finish = time(|event| matches!(event, ClientEvent::FinishSent));
    assert!(finish >= report + 300_000, "{report} {finish}");
    assert!(matches!(
        ran.entries.last().unwrap().event,
        Event::Client(ClientEvent::End { .. })
    ));
}

#[test]
fn a_client_that_ends_by_itself_is_left_alone() {
    let ran = run_one(plan(), odd("good-then-exit"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
    assert_eq!((ran.delivered(), reports(&ran)), (1, 1));
    assert!(!ran.client().contains(&&ClientEvent::FinishSent));
}

#[test]
fn a_client_that_still_works_after_its_report_is_left_alone() {
    let ran = run_one(plan(), odd("works-after-report"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
    assert!(!ran.client().contains(&&ClientEvent::FinishSent));
}

#[test]
fn several_calls_are_handed_over_in_one_work() {
    let mut plan = plan();
    plan.calls = (1..=3).map(call).collect();
    let ran = run_one(plan, odd("good"));
    assert_eq!((ran.delivered(), reports(&ran)), (3, 3));
}

#[test]
fn a_request_after_the_report_is_seen_before_the_client_is_told_to_finish() {
    let ran = run_one(plan(), odd("late-request"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
    assert_eq!(ran.delivered(), 2);
    let place = |wanted: fn(&Event) -> bool| {
        ran.entries
            .iter()
            .rposition(|entry| wanted(&entry.event))
            .unwrap()
    };
    let report = place(|event| matches!(event, Event::Client(ClientEvent::Report(_))));
    let last = place(
        |event| matches!(event, Event::Server(event) if matches!(event.what, What::Delivered { .. })),
    );
    assert!(report < last);
}

#[test]
fn a_request_three_seconds_after_the_report_is_seen_though_the_client_was_told_to_finish() {
    let ran = run_one(plan(), odd("late-by-three-seconds"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Finish));
    assert!(ran.client().contains(&&ClientEvent::FinishSent));
    assert_eq!(ran.exited(), (Some(0), None, false));
    assert_eq!(ran.delivered(), 2);
    let verdict = &ran.done.verdict;
    assert!(
        verdict
            .findings
            .iter()
            .any(|finding| finding.name == FindingName::DeliveredAfterClaim),
        "{verdict:?}"
    );
}

#[test]
fn a_client_that_ends_when_told_is_not_waited_for() {
    let clock = RealClock::start();
    let ran = run_one(plan(), odd("good"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Finish));
    // Far less than what a client that does not end is given.
    assert!(clock.now() < Duration::from_secs(5));
}

#[test]
fn how_long_requests_were_counted_is_a_note_where_the_harness_ended_the_cell() {
    let note = |ran: &Ran| {
        let mut notes = ran.done.verdict.notes.iter();
        notes.find(|note| note.starts_with("bounded: ")).cloned()
    };
    let told = note(&run_one(plan(), odd("good"))).unwrap();
    assert!(told.contains("told to finish, ended by itself"), "{told}");
    let mut short = plan();
    short.deadline = Duration::from_secs(1);
    let killed = note(&run_one(short.clone(), odd("deaf-to-finish"))).unwrap();
    assert!(
        killed.contains("told to finish, killed after 2."),
        "{killed}"
    );
    let hung = note(&run_one(short, odd("idle"))).unwrap();
    assert!(hung.contains("killed at the deadline"), "{hung}");
    let by_itself = run_one(plan(), odd("good-then-exit"));
    assert_eq!(note(&by_itself), None);
}

#[test]
fn a_client_that_is_deaf_to_finish_is_killed_and_the_cell_is_ended_by_finish() {
    let mut plan = plan();
    plan.deadline = Duration::from_secs(1);
    let ran = run_one(plan, odd("deaf-to-finish"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Finish));
    assert_eq!(ran.exited(), (None, Some(9), true));
}

#[test]
fn a_client_that_never_stops_is_stopped_by_the_cap() {
    let mut plan = plan();
    plan.cap = 20;
    let ran = run_one(plan, odd("for-ever"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Cap));
    assert!(ran.delivered() >= 20);
    assert_eq!(ran.exited(), (None, Some(9), true));
}

#[test]
fn a_client_that_never_stops_is_stopped_when_enough_has_come() {
    let mut plan = plan();
    plan.enough.insert("api".to_owned(), 5);
    let ran = run_one(plan, odd("for-ever"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Enough));
    assert!(ran.delivered() >= 5);
}

#[test]
fn a_client_that_never_reads_its_work_is_killed_at_the_deadline() {
    let mut plan = plan();
    plan.deadline = Duration::from_millis(700);
    // More than a pipe holds.
    plan.calls = (1..=2000).map(call).collect();
    let clock = RealClock::start();
    let ran = run_one(plan, odd("never-reads"));
    assert!(clock.now() >= Duration::from_millis(700));
    assert_eq!(ended_by(&ran), Some(EndedBy::Deadline));
    assert_eq!(ran.exited(), (None, Some(9), true));
}

#[test]
fn garbage_is_evidence_and_nothing_worse() {
    let ran = run_one(plan(), odd("garbage"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
    let garbage = ran.garbage();
    assert_eq!(garbage.len(), 1);
    assert_eq!(garbage[0].0, "this is not the protocol");
    assert_eq!(ran.done.verdict.verdict, Verdict::Error);
    let ran = run_one(plan(), odd("not-utf8"));
    assert_eq!(ran.garbage()[0].1, "not UTF-8");
}

#[test]
fn terminal_escapes_are_written_out_in_the_evidence_and_kept_raw_in_stdout() {
    let ran = run_one(plan(), odd("escapes"));
    let line = &ran.garbage()[0].0;
    assert!(line.starts_with("\\u{1b}]0;owned\\u{7}"), "{line}");
    assert!(!line.chars().any(char::is_control));
    let stdout = std::fs::read(ran.folder.join("stdout")).unwrap();
    assert!(stdout.starts_with(b"\x1b]0;owned"));
}

#[test]
fn a_line_of_three_megabytes_is_cut() {
    let ran = run_one(plan(), odd("megabyte-line"));
    let garbage = ran.garbage();
    assert_eq!(garbage.len(), 1);
    assert_eq!(garbage[0].0, "x".repeat(200));
    let stdout = std::fs::read(ran.folder.join("stdout")).unwrap();
    assert!(stdout.len() < 257 * 1024);
    assert!(stdout.ends_with(b"more bytes were dropped]\n"));
}

#[test]
fn a_client_that_prints_without_end_is_killed_at_the_deadline() {
    let mut plan = plan();
    plan.deadline = Duration::from_millis(500);
    let ran = run_one(plan, odd("floods"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Deadline));
    assert_eq!(ran.garbage().len(), 1);
}

#[test]
fn a_long_complaint_blocks_nobody_and_is_capped() {
    let ran = run_one(plan(), odd("complains"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
    assert_eq!(reports(&ran), 1);
    let stderr = std::fs::read_to_string(ran.folder.join("stderr")).unwrap();
    assert!(stderr.starts_with("complaint 0\n"));
    assert!(stderr.ends_with("more bytes were dropped]\n"));
}

#[test]
fn a_client_that_prints_nothing_has_no_report() {
    let ran = run_one(plan(), odd("nothing"));
    assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
    assert_eq!((reports(&ran), ran.garbage().len()), (0, 0));
    assert_eq!(ran.done.verdict.verdict, Verdict::Error);
}

#[test]
fn a_client_that_closes_its_stdout_is_waited_for() {
    let ran = run_one(
        plan(),
        adapter(&["sh", "-c", "exec >&-; sleep 0.3; exit 5"]),
    );
    assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
    assert_eq!(ran.exited(), (Some(5), None, false));
}

#[test]
fn a_second_report_is_garbage() {
    let ran = run_one(plan(), odd("reports-twice"));
    assert_eq!(reports(&ran), 1);
    assert_eq!(ran.garbage()[0].1, "a second report of call 1");
}

#[test]
fn exit_code_127_and_the_message_both_say_unsupported() {
    let said = |ran: &Ran| {
        ran.client().into_iter().find_map(|event| match event {
            ClientEvent::Unsupported { reason } => Some(reason.clone()),
            _ => None,
        })
    };
    let ran = run_one(plan(), odd("exit-127"));
    assert_eq!(said(&ran).as_deref(), Some("needs a newer kernel"));
    assert_eq!(ran.done.verdict.verdict, Verdict::Unsupported);
    let ran = run_one(plan(), odd("says-unsupported"));
    assert_eq!(said(&ran).as_deref(), Some("no streams"));
}

#[test]
fn a_missing_program_is_skipped_now_and_when_judged_again() {
    let ran = run_one(plan(), adapter(&["no-such-program"]));
    assert_eq!(ran.done.verdict.verdict, Verdict::Skipped);
    let reason = ran.done.verdict.reason.clone().unwrap();
    assert!(reason.contains("`no-such-program`"), "{reason}");
    let (_, again) = harness::cell::judge_again(&ran.folder).unwrap();
    assert_eq!(again, ran.done.verdict);
}

#[test]
fn a_program_that_cannot_be_started_is_an_error() {
    let ran = run_one(plan(), adapter(&["/dev/null"]));
    assert_eq!(ran.done.verdict.verdict, Verdict::Error);
}

#[test]
fn a_client_that_dies_by_a_signal_is_told_with_it() {
    let ran = run_one(plan(), odd("aborts"));
    assert_eq!(ran.exited(), (None, Some(6), false));
    assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
}

#[test]
fn what_a_client_leaves_behind_is_swept_and_told() {
    let ran = run_one(plan(), odd("leaves-a-child"));
    assert_eq!(reports(&ran), 1);
    assert!(
        ran.client()
            .iter()
            .any(|event| matches!(event, ClientEvent::Swept { count: 1.. }))
    );
    let pids = pids_in(&ran.folder.join("pid"));
    assert!(!is_alive(pids[0]));
}

#[test]
fn a_client_that_kills_its_launcher_is_an_error_and_leaves_nothing() {
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ > ../pid; while :; do sleep 1; done' & \
                  while ! test -s ../pid; do sleep 0.01; done; kill -KILL $PPID; sleep 60";
    let ran = run_one(plan(), adapter(&["sh", "-c", script]));
    assert_eq!(ran.done.verdict.verdict, Verdict::Error);
    let reason = ran.done.verdict.reason.clone().unwrap();
    assert!(reason.contains("was killed, not by wirefault"), "{reason}");
    let pids = pids_in(&ran.folder.join("pid"));
    assert!(!is_alive(pids[0]));
}

/// So that load on the machine does not show in what it does when.
#[test]
fn a_client_goes_before_other_programs_where_that_is_allowed() {
    let script = "nice > ../nice; cut -d' ' -f3 /proc/self/autogroup > ../session";
    let ran = run_one(plan(), adapter(&["sh", "-c", script]));
    let seen = |name: &str| {
        let text = std::fs::read_to_string(ran.folder.join(name)).unwrap();
        text.trim().to_owned()
    };
    let most = std::process::Command::new("nice")
        .args(["-n", "-20", "nice"])
        .output()
        .unwrap();
    let most = String::from_utf8(most.stdout).unwrap().trim().to_owned();
    assert_eq!(seen("nice"), most);
    // Not every kernel shares its processors between sessions.
    if most == "-20" && Path::new("/proc/self/autogroup").exists() {
        assert_eq!(seen("session"), most);
    }
}

/// In a container the leader of the session is often outside of what can be
/// seen, and the session's id reads as 0.
#[test]
fn a_killed_launcher_is_cleaned_up_after_where_the_session_s_leader_cannot_be_seen() {
    let namespaces = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ];
    let within = |program: &Path, args: &[&str]| {
        std::process::Command::new("unshare")
            .args(namespaces)
            .arg(program)
            .args(args)
            .output()
    };
    if !within(Path::new("true"), &[]).is_ok_and(|output| output.status.success()) {
        needs::skipped("`unshare`, or leave to use it", "a session begun elsewhere");
        return;
    }
    let test = "a_client_that_kills_its_launcher_is_an_error_and_leaves_nothing";
    let output = within(&std::env::current_exe().unwrap(), &["--exact", test]).unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && shown.contains("1 passed"),
        "{shown}"
    );
}

#[test]
fn a_command_is_judged_by_its_exit_code() {
    let shown = |line: &str| {
        let ran = run_one(plan(), harness::client::command::client(line).unwrap());
        assert_eq!(ended_by(&ran), Some(EndedBy::Exit));
        let shown = ran.client().into_iter().find_map(|event| match event {
            ClientEvent::Report(report) => Some(report.shown.clone()),
            _ => None,
        });
        (shown.unwrap(), ran.delivered())
    };
    if needs::is_there("curl", "a command that is answered") {
        let (answer, delivered) = shown("curl -sS {url}");
        assert!(matches!(answer, Shown::Response(response) if response.status.is_none()));
        assert_eq!(delivered, 1);
    }
    let (error, delivered) = shown("sh -c 'echo first >&2; echo broken >&2; exit 9' {url}");
    assert_eq!(delivered, 0);
    match error {
        Shown::Error(chain) => {
            assert_eq!(chain[0].errno, Some(9));
            assert_eq!(chain[0].message.as_deref(), Some("broken"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_scratch_folder_goes_and_the_record_stays() {
    let ran = run_one(plan(), odd("good-then-exit"));
    let mut names: Vec<String> = std::fs::read_dir(&ran.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "cell.json",
            "events.jsonl",
            "stderr",
            "stdout",
            "verdict.json"
        ]
    );
    let (record, again) = harness::cell::judge_again(&ran.folder).unwrap();
    assert_eq!(record.plan, plan());
    assert_eq!(again, ran.done.verdict);
    let written = std::fs::read(ran.folder.join("verdict.json")).unwrap();
    let written: scenarios::verdict::CellVerdict = serde_json::from_slice(&written).unwrap();
    assert_eq!(written, ran.done.verdict);
}

#[test]
fn a_cell_whose_folder_is_there_already_is_an_error_and_not_lost() {
    let run = tempfile::TempDir::new().unwrap();
    std::fs::create_dir_all(run.path().join("cells/cell")).unwrap();
    let jobs = vec![job("cell", plan(), odd("good"))];
    let done = harness::run::run_cells(jobs, &options(run.path()), &mut |_| {}).unwrap();
    assert_eq!(done[0].verdict.verdict, Verdict::Error);
}
