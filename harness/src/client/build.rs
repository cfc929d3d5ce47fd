//! Installs a client that comes from a registry and compiles one that must be compiled:
//! once for its sources and its tools, into a cache outside of the source tree.
//!
//! Several of these programs may want the same at once. Each works in a folder of its
//! own and renames it; what is under the final name is whole.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use scenarios::manifest::{Build, Manifest, Start};
use sha2::{Digest, Sha256};

use crate::client::command::fill;
use crate::client::known::find_program;
use crate::surroundings::Surroundings;
use crate::system;

/// How long a build may take. A first one compiles a standard library.
const PATIENCE: Duration = Duration::from_secs(600);

/// The end of what a compiler says, in bytes.
const LONGEST_OUTPUT: usize = 8 * 1024;

/// Part of every key: another number, and everything is built anew.
const FORM: &str = "1";

/// Where what is installed lies in the cache, and what is built.
const INSTALLED: &str = "installed";
const BUILT: &str = "built";

/// The client of a manifest with all that it needs from its registry: `{installed}` is
/// filled in, after installing what is not in the cache yet.
///
/// # Errors
/// It can not be installed: why, with what the installer said.
pub fn installed(manifest: &Manifest, around: &Surroundings) -> Result<Manifest, String> {
    // Clients that are installed alike share it: the first one does it, the others wait.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let Some(folder) = install_folder(manifest, around)? else {
        return Ok(manifest.clone());
    };
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(install) = manifest.install.as_ref().filter(|_| !folder.is_dir()) {
        make(&install.run, &read(install, here(manifest))?, &folder)?;
    }
    Ok(with(manifest, INSTALLED, &folder))
}

/// Whether all is there that a client needs from its registry.
pub fn is_installed(manifest: &Manifest, around: &Surroundings) -> bool {
    install_folder(manifest, around).is_ok_and(|folder| folder.is_none_or(|path| path.is_dir()))
}

fn install_folder(manifest: &Manifest, around: &Surroundings) -> Result<Option<PathBuf>, String> {
    let Some(install) = &manifest.install else {
        return Ok(None);
    };
    let sources = read(install, here(manifest))?;
    let key = key(install, &programs(manifest, around), &sources);
    Ok(Some(cache(around)?.join(INSTALLED).join(key)))
}

/// The programs that a client needs as they are now: what others have installed may not
/// fit them. Their versions are asked for later, of what is installed.
fn programs(manifest: &Manifest, around: &Surroundings) -> String {
    let found = manifest
        .programs
        .iter()
        .filter_map(|program| find_program(program, &around.path));
    let as_it_is = |path: PathBuf| {
        let path = fs::canonicalize(path).ok()?;
        let data = fs::metadata(&path).ok()?;
        Some(format!(
            "{path:?} {} {:?}\n",
            data.len(),
            data.modified().ok()
        ))
    };
    found.filter_map(as_it_is).collect()
}

/// The client of a manifest as it can be started: `{built}` is filled in, after
/// building what is not in the cache yet. `version` is that of its tools.
///
/// # Errors
/// The client can not be built: why, with what the compiler said.
pub fn built(
    manifest: &Manifest,
    version: &str,
    around: &Surroundings,
) -> Result<Manifest, String> {
    let Some(build) = &manifest.build else {
        return Ok(manifest.clone());
    };
    let sources = read(build, here(manifest))?;
    let name = format!("{}-{}", manifest.name, key(build, version, &sources));
    let folder = cache(around)?.join(BUILT).join(name);
    if !folder.is_dir() {
        make(&build.run, &sources, &folder)?;
    }
    Ok(with(manifest, BUILT, &folder))
}

fn here(manifest: &Manifest) -> &Path {
    Path::new(&manifest.file).parent().unwrap_or(Path::new("."))
}

fn cache(around: &Surroundings) -> Result<&Path, String> {
    let none = "there is no place for what is installed and built: set HOME or XDG_CACHE_HOME to a \
                folder";
    around.cache.as_deref().ok_or_else(|| none.to_owned())
}

/// The manifest with this folder in the place of its placeholder.
fn with(manifest: &Manifest, placeholder: &str, folder: &Path) -> Manifest {
    let mut manifest = manifest.clone();
    let folder = folder.to_string_lossy();
    let args = match &mut manifest.start {
        Start::Adapter(args) => args,
        Start::Command(line) => &mut line.args,
    };
    let build = manifest.build.iter_mut().flat_map(|build| &mut build.run);
    for arg in args.iter_mut().chain(build).chain(&mut manifest.version) {
        *arg = fill(arg, &[(placeholder, &folder)]);
    }
    manifest
}

/// A source: its name and its content.
type Source<'a> = (&'a str, Vec<u8>);

fn read<'a>(build: &'a Build, here: &Path) -> Result<Vec<Source<'a>>, String> {
    let sources = build.sources.iter().map(|name| {
        let path = here.join(name);
        match fs::read(&path) {
            Ok(content) => Ok((name.as_str(), content)),
            Err(error) => Err(format!(
                "the source `{}` can not be read: {error}",
                path.display()
            )),
        }
    });
    sources.collect()
}

/// Everything that decides what is built. Each part comes with its length, so that
/// two lists of parts never look alike.
fn key(build: &Build, version: &str, sources: &[Source<'_>]) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    };
    add(FORM.as_bytes());
    add(version.as_bytes());
    for (name, content) in sources {
        add(name.as_bytes());
        add(content);
    }
    for arg in &build.run {
        add(arg.as_bytes());
    }
    let bytes = digest.finalize();
    bytes.iter().take(8).map(|b| format!("{b:02x}")).collect()
}

/// Builds beside the place where the result belongs, then puts it there.
fn make(line: &[String], sources: &[Source<'_>], folder: &Path) -> Result<(), String> {
    let own = |error: io::Error| format!("`{}` can not be made: {error}", folder.display());
    // Threads of one process never want the same at once.
    let mut beside = folder.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    // Only an earlier process with this number, killed meanwhile, can have left it.
    remove(&beside).map_err(own)?;
    write(sources, &beside).map_err(own)?;
    let done = run(line, &beside).and_then(|()| match fs::rename(&beside, folder) {
        // Another process was faster, with the same result.
        Err(_) if folder.is_dir() => Ok(()),
        done => done.map_err(own),
    });
    let removed = remove(&beside).map_err(own);
    done.and(removed)
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn write(sources: &[Source<'_>], folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, content) in sources {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    Ok(())
}

/// Runs installer or compiler in the folder, in the environment of the user: that is where
/// its own cache and its settings are.
fn run(args: &[String], folder: &Path) -> Result<(), String> {
    let line = args.join(" ");
    let own = |error: io::Error| format!("`{line}` can not be run: {error}");
    let log = folder.join(".output");
    let output = fs::File::create(&log).map_err(own)?;
    let (program, args) = args.split_first().ok_or("there is nothing to run")?;
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).process_group(0);
    command.stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(own)?);
    command.stderr(output);
    system::die_with_parent(&mut command);
    let child = command.spawn().map_err(own)?;
    let status = wait(child, PATIENCE).map_err(own)?;
    let said = || {
        let said = fs::read(&log).unwrap_or_default();
        let end = &said[said.len().saturating_sub(LONGEST_OUTPUT)..];
        String::from_utf8_lossy(end).trim_end().to_owned()
    };
    match status {
        Some(status) if status.success() => fs::remove_file(&log).map_err(own),
        Some(status) => Err(format!("`{line}` fails with {status}:\n{}", said())),
        None => Err(format!(
            "`{line}` does not end within {} s:\n{}",
            PATIENCE.as_secs(),
            said()
        )),
    }
}

/// Waits for a program; none when it took too long and was killed.
fn wait(mut child: Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let pid = Pid::from_child(&child);
    let end = pidfd_open(pid, PidfdFlags::empty())?;
    let millis = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
    let timeout = rustix::time::Timespec {
        tv_sec: millis / 1000,
        tv_nsec: millis % 1000 * 1_000_000,
    };
    let ended = loop {
        match poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            ended => break ended? > 0,
        }
    };
    if !ended {
        kill_process_group(pid, Signal::KILL)?;
    }
    let status = child.wait()?;
    Ok(ended.then_some(status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn around(cache: &TempDir) -> Surroundings {
        Surroundings {
            cache: Some(cache.path().to_owned()),
            ..Surroundings::read().unwrap()
        }
    }

    /// A client whose build is this script; `source` lies beside its manifest.
    fn client(folder: &TempDir, script: &str) -> Manifest {
        let run = ["sh", "-c", script].map(str::to_owned).to_vec();
        fs::write(folder.path().join("source"), "1").unwrap();
        Manifest {
            name: "mine".to_owned(),
            file: folder.path().join("mine.yaml").display().to_string(),
            build: Some(Build {
                sources: vec!["source".to_owned()],
                run,
            }),
            start: Start::Adapter(vec!["{built}/made".to_owned(), "{here}".to_owned()]),
            ..Manifest::none()
        }
    }

    fn made(manifest: &Manifest) -> PathBuf {
        let Start::Adapter(args) = &manifest.start else {
            panic!("{manifest:?}")
        };
        assert_eq!(args[1], "{here}");
        PathBuf::from(&args[0])
    }

    #[test]
    fn what_is_built_is_built_once_for_its_sources_and_the_version_of_its_tools() {
        let (cache, here) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let around = around(&cache);
        let count = here.path().join("count");
        let script = format!("echo >> '{}'; cp source made", count.display());
        let client = client(&here, &script);
        let builds = || fs::read(&count).unwrap().len();

        let first = made(&built(&client, "1.0", &around).unwrap());
        let again = made(&built(&client, "1.0", &around).unwrap());
        assert_eq!((&first, builds()), (&again, 1));
        assert_eq!(fs::read(&first).unwrap(), b"1");

        let other_tools = made(&built(&client, "1.1", &around).unwrap());
        assert_ne!(first, other_tools);
        fs::write(here.path().join("source"), "2").unwrap();
        let other_source = made(&built(&client, "1.0", &around).unwrap());
        assert_eq!(fs::read(other_source).unwrap(), b"2");
        assert_eq!(builds(), 3);
    }

    #[test]
    fn clients_that_are_installed_alike_share_it_and_their_builds_may_use_it() {
        let (cache, here) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let around = around(&cache);
        let count = here.path().join("count");
        let mut one = client(&here, "cp {installed}/library made");
        one.install = Some(Build {
            sources: vec!["source".to_owned()],
            run: ["sh", "-c", "echo >> \"$0\"; echo a library > library"]
                .map(str::to_owned)
                .into_iter()
                .chain([count.display().to_string()])
                .collect(),
        });
        one.version = vec!["cat".to_owned(), "{installed}/library".to_owned()];
        let other = Manifest {
            name: "other".to_owned(),
            ..one.clone()
        };
        assert!(!is_installed(&one, &around));
        let ready = installed(&one, &around).unwrap();
        assert!(is_installed(&other, &around));
        installed(&other, &around).unwrap();
        assert_eq!(fs::read(&count).unwrap().len(), 1, "once for both");
        assert_eq!(fs::read(&ready.version[1]).unwrap(), b"a library\n");
        let with_another_tool = Manifest {
            programs: vec!["sh".to_owned()],
            ..one
        };
        assert!(!is_installed(&with_another_tool, &around));
        let made = made(&built(&ready, "1", &around).unwrap());
        assert_eq!(fs::read(made).unwrap(), b"a library\n");
    }

    #[test]
    fn a_build_that_fails_says_what_the_compiler_said_and_leaves_nothing() {
        let (cache, here) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let client = client(&here, "echo 'source:1: what is this?' >&2; exit 3");
        let why = built(&client, "1", &around(&cache)).unwrap_err();
        assert!(
            why.ends_with("fails with exit status: 3:\nsource:1: what is this?"),
            "{why}"
        );
        let left = fs::read_dir(cache.path().join("built")).unwrap();
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn a_source_that_is_not_there_is_named() {
        let (cache, here) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let client = client(&here, "true");
        fs::remove_file(here.path().join("source")).unwrap();
        let why = built(&client, "1", &around(&cache)).unwrap_err();
        assert!(why.contains("source` can not be read"), "{why}");
    }

    /// The build waits until its result has been put there by another.
    #[test]
    fn who_is_overtaken_takes_what_is_there() {
        let (cache, here) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let script =
            "cp source made; final=${PWD%.*}; cp -r . \"$final\"; echo theirs > \"$final/made\"";
        let client = client(&here, script);
        let made = made(&built(&client, "1", &around(&cache)).unwrap());
        assert_eq!(fs::read(made).unwrap(), b"theirs\n");
        let left = fs::read_dir(cache.path().join("built")).unwrap();
        assert_eq!(left.count(), 1);
    }

    #[test]
    fn a_build_that_takes_too_long_is_killed_with_what_it_started() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "sleep 600 & sleep 600"])
            .process_group(0);
        let ended = wait(command.spawn().unwrap(), Duration::from_millis(50));
        assert_eq!(ended.unwrap(), None);
    }
}
