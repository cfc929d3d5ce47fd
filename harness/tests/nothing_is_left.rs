//! What many cells leave behind: no process, no file outside of the run's folder and
//! none there but the record, and in the harness no descriptor, thread or mapping.
//! Also after the harness was killed in the middle, and after a client has killed
//! its launcher.
//!
//! The clients wait for a minute of virtual time, and leave processes behind that
//! ignore every signal that can be ignored. With `cargo test` this is a small run of
//! the debug build; `.ci/run` gives the release build and asks for a thousand cells:
//!
//! ```sh
//! cargo build --release
//! cargo test -p harness --test nothing_is_left -- --whole "$PWD/target/release/wirefault"
//! ```

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

/// A client that does its work, beside a daemon in a session of its own and a child
/// that it does not wait for.
const CLIENT: &str = r#"#!/bin/bash
trap '' TERM HUP INT
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
sleep 1000 </dev/null >/dev/null 2>&1 &
sleep 60
url=${1#http://}
address=${url%%/*}
exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$address" >&3
cat <&3 >answer
"#;

/// A client that kills its launcher, and goes on.
const KILLER: &str = r#"#!/bin/bash
trap '' TERM HUP INT
setsid sleep 1000 </dev/null >/dev/null 2>&1 &
sleep 60
kill -KILL $PPID
sleep 1000
"#;

const SCENARIO: &str = r#"title: An answer
why: Clients come and go.
servers:
  api:
    script: [{ respond: { status: 503 } }]
call: { method: GET, url: "{api}/" }
deadline: 150s
expect:
  must:
    - delivered: { api: 1 }
"#;

/// All that a cell leaves in the run's folder.
const RECORD: [&str; 5] = [
    "cell.json",
    "events.jsonl",
    "stderr",
    "stdout",
    "verdict.json",
];

/// How much is to be run.
struct Extent {
    cells: usize,
    killed_harnesses: usize,
}

/// So many that a descriptor for each second cell is more than what the cells under way
/// have.
const SMALL: Extent = Extent {
    cells: 400,
    killed_harnesses: 2,
};

const WHOLE: Extent = Extent {
    cells: 1000,
    killed_harnesses: 20,
};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--whole", wirefault] => hold(Path::new(wirefault), &WHOLE),
        // As the other tests: a filter that does not name it leaves it out.
        [filter, ..] if !filter.starts_with('-') && !"nothing_is_left".contains(filter) => {}
        ["--list", ..] => println!("nothing_is_left: test"),
        _ => hold(Path::new(env!("CARGO_BIN_EXE_wirefault")), &SMALL),
    }
    ExitCode::SUCCESS
}

fn hold(wirefault: &Path, extent: &Extent) {
    let bench = Bench::set_up(wirefault);
    let sizes = bench.many_cells(extent.cells);
    println!(
        "{} cells leave nothing behind; descriptors, threads, mappings: {:?} early, {:?} late",
        extent.cells, sizes.0, sizes.1
    );
    bench.killed_launchers();
    println!("clients that kill their launcher leave nothing behind");
    for turn in 0..extent.killed_harnesses {
        bench.killed_harness(turn);
    }
    println!(
        "{} runs whose harness was killed leave nothing behind",
        extent.killed_harnesses
    );
}

struct Bench<'a> {
    wirefault: &'a Path,
    folder: tempfile::TempDir,
}

impl<'a> Bench<'a> {
    fn set_up(wirefault: &'a Path) -> Self {
        let bench = Self {
            wirefault,
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(bench.path("tmp")).unwrap();
        std::fs::write(bench.path("an-answer.yaml"), SCENARIO).unwrap();
        for (name, text) in [("client", CLIENT), ("killer", KILLER)] {
            std::fs::write(bench.path(name), text).unwrap();
            let may_run = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(bench.path(name), may_run).unwrap();
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, out: &str, client: &str, cells: usize) -> Harness {
        let client = format!("client={} {{url}}", self.path(client).display());
        let child = Command::new(self.wirefault)
            .args(["run", "an-answer.yaml", "--command", &client])
            .args(["--repeat", &cells.to_string(), "--out", out])
            .current_dir(self.folder.path())
            .env("TMPDIR", self.path("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Harness {
            child,
            cells: self.path(out).join("cells"),
        }
    }

    /// Runs many cells to their end. What the harness holds early and late.
    fn many_cells(&self, cells: usize) -> (Sizes, Sizes) {
        let mut harness = self.start("many", "client", cells);
        harness.until_done(cells / 10);
        let early = harness.sizes();
        harness.until_done(cells * 9 / 10);
        let late = harness.sizes();
        assert_eq!(harness.end().code(), Some(0), "all cells pass");
        let between = cells * 8 / 10;
        early.holds(late, between / 2);
        self.nothing_is_left();
        for cell in cell_folders(&self.path("many/cells")) {
            assert_eq!(names(&cell), RECORD, "{}", cell.display());
        }
        (early, late)
    }

    /// Each cell is an error, and the run's exit code says that it is ours to see to.
    fn killed_launchers(&self) {
        let harness = self.start("killers", "killer", 4);
        assert_eq!(harness.end().code(), Some(7));
        self.nothing_is_left();
    }

    /// Kills the harness in the middle of a run, each time at another one.
    fn killed_harness(&self, turn: usize) {
        let out = format!("killed-{turn}");
        let mut harness = self.start(&out, "client", 200);
        harness.until_done(2 + turn);
        harness.child.kill().unwrap();
        harness.child.wait().unwrap();
        self.nothing_is_left();
    }

    /// No process works in this folder or runs something of it, and no temporary
    /// file is there. Processes that were killed need a moment to be gone.
    fn nothing_is_left(&self) {
        for _ in 0..1000 {
            if self.processes().is_empty() {
                assert_eq!(names(&self.path("tmp")), [""; 0]);
                return;
            }
            pause();
        }
        panic!("there are still {:?}", self.processes());
    }

    fn processes(&self) -> Vec<String> {
        let is_here = |process: &PathBuf| {
            let of = |name| std::fs::read_link(process.join(name)).unwrap_or_default();
            let shown = std::fs::read(process.join("cmdline")).unwrap_or_default();
            let folder = self.folder.path();
            of("cwd").starts_with(folder)
                || String::from_utf8_lossy(&shown).contains(folder.to_str().unwrap())
        };
        let all = std::fs::read_dir("/proc").unwrap();
        let all = all.map(|entry| entry.unwrap().path());
        let shown = |process: PathBuf| {
            let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            format!("{} {line}", process.display())
        };
        all.filter(is_here).map(shown).collect()
    }
}

/// A run under way.
struct Harness {
    child: Child,
    cells: PathBuf,
}

/// How many descriptors, threads and mappings the harness has. A thread that nobody
/// joins leaves two mappings without a name, and a process may have 65,530.
#[derive(Clone, Copy, Debug)]
struct Sizes([usize; 3]);

impl Sizes {
    /// Fails when any has grown by so much.
    fn holds(self, later: Self, by: usize) {
        for (early, late) in self.0.into_iter().zip(later.0) {
            assert!(late < early + by, "{self:?} became {later:?}");
        }
    }
}

impl Harness {
    /// Waits until so many cells have their verdict.
    fn until_done(&mut self, count: usize) {
        // A minute for every hundred.
        for _ in 0..6000 * (1 + count / 100) {
            let done = cell_folders(&self.cells)
                .iter()
                .filter(|cell| cell.join("verdict.json").exists())
                .count();
            if done >= count {
                return;
            }
            assert_eq!(self.child.try_wait().unwrap(), None, "it has ended early");
            pause();
        }
        panic!("{count} cells are never done");
    }

    fn sizes(&self) -> Sizes {
        let own = PathBuf::from(format!("/proc/{}", self.child.id()));
        let entries = |name| std::fs::read_dir(own.join(name)).unwrap().count();
        let maps = std::fs::read_to_string(own.join("maps")).unwrap();
        Sizes([entries("fd"), entries("task"), maps.lines().count()])
    }

    fn end(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

fn cell_folders(cells: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(cells) else {
        return Vec::new();
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[expect(
    clippy::disallowed_methods,
    reason = "it asks again until it is so, within a limit"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}
