//! Nothing that a program under test starts outlives it, whatever it tries.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use harness::launch::{Launched, Launcher, Status, Stdin, become_subreaper};
use rustix::process::{Pid, Signal, kill_process};
use support::{eventually, is_alive, pids_in, run, wirefault};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

/// Writes its process id into `pids`, ignores what it can, and stays.
const STUBBORN: &str = r#"trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done"#;

fn start(folder: &Path, args: &[&str]) -> Launched {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let environment: [(&'static str, OsString); 1] = [("PATH", path)];
    let launcher = Launcher::start(&wirefault(), &environment, folder).unwrap();
    launcher.launch(&args, Stdin::Piped, None).unwrap()
}

async fn all_statuses(launched: &mut Launched) -> Vec<Status> {
    let mut all = Vec::new();
    while let Some(status) = launched.watch.status().await.unwrap() {
        all.push(status);
    }
    all
}

fn exited(statuses: &[Status]) -> (Option<i32>, Option<i32>, bool) {
    statuses
        .iter()
        .find_map(|status| match status {
            Status::Exited {
                code,
                signal,
                killed,
                ..
            } => Some((*code, *signal, *killed)),
            _ => None,
        })
        .unwrap()
}

fn swept(statuses: &[Status]) -> (u32, u32) {
    match statuses.last() {
        Some(Status::Swept { count, left }) => (*count, *left),
        other => panic!("the last status is {other:?}"),
    }
}

fn wait_for_pids(folder: &Path, count: usize) -> Vec<i32> {
    eventually("process ids", || {
        let pids = pids_in(&folder.join("pids"));
        (pids.len() >= count).then_some(pids)
    })
}

#[test]
fn a_program_that_ends_by_itself_is_reported_with_its_code_and_nothing_to_sweep() {
    let folder = TempDir::new().unwrap();
    run(async {
        let mut launched = start(
            folder.path(),
            &["sh", "-c", "echo out; echo err >&2; exit 3"],
        );
        let statuses = all_statuses(&mut launched).await;
        assert!(
            matches!(statuses[0], Status::Spawned { .. }),
            "{statuses:?}"
        );
        assert_eq!(exited(&statuses), (Some(3), None, false));
        assert_eq!(swept(&statuses), (0, 0));
        let (mut out, mut err) = (String::new(), String::new());
        launched.stdout.read_to_string(&mut out).await.unwrap();
        launched.stderr.read_to_string(&mut err).await.unwrap();
        assert_eq!((out.as_str(), err.as_str()), ("out\n", "err\n"));
    });
}

#[test]
fn a_program_sees_only_the_environment_and_the_folder_it_is_given() {
    let folder = TempDir::new().unwrap();
    run(async {
        let mut launched = start(folder.path(), &["/usr/bin/env"]);
        all_statuses(&mut launched).await;
        let mut out = String::new();
        launched.stdout.read_to_string(&mut out).await.unwrap();
        let names: Vec<&str> = out
            .lines()
            .filter_map(|line| line.split('=').next())
            .collect();
        assert_eq!(names, ["PATH"]);
    });
}

#[test]
fn a_missing_program_is_told_apart_from_one_that_cannot_be_started() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("text"), "not a program").unwrap();
    run(async {
        let missing = all_statuses(&mut start(folder.path(), &["no-such-program"])).await;
        assert!(
            matches!(&missing[..], [Status::NotSpawned { missing: true, reason }]
                if reason.contains("no-such-program")),
            "{missing:?}"
        );
        let barred = all_statuses(&mut start(folder.path(), &["./text"])).await;
        assert!(
            matches!(&barred[..], [Status::NotSpawned { missing: false, .. }]),
            "{barred:?}"
        );
    });
}

/// A shell would run its bytes as commands and end with 127, which is how a
/// client says that it can not do the work.
#[test]
fn a_file_that_the_kernel_takes_for_no_program_is_not_handed_to_a_shell() {
    let folder = TempDir::new().unwrap();
    for (name, content) in [("script", "touch ran; exit 127\n"), ("elf", "\x7fELF?")] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        run(async {
            let program = format!("./{name}");
            let statuses = all_statuses(&mut start(folder.path(), &[&program])).await;
            assert!(
                matches!(&statuses[..], [Status::NotSpawned { missing: false, reason }]
                    if reason.contains("Exec format error")),
                "{statuses:?}"
            );
        });
    }
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn a_grandchild_in_a_session_of_its_own_that_ignores_signals_is_gone_after_the_program() {
    let folder = TempDir::new().unwrap();
    run(async {
        let script = format!(
            "setsid sh -c '{STUBBORN}' & while ! test -s pids; do sleep 0.01; done; exit 0"
        );
        let mut launched = start(folder.path(), &["sh", "-c", &script]);
        let statuses = all_statuses(&mut launched).await;
        assert_eq!(exited(&statuses), (Some(0), None, false));
        let (count, left) = swept(&statuses);
        assert!(count >= 1, "{statuses:?}");
        assert_eq!(left, 0);
        let pids = wait_for_pids(folder.path(), 1);
        assert!(!is_alive(pids[0]), "the grandchild is still there");
    });
}

#[test]
fn a_killed_program_takes_its_double_forked_daemons_with_it() {
    let folder = TempDir::new().unwrap();
    run(async {
        let script =
            format!("(setsid sh -c '(setsid sh -c '\\''{STUBBORN}'\\'' &)' &) ; {STUBBORN}");
        let mut launched = start(folder.path(), &["sh", "-c", &script]);
        let pids = wait_for_pids(folder.path(), 2);
        launched.watch.kill();
        let statuses = all_statuses(&mut launched).await;
        assert_eq!(exited(&statuses), (None, Some(9), true));
        assert!(swept(&statuses).0 >= 1, "{statuses:?}");
        assert_eq!(swept(&statuses).1, 0);
        for pid in pids {
            assert!(!is_alive(pid), "{pid} is still there");
        }
    });
}

#[test]
fn a_program_that_forks_without_end_is_stopped_before_it_is_killed() {
    let folder = TempDir::new().unwrap();
    run(async {
        // Each generation starts the next in a session of its own and ends.
        let breed = "echo $$ >> pids; setsid sh breed.sh & sleep 0.005";
        std::fs::write(folder.path().join("breed.sh"), breed).unwrap();
        let mut launched = start(folder.path(), &["sh", "-c", "sh breed.sh; sleep 60"]);
        wait_for_pids(folder.path(), 20);
        launched.watch.kill();
        let statuses = all_statuses(&mut launched).await;
        assert_eq!(swept(&statuses).1, 0, "{statuses:?}");
        let pids = pids_in(&folder.path().join("pids"));
        assert!(pids.iter().all(|pid| !is_alive(*pid)));
        let count = pids.len();
        assert_eq!(pids_in(&folder.path().join("pids")).len(), count);
    });
}

#[test]
fn a_program_that_kills_its_launcher_dies_with_all_that_it_started() {
    become_subreaper().unwrap();
    let folder = TempDir::new().unwrap();
    run(async {
        let script = format!(
            "setsid sh -c '{STUBBORN}' & while ! test -s pids; do sleep 0.01; done; \
             echo $$ >> pids; kill -KILL $PPID; {STUBBORN}"
        );
        let mut launched = start(folder.path(), &["sh", "-c", &script]);
        let statuses = all_statuses(&mut launched).await;
        assert!(
            matches!(&statuses[..], [Status::Spawned { .. }]),
            "{statuses:?}"
        );
        let pids = wait_for_pids(folder.path(), 2);
        drop(launched);
        for pid in pids {
            assert!(!is_alive(pid), "{pid} is still there");
        }
    });
}

#[test]
fn nothing_is_left_when_the_harness_itself_was_killed() {
    let folder = TempDir::new().unwrap();
    let script = format!("(setsid sh -c '{STUBBORN}' &) ; {STUBBORN}");
    let example = wirefault()
        .with_file_name("examples")
        .join("start_and_wait");
    let mut harness = Command::new(example)
        .arg(wirefault())
        .args(["sh", "-c", &script])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut client = String::new();
    BufReader::new(harness.stdout.take().unwrap())
        .read_line(&mut client)
        .unwrap();
    let client: i32 = client.trim().parse().unwrap();
    let pids = wait_for_pids(folder.path(), 2);
    assert!(pids.contains(&client));
    let id = Pid::from_raw(i32::try_from(harness.id()).unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
    harness.wait().unwrap();
    for pid in pids {
        eventually("the end of a process", || (!is_alive(pid)).then_some(()));
    }
}

#[test]
fn a_dropped_program_is_gone() {
    let folder = TempDir::new().unwrap();
    run(async {
        let launched = start(folder.path(), &["sh", "-c", STUBBORN]);
        let pids = wait_for_pids(folder.path(), 1);
        drop(launched);
        assert!(!is_alive(pids[0]));
    });
}
