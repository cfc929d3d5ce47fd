//! Cells in virtual time, from outside: what is waited for takes none, what came
//! of it is evidence, and what the kernel's own timers decide runs in real time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod workbench;

use workbench::Workbench;

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

/// What the cells of the run `out` say of virtual time.
fn told(bench: &Workbench) -> Vec<serde_json::Value> {
    let cells = std::fs::read_dir(bench.path().join("out/cells")).unwrap();
    let events = cells.map(|cell| cell.unwrap().path().join("events.jsonl"));
    let texts: Vec<String> = events
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    lines
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter_map(|entry| entry.pointer("/event/client/virtual_time").cloned())
        .collect()
}

fn run(bench: &Workbench, time: &str) {
    bench
        .run(&["run", "--time", time, "--out", "out"])
        .ends_with(0)
        .says("1 cell: 1 expected (1 pass)");
}

#[test]
fn five_minutes_of_waiting_are_jumped_over_and_the_evidence_says_so() {
    if let Err(why) = virtual_time::probe() {
        println!("skipped: {why}");
        return;
    }
    let bench = Workbench::new();
    bench.write("scenarios/suite/wait/late.yaml", LATE);
    run(&bench, "virtual");
    let told = told(&bench);
    let [time] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert!(time["jumped_us"].as_u64().unwrap() > 290_000_000, "{time}");
    assert_eq!(time["doubts"], serde_json::json!([]), "{time}");
    assert_eq!(time.get("refused"), None, "{time}");
}

#[test]
fn a_case_that_hangs_on_the_kernels_own_timers_runs_in_real_time() {
    if let Err(why) = virtual_time::probe() {
        println!("skipped: {why}");
        return;
    }
    let bench = Workbench::new();
    bench.write("scenarios/suite/wait/black-hole.yaml", BLACK_HOLE);
    run(&bench, "virtual");
    assert_eq!(told(&bench), Vec::<serde_json::Value>::new());
}

#[test]
fn real_time_is_what_a_run_has_unless_another_is_asked_for() {
    let bench = Workbench::with_cut();
    bench
        .run(&["run", "--out", "out"])
        .ends_with(0)
        .says("1 cell: 1 expected (1 pass)");
    assert_eq!(told(&bench), Vec::<serde_json::Value>::new());
}
