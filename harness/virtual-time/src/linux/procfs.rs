//! What `/proc` tells about threads.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::linux::calls::Call;

/// The files of a thread that is looked at again and again, kept open.
pub(crate) struct ThreadFiles {
    syscall: File,
    schedstat: File,
    stat: File,
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It is off the processor, in a system call.
    Blocked(Call),
    /// It runs, or is about to, or was just put off the processor.
    Running,
    /// It has ended.
    Ended,
    /// It is not allowed to be looked at.
    Hidden,
}

/// A thread as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) doing: Doing,
    /// How often it was put on a processor: the same number twice means that it
    /// did not run between.
    pub(crate) switches: u64,
}

impl ThreadFiles {
    /// `folder` is `/proc/TID` or `/proc/self/task/TID`.
    pub(crate) fn open(folder: &str) -> io::Result<Self> {
        let open = |name| File::open(format!("{folder}/{name}"));
        Ok(Self {
            syscall: open("syscall")?,
            schedstat: open("schedstat")?,
            stat: open("stat")?,
        })
    }

    pub(crate) fn look(&self) -> Seen {
        let mut space = [0; 256];
        // The third number is how often the thread was put on a processor.
        let third = |line: &str| line.split(' ').nth(2)?.trim().parse().ok();
        let switches = text(&self.schedstat, &mut space).and_then(third);
        let doing = match text(&self.syscall, &mut space).map(call) {
            Some(Some(call)) => Doing::Blocked(call),
            _ if matches!(self.state(), None | Some('Z' | 'X')) => Doing::Ended,
            Some(None) => Doing::Running,
            None => Doing::Hidden,
        };
        Seen {
            doing,
            switches: switches.unwrap_or(0),
        }
    }

    /// The letter of its state: S is asleep.
    pub(crate) fn state(&self) -> Option<char> {
        let mut space = [0; 512];
        // The name, in parentheses, may hold anything.
        let line = text(&self.stat, &mut space)?;
        line.rsplit_once(") ")?.1.chars().next()
    }
}

fn text<'a>(file: &File, space: &'a mut [u8]) -> Option<&'a str> {
    let length = file.read_at(space, 0).ok()?;
    let line = &space[..length];
    // A name may be cut off or be no text; what follows it is ASCII.
    let from = line
        .iter()
        .rposition(|byte| !byte.is_ascii())
        .map_or(0, |at| at + 1);
    std::str::from_utf8(&line[from..]).ok()
}

/// The call of a line of `/proc/TID/syscall`; none when it runs or is in none.
fn call(line: &str) -> Option<Call> {
    let mut words = line.split_ascii_whitespace();
    // "running", or -1 outside of any call.
    let nr = words.next()?.parse().ok()?;
    let mut args = [0; 6];
    for arg in &mut args {
        let word = words.next()?;
        *arg = u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()?;
    }
    Some(Call { nr, args })
}

/// The number after `field:` in `/proc/TID/status`, by that radix.
fn status_number(status: &str, field: &str, radix: u32) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    u64::from_str_radix(line.trim(), radix).ok()
}

/// A thread's process and that process's parent.
pub(crate) fn process_of(tid: i32) -> Option<(i32, i32)> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let id = |field| i32::try_from(status_number(&status, field, 10)?).ok();
    Some((id("Tgid")?, id("PPid")?))
}

/// What a thread's process does with signals, a bit each.
pub(crate) struct Signals {
    pub(crate) caught: u64,
    pub(crate) ignored: u64,
    /// Waiting to be delivered to this thread, and not blocked.
    pub(crate) pending: u64,
}

pub(crate) fn signals(tid: i32) -> Option<Signals> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let set = |field| status_number(&status, field, 16);
    Some(Signals {
        caught: set("SigCgt")?,
        ignored: set("SigIgn")?,
        pending: (set("SigPnd")? | set("ShdPnd")?) & !set("SigBlk")?,
    })
}

/// A thread's name. It can change at any time.
pub(crate) fn name(tid: i32) -> String {
    let name = std::fs::read(format!("/proc/{tid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
}

/// The numbers of a process's descriptors.
pub(crate) fn descriptors(process: i32) -> Vec<String> {
    let Ok(folder) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        return Vec::new();
    };
    let name = |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    folder.filter_map(name).collect()
}

/// Packets that wait for their processing on any processor, by
/// `/proc/net/softnet_stat`.
pub(crate) fn has_backlog(softnet: &File) -> bool {
    let mut space = [0; 16 * 1024];
    let column = |line: &str| {
        line.split_ascii_whitespace()
            .nth(11)
            .map(|word| word.bytes().any(|byte| byte != b'0'))
    };
    text(softnet, &mut space)
        .is_some_and(|lines| lines.lines().any(|line| column(line) == Some(true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::calls;

    #[test]
    fn a_line_of_syscall_is_a_call_or_none() {
        let seen = call("7 0x7ffc 0x1 0xea60 0x0 0x8 0x7f 0x7ffd 0x7fbe\n");
        let args = [0x7ffc, 1, 0xea60, 0, 8, 0x7f];
        assert_eq!(
            seen,
            Some(Call {
                nr: calls::POLL,
                args
            })
        );
        assert_eq!(call("running\n"), None);
        assert_eq!(call("-1 0x7ffd 0x7fbe\n"), None);
    }

    #[test]
    fn a_thread_that_waits_is_blocked_until_it_ends() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get())
                .unwrap();
            ended.recv().unwrap_err();
        });
        let tid = told.recv().unwrap();
        let files = ThreadFiles::open(&format!("/proc/self/task/{tid}")).unwrap();
        let blocked = loop {
            if let Doing::Blocked(call) = files.look().doing {
                break call;
            }
            std::thread::yield_now();
        };
        assert_eq!((blocked.nr, files.state()), (calls::FUTEX, Some('S')));
        assert_eq!(files.look(), files.look());
        drop(end);
        thread.join().unwrap();
        while files.look().doing != Doing::Ended {
            std::thread::yield_now();
        }
    }

    #[test]
    fn signals_are_read_from_status() {
        let status = "Name:\tx\nTgid:\t12\nPPid:\t7\nSigBlk:\t0000000000010000\n";
        assert_eq!(status_number(status, "Tgid", 10), Some(12));
        assert_eq!(status_number(status, "SigBlk", 16), Some(0x10000));
        assert_eq!(status_number(status, "SigPnd", 16), None);
    }
}
