//! Why a command ends early: the exit code and what to tell.

use reports::harmless::one_line;

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
    /// The command line is wrong. The message may quote it: names of files come
    /// from strangers even there.
    pub fn usage(message: impl AsRef<str>) -> Self {
        Self {
            exit: Exit::Usage,
            message: one_line(message.as_ref()),
        }
    }

    /// The program itself failed.
    pub fn internal(message: impl AsRef<str>) -> Self {
        Self {
            exit: Exit::Internal,
            message: one_line(message.as_ref()),
        }
    }

    /// Clients that can not be built, each with why; the compilers' lines stay lines.
    pub fn broken_build(clients: &[(&str, &str)]) -> Self {
        let told = clients.iter().map(|(name, why)| {
            let lines: Vec<_> = why.lines().map(one_line).collect();
            format!(
                "the client `{}` can not be made ready: {}",
                one_line(name),
                lines.join("\n    ")
            )
        });
        Self {
            exit: Exit::CellError,
            message: told.collect::<Vec<_>>().join("\n"),
        }
    }

    /// A place that the command line names for results takes none.
    pub fn place(what: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::usage(format!(
            "{what} `{}`: {error}; name another place",
            path.display()
        ))
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
