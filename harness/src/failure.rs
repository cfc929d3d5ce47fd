//! Why a command ends early: the exit code and what to tell.

use crate::exit::Exit;

/// A command's early end.
#[derive(Debug)]
pub struct Failure {
    /// With which code.
    pub exit: Exit,
    /// What to tell, ready to be printed.
    pub message: String,
}

impl Failure {
    /// The command line is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            message: message.into(),
        }
    }

    /// The program itself failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Internal,
            message: message.into(),
        }
    }

    /// A file that the program needs or writes is out of reach.
    pub fn file(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::internal(format!("{what} `{}`: {error}", path.display()))
    }
}

impl From<crate::run::HarnessError> for Failure {
    fn from(error: crate::run::HarnessError) -> Self {
        Self::internal(error.to_string())
    }
}
