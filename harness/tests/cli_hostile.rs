//! Places and names that a careless or hostile user gives on the command line,
//! and run folders that come from strangers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod workbench;

use std::os::unix::fs::symlink;

use workbench::Workbench;

/// A bench with the finished run `out`.
fn with_run() -> Workbench {
    let bench = Workbench::with_cut();
    bench.run(&["run", "--out", "out"]).ends_with(0);
    bench
}

#[test]
fn a_place_that_takes_no_results_is_a_mistake_of_the_command_line_told_before_anything_runs() {
    let bench = Workbench::with_cut();
    bench.write("file", "");
    bench
        .run(&["run", "--out", "file/below"])
        .ends_with(2)
        .complains("cannot make the run's folder `file/below`");
    for (out, report) in [("a", "junit=file/x.xml"), ("b", "junit=scenarios")] {
        let done = bench
            .run(&["run", "--out", out, "--report", report])
            .ends_with(2);
        assert!(done.stderr.contains("cannot write the report"), "{done:?}");
        assert!(!bench.has(&format!("{out}/cells")), "something ran");
    }
}

/// As root, renaming a file over `/dev/null` would take it from the machine.
#[test]
fn a_report_into_a_device_does_not_replace_the_device() {
    let bench = Workbench::with_cut();
    symlink("/dev/null", bench.path().join("null")).unwrap();
    bench
        .run(&["run", "--out", "out", "--report", "json=null"])
        .ends_with(0);
    assert!(bench.path().join("null").is_symlink());
    bench
        .run(&["judge", "out", "--report", "json=/dev/stdout"])
        .ends_with(0)
        .says("\"schema_version\"");
}

#[test]
fn names_on_the_command_line_cannot_steer_a_terminal_or_a_ci_system() {
    let bench = Workbench::with_cut();
    let name = "a\u{1b}[2J\n::error::b";
    for args in [
        &["run", name][..],
        &["run", "--client", name],
        &["run", "--root", name],
        &["run", "--baseline", name],
        &["judge", name],
        &["check", name],
    ] {
        let done = bench.run(args);
        assert!([2, 3].contains(&done.code), "{args:?}: {done:?}");
        assert!(
            done.stderr.contains("\\u{1b}[2J\\n::error"),
            "{args:?}: {done:?}"
        );
        assert!(!done.stderr.contains('\u{1b}'), "{args:?}: {done:?}");
    }
    bench
        .run(&["run", "--out", name])
        .ends_with(0)
        .says("Run folder: a\\u{1b}[2J\\n::error::b\n");
}

#[test]
fn an_id_in_a_run_s_folder_cannot_lead_out_of_it() {
    let bench = with_run();
    let planned = bench.read("out/planned.json");
    let id = planned
        .split("\"id\": \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .unwrap();
    let elsewhere = planned.replace(id, "../../elsewhere");
    bench.write("out/planned.json", &elsewhere);
    bench
        .run(&["judge", "out"])
        .ends_with(2)
        .complains("`../../elsewhere` is no cell's id");
}

/// Reading a device without end would take all memory.
#[test]
fn a_run_s_folder_with_devices_in_it_is_judged_as_incomplete() {
    let bench = with_run();
    let cells = bench.path().join("out/cells");
    let cell = std::fs::read_dir(cells).unwrap().next().unwrap().unwrap();
    for file in ["events.jsonl", "stderr"] {
        let path = cell.path().join(file);
        std::fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
    }
    bench
        .run(&["judge", "out"])
        .ends_with(6)
        .complains("not a regular file");
}
