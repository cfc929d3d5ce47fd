//! How a client is spoken with: by the protocol, or not at all.

use std::path::PathBuf;

use scenarios::evidence::ClientEvent;
use scenarios::manifest::CommandLine;

use crate::client::command::{self, Seen};
use crate::client::protocol::Conversation;

/// How a client is spoken with.
pub(super) enum Talk {
    /// By the client protocol.
    Protocol {
        /// The line with the work.
        work: Vec<u8>,
        /// What it is asked to report on.
        conversation: Conversation,
    },
    /// Not at all: its exit code is its report.
    Command {
        /// How it shows what happened.
        line: CommandLine,
        /// Number of the call that it makes.
        call: u32,
        /// Where it saves the answer's content.
        output: PathBuf,
    },
}

impl Talk {
    /// With the process that takes the place of one that was killed.
    pub(super) fn again(&mut self) {
        if let Self::Protocol { conversation, .. } = self {
            *conversation = conversation.again();
        }
    }

    /// Takes what the client has printed; nothing means that its stdout ended.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Vec<ClientEvent> {
        match self {
            Self::Protocol { conversation, .. } if bytes.is_empty() => {
                conversation.end().into_iter().collect()
            }
            Self::Protocol { conversation, .. } => conversation.hear(bytes),
            Self::Command { .. } => Vec::new(),
        }
    }

    /// Whether no report is owed any more.
    pub(super) fn is_complete(&self) -> bool {
        match self {
            Self::Protocol { conversation, .. } => conversation.is_complete(),
            Self::Command { .. } => false,
        }
    }

    /// Whether a call can still be cancelled: the client can be told, and has not
    /// reported it.
    pub(super) fn can_cancel(&self, call: u32) -> bool {
        match self {
            Self::Protocol { conversation, .. } => conversation.is_open(call),
            Self::Command { .. } => false,
        }
    }

    /// What the exit code says, where it says something.
    pub(super) fn conclude(
        &self,
        code: Option<i32>,
        stdout: &Seen,
        stderr: &Seen,
    ) -> Option<ClientEvent> {
        match self {
            Self::Command { line, call, output } => {
                command::shown(line, *call, code, stdout, stderr, output)
            }
            Self::Protocol { conversation, .. } => {
                let unsupported = code == Some(command::UNSUPPORTED) && !conversation.is_complete();
                unsupported.then(|| ClientEvent::Unsupported {
                    reason: command::unsupported(stderr),
                })
            }
        }
    }
}
