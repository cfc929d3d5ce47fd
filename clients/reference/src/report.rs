//! What the caller is shown.
//!
//! An error names the stage that is proved, never the one that is likely: a
//! refused connection says "not sent" only when nothing of the call was.

use client_kit::chain::io_link;
use client_kit::protocol::{Claim, ErrorLink, Shown, ShownResponse};

use crate::defects::{Defect, Defects};
use crate::exchange::Answer;
use crate::failure::{Failure, Kind};
use crate::retry::Ended;

/// The code of an error in a later request of a call, when an earlier one was
/// sent already: no error of the later one says anything about the call.
pub(crate) const EARLIER_REQUEST_SENT: &str = "EARLIER_REQUEST_SENT";

/// Every code that an error of this client can have, and when it happens: before
/// anything of the call was sent, after that may have begun, or refused in an answer.
pub fn codes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let kinds = Kind::ALL.into_iter();
    let kinds = kinds.map(|kind| (kind.code(), kind.phase()));
    std::iter::once((EARLIER_REQUEST_SENT, "after")).chain(kinds)
}

/// What a call that ended like this shows.
pub(crate) fn shown(ended: &Ended, defects: &Defects) -> Shown {
    match ended {
        Ok(answer) => Shown::Response(response(answer, defects)),
        Err(failure) if failure.kind == Kind::Cancelled => Shown::Cancelled {},
        Err(_) if defects.has(Defect::SwallowsErrors) => {
            Shown::Response(client_kit::digest::BodyDigest::new().whole(200))
        }
        Err(_) if defects.has(Defect::DropsCause) => Shown::Error(vec![ErrorLink {
            kind: Some("Error".to_owned()),
            message: Some("the request failed".to_owned()),
            at: Some("error".to_owned()),
            ..ErrorLink::default()
        }]),
        Err(failure) => Shown::Error(chain(failure, defects)),
    }
}

/// What the client claims where that is not what its last answer says. A refusal
/// speaks of the request that it answers; of an earlier one that was sent and
/// whose end was not seen it says nothing.
pub(crate) fn claim(ended: &Ended, earlier_sent: bool) -> Option<Claim> {
    let answer = ended.as_ref().ok()?;
    let refused = matches!(answer.status, 400..=499);
    (refused && earlier_sent).then_some(Claim::Unknown)
}

fn response(answer: &Answer, defects: &Defects) -> ShownResponse {
    let content = &answer.content;
    let mut shown = if answer.whole {
        content.clone().whole(answer.status)
    } else {
        content.only_start(answer.status)
    };
    if defects.has(Defect::DropsCause) {
        shown.body_start = None;
    }
    shown
}

fn chain(failure: &Failure, defects: &Defects) -> Vec<ErrorLink> {
    let mut links = Vec::new();
    if failure.sent_before > 0 && failure.kind.is_before_sending() {
        links.push(ErrorLink {
            kind: Some("CallError".to_owned()),
            code: Some(EARLIER_REQUEST_SENT.to_owned()),
            message: Some(format!(
                "{} earlier requests of this call were sent, the last one was not",
                failure.sent_before
            )),
            ..ErrorLink::default()
        });
    }
    links.push(ErrorLink {
        kind: Some("RequestError".to_owned()),
        code: Some(code(failure, defects).to_owned()),
        message: Some(failure.to_string()),
        ..ErrorLink::default()
    });
    links.extend(failure.cause.as_ref().map(io_link));
    for (depth, link) in links.iter_mut().enumerate() {
        link.at = Some(format!("error{}", ".source".repeat(depth)));
    }
    links
}

fn code(failure: &Failure, defects: &Defects) -> &'static str {
    let guessed = match failure.kind {
        Kind::Reset if defects.has(Defect::SaysNotSentOnReset) => Kind::Refused,
        Kind::IdleTimeout if !failure.answered && defects.has(Defect::SaysNotSentOnTimeout) => {
            Kind::ConnectTimeout
        }
        kind => kind,
    };
    guessed.code()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn links(failure: Failure, defects: &Defects) -> Vec<ErrorLink> {
        match shown(&Err(failure), defects) {
            Shown::Error(links) => links,
            other => panic!("{other:?}"),
        }
    }

    fn codes(links: &[ErrorLink]) -> Vec<&str> {
        links
            .iter()
            .filter_map(|link| link.code.as_deref())
            .collect()
    }

    fn refused() -> Failure {
        Failure::new(Kind::Refused, "refused").caused_by(io::Error::from_raw_os_error(111))
    }

    #[test]
    fn a_refused_call_says_so_with_code_and_number() {
        let links = links(refused(), &Defects::default());
        assert_eq!(codes(&links), ["ECONNREFUSED", "ECONNREFUSED"]);
        assert_eq!(links[1].errno, Some(111));
        assert_eq!(links[1].at.as_deref(), Some("error.source"));
    }

    #[test]
    fn a_refused_request_after_one_that_was_sent_says_that_first() {
        let failure = Failure {
            sent_before: 1,
            ..refused()
        };
        let links = links(failure, &Defects::default());
        assert_eq!(links[0].code.as_deref(), Some(EARLIER_REQUEST_SENT));
        assert_eq!(links[0].at.as_deref(), Some("error"));
    }

    #[test]
    fn defects_of_the_report_guess_drop_or_swallow() {
        let reset = || Failure::new(Kind::Reset, "reset");
        let guesses = Defects::default().with(Defect::SaysNotSentOnReset);
        assert_eq!(codes(&links(reset(), &guesses)), ["ECONNREFUSED"]);
        let drops = Defects::default().with(Defect::DropsCause);
        assert_eq!(codes(&links(refused(), &drops)), Vec::<&str>::new());
        let swallows = Defects::default().with(Defect::SwallowsErrors);
        let shown = shown(&Err(reset()), &swallows);
        assert!(matches!(shown, Shown::Response(response) if response.status == Some(200)));
    }
}
