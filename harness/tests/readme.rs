//! README's examples are run as they stand there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod needs;
mod workbench;

use std::path::Path;

use workbench::Workbench;

const README: &str = include_str!("../../README.md");

/// The text of every block of this language, in order.
fn blocks(language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    README
        .split(&open)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

fn repository() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.display().to_string()
}

/// The scenario that README shows, in a folder of its own.
fn with_readmes_scenario() -> Workbench {
    let bench = Workbench::new();
    let scenarios = blocks("yaml");
    assert_eq!(scenarios.len(), 1, "README shows one scenario");
    bench.write("mine.yaml", scenarios[0]);
    bench
}

#[test]
fn readmes_scenario_passes_with_the_good_client() {
    let bench = with_readmes_scenario();
    bench
        .run(&["run", "mine.yaml", "--client", "reference"])
        .ends_with(0)
        .says("1 cell");
}

#[test]
fn readmes_mistake_is_answered_as_readme_says() {
    let bench = with_readmes_scenario();
    let wrong = blocks("yaml")[0]
        .lines()
        .map(|line| line.split("  #").next().unwrap().trim_end())
        .map(|line| line.replace("applies: order", "aplies: order"))
        .collect::<Vec<_>>()
        .join("\n");
    bench.write("mine.yaml", &wrong);
    let shown = bench.run(&["check", "mine.yaml"]).ends_with(3);
    let expected = README
        .split("```\nerror[unknown-key]")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let all = shown.stdout + &shown.stderr;
    for line in expected.lines() {
        assert!(all.contains(line.trim_end()), "{line:?} is not in:\n{all}");
    }
}

#[test]
fn readmes_command_lines_work_on_the_shipped_suite() {
    let root = repository();
    // One folder for all, as a line may be about what one before it left.
    let bench = Workbench::new();
    // A report is written over the one that is there.
    bench.write("reports/published/comparison.md", "");
    let mut ran = 0;
    for line in blocks("sh").iter().flat_map(|block| block.lines()) {
        let Some(line) = line.strip_prefix("wirefault ") else {
            continue;
        };
        let words = shlex::split(line).unwrap();
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        if args[0] == "run" {
            // The whole suite is run by CI's main job; here a part shows that
            // the line means what README says.
            args.extend(["--root", &root, "--baseline", "none"]);
            // They would have to be fetched.
            args.retain(|word| *word != "--all-clients");
            if !args.contains(&"--command") {
                args.extend(["connect/refused", "--client", "reference"]);
            }
        }
        if args.contains(&"--command") && !needs::is_there("curl", line) {
            continue;
        }
        bench.run(&args).ends_with(0);
        ran += 1;
    }
    assert!(ran > 0, "README shows command lines");
}

#[test]
fn readme_explains_every_sign_of_the_matrix() {
    let rows: Vec<&str> = README
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    for (sign, meaning) in reports::formats::text::legend() {
        assert!(rows.contains(&sign), "`{sign}` ({meaning}) has no row");
    }
}

#[test]
fn readme_lists_every_command() {
    let bench = Workbench::new();
    let help = bench.run(&["help"]).ends_with(0).stdout;
    let commands = help
        .split("Commands:\n")
        .nth(1)
        .and_then(|rest| rest.split("\n\n").next())
        .unwrap();
    for command in commands
        .lines()
        .filter_map(|line| line.split_whitespace().next())
    {
        let row = format!("| `wirefault {command}` |");
        assert!(command == "help" || README.contains(&row), "{row}");
    }
}
