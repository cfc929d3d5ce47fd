//! Says how a call goes and how it ended.

use std::io;

use client_kit::messages::{Messages, State};
use client_kit::protocol::{Call, Message, Report, Shown};

use crate::checkpoints::Checkpoints;
use crate::defects::Defects;
use crate::report;
use crate::retry::Ended;

/// Reports a call.
pub(crate) struct Reporter<'a> {
    pub(crate) call: u32,
    pub(crate) messages: &'a Messages,
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) reported: bool,
    /// Whether an attempt before the last one was sent.
    pub(crate) earlier_sent: bool,
    /// Whether it is left to a person, as nobody can tell what became of it.
    pub(crate) held: bool,
    /// Of a list of events, those that the caller was given.
    pub(crate) events: Option<Vec<String>>,
}

impl<'a> Reporter<'a> {
    /// Nothing is said of this call yet.
    pub(crate) fn of(call: &Call, messages: &'a Messages, checkpoints: &'a Checkpoints) -> Self {
        Self {
            call: call.id,
            messages,
            checkpoints,
            reported: false,
            earlier_sent: false,
            held: false,
            events: None,
        }
    }

    /// Says how the call ended. Only the first time: what comes after a report
    /// nobody is told.
    pub(crate) fn end(&mut self, ended: &Ended, defects: &Defects) -> io::Result<()> {
        if std::mem::replace(&mut self.reported, true) {
            return Ok(());
        }
        let good = ended
            .as_ref()
            .is_ok_and(|answer| matches!(answer.status, 200..=299));
        let state = if good {
            State::Succeeded
        } else {
            State::Failed
        };
        self.messages.progress(self.call, state)?;
        let claim = report::claim(ended, self.earlier_sent);
        let shown = if self.held {
            Shown::Held {}
        } else {
            report::shown(ended, defects)
        };
        let report = Report {
            call: self.call,
            shown,
            claim,
            events: self.events.clone(),
        };
        self.checkpoints.ends(&report)?;
        self.messages.send(&Message::Report(report))
    }
}
