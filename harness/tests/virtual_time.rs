//! Cells in virtual time, from outside: what is waited for takes none, what came
//! of it is on the record, what the kernel's own timers decide runs in real time,
//! and where there is no virtual time a run says so.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod denied;
mod needs;
mod workbench;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use serde_json::Value;
use workbench::{Done, Workbench};

/// The answer comes after five minutes, which is longer than a test waits.
const LATE: &str = r#"title: An answer takes five minutes
why: Whoever is patient gets it.
servers:
  api:
    script:
      - respond: { status: 200 }
        delay: 300s
call: { method: GET, url: "{api}/x" }
limits: { idle: 390s, total: 400s }
deadline: 450s
expect:
  must:
    - delivered: { api: 1 }
    - outcome: success
"#;

/// The client never connects.
const BLACK_HOLE: &str = r#"title: A port drops every SYN
why: The kernel sends them again in real time.
servers:
  api: { listen: drop }
call: { method: GET, url: "{api}/x" }
limits: { connect: 1500ms }
expect:
  must:
    - delivered: { api: 0 }
"#;

/// No answer ever comes; the deadline is longer than a test waits.
const SILENT: &str = r#"title: An answer never comes
why: Whoever has no limit waits for ever.
servers:
  api:
    script: [{ cut: { after: request, with: hang } }]
call: { method: GET, url: "{api}/x" }
deadline: 300s
expect:
  must:
    - delivered: { api: { at_most: 1 } }
"#;

/// Once is enough, and twice is allowed.
const TWICE: &str = r#"title: A request may come twice
why: Both are right.
servers:
  api:
    script: [{ respond: { status: 503 } }, { respond: { status: 503 } }]
call: { method: GET, url: "{api}/x" }
expect:
  must:
    - delivered: { api: { at_least: 1, at_most: 2 } }
"#;

/// What `bash` clients here have in common: requests over its own sockets, with
/// no limit on anything.
const BASH_GET: &str = r#"#!/bin/bash
url=${1#http://}
address=${url%%/*}
ask() {
  exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
  printf 'GET /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${url#*/}" "$address" >&3
}
get() {
  ask
  cat <&3 >answer
  exec 3>&-
}
"#;

/// Why there is no virtual time on this machine, said past the test runner.
fn is_lacking(what: &str) -> bool {
    let probed = virtual_time::probe();
    if let Err(why) = &probed {
        needs::skipped(&format!("virtual time ({why})"), what);
    }
    probed.is_err()
}

fn with(name: &str, text: &str) -> Workbench {
    let bench = Workbench::new();
    bench.write(&format!("scenarios/suite/{name}.yaml"), text);
    bench
}

/// Writes a program and gives its path.
fn program(bench: &Workbench, name: &str, text: &str) -> String {
    bench.write(name, text);
    let path = bench.path().join(name);
    let may_run = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&path, may_run).unwrap();
    path.to_str().unwrap().to_owned()
}

fn json(bench: &Workbench, name: &str) -> Value {
    serde_json::from_str(&bench.read(name)).unwrap()
}

/// The first cell of the run in this folder, and what its evidence says of
/// virtual time.
fn cell(bench: &Workbench, run: &str) -> (Value, Option<Value>) {
    let cell = json(bench, &format!("{run}/run.json"))["cells"][0].clone();
    let id = cell["id"].as_str().unwrap().to_owned();
    let of_cell = json(bench, &format!("{run}/cells/{id}/cell.json"));
    assert_eq!(of_cell.get("time"), cell.get("time"), "cell.json, run.json");
    let events = bench.read(&format!("{run}/cells/{id}/events.jsonl"));
    let entries = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told = entries
        .filter_map(|entry| entry.pointer("/event/client/virtual_time").cloned())
        .next();
    (cell, told)
}

fn run(bench: &Workbench, args: &[&str]) -> Done {
    let all = [&["run", "--out", "out", "--baseline", "none"], args].concat();
    bench.run(&all)
}

#[test]
fn virtual_is_the_time_that_a_run_has_and_the_record_says_what_was_jumped_over() {
    if is_lacking("five minutes of waiting in a moment") {
        return;
    }
    let bench = with("wait/late", LATE);
    run(&bench, &[])
        .ends_with(0)
        .says("1 cell: 1 expected (1 pass)")
        .says("Time: 1 cell in virtual time, 5 min ");
    let (cell, told) = cell(&bench, "out");
    let (time, told) = (&cell["time"], told.unwrap());
    assert_eq!(time["mode"], "virtual", "{time}");
    assert!(time["jumps"].as_u64().unwrap() > 0, "{time}");
    assert!(time["jumped_us"].as_u64().unwrap() > 290_000_000, "{time}");
    assert_eq!(time["held"][0]["thread"], "(servers)", "{time}");
    assert_eq!(time["doubts"], serde_json::json!([]), "{time}");
    assert_eq!(told["jumped_us"], time["jumped_us"], "{told}");
    assert_eq!(told.get("refused"), None, "{told}");
    bench
        .run(&["judge", "out"])
        .ends_with(0)
        .says("Time: 1 cell in virtual time, 5 min ");
}

#[test]
fn a_case_that_hangs_on_the_kernels_own_timers_runs_in_real_time_and_says_why() {
    if is_lacking("real time beside virtual time") {
        return;
    }
    let bench = with("wait/black-hole", BLACK_HOLE);
    run(&bench, &["--time", "virtual"]).ends_with(0).says(
        "Time: 1 cell in real time: a port drops SYNs, which the kernel sends again in real time.",
    );
    let (cell, told) = cell(&bench, "out");
    let right = serde_json::json!({
        "mode": "real",
        "why": "kernel-timers",
        "reason": "a port drops SYNs, which the kernel sends again in real time",
    });
    assert_eq!((&cell["time"], told), (&right, None));
}

#[test]
fn real_time_can_be_asked_for() {
    let bench = Workbench::with_cut();
    run(&bench, &["--time", "real"])
        .ends_with(0)
        .says("Time: 1 cell in real time: virtual time was not asked for.");
    let (cell, told) = cell(&bench, "out");
    assert_eq!((&cell["time"]["why"], told), (&"not-asked".into(), None));
}

#[test]
fn a_selftest_has_virtual_time_too() {
    if is_lacking("virtual time for a selftest") {
        return;
    }
    let bench = Workbench::with_cut();
    bench
        .run(&["selftest", "--out", "out"])
        .ends_with(0)
        .says("Selftest: 1 case in 3 cells, all of it holds.\nTime: 3 cells in virtual time, ");
    bench
        .run(&["selftest", "--time", "both"])
        .ends_with(2)
        .complains("auto, virtual, real");
}

#[test]
fn a_cell_that_did_not_run_ran_in_no_time() {
    let bench = Workbench::with_cut();
    run(&bench, &["--command", "no-such-program-anywhere {url}"])
        .ends_with(4)
        .says("Nothing ran");
    let record = json(&bench, "out/run.json");
    assert_eq!(record["cells"][0].get("time"), None);
}

#[test]
fn both_times_over_the_same_cells_are_compared_and_kept() {
    if is_lacking("both times") {
        return;
    }
    let bench = Workbench::with_cut();
    bench.write("scenarios/suite/wait/black-hole.yaml", BLACK_HOLE);
    let slow = LATE.replace("servers:", "tags: [slow]\nservers:");
    bench.write("scenarios/suite/wait/late.yaml", &slow);
    run(&bench, &["--time", "both"])
        .ends_with(0)
        .says("In virtual time\n")
        .says("Time: 1 cell in virtual time")
        .says("Time: 2 cells in real time: virtual time was not asked for.")
        .says("2 cells compared, none differs; 1 of them in real time both times.")
        .says("Run folders: out/virtual and out/real; what differs is in out/differences.json");
    let found = json(&bench, "out/differences.json");
    assert_eq!(found["compared"], 2);
    assert_eq!(found["real_both_times"], 1);
    assert_eq!(found["differences"], serde_json::json!([]));
    let seeds = ["virtual", "real"].map(|name| {
        let record = json(&bench, &format!("out/{name}/run.json"));
        let mut modes = record["cells"].as_array().unwrap().iter();
        let is_of_it = modes.any(|cell| cell["time"]["mode"] == name);
        assert!(is_of_it, "{record}");
        bench.run(&["judge", &format!("out/{name}")]).ends_with(0);
        record["seed"].clone()
    });
    assert_eq!(seeds[0], seeds[1]);
}

#[test]
fn cells_in_real_time_both_times_alone_prove_nothing() {
    if is_lacking("both times of what has only one") {
        return;
    }
    let bench = with("wait/black-hole", BLACK_HOLE);
    run(&bench, &["--time", "both"])
        .ends_with(4)
        .says("Nothing ran in virtual time");
}

#[test]
fn a_client_that_minds_being_traced_is_a_difference() {
    let what = "what differs between both times";
    if is_lacking(what) || !needs::is_there("bash", what) {
        return;
    }
    let bench = with("wait/twice", TWICE);
    let again = "get\ngrep -q '^TracerPid:[[:space:]]*0$' /proc/self/status || get\n";
    let client = program(&bench, "minds.sh", &format!("{BASH_GET}{again}"));
    let command = format!("minds={client} {{url}}");
    run(&bench, &["--time", "both", "--command", &command])
        .ends_with(1)
        .says(
            "\n  wait/twice [command:minds]\n    delivered  virtual  api=2\n               \
             real     api=1\n",
        )
        .says("1 cell compared, 1 differs; 0 of them in real time both times.");
    let found = &json(&bench, "out/differences.json")["differences"];
    assert_eq!(found[0]["scenario"], "wait/twice");
    assert_eq!(found[0]["client"], "command:minds");
    let right = serde_json::json!([{ "fact": "delivered", "virtual": "api=2", "real": "api=1" }]);
    assert_eq!(found[0]["differs"], right);
}

#[test]
fn a_report_of_both_times_is_refused_with_what_to_do_instead() {
    if is_lacking("both times") {
        return;
    }
    let bench = Workbench::with_cut();
    run(&bench, &["--time", "both", "--report", "json=r.json"])
        .ends_with(2)
        .complains("wirefault judge DIR/virtual --report FORMAT=PATH");
    assert!(!bench.has("out"));
}

/// Fails unless this client is found to hang long before the deadline has passed.
fn hangs(bench: &Workbench, command: &str) {
    let began = std::time::SystemTime::now();
    run(bench, &["--command", command]).ends_with(1);
    let took = began.elapsed().unwrap();
    assert!(took.as_secs() < 60, "{took:?}");
    let (cell, told) = cell(bench, "out");
    assert_eq!(cell["outcome"], "hung", "{cell}");
    assert_eq!(cell["ended_by"], "deadline", "{cell}");
    assert_eq!(told.unwrap()["doubts"], serde_json::json!([]));
    let notes = cell["time"]["notes"].to_string();
    assert!(notes.contains("the client hung"), "{cell}");
}

#[test]
fn a_client_that_reads_from_an_empty_pipe_is_hung_at_once() {
    if is_lacking("a client that hangs") || !needs::is_there("bash", "a client that hangs") {
        return;
    }
    let bench = with("wait/silent", SILENT);
    let reads = "ask\nmkfifo pipe\nexec 4<>pipe\nread line <&4\n";
    let client = program(&bench, "reads.sh", &format!("{BASH_GET}{reads}"));
    hangs(&bench, &format!("reads={client} {{url}}"));
}

#[test]
fn a_client_without_a_limit_that_gets_no_answer_is_hung_at_once() {
    if is_lacking("a client that hangs") || !needs::is_there("bash", "a client that hangs") {
        return;
    }
    let bench = with("wait/silent", SILENT);
    let client = program(&bench, "waits.sh", &format!("{BASH_GET}get\n"));
    hangs(&bench, &format!("waits={client} {{url}}"));
}

#[test]
fn where_programs_may_not_be_traced_a_run_has_real_time_and_says_so_once() {
    const WHY: &str = "the system does not let this process trace the programs that it starts \
                       (ptrace)";
    let wirefault = assert_cmd::cargo::cargo_bin("wirefault");
    let denied = |bench: &Workbench, args: &[&str]| {
        bench.run_prepared(&wirefault, args, denied::deny_ptrace)
    };
    let bench = Workbench::with_cut();
    let done = denied(&bench, &["run", "--out", "out"])
        .ends_with(0)
        .complains(&format!("time: real, because {WHY}"));
    assert_eq!(done.stderr.matches("time: ").count(), 1, "{}", done.stderr);
    let (cell, told) = cell(&bench, "out");
    assert_eq!((&cell["time"]["why"], told), (&"unavailable".into(), None));
    assert!(
        done.stdout
            .contains("Time: 1 cell in real time: the system")
    );
    denied(&bench, &["selftest", "--out", "selftest"])
        .ends_with(0)
        .complains(&format!("time: real, because {WHY}"));
    for (command, time) in [("run", "virtual"), ("run", "both"), ("selftest", "virtual")] {
        denied(&bench, &[command, "--time", time, "--out", "no"])
            .ends_with(2)
            .complains(&format!("wirefault: --time {time}: {WHY}"));
        assert!(!bench.has("no"), "{command} {time}");
    }
    denied(&bench, &["doctor"]).says(&format!("– real: {WHY}"));
}

#[test]
fn an_ordinary_user_has_virtual_time() {
    if is_lacking("virtual time for an ordinary user") {
        return;
    }
    /// Nobody, on every system.
    const NOBODY: u32 = 65534;
    let bench = with("wait/late", LATE);
    let args = ["run", "--out", "out", "--time", "virtual"];
    let program = assert_cmd::cargo::cargo_bin("wirefault");
    let done = if rustix::process::geteuid().is_root() {
        // A place that anybody can get at.
        let copy = bench.path().join("wirefault");
        std::fs::copy(program, &copy).unwrap();
        let all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(bench.path(), all).unwrap();
        bench.run_prepared(&copy, &args, |command| {
            command.uid(NOBODY).gid(NOBODY);
        })
    } else {
        bench.run(&args)
    };
    done.ends_with(0)
        .says("1 cell: 1 expected (1 pass)")
        .says("Time: 1 cell in virtual time, 5 min ");
}
