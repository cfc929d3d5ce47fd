//! Writes messages: one line each, whole, and out at once.
//!
//! Several threads may write; a line is never torn, and the harness sees it
//! when it is written, not when a buffer is full.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::protocol::{Claim, ErrorLink, Message, Progress, Report, Shown, ShownResponse};

/// How a call goes, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not begun.
    Pending,
    /// Being made.
    Working,
    /// Failed once, will be sent again.
    Retrying,
    /// An answer that the caller wanted.
    Succeeded,
    /// Anything else.
    Failed,
}

impl State {
    /// The word of the protocol.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Working => "working",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// Where messages go. Clones write to the same place.
#[derive(Clone)]
pub struct Messages(Arc<Mutex<Box<dyn Write + Send>>>);

impl Messages {
    /// Messages to stdout.
    pub fn stdout() -> Self {
        Self::to(io::stdout())
    }

    /// Messages to any writer.
    pub fn to(out: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(out))))
    }

    /// Writes one message.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn send(&self, message: &Message) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&line)?;
        out.flush()
    }

    /// Says how a call goes.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn progress(&self, call: u32, state: State) -> io::Result<()> {
        self.send(&Message::Progress(Progress {
            call,
            state: state.word().to_owned(),
        }))
    }

    /// Reports what a call showed. Exactly once a call.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn report(&self, call: u32, shown: Shown) -> io::Result<()> {
        self.report_with_claim(call, shown, None)
    }

    /// Reports what a call showed, and what a client that knows more than its
    /// last answer claims of the work. In the place of [`Self::report`].
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn report_with_claim(
        &self,
        call: u32,
        shown: Shown,
        claim: Option<Claim>,
    ) -> io::Result<()> {
        self.send(&Message::Report(Report {
            call,
            shown,
            claim,
            events: None,
        }))
    }

    /// Reports an answer.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn response(&self, call: u32, response: ShownResponse) -> io::Result<()> {
        self.report(call, Shown::Response(response))
    }

    /// Reports an error.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn error(&self, call: u32, chain: Vec<ErrorLink>) -> io::Result<()> {
        self.report(call, Shown::Error(chain))
    }

    /// Says that this client cannot do the work.
    ///
    /// # Errors
    /// Nobody reads any more.
    pub fn unsupported(&self, reason: impl Into<String>) -> io::Result<()> {
        self.send(&Message::Unsupported {
            reason: reason.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer that remembers each write and each flush apart.
    #[derive(Clone, Default)]
    struct Writes(Arc<Mutex<(Vec<Vec<u8>>, usize)>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.lock().unwrap().1 += 1;
            Ok(())
        }
    }

    #[test]
    fn a_message_is_one_write_of_one_line_and_flushed() {
        let writes = Writes::default();
        let messages = Messages::to(writes.clone());
        messages.progress(1, State::Retrying).unwrap();
        let seen = writes.0.lock().unwrap();
        assert_eq!(seen.0.len(), 1);
        assert_eq!(
            seen.0[0],
            b"{\"progress\":{\"call\":1,\"state\":\"retrying\"}}\n"
        );
        assert_eq!(seen.1, 1);
    }

    #[test]
    fn a_message_with_line_breaks_stays_one_line() {
        let writes = Writes::default();
        let messages = Messages::to(writes.clone());
        messages.unsupported("two\nlines").unwrap();
        let seen = writes.0.lock().unwrap();
        assert_eq!(seen.0[0].iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}
