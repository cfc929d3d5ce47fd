//! Clients that come from a registry: installed once, and only when they are wanted.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod workbench;

use workbench::Workbench;

/// A client whose library comes from a registry: here one whose `registry` is a folder,
/// and which counts how often it is asked.
fn with_a_fetched_client() -> Workbench {
    let bench = Workbench::with_cut();
    let text = bench.read("clients/reference/reference.yaml");
    let install = "start:\n  install: { sources: [lock], run: [sh, -c, \"echo >> '{count}'; test -e \
                   '{there}' && echo it >library\"] }";
    let install = install
        .replace("{count}", bench.path().join("count").to_str().unwrap())
        .replace("{there}", bench.path().join("there").to_str().unwrap());
    let text = text
        .replacen("name: reference", "name: fetched", 1)
        .replacen("start:", &install, 1);
    let text: Vec<&str> = text
        .lines()
        .map(|line| match line.starts_with("version:") {
            true => "version: [cat, \"{installed}/library\"]",
            false => line,
        })
        .collect();
    bench.write("clients/fetched/fetched.yaml", &(text.join("\n") + "\n"));
    bench.write("clients/fetched/lock", "it 1.0");
    bench
}

#[test]
fn a_client_from_a_registry_is_installed_once_and_only_when_it_is_named() {
    let bench = with_a_fetched_client();
    let cut = "request/cut";
    let done = bench.run(&["run", cut, "--out", "plain"]).ends_with(0);
    assert!(!done.stdout.contains("fetched"), "{done:?}");
    bench
        .run(&["clients", "versions"])
        .ends_with(0)
        .says("– fetched    not set up; `wirefault clients setup fetched`");
    assert!(!bench.has("count"), "nothing was fetched");
    bench
        .run(&["run", cut, "--client", "fetched", "--out", "failed"])
        .ends_with(7)
        .complains("wirefault: setting up fetched")
        .complains("the client `fetched` can not be made ready: `sh -c");
    bench.write("there", "");
    bench
        .run(&["run", cut, "--client", "fetched", "--out", "named"])
        .ends_with(0)
        .complains("wirefault: setting up fetched");
    let again = bench.run(&["run", cut, "--all-clients", "--out", "all"]);
    let again = again.ends_with(0).says("fetched");
    assert!(!again.stderr.contains("setting up"), "{again:?}");
    bench
        .run(&["clients", "setup", "fetched"])
        .ends_with(0)
        .says("✓ fetched  it");
    assert_eq!(bench.read("count"), "\n\n", "once in vain, once for all");
    bench
        .run(&["run", "--all-clients", "--client", "fetched"])
        .ends_with(2);
}
