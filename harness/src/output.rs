//! Where results and messages go: results to stdout, messages to stderr.
//!
//! A reader that has gone away (`| head`) is no failure: what is left to say is
//! dropped, and the exit code stays what it is.

use std::io::{ErrorKind, Write};

use crate::failure::Failure;

/// The two streams.
pub struct Output<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    out_gone: bool,
}

impl<'a> Output<'a> {
    /// Over these two.
    pub fn new(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Self {
        Self {
            out,
            err,
            out_gone: false,
        }
    }

    /// Writes a result.
    ///
    /// # Errors
    /// When it cannot be written, for example because the disk is full.
    pub fn result(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
        if self.out_gone {
            return Ok(());
        }
        let written = self
            .out
            .write_all(bytes.as_ref())
            .and_then(|()| self.out.flush());
        match written {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.out_gone = true;
                Ok(())
            }
            Err(error) => Err(Failure::internal(format!(
                "stdout cannot be written: {error}"
            ))),
        }
    }

    /// Writes a message. There is nobody to tell when that fails.
    pub fn message(&mut self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(self.err, "{text}{end}");
        let _ = self.err.flush();
    }
}

impl std::fmt::Debug for Output<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Output").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed(ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let (mut out, mut err) = (Closed(ErrorKind::BrokenPipe), Vec::new());
        let mut output = Output::new(&mut out, &mut err);
        assert!(output.result("a").is_ok());
        assert!(output.result("b").is_ok());
    }

    #[test]
    fn a_full_disk_is_one() {
        let (mut out, mut err) = (Closed(ErrorKind::StorageFull), Vec::new());
        assert!(Output::new(&mut out, &mut err).result("a").is_err());
    }
}
