//! Why there is no virtual time on a machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why there is no virtual time here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unavailable {
    /// Another system or processor.
    Platform,
    /// The kernel does not let this process trace its own descendants; the error
    /// number.
    TracingRefused(i32),
    /// The kernel does not take a seccomp filter; the error number.
    FilterRefused(i32),
    /// `/proc` does not tell what threads do.
    NoThreadStates,
    /// What is needed beside could not be had; the error number.
    NoMeans(i32),
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = |f: &mut fmt::Formatter<'_>, what: &str, code: &i32| {
            write!(f, "{what}: {}", std::io::Error::from_raw_os_error(*code))
        };
        match self {
            Self::Platform => {
                f.write_str("virtual time is not supported here, only on Linux on x86-64")
            }
            Self::TracingRefused(code) => because(
                f,
                "the system does not let this process trace the programs that it starts (ptrace)",
                code,
            ),
            Self::FilterRefused(code) => because(f, "the system takes no seccomp filter", code),
            Self::NoThreadStates => {
                f.write_str("/proc does not tell what threads do (syscall, schedstat)")
            }
            Self::NoMeans(code) => because(f, "the system does not give what a tracer needs", code),
        }
    }
}

impl std::error::Error for Unavailable {}
