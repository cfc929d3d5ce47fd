//! Commands that run no cells, wrong command lines, and the selftest, from
//! outside.

mod workbench;

use workbench::{CUT, Workbench};

#[test]
fn the_list_of_scenarios_names_every_case() {
    let bench = Workbench::with_cut();
    let swept =
        CUT.replace("after: request", "after: { body: \"{at}\" }") + "sweep: { at: [1, half] }\n";
    bench.write("scenarios/suite/request/swept.yaml", &swept);
    let done = bench.run(&["list", "scenarios"]).ends_with(0);
    let names: Vec<&str> = done
        .stdout
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "request/cut",
            "request/swept[at=1]",
            "request/swept[at=half]"
        ]
    );
    let json = bench
        .run(&["list", "scenarios", "request/swept[at=1]", "--json"])
        .ends_with(0);
    let values: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(values.as_array().unwrap().len(), 1);
    assert_eq!(values[0]["case"], "request/swept[at=1]");
    assert_eq!(values[0]["proves"]["finding"], "duplicate-delivery");
}

#[test]
fn faults_assertions_and_clients_can_be_listed_for_people_and_programs() {
    let bench = Workbench::new();
    for (what, word) in [
        ("faults", "cut"),
        ("assertions", "honest"),
        ("clients", "reference"),
        ("words", "sweep"),
    ] {
        bench.run(&["list", what]).ends_with(0).says(word);
        let done = bench.run(&["list", what, "--json"]).ends_with(0);
        let values: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let names: Vec<&str> = values
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&word), "{names:?}");
    }
}

/// `wirefault schema scenario > schema/scenario.schema.json` writes it again.
#[test]
fn the_schemas_in_the_repository_are_what_the_command_prints() {
    let bench = Workbench::new();
    for what in ["scenario", "manifest"] {
        let file = format!(
            "{}/../schema/{what}.schema.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let kept = std::fs::read_to_string(&file).unwrap();
        let done = bench.run(&["schema", what]).ends_with(0);
        assert!(
            done.stdout == kept,
            "schema/{what}.schema.json is not what is printed"
        );
    }
    bench.run(&["schema", "nonsense"]).ends_with(2);
}

#[test]
fn the_list_of_words_names_what_an_author_needs_with_an_example_each() {
    let bench = Workbench::new();
    let done = bench.run(&["list", "words"]).ends_with(0);
    for part in [
        "Words of a scenario\n\na scenario\n  title ",
        "\na step\n  when ",
        "    delay: 50ms\n",
        "\nan expectation\n  of ",
        "duplicate-delivery, duplicate-effect",
        "Words of a manifest\n\na manifest\n  name ",
        "\n`policy`\n",
    ] {
        assert!(
            done.stdout.contains(part),
            "no {part:?} in:\n{}",
            done.stdout
        );
    }
}

#[test]
fn list_check_and_judge_start_no_program_and_doctor_does() {
    let bench = Workbench::with_cut();
    bench.add_bad_client("retries-post-on-close");
    bench
        .run(&["run", "--client", "reference", "--out", "out"])
        .ends_with(0);
    let text: Vec<String> = bench
        .read("clients/bad/bad.yaml")
        .lines()
        .map(|line| match line.starts_with("version:") {
            true => format!(
                "version: [sh, -c, \"touch '{}'; echo 1\"]",
                bench.path().join("started").display()
            ),
            false => line.to_owned(),
        })
        .collect();
    bench.write("clients/bad/bad.yaml", &(text.join("\n") + "\n"));
    for args in [
        ["list", "clients"],
        ["list", "scenarios"],
        ["check", "clients/bad/bad.yaml"],
        ["judge", "out"],
    ] {
        bench.run(&args).ends_with(0);
        assert!(!bench.has("started"), "{args:?}");
    }
    bench.run(&["check"]).ends_with(0);
    assert!(!bench.has("started"));
    bench.run(&["doctor"]).ends_with(0).says("✓ sock_diag");
    assert!(bench.has("started"));
}

#[test]
fn check_tells_all_mistakes_of_all_files_with_their_places() {
    let bench = Workbench::with_cut();
    bench.write(
        "scenarios/suite/request/one.yaml",
        &CUT.replace("with: close", "wiht: close"),
    );
    bench.write(
        "scenarios/suite/request/two.yaml",
        &CUT.replace("honest: true", "onest: true"),
    );
    bench.write("scenarios/suite/lost.yaml", CUT);
    let done = bench.run(&["check"]).ends_with(3);
    assert_eq!(done.stdout, "");
    for part in [
        "scenarios/suite/request/one.yaml:7:",
        "did you mean `with`",
        "scenarios/suite/request/two.yaml:15:",
        "did you mean `honest`",
        "scenarios/suite/lost.yaml: scenarios lie exactly two levels deep",
    ] {
        assert!(
            done.stderr.contains(part),
            "no {part:?} in:\n{}",
            done.stderr
        );
    }
    bench
        .run(&["check", "scenarios/suite/request/cut.yaml"])
        .ends_with(0);
    bench.run(&["run", "request/cut"]).ends_with(3);
}

#[test]
fn a_file_that_is_not_there_is_told_as_such() {
    let bench = Workbench::new();
    bench
        .run(&["check", "nowhere.yaml"])
        .ends_with(3)
        .complains("nowhere.yaml: No such file");
}

#[test]
fn two_clients_with_one_name_are_refused() {
    let bench = Workbench::with_cut();
    let text = bench.read("clients/reference/reference.yaml");
    bench.write("clients/other/other.yaml", &text);
    bench
        .run(&["check"])
        .ends_with(3)
        .complains("has the client `reference` already");
}

#[test]
fn wrong_words_are_answered_with_the_right_ones() {
    let bench = Workbench::with_cut();
    for (args, hint) in [
        (&["run", "request/cot"][..], "did you mean `request/cut`?"),
        (&["run", "cut"], "did you mean `request/cut`?"),
        (&["run", "request"], "write `request/*`"),
        (&["run", "request/cut[at=1]"], "has other columns"),
        (
            &["run", "--client", "referense"],
            "did you mean `reference`?",
        ),
        (
            &["run", "--report", "xml=x"],
            "only text, json, junit, markdown",
        ),
        (&["run", "--baseline", "nowhere"], "is no folder"),
        (&["run", "--command", "curl"], "{url}"),
        (&["run", "--root", "scenarios"], "is no root"),
        (&["rum"], "a similar subcommand exists: 'run'"),
        (
            &["judge", "nowhere"],
            "is the folder neither of a run nor of a cell",
        ),
        (&["list", "faults", "x"], "only scenarios can be selected"),
        (
            &["compare", "nowhere"],
            "is no folder of a run that came to its end",
        ),
    ] {
        let done = bench.run(args).ends_with(2).complains(hint);
        assert_eq!(done.stdout, "", "{args:?}");
    }
    assert!(!bench.has("wirefault-runs"));
}

#[test]
fn a_folder_with_something_in_it_is_never_written_to() {
    let bench = Workbench::with_cut();
    bench.write("out/precious", "x");
    bench
        .run(&["run", "--out", "out"])
        .ends_with(2)
        .complains("is not empty");
    assert_eq!(
        std::fs::read_dir(bench.path().join("out")).unwrap().count(),
        1
    );
}

#[test]
fn the_root_is_found_from_below_it() {
    let bench = Workbench::with_cut();
    bench.write("deep/down/x", "");
    let below = bench.path().join("deep/down");
    bench
        .run_in(&below, &["run", "--client", "reference"])
        .ends_with(0);
    assert!(bench.has("deep/down/wirefault-runs/latest/run.json"));
    let json = bench.run_in(&below, &["list", "scenarios", "--json"]);
    assert!(
        json.stdout
            .contains("../../scenarios/suite/request/cut.yaml"),
        "{}",
        json.stdout
    );
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let bench = Workbench::with_cut();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("wirefault"))
        .args(["list", "assertions"])
        .current_dir(bench.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_scenario_that_proves_what_it_says_passes_the_selftest() {
    let bench = Workbench::with_cut();
    let done = bench.run(&["selftest"]).ends_with(0);
    assert!(
        done.stdout.contains("1 case in 3 cells, all of it holds"),
        "{}",
        done.stdout
    );
    assert!(bench.has("wirefault-runs/latest/cells"));
}

#[test]
fn a_scenario_that_proves_nothing_fails_the_selftest() {
    let bench = Workbench::with_cut();
    let unproved = CUT.lines().filter(|line| !line.starts_with("proves"));
    let unproved: String = unproved.map(|line| format!("{line}\n")).collect();
    bench.write("scenarios/suite/request/cut.yaml", &unproved);
    bench.run(&["selftest"]).ends_with(1).says("name a defect");
    // A defect that this case does not meet leaves the client good.
    let beside = CUT.replace("retries-post-on-close", "ignores-retry-after");
    bench.write("scenarios/suite/request/cut.yaml", &beside);
    bench
        .run(&["selftest"])
        .ends_with(1)
        .says("should    fail with `duplicate-delivery`")
        .says("but       it is pass");
}

#[test]
fn the_matrix_shows_which_defect_is_caught_and_fails_where_one_is_not() {
    let bench = Workbench::with_cut();
    bench
        .run(&["selftest", "request/cut", "--matrix"])
        .ends_with(0)
        .says("request/cut  ")
        .says("  retries-post-on-close")
        .says("all of it holds");
    bench
        .run(&["selftest", "--matrix"])
        .ends_with(1)
        .says("defect accepts-short-body\n    should    be caught by at least one scenario");
}

#[test]
fn help_names_every_option_of_a_run() {
    let bench = Workbench::new();
    insta::assert_snapshot!(bench.run(&["run", "-h"]).ends_with(0).stdout);
    insta::assert_snapshot!(bench.run(&["--help"]).ends_with(0).stdout);
}

#[test]
fn runs_are_compared_and_clients_with_each_other() {
    let bench = Workbench::with_cut();
    let reference = bench.read("clients/reference/reference.yaml");
    let careless = reference.replacen("name: reference", "name: careless", 1);
    let careless = careless.replacen(
        "checkpoints]",
        "checkpoints, --defect, retries-post-on-close]",
        1,
    );
    assert_ne!(
        careless,
        reference.replacen("name: reference", "name: careless", 1)
    );
    bench.write("clients/careless/careless.yaml", &careless);
    bench
        .run(&["run", "--out", "first", "--timings"])
        .says("times the floor of");
    bench
        .run(&["compare", "first"])
        .ends_with(0)
        .says("careless")
        .says("2 clients, 1 case that at least two of them ran: they differ in 1.");
    bench.run(&["run", "--client", "reference", "--out", "same"]);
    bench
        .run(&["compare", "first", "same"])
        .ends_with(0)
        .says("1 cell in both runs: 0 changed. 1 cell only in the first.");
    bench.write(
        "clients/reference/reference.yaml",
        &careless.replacen("name: careless", "name: reference", 1),
    );
    bench.write(
        "clients/careless/careless.yaml",
        &reference.replacen("name: reference", "name: careless", 1),
    );
    bench.run(&["run", "--client", "reference", "--out", "worse"]);
    bench
        .run(&["compare", "same", "worse"])
        .ends_with(1)
        .says("1 cell in both runs: 1 changed. Scenarios or manifests are not the same in both.");
}
