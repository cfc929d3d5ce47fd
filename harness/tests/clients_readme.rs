//! The manifests of the clients' README work as they stand there, in the places
//! and with the command lines that it names. Its programs are tested beside the
//! kits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod needs;
mod workbench;

use std::path::{Path, PathBuf};

use workbench::Workbench;

const README: &str = include_str!("../../clients/README.md");

/// The text of every block of this language, in order.
fn blocks(language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    README
        .split(&open)
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A root with the shipped scenarios.
fn with_suite() -> Workbench {
    let bench = Workbench::new();
    let suite = Path::new("scenarios/suite");
    for area in std::fs::read_dir(repository().join(suite)).unwrap() {
        let area = area.unwrap();
        for file in std::fs::read_dir(area.path()).unwrap() {
            let file = file.unwrap();
            let below = suite.join(area.file_name()).join(file.file_name());
            let text = std::fs::read_to_string(file.path()).unwrap();
            bench.write(below.to_str().unwrap(), &text);
        }
    }
    bench
}

/// The whole manifests, with the path in the first line where there is one.
fn manifests() -> (&'static str, &'static str) {
    let [command, adapter, _build, _install] = blocks("yaml")[..] else {
        panic!("two manifests and parts of two are expected");
    };
    (command, adapter)
}

#[test]
fn the_manifest_of_a_command_is_a_client() {
    let bench = with_suite();
    bench.write("clients/curl/my-curl.yaml", manifests().0);
    let done = bench.run(&["check"]).ends_with(0).says("2 clients");
    assert_eq!(done.stderr, "");
    if needs::is_there("curl", "the manifest of a command") {
        bench
            .run(&["run", "connect/refused", "--client", "my-curl"])
            .ends_with(0)
            .says("✓ 0");
    }
}

#[test]
fn the_manifest_of_an_adapter_is_a_client_where_the_readme_puts_it() {
    let bench = with_suite();
    let manifest = manifests().1;
    let place = |text: &'static str| {
        let first = text.lines().next().unwrap();
        first.strip_prefix("# ").unwrap()
    };
    let folder = Path::new(place(manifest)).parent().unwrap();
    bench.write(place(manifest), manifest);
    let program = blocks("python")[0];
    let beside = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    bench.write(&beside(place(program)), program);
    let kit = std::fs::read_to_string(repository().join(beside("kit.py"))).unwrap();
    bench.write(&beside("kit.py"), &kit);

    let [lines] = blocks("sh")[..] else {
        panic!("one block of command lines is expected");
    };
    let mut ran = 0;
    for line in lines.lines() {
        let words = shlex::split(line.strip_prefix("wirefault ").unwrap()).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if words[0] != "check" && !needs::is_there("python3", line) {
            continue;
        }
        let done = bench.run(&words).ends_with(0);
        if words[0] == "run" {
            assert!(!done.stdout.contains("unsupported"), "{done:?}");
            assert!(done.stdout.contains("✓ 1"), "{done:?}");
        }
        ran += 1;
    }
    assert!(ran > 0, "the README shows command lines");
}

/// One program, its kit and one manifest, anywhere; and a scenario beside them.
#[test]
fn clients_and_scenarios_may_lie_in_a_repository_of_their_own() {
    let bench = Workbench::new();
    let root = repository().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    bench.write("mine/my-client.yaml", manifests().1);
    bench.write("mine/my_client.py", blocks("python")[0]);
    let kit = std::fs::read_to_string(repository().join("clients/python/kit.py")).unwrap();
    bench.write("mine/kit.py", &kit);
    let scenario = std::fs::read_to_string(
        repository().join("scenarios/suite/request/reset-after-it-was-applied.yaml"),
    );
    bench.write("cases/own/reset.yaml", &scenario.unwrap());

    let own = ["--root", root, "--clients", "mine", "--scenarios", "cases"];
    let with = |words: &[&'static str]| {
        let words = words.iter().copied().chain(own);
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let run = |words: &[&'static str]| {
        let words = with(words);
        bench.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    run(&["check"]).ends_with(0);
    run(&["list", "scenarios", "own/*"])
        .ends_with(0)
        .says("own/reset");
    run(&["list", "clients"])
        .ends_with(0)
        .says("my-client")
        .says("reference");
    if needs::is_there("python3", "a client of its own folder") {
        run(&[
            "run",
            "own/reset",
            "connect/refused",
            "--client",
            "my-client",
        ])
        .ends_with(0)
        .says("✓ 1")
        .says("✓ 0");
    }
    let unknown = ["list", "clients", "--root", root, "--clients", "nothing"];
    bench
        .run(&unknown)
        .ends_with(2)
        .complains("--clients: `nothing` is no folder");
}

#[test]
fn what_is_called_alike_in_two_folders_is_refused() {
    let bench = Workbench::new();
    let root = repository().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let read = |below: &str| std::fs::read_to_string(repository().join(below)).unwrap();
    bench.write("mine/curl.yaml", &read("clients/curl/curl.yaml"));
    bench
        .run(&["check", "--root", root, "--clients", "mine"])
        .ends_with(3)
        .complains("has the client `curl` already");
    let loops = read("scenarios/suite/redirect/loop.yaml");
    bench.write("cases/redirect/loop.yaml", &loops);
    bench
        .run(&["check", "--root", root, "--scenarios", "cases"])
        .ends_with(2)
        .complains("would both be the scenario `redirect/loop`");
}
