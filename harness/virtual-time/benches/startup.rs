//! What virtual time costs a program at its start, and a minute's sleep.
//!
//! Programs are started by a launcher, once untraced and once traced, in turns.
//! Prints medians and ends with an error when tracing adds more than 10 ms.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has failed"
)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/support/mod.rs"]
mod support;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    measure::all()
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod measure {
    use std::process::{Command, ExitCode, Stdio};
    use std::time::{Duration, Instant};

    use super::support::{CLIENT, installed, run};

    /// The most that tracing may add to a start.
    const MOST: Duration = Duration::from_millis(10);

    /// Turns; each is one start untraced and one traced.
    const TURNS: usize = 40;

    /// Programs that end at once, and what to ask to see whether they are there.
    const PROGRAMS: [(&[&str], &[&str]); 5] = [
        (&[CLIENT, "nothing"], &["nothing"]),
        (&["curl", "--version"], &["--version"]),
        (&["python3", "-c", "pass"], &["-c", "pass"]),
        (&["node", "-e", "0"], &["-e", "0"]),
        (
            &[
                "java",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-version",
            ],
            &["-version"],
        ),
    ];

    pub(crate) fn all() -> ExitCode {
        let mut well = true;
        for (program, asked) in PROGRAMS {
            if !installed(program[0], asked) {
                continue;
            }
            let own = interpreter(program[0]);
            let mut program = program.to_vec();
            program[0] = &own;
            let (bare, traced) = turns(&program);
            let added = traced.saturating_sub(bare);
            well &= added <= MOST;
            let name = program[0].rsplit('/').next().unwrap();
            println!(
                "{name}: untraced {bare:?}, traced {traced:?}, added {added:?} (at most {MOST:?})"
            );
        }
        let minute: Vec<_> = (0..TURNS)
            .map(|_| run(&["sleep", "60"]).checked().real)
            .collect();
        println!("sleep 60: {:?} (median of {TURNS})", median(minute));
        ExitCode::from(u8::from(!well))
    }

    /// What a name really stands for: `python3` may be a script that starts twenty
    /// programs before the interpreter, each of which has a start of its own.
    fn interpreter(program: &str) -> String {
        if program != "python3" {
            return program.to_owned();
        }
        let ask = ["-c", "import sys; print(sys.executable)"];
        let output = Command::new(program).args(ask).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn turns(program: &[&str]) -> (Duration, Duration) {
        let (mut bare, mut traced) = (Vec::new(), Vec::new());
        for _ in 0..TURNS {
            bare.push(untraced(program));
            traced.push(run(program).checked().real);
        }
        (median(bare), median(traced))
    }

    #[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
    fn untraced(program: &[&str]) -> Duration {
        let began = Instant::now();
        let mut launcher = Command::new(CLIENT);
        launcher
            .arg("launch-untraced")
            .args(program)
            .stdin(Stdio::null());
        launcher.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = launcher.spawn().unwrap().wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        began.elapsed()
    }

    fn median(mut times: Vec<Duration>) -> Duration {
        times.sort_unstable();
        times[times.len() / 2]
    }
}
