//! The answers that servers gave to a call, as far as they are known.

use scripted_servers::wire::Answer;

use super::case::CallView;
use super::counts::{listed, listed_by};
use super::told::EMPTY_SHA256;
use crate::expected::Words;

/// Answers of a call.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// Those that were begun, in order.
    pub answers: Vec<&'a Answer>,
    /// Their statuses.
    pub statuses: Vec<u16>,
}

/// What was given to a call; none when an exchange of it was answered with
/// bytes of which nobody says what they mean, so that nothing can be held
/// against the client.
pub(crate) fn given<'a>(call: &CallView<'a>) -> Option<Given<'a>> {
    let mut given = Given {
        answers: Vec::new(),
        statuses: Vec::new(),
    };
    for exchange in &call.exchanges {
        match exchange.answer() {
            Some((_, answer)) => {
                given.answers.push(answer);
                given.statuses.extend(answer.status);
            }
            // A request that no route expects is answered 404.
            None if exchange.is_other() => given.statuses.push(404),
            None if exchange.answered().is_some() => return None,
            None => {}
        }
    }
    Some(given)
}

/// Whether a digest is that of an answer's content.
pub(crate) fn same_content(answer: &Answer, sha256: &str) -> bool {
    match &answer.body_sha256 {
        Some(digest) => digest.eq_ignore_ascii_case(sha256),
        None => answer.body_bytes == 0 && sha256 == EMPTY_SHA256,
    }
}

impl<'a> Given<'a> {
    /// Those with a status; all, when the client shows none.
    pub(crate) fn with_status(&self, status: Option<u16>) -> impl Iterator<Item = &'a Answer> + '_ {
        let fits =
            move |answer: &&'a Answer| status.is_none_or(|status| answer.status == Some(status));
        self.answers.iter().copied().filter(fits)
    }

    /// The statuses in words.
    pub(crate) fn words(&self) -> String {
        if self.statuses.is_empty() {
            return "none was given".to_owned();
        }
        format!("given: {}", listed(self.statuses.iter().map(Words::words)))
    }

    /// The contents in words.
    pub(crate) fn bodies_in_words(&self, status: Option<u16>) -> String {
        let one = |answer: &Answer| {
            let whole = if answer.whole { "whole" } else { "cut" };
            format!("{} bytes, sent {whole}", answer.body_bytes)
        };
        let bodies = listed_by("; ", self.with_status(status).map(one));
        if bodies.is_empty() {
            return "none was given".to_owned();
        }
        bodies
    }
}
