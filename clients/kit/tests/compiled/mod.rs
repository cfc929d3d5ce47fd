//! The clients here that must be compiled, compiled in a fresh folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A compiled client. Dropped, its folder goes.
pub(crate) struct Compiled {
    folder: PathBuf,
    /// What starts it.
    pub(crate) command: Vec<String>,
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Go's client; none, and said so, where there is no Go.
pub(crate) fn go() -> Option<Compiled> {
    let run = [
        "env",
        "CGO_ENABLED=0",
        "GO111MODULE=auto",
        "go",
        "build",
        "-o",
        "client",
    ];
    let sources = ["kit.go", "net_http.go"];
    compile(
        "go",
        &["go", "version"],
        &run,
        &sources,
        &["{built}/client"],
    )
}

/// The Java client of this class; none, and said so, where there is no Java compiler.
pub(crate) fn java(class: &str) -> Option<Compiled> {
    let program = format!("{class}.java");
    let sources = ["Kit.java", program.as_str()];
    let start = ["java", "-cp", "{built}", class];
    compile(
        "java",
        &["javac", "--version"],
        &["javac", "-d", "."],
        &sources,
        &start,
    )
}

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn compile(
    ecosystem: &str,
    version: &[&str],
    run: &[&str],
    sources: &[&str],
    start: &[&str],
) -> Option<Compiled> {
    let mut there = Command::new(version[0]);
    there.args(&version[1..]).stdout(Stdio::null());
    if there.status().is_err() {
        let mut stderr = std::io::stderr();
        writeln!(stderr, "SKIPPED: {} is not in PATH", version[0]).unwrap();
        return None;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(ecosystem);
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("client-kit-{}-{ecosystem}-{count}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for source in sources {
        std::fs::copy(here.join(source), folder.join(source)).unwrap();
    }
    let mut compiler = Command::new(run[0]);
    compiler.args(&run[1..]).args(sources).current_dir(&folder);
    assert!(compiler.status().unwrap().success(), "{compiler:?}");
    let built = folder.to_str().unwrap();
    let command = start.iter().map(|word| word.replace("{built}", built));
    Some(Compiled {
        command: command.collect(),
        folder,
    })
}
