//! An upload that goes on where it broke off.
//!
//! A POST without content begins a session, whose URL is in the Location of the
//! answer. The content goes there by PUT, with its place in Content-Range; after
//! a failure an empty PUT asks what has arrived, and the 308 that answers it says
//! so in Range. Only the server knows what it has: what was written proves nothing.

use std::io;
use std::sync::Arc;

use client_kit::messages::State;

use crate::call::{Client, History};
use crate::codec::Fields;
use crate::defects::{Defect, Defects};
use crate::policy::Patience;
use crate::reporter::Reporter;
use crate::request::Request;
use crate::retry::Ended;
use crate::url::Url;

/// What is asked for next.
#[derive(Clone)]
enum Stage {
    /// A session.
    Begin,
    /// To take the content from this byte on.
    Send(Url, usize),
    /// What has arrived.
    Ask(Url),
}

impl Client {
    /// Makes an upload; `whole` has its URL, fields and content.
    pub(crate) fn upload(
        &self,
        whole: &Request,
        patience: &Patience,
        reporter: &mut Reporter<'_>,
    ) -> io::Result<Ended> {
        let mut history = History::default();
        let mut stage = Stage::Begin;
        let mut failed = 0_u32;
        reporter.messages.progress(reporter.call, State::Working)?;
        loop {
            let request = stage.request(whole);
            let ended = self.attempt(&request, patience, &mut history);
            if let Some(next) = stage.next(&request, &ended, &self.defects) {
                stage = next;
                continue;
            }
            failed = failed.saturating_add(1);
            // All of it may arrive twice: a session that nobody uses costs nothing.
            let Some(wait) = self.wait(true, &ended, failed, &history, patience) else {
                return Ok(ended);
            };
            reporter.earlier_sent = history.sent > 0;
            reporter.messages.progress(reporter.call, State::Retrying)?;
            self.sleep(wait, patience, &mut history);
            stage = stage.after_failure(&self.defects);
        }
    }
}

impl Stage {
    fn request(&self, whole: &Request) -> Request {
        let mut request = whole.without_content();
        let content = whole.content.as_deref().unwrap_or_default();
        let size = content.len();
        let (method, url, range) = match self {
            Self::Begin => {
                "POST".clone_into(&mut request.method);
                return request;
            }
            Self::Send(url, from) => {
                let rest = content.get(*from..).unwrap_or_default();
                request.content = Some(Arc::from(rest));
                let last = size.saturating_sub(1);
                ("PUT", url, format!("bytes {from}-{last}/{size}"))
            }
            Self::Ask(url) => ("PUT", url, format!("bytes */{size}")),
        };
        method.clone_into(&mut request.method);
        request.url = url.clone();
        request.fields.push(("Content-Range".to_owned(), range));
        request
    }

    /// The stage that an answer leads to; none: the upload is over, or this
    /// request failed.
    fn next(&self, request: &Request, ended: &Ended, defects: &Defects) -> Option<Self> {
        let answer = ended.as_ref().ok()?;
        match (self, answer.status) {
            (Self::Begin, 200 | 201) => {
                let session = request.url.join(answer.fields.get("Location")?)?;
                Some(Self::Send(session, 0))
            }
            (Self::Ask(session), 308) => {
                let there = arrived(&answer.fields);
                let from = if defects.has(Defect::ResumesFromTheStart) {
                    0
                } else {
                    there
                };
                Some(Self::Send(session.clone(), from))
            }
            _ => None,
        }
    }

    fn after_failure(&self, defects: &Defects) -> Self {
        match self {
            Self::Begin => Self::Begin,
            Self::Send(..) | Self::Ask(_) if defects.has(Defect::BeginsASecondSession) => {
                Self::Begin
            }
            Self::Send(session, _) | Self::Ask(session) => Self::Ask(session.clone()),
        }
    }
}

/// How many bytes the server has: one more than the last place in Range.
fn arrived(fields: &Fields) -> usize {
    let last = fields
        .get("Range")
        .and_then(|range| range.strip_prefix("bytes=0-"))
        .and_then(|last| last.parse::<usize>().ok());
    last.map_or(0, |last| last.saturating_add(1))
}
