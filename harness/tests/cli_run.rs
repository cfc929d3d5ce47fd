//! `run` and `judge` from outside: what is printed, what is left behind, and
//! with which code they end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod support;
mod workbench;

use reports::record::{Disposition, RunRecord};
use scenarios::verdict::{Outcome, Verdict};
use workbench::{CUT, Workbench};

/// The one scenario that the tests run, with one client.
const RUN_GOOD: &[&str] = &["run", "--client", "reference", "--out", "out"];
/// The same with the client that sends twice.
const RUN_BAD: &[&str] = &["run", "--client", "bad", "--out", "out"];

fn record(bench: &Workbench, out: &str) -> RunRecord {
    serde_json::from_str(&bench.read(&format!("{out}/run.json"))).unwrap()
}

/// A bench with the scenario and the client that sends again after a cut.
fn with_bad_client() -> Workbench {
    let bench = Workbench::with_cut();
    bench.add_bad_client("retries-post-on-close");
    bench
}

#[test]
fn a_run_as_expected_ends_with_0_and_leaves_its_record() {
    let bench = Workbench::with_cut();
    let done = bench.run(RUN_GOOD).ends_with(0);
    assert!(
        done.stdout.contains("request\n  cut    ✓ 1\n"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout
            .contains("What differs from the baseline\n  Nothing.\n")
    );
    assert!(
        done.stdout.ends_with("Run folder: out\n"),
        "{}",
        done.stdout
    );
    assert!(done.stderr.contains("1 of 1 cell"), "{}", done.stderr);
    let record = record(&bench, "out");
    let [cell] = record.cells.as_slice() else {
        panic!("{record:?}")
    };
    assert_eq!(cell.case(), "request/cut");
    assert_eq!(cell.judged.verdict, Verdict::Pass);
    assert_eq!(cell.judged.outcome, Outcome::Unknown);
    assert_eq!(cell.judged.delivered["api"], 1);
    assert_eq!(cell.judged.applied["task"], 1);
    assert!(bench.has(&format!("out/cells/{}/events.jsonl", cell.id)));
    assert!(!bench.has("out/baseline"));
}

#[test]
fn without_out_the_latest_run_is_found_by_its_link() {
    let bench = Workbench::with_cut();
    let done = bench.run(&["run", "--client", "reference"]).ends_with(0);
    assert!(
        done.stdout.contains("Run folder: wirefault-runs/2"),
        "{}",
        done.stdout
    );
    let first = bench.read("wirefault-runs/latest/run.json");
    bench
        .run(&["run", "--client", "reference", "--seed", "77"])
        .ends_with(0);
    assert_ne!(bench.read("wirefault-runs/latest/run.json"), first);
    assert_eq!(record(&bench, "wirefault-runs/latest").seed, 77);
}

#[test]
fn a_regression_ends_with_1_and_is_proved() {
    let bench = with_bad_client();
    let done = bench.run(RUN_BAD).ends_with(1).says("✗ 2 S");
    for part in [
        "  regression  request/cut [bad]\n",
        "    duplicate-delivery (must, safety)\n",
        "      asserts    delivered: {api: 1}\n",
        "      stated at  scenarios/suite/request/cut.yaml:13\n",
        "      events     ",
        "  out/baseline/bad.yaml\n",
    ] {
        assert!(
            done.stdout.contains(part),
            "no {part:?} in:\n{}",
            done.stdout
        );
    }
}

#[test]
fn a_proposal_is_refused_until_somebody_says_why_and_then_accepted() {
    let bench = with_bad_client();
    bench.run(RUN_BAD).ends_with(1);
    let proposal = bench.read("out/baseline/bad.yaml");
    bench.write("baseline/bad.yaml", &proposal);
    bench
        .run(&["run", "--client", "bad", "--out", "unsaid"])
        .ends_with(3)
        .complains("reason-unsaid");
    assert!(!bench.has("unsaid"), "nothing runs on an invalid baseline");
    let unsaid = "say why this is known and whose fault it is";
    bench.write(
        "baseline/bad.yaml",
        &proposal.replace(unsaid, "it retries, its fault"),
    );
    let done = bench
        .run(&["run", "--client", "bad", "--out", "said", "--all"])
        .ends_with(0);
    assert!(done.stdout.contains("x 2 S"), "{}", done.stdout);
    assert!(
        done.stdout.contains("it retries, its fault"),
        "{}",
        done.stdout
    );
    bench
        .run(&["run", "--client", "bad", "--baseline", "none"])
        .ends_with(1);
}

#[test]
fn a_known_failure_that_looks_otherwise_is_a_change() {
    let bench = with_bad_client();
    bench.write(
        "baseline/bad.yaml",
        "client: bad\ncells:\n  - case: request/cut\n    expect: fail\n    fingerprint: delivered \
         api=9\n    reason: known\n",
    );
    let done = bench.run(RUN_BAD).ends_with(1).says("≠ 2 S");
    assert!(
        done.stdout.contains("baseline   fail; delivered api=9"),
        "{}",
        done.stdout
    );
    let proposal = bench.read("out/baseline/bad.yaml");
    assert!(
        proposal.contains("reason: \"known\""),
        "the reason is kept: {proposal}"
    );
}

#[test]
fn what_got_better_ends_with_5_and_so_does_a_stale_entry() {
    let bench = Workbench::with_cut();
    let entry = |case: &str| {
        format!(
            "client: reference\ncells:\n  - case: {case}\n    expect: fail\n    fingerprint: x\n    \
             reason: known\n"
        )
    };
    bench.write("baseline/reference.yaml", &entry("request/cut"));
    bench.run(RUN_GOOD).ends_with(5).says("↑ 1").says("fixed");
    assert_eq!(
        bench.read("out/baseline/reference.yaml"),
        "client: \"reference\"\ncells: []\n"
    );
    bench.write("baseline/reference.yaml", &entry("request/cut[at=1]"));
    let run = ["run", "--client", "reference"];
    bench
        .run(&run)
        .ends_with(5)
        .says("stale  request/cut[at=1] [reference]")
        .says("baseline/reference.yaml:3");
}

#[test]
fn an_entry_of_a_scenario_outside_the_suite_is_not_stale() {
    let bench = Workbench::with_cut();
    bench.write("mine/case.yaml", CUT);
    bench.write(
        "baseline/reference.yaml",
        "client: reference\ncells:\n  - case: mine/case\n    expect: fail\n    fingerprint: x\n    \
         reason: known\n",
    );
    let suite = bench.run(&["run", "--client", "reference"]).ends_with(0);
    for part in ["unused  mine/case [reference]", "run it by its path"] {
        assert!(suite.stdout.contains(part), "{suite:?}");
    }
    // Run by its path, its entry is held against it.
    bench
        .run(&["run", "mine/case.yaml", "--client", "reference"])
        .ends_with(5)
        .says("fixed  mine/case [reference]");
    // A run that does not cover the scenario does not know.
    let other = bench.run(&["run", "request/cut"]).ends_with(0);
    assert!(!other.stdout.contains("mine/case"), "{other:?}");
}

#[test]
fn a_client_without_its_program_is_skipped_with_the_reason() {
    let bench = Workbench::with_cut();
    bench.add_bad_client("retries-post-on-close");
    let manifest = bench.read("clients/bad/bad.yaml");
    let missing = manifest.replace("programs: []", "programs: [no-such-program]");
    assert_ne!(missing, manifest);
    bench.write("clients/bad/bad.yaml", &missing);
    let done = bench.run(&["run"]).ends_with(0).says("bad: 1 cell skipped");
    assert!(
        done.stdout
            .contains("program `no-such-program` is not in PATH")
    );
    // Alone it means that nothing ran.
    bench
        .run(RUN_BAD)
        .ends_with(4)
        .says("Nothing ran, so nothing is proved: no client here can do any of these cases");
}

#[test]
fn a_fault_that_does_not_happen_is_inconclusive_and_ends_with_4() {
    let bench = Workbench::with_cut();
    let done = bench
        .run(&["run", "--command", "true {url}", "--out", "out"])
        .ends_with(4)
        .says("? 0");
    assert!(
        done.stdout
            .contains("inconclusive  request/cut [command:true]"),
        "{}",
        done.stdout
    );
}

#[test]
fn an_adapter_that_breaks_ends_with_7_and_its_stderr_is_shown_harmlessly() {
    let bench = with_bad_client();
    let text = bench.read("clients/bad/bad.yaml");
    let broken = text.replace(
        "\"{wirefault}\", __client, reference, --defect, retries-post-on-close",
        "sh, -c, \"printf '\\\\033[2Jbroken' >&2; echo garbage; exit 3\"",
    );
    assert_ne!(text, broken);
    bench.write("clients/bad/bad.yaml", &broken);
    let done = bench.run(RUN_BAD).ends_with(7);
    assert!(
        done.stdout.contains("error  request/cut [bad]"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("\\u{1b}[2Jbroken"), "{}", done.stdout);
    assert!(!done.stdout.contains('\x1b'));
}

#[test]
fn a_client_that_is_compiled_is_compiled_once_and_runs() {
    let bench = Workbench::with_cut();
    bench.add_bad_client("retries-post-on-close");
    let text = bench.read("clients/bad/bad.yaml");
    let start = "start:\n  build: { sources: [go], run: [sh, -c, 'chmod +x go; echo >> ../../../../count'] }\n";
    let text = text.replace("start:\n", start);
    let text = text.replacen("\"{wirefault}\",", "\"{built}/go\", \"{wirefault}\",", 1);
    bench.write("clients/bad/bad.yaml", &text);
    bench.write("clients/bad/go", "#!/bin/sh\nexec \"$@\"\n");
    for _ in 0..2 {
        let done = bench.run(RUN_BAD);
        assert!(done.stdout.contains("duplicate-effect"), "{done:?}");
        std::fs::remove_dir_all(bench.path().join("out")).unwrap();
    }
    assert_eq!(bench.read("count"), "\n");
}

#[test]
fn a_build_that_fails_ends_the_run_with_the_words_of_the_compiler() {
    let bench = Workbench::with_cut();
    bench.add_bad_client("retries-post-on-close");
    let text = bench.read("clients/bad/bad.yaml");
    let start = "start:\n  build: { sources: [go], run: [sh, -c, 'cat go >&2; exit 3'] }\n";
    bench.write("clients/bad/bad.yaml", &text.replace("start:\n", start));
    bench.write(
        "clients/bad/go",
        "go:1: what is this?\n\u{1b}[2Jgo:2: and this?\n",
    );
    bench
        .run(RUN_BAD)
        .ends_with(7)
        .complains("the client `bad` can not be made ready: `sh -c cat go >&2; exit 3` fails")
        .complains("    go:1: what is this?\n    \\u{1b}[2Jgo:2: and this?");
    bench
        .run(&["doctor"])
        .says("can not run: `sh -c cat go >&2; exit 3` fails");
}

#[test]
fn several_reports_come_from_one_run() {
    let bench = Workbench::with_cut();
    let mut args = RUN_GOOD.to_vec();
    args.extend([
        "--report",
        "junit=reports/junit.xml",
        "--report",
        "json=r.json",
    ]);
    args.extend(["--report", "text=r.txt"]);
    let done = bench.run(&args).ends_with(0);
    let junit = bench.read("reports/junit.xml");
    assert!(
        junit.contains("name=\"request/cut [reference]\""),
        "{junit}"
    );
    assert_eq!(bench.read("r.json"), bench.read("out/run.json"));
    assert!(
        done.stdout
            .starts_with(bench.read("r.txt").split('\n').next().unwrap())
    );
}

#[test]
fn repeats_are_cells_of_their_own() {
    let bench = Workbench::with_cut();
    let mut args = RUN_GOOD.to_vec();
    args.extend(["--repeat", "3", "--jobs", "2"]);
    bench.run(&args).ends_with(0).says("3 cells: 3 expected");
    let record = record(&bench, "out");
    let repeats: Vec<u32> = record.cells.iter().map(|cell| cell.repeat).collect();
    assert_eq!(repeats, [1, 2, 3]);
    assert!(
        record
            .cells
            .iter()
            .all(|cell| cell.disposition == Disposition::Expected)
    );
}

#[test]
fn a_scenario_of_ones_own_runs_by_its_file() {
    let bench = Workbench::new();
    bench.write("mine/cut-off.yaml", CUT);
    bench
        .run(&["run", "mine/cut-off.yaml", "--client", "reference"])
        .ends_with(0)
        .says("mine\n  cut-off  ✓ 1\n");
}

#[test]
fn the_judge_gives_the_run_s_verdicts_from_the_folder_alone() {
    let bench = with_bad_client();
    let ran = bench.run(RUN_BAD).ends_with(1);
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::rename(bench.path().join("out"), elsewhere.path().join("moved")).unwrap();
    let judged = bench
        .run_in(elsewhere.path(), &["judge", "moved"])
        .ends_with(1);
    let report = ran.stdout.split("Run folder:").next().unwrap();
    assert_eq!(judged.stdout, report);
    assert_eq!(judged.stderr, "");
}

#[test]
fn the_judge_names_what_a_killed_run_left_out() {
    let bench = with_bad_client();
    bench.run(&["run", "--out", "out"]).ends_with(1);
    let record = record(&bench, "out");
    std::fs::remove_file(bench.path().join("out/run.json")).unwrap();
    let gone = &record.cells[0].id;
    std::fs::remove_dir_all(bench.path().join("out/cells").join(gone)).unwrap();
    let done = bench.run(&["judge", "out"]).ends_with(6);
    assert!(
        done.stdout.contains("missing  request/cut [reference]"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("regression  request/cut [bad]"),
        "{}",
        done.stdout
    );
    assert!(
        done.stderr.contains("did not come to its end"),
        "{}",
        done.stderr
    );
}

#[test]
fn the_judge_says_when_evidence_was_touched() {
    let bench = with_bad_client();
    bench.run(RUN_BAD).ends_with(1);
    let id = &record(&bench, "out").cells[0].id;
    let events = format!("out/cells/{id}/events.jsonl");
    let kept: Vec<String> = bench
        .read(&events)
        .lines()
        .filter(|line| !line.contains("\"delivered\""))
        .map(|line| format!("{line}\n"))
        .collect();
    bench.write(&events, &kept.concat());
    bench
        .run(&["judge", "out"])
        .complains("request/cut [bad]: judged otherwise than when it ran");
}

/// A server that never answers, and a client that waits five seconds for it.
const SILENT: &str = r#"title: Nobody answers
why: A run can be stopped while clients wait.
servers:
  api:
    script:
      - cut: { after: request, with: hang }
call: { method: GET, url: "{api}/slow" }
limits: { idle: 20s, total: 25s }
expect:
  must:
    - outcome: unknown
"#;

/// Starts a run of the slow scenario and sends a signal once its client has
/// been delivered; gives how the program ended. In real time, as in virtual time it
/// may be over by then.
fn stopped_by(signal: rustix::process::Signal) -> (Workbench, Option<i32>) {
    let bench = Workbench::with_cut();
    bench.write("scenarios/suite/timeout/silent.yaml", SILENT);
    let mut child = bench.start(&[
        "run",
        "--client",
        "reference",
        "--out",
        "out",
        "--jobs",
        "1",
        "--time",
        "real",
    ]);
    support::eventually("the slow request", || {
        let cells = std::fs::read_dir(bench.path().join("out/cells")).ok()?;
        let silent = cells.flatten().map(|entry| entry.path());
        let silent = silent
            .into_iter()
            .find(|path| path.to_string_lossy().contains("silent"))?;
        let events = std::fs::read_to_string(silent.join("events.jsonl")).ok()?;
        events.contains("\"delivered\"").then_some(())
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, signal).unwrap();
    let code = child.wait().unwrap().code();
    (bench, code)
}

#[test]
fn an_interrupted_run_ends_with_6_and_still_leaves_its_record() {
    let (bench, code) = stopped_by(rustix::process::Signal::INT);
    assert_eq!(code, Some(6));
    let record = record(&bench, "out");
    // Whether the quick cell was done by then is chance; the slow one was not.
    assert_eq!(record.cells.len() + record.missing.len(), 2, "{record:?}");
    let missing: Vec<&str> = record
        .missing
        .iter()
        .map(|cell| cell.case.as_str())
        .collect();
    assert!(missing.contains(&"timeout/silent"), "{missing:?}");
    let judged = bench.run(&["judge", "out"]).ends_with(6);
    assert!(judged.stdout.contains("timeout/silent"), "{judged:?}");
    assert!(!judged.stdout.contains("error"), "{judged:?}");
    assert!(
        judged.stderr.contains("The run was interrupted: "),
        "{judged:?}"
    );
}

#[test]
fn a_run_that_was_killed_is_judged_as_far_as_it_came() {
    let (bench, code) = stopped_by(rustix::process::Signal::KILL);
    assert_eq!(code, None);
    let done = bench.run(&["judge", "out"]).ends_with(6);
    assert!(done.stderr.contains("did not come to its end"), "{done:?}");
    let broken = "the record breaks off before the cell ended";
    assert!(
        done.stdout.contains("timeout/silent [reference]"),
        "{done:?}"
    );
    assert!(done.stdout.contains(broken), "{done:?}");
}

#[test]
fn a_cells_folder_is_judged_from_itself_alone() {
    let bench = Workbench::with_cut();
    bench
        .run(&["run", "--client", "reference", "--out", "out"])
        .ends_with(0);
    let id = std::fs::read_dir(bench.path().join("out/cells"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .next()
        .unwrap();
    // Away from its run, and without any suite.
    let alone = bench.path().join("alone");
    std::fs::rename(bench.path().join("out/cells").join(id), &alone).unwrap();
    std::fs::remove_dir_all(bench.path().join("out")).unwrap();
    std::fs::remove_dir_all(bench.path().join("scenarios")).unwrap();
    let done = bench
        .run(&["judge", "alone", "--all"])
        .ends_with(0)
        .says("cut")
        .says("1 cell: 1 expected (1 pass).");
    assert_eq!(done.stderr, "");
    std::fs::remove_file(alone.join("verdict.json")).unwrap();
    bench
        .run(&["judge", "alone"])
        .ends_with(6)
        .complains("no verdict.json");
    bench
        .run(&["judge", "clients"])
        .ends_with(2)
        .complains("the folder neither of a run nor of a cell");
}

#[test]
fn two_command_lines_of_one_program_are_told_apart_by_names() {
    let bench = Workbench::with_cut();
    let fetch = std::fs::read_to_string(bench.path().join("scenarios/suite/request/cut.yaml"))
        .unwrap()
        .replace("method: POST", "method: GET")
        .replace(", body: { json: { task: 7 } }", "");
    bench.write("scenarios/suite/request/cut.yaml", &fetch);
    let (one, two) = ("one=sh -c 'exit 7' {url}", "two=sh -c 'exit 8' {url}");
    let args = ["run", "--out", "out", "--baseline", "none"];
    let done = bench.run(&[&args[..], &["--command", one, "--command", two]].concat());
    assert!(done.stdout.contains("command:one"), "{done:?}");
    assert!(done.stdout.contains("command:two"), "{done:?}");
    let (one, two) = ("sh -c 'exit 7' {url}", "sh -c 'exit 8' {url}");
    bench
        .run(&["run", "--command", one, "--command", two])
        .ends_with(2)
        .complains("--command NAME=ARGS");
}

#[test]
fn a_baseline_that_was_named_must_be_there() {
    let bench = Workbench::with_cut();
    bench
        .run(&["run", "--baseline", "no/such/folder"])
        .ends_with(2)
        .complains("`no/such/folder` is no folder");
    bench
        .run(&["run", "--client", "reference", "--baseline", "none"])
        .ends_with(0);
}
