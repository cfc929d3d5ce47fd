//! The processes between a test and its client.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};

use virtual_time::{Entry, Options, Tracer, VirtualTime, enter, gate};

/// Starts a program through the door that is its standard input, and ends as it
/// ends.
pub(crate) fn launch(program: &[String]) -> ExitCode {
    let door = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let (name, args) = program.split_first().unwrap();
    let mut command = Command::new(name);
    command.args(args).stdin(Stdio::null());
    enter(&mut command, door);
    let Ok(mut child) = command.spawn() else {
        return ExitCode::from(127);
    };
    drop(command);
    let status = child.wait().unwrap();
    ExitCode::from(status.code().map_or(255, |code| code as u8))
}

/// As [`launch`], without a tracer.
pub(crate) fn launch_untraced(program: &[String]) -> ExitCode {
    let (name, args) = program.split_first().unwrap();
    let status = Command::new(name).args(args).stdin(Stdio::null()).status();
    ExitCode::from(status.unwrap().code().map_or(255, |code| code as u8))
}

/// Traces a program, tells its process id, and goes on until it is killed or its
/// input ends.
pub(crate) fn trace(program: &[String]) -> ExitCode {
    let tracer = Tracer::start(VirtualTime::begin(), Options::default(), |_| {}).unwrap();
    let (gate, door) = gate().unwrap();
    tracer.admit(gate);
    let mut launcher = Command::new(std::env::current_exe().unwrap());
    launcher.arg("launch").args(program).stdin(door);
    let mut launcher = launcher.spawn().unwrap();
    let entry = tracer.wait_for_entries(1)[0];
    match entry {
        Entry::Traced { pid } => println!("traced {pid}"),
        Entry::Refused { why, .. } => println!("refused: {why}"),
        Entry::Absent => println!("absent"),
    }
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
    let status = launcher.wait().unwrap();
    drop(tracer);
    ExitCode::from(status.code().map_or(255, |code| code as u8))
}

/// As [`trace`], where the system forbids it.
pub(crate) fn trace_denied(program: &[String]) -> ExitCode {
    // Load the call's number; is it ptrace? then EPERM, else allow.
    let filter = [
        (0x20, 0, 0, 0),
        (0x15, 0, 1, libc::SYS_ptrace as u32),
        (0x06, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        (0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
    .map(|(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k });
    let program_of_filter = libc::sock_fprog {
        len: 4,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the filter lives over the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(
            libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program_of_filter),
            0
        );
    }
    println!("probe: {}", virtual_time::probe().unwrap_err());
    trace(program)
}

/// Asks to be traced by its parent, and succeeds if the system lets it.
pub(crate) fn may_be_traced() -> ExitCode {
    let nothing = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: this request takes no arguments, and no signal follows.
    let asked = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, nothing, nothing) };
    ExitCode::from(u8::from(asked != 0))
}
