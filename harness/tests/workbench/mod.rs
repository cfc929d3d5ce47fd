//! A root of one's own in a temporary folder: scenarios, clients and a baseline
//! that a test writes, and the program run in it.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

/// Longer than any run here takes, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A root in a temporary folder.
pub(crate) struct Workbench {
    folder: TempDir,
}

/// What the program did.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// A POST that the server applies and answers with 200; the answer is cut.
pub(crate) const CUT: &str = r#"title: The connection ends after the request
why: Nobody can tell whether the work was done.
servers:
  api:
    script:
      - applies: task
        cut: { after: request, with: close }
      - applies: task
        respond: { status: 200 }
call: { method: POST, url: "{api}/tasks", body: { json: { task: 7 } } }
expect:
  must:
    - delivered: { api: 1 }
    - outcome: unknown
    - honest: true
proves: { defect: retries-post-on-close, finding: duplicate-delivery }
"#;

impl Workbench {
    /// An empty one with the reference client.
    pub(crate) fn new() -> Self {
        let bench = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(bench.path().join("scenarios/suite")).unwrap();
        bench.write("clients/reference/reference.yaml", &reference());
        bench
    }

    /// One with the scenario [`CUT`] as `request/cut`.
    pub(crate) fn with_cut() -> Self {
        let bench = Self::new();
        bench.write("scenarios/suite/request/cut.yaml", CUT);
        bench
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path().join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether a file is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// Adds the client `bad`: the reference client with a defect that is always
    /// on.
    pub(crate) fn add_bad_client(&self, defect: &str) {
        let text = reference();
        let manifest: Vec<String> = text
            .lines()
            .scan(false, |in_defects, line| {
                let top = !line.starts_with([' ', '-', '#']);
                *in_defects = if top {
                    line.starts_with("defects:")
                } else {
                    *in_defects
                };
                Some((!*in_defects).then(|| line.to_owned()))
            })
            .flatten()
            .map(|line| match line.starts_with("name:") {
                true => "name: bad".to_owned(),
                false => line,
            })
            .collect();
        let joined = manifest.join("\n");
        let good = "__client, reference, --checkpoints,";
        assert!(joined.contains(good), "{joined}");
        let text = joined.replace(
            good,
            &format!("__client, reference, --defect, {defect}, --checkpoints,"),
        );
        self.write("clients/bad/bad.yaml", &(text + "\n"));
    }

    /// Runs the program in the root and waits for its end.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.run_in(self.path(), args)
    }

    /// Runs the program in another folder.
    pub(crate) fn run_in(&self, folder: &Path, args: &[&str]) -> Done {
        Done::of(self.command(args).current_dir(folder))
    }

    /// Runs the program in the root as `prepare` has it.
    pub(crate) fn run_prepared(
        &self,
        program: &Path,
        args: &[&str],
        prepare: impl FnOnce(&mut std::process::Command),
    ) -> Done {
        let mut command = std::process::Command::new(program);
        self.settle(command.args(args));
        prepare(&mut command);
        let mut command = assert_cmd::Command::from_std(command);
        Done::of(command.timeout(PATIENCE))
    }

    /// Starts the program in the root, with nobody reading what it says.
    pub(crate) fn start(&self, args: &[&str]) -> std::process::Child {
        std::process::Command::new(assert_cmd::cargo::cargo_bin("wirefault"))
            .args(args)
            .current_dir(self.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    }

    fn command(&self, args: &[&str]) -> assert_cmd::Command {
        let program = assert_cmd::cargo::cargo_bin("wirefault");
        let mut command = std::process::Command::new(program);
        self.settle(command.args(args));
        let mut command = assert_cmd::Command::from_std(command);
        command.timeout(PATIENCE);
        command
    }

    fn settle(&self, command: &mut std::process::Command) {
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path())
            .env("COLUMNS", "100");
    }
}

impl Done {
    /// Waits for the end of a program.
    fn of(command: &mut assert_cmd::Command) -> Self {
        let output = command.output().unwrap();
        Self {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Fails unless it ended with this code.
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// Fails unless stdout has this.
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "no {text:?} in:\n{}",
            self.stdout
        );
        self
    }

    /// Fails unless stderr has this.
    pub(crate) fn complains(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "no {text:?} in:\n{}",
            self.stderr
        );
        self
    }
}

/// The shipped manifest of the reference client.
fn reference() -> String {
    let shipped = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../clients/reference");
    std::fs::read_to_string(shipped.join("reference.yaml")).unwrap()
}
