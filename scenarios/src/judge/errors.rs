//! What a client showed, and what that means about the work.
//!
//! The chain of an error is looked up in the manifest's table; the phase found
//! there decides whether the work can have been delivered. What no entry
//! matches proves nothing and is marked `unmapped`.

use crate::evidence::{ErrorLink, Report, Shown, ShownResponse};
use crate::manifest::{ErrorRule, Manifest, Phase, Start};
use crate::verdict::{Claim, Outcome};

/// What the report of one call means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// What was shown, in words.
    pub shown: String,
    /// The code of the first error in the chain that has one.
    pub code: Option<String>,
    /// Where that code sits, as far as the client tells it.
    pub code_at: Option<String>,
    /// Type or class of the outermost error.
    pub error_type: Option<String>,
    /// When the error arose; none when it is no error, or unmapped.
    pub phase: Option<Phase>,
    /// True for an error that no entry of the table matches.
    pub unmapped: bool,
    /// What it claims about the work.
    pub claim: Claim,
    /// The word for what was shown.
    pub outcome: Outcome,
}

/// The kind of a link that stands for the exit code of a command.
const EXIT: &str = "exit";

/// What a report means.
pub(crate) fn meaning(report: &Report, manifest: &Manifest) -> Meaning {
    let mut meaning = match &report.shown {
        Shown::Response(response) => of_response(response),
        Shown::Error(chain) => of_error(&named(chain, manifest), manifest),
        Shown::Cancelled {} => silent("cancelled", Outcome::Cancelled),
        Shown::Held {} => silent("held for a person", Outcome::Held),
    };
    if let Some(claim) = report.claim {
        meaning.claim = claim;
    }
    meaning
}

/// What it means that there is no report.
pub(crate) fn silent(shown: &str, outcome: Outcome) -> Meaning {
    Meaning {
        shown: shown.to_owned(),
        code: None,
        code_at: None,
        error_type: None,
        phase: None,
        unmapped: false,
        claim: Claim::Unknown,
        outcome,
    }
}

/// The chain of a report; a command's exit code has the name that the manifest
/// gives it.
pub(crate) fn named(chain: &[ErrorLink], manifest: &Manifest) -> Vec<ErrorLink> {
    let Start::Command(command) = &manifest.start else {
        return chain.to_vec();
    };
    let mut chain = chain.to_vec();
    for link in &mut chain {
        let exit = link.kind.as_deref() == Some(EXIT) && link.code.is_none();
        let code = link.errno.and_then(|errno| i32::try_from(errno).ok());
        if let (true, Some(code)) = (exit, code) {
            link.code = command.exits.get(&code).cloned();
        }
    }
    chain
}

fn of_response(response: &ShownResponse) -> Meaning {
    let bytes = response.body_bytes;
    let bytes = bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes"));
    let shown = match response.status {
        Some(status) => format!("{status}{bytes}"),
        None => format!("an answer without status{bytes}"),
    };
    let (claim, outcome) = match response.status {
        None | Some(200..=299) => (Claim::Applied, Outcome::Success),
        // These four say that the work may still be done, or was begun.
        Some(408 | 409 | 425 | 429) => (Claim::Unknown, Outcome::Rejected),
        Some(400..=499) => (Claim::NotApplied, Outcome::Rejected),
        Some(_) => (Claim::Unknown, Outcome::Rejected),
    };
    Meaning {
        claim,
        ..silent(&shown, outcome)
    }
}

fn of_error(chain: &[ErrorLink], manifest: &Manifest) -> Meaning {
    let phase = phase(chain, &manifest.errors);
    let (claim, outcome) = match phase {
        Some(Phase::Before) => (Claim::NotSent, Outcome::NotSent),
        // What was done before the API said no, it may have kept.
        Some(Phase::Refused) => (Claim::Unknown, Outcome::Rejected),
        Some(Phase::After) | None => (Claim::Unknown, Outcome::Unknown),
    };
    let coded = chain.iter().find(|link| link.code.is_some());
    Meaning {
        code: coded.and_then(|link| link.code.clone()),
        code_at: coded.and_then(|link| link.at.clone()),
        error_type: chain.first().and_then(|link| link.kind.clone()),
        phase,
        unmapped: phase.is_none(),
        claim,
        ..silent(&in_words(chain), outcome)
    }
}

/// The phase of the first rule that matches any link of the chain. Rules come
/// first, links second: so a table can put what is special before what is
/// general, wherever in the chain either sits.
pub(crate) fn phase(chain: &[ErrorLink], rules: &[ErrorRule]) -> Option<Phase> {
    let rule = rules
        .iter()
        .find(|rule| chain.iter().any(|link| matches(rule, link)));
    rule.map(|rule| rule.phase)
}

fn matches(rule: &ErrorRule, link: &ErrorLink) -> bool {
    let same = |wanted: &Option<String>, has: &Option<String>| {
        wanted.is_none() || wanted.as_deref() == has.as_deref()
    };
    let message = rule.message.as_deref().is_none_or(|part| {
        let text = link.message.as_deref();
        text.is_some_and(|text| text.contains(part))
    });
    same(&rule.kind, &link.kind)
        && same(&rule.code, &link.code)
        && rule.errno.is_none_or(|errno| link.errno == Some(errno))
        && message
}

/// The chain in one line: `TypeError: fetch failed <- ECONNREFUSED: connect ...`.
pub(crate) fn in_words(chain: &[ErrorLink]) -> String {
    let link = |link: &ErrorLink| {
        let errno = link
            .errno
            .map(|errno| format!("{} {errno}", link.kind.as_deref().unwrap_or("errno")));
        let name = link.code.clone().or(errno).or_else(|| link.kind.clone());
        match (name, &link.message) {
            (Some(name), Some(message)) => format!("{name}: {}", short(message)),
            (Some(name), None) => name,
            (None, Some(message)) => short(message),
            (None, None) => "an error without type, code or message".to_owned(),
        }
    };
    let links: Vec<_> = chain.iter().map(link).collect();
    if links.is_empty() {
        return "an error without a chain".to_owned();
    }
    links.join(" <- ")
}

/// The begin of a message; some programs put whole pages into one.
fn short(message: &str) -> String {
    const KEPT: usize = 200;
    match message.char_indices().nth(KEPT) {
        Some((at, _)) => format!("{}...", &message[..at]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::manifest::CommandLine;
    use crate::testing::manifest;

    fn rule(code: &str, message: Option<&str>, phase: Phase) -> ErrorRule {
        ErrorRule {
            kind: None,
            code: Some(code.to_owned()),
            errno: None,
            message: message.map(str::to_owned),
            phase,
        }
    }

    fn link(kind: &str, code: Option<&str>, message: &str) -> ErrorLink {
        ErrorLink {
            kind: Some(kind.to_owned()),
            code: code.map(str::to_owned),
            message: Some(message.to_owned()),
            ..ErrorLink::default()
        }
    }

    fn of(shown: Shown, errors: Vec<ErrorRule>) -> Meaning {
        let manifest = Manifest {
            errors,
            ..manifest()
        };
        let report = Report {
            call: 1,
            shown,
            claim: None,
            events: None,
        };
        meaning(&report, &manifest)
    }

    fn status(status: Option<u16>) -> (Claim, Outcome) {
        let response = ShownResponse {
            status,
            ..ShownResponse::default()
        };
        let meaning = of(Shown::Response(response), Vec::new());
        (meaning.claim, meaning.outcome)
    }

    #[test]
    fn a_status_claims_what_the_standard_says_of_it() {
        assert_eq!(status(Some(204)), (Claim::Applied, Outcome::Success));
        assert_eq!(status(None), (Claim::Applied, Outcome::Success));
        assert_eq!(status(Some(404)), (Claim::NotApplied, Outcome::Rejected));
        for unknown in [302, 408, 409, 425, 429, 500, 503] {
            assert_eq!(
                status(Some(unknown)),
                (Claim::Unknown, Outcome::Rejected),
                "{unknown}"
            );
        }
    }

    #[test]
    fn the_first_rule_that_matches_anywhere_in_the_chain_decides() {
        let chain = vec![
            link("TypeError", None, "fetch failed"),
            link("Error", Some("ECONNREFUSED"), "connect"),
        ];
        let general = ErrorRule {
            kind: Some("TypeError".to_owned()),
            code: None,
            ..rule("", None, Phase::After)
        };
        let special = rule("ECONNREFUSED", None, Phase::Before);
        let first = of(
            Shown::Error(chain.clone()),
            vec![special.clone(), general.clone()],
        );
        assert_eq!(first.claim, Claim::NotSent);
        assert_eq!(first.outcome, Outcome::NotSent);
        assert_eq!(first.code.as_deref(), Some("ECONNREFUSED"));
        assert_eq!(
            first.shown,
            "TypeError: fetch failed <- ECONNREFUSED: connect"
        );
        let second = of(Shown::Error(chain), vec![general, special]);
        assert_eq!(second.outcome, Outcome::Unknown);
        assert!(!second.unmapped);
    }

    #[test]
    fn an_error_that_the_api_answered_is_a_refusal() {
        let chain = vec![link("JobError", Some("JOB_REFUSED"), "45000001")];
        let rules = vec![rule("JOB_REFUSED", None, Phase::Refused)];
        let meaning = of(Shown::Error(chain), rules);
        assert_eq!(meaning.outcome, Outcome::Rejected);
        assert_eq!(meaning.claim, Claim::Unknown);
    }

    #[test]
    fn all_parts_of_a_rule_must_match_the_same_link() {
        let chain = vec![
            link("A", Some("TIMEOUT"), "reading"),
            link("B", Some("OTHER"), "Connection timed out"),
        ];
        let rules = vec![rule("TIMEOUT", Some("Connection timed out"), Phase::Before)];
        let meaning = of(Shown::Error(chain), rules);
        assert!(meaning.unmapped);
        assert_eq!(meaning.claim, Claim::Unknown);
    }

    #[test]
    fn the_place_is_that_of_the_first_code_and_the_type_that_of_the_outermost_error() {
        let at = |at: &str, link: ErrorLink| ErrorLink {
            at: Some(at.to_owned()),
            ..link
        };
        let chain = vec![
            at("error", link("TypeError", None, "fetch failed")),
            at("error.cause", link("Error", Some("ECONNRESET"), "read")),
            at("error.cause.cause", link("Error", Some("EPIPE"), "write")),
        ];
        let meaning = of(Shown::Error(chain), Vec::new());
        assert_eq!(meaning.code.as_deref(), Some("ECONNRESET"));
        assert_eq!(meaning.code_at.as_deref(), Some("error.cause"));
        assert_eq!(meaning.error_type.as_deref(), Some("TypeError"));
    }

    #[test]
    fn there_is_no_place_without_a_code_and_none_that_the_client_does_not_tell() {
        let bare = ErrorLink {
            at: Some("error".to_owned()),
            ..link("TypeError", None, "fetch failed")
        };
        let bare = of(Shown::Error(vec![bare]), Vec::new());
        assert_eq!((bare.code, bare.code_at), (None, None));
        assert_eq!(bare.error_type.as_deref(), Some("TypeError"));
        let placeless = vec![link("Error", Some("EPIPE"), "write")];
        let placeless = of(Shown::Error(placeless), Vec::new());
        assert_eq!(placeless.code.as_deref(), Some("EPIPE"));
        assert_eq!(placeless.code_at, None);
        let empty = of(Shown::Error(Vec::new()), Vec::new());
        assert_eq!((empty.code_at, empty.error_type), (None, None));
    }

    #[test]
    fn an_exit_code_is_found_by_the_name_that_the_manifest_gives_it() {
        let command = CommandLine {
            exits: BTreeMap::from([(7, "CURLE_COULDNT_CONNECT".to_owned())]),
            ..CommandLine::default()
        };
        let manifest = Manifest {
            start: Start::Command(command),
            errors: vec![rule("CURLE_COULDNT_CONNECT", None, Phase::Before)],
            ..manifest()
        };
        let report = |errno| Report {
            call: 1,
            shown: Shown::Error(vec![ErrorLink {
                kind: Some("exit".to_owned()),
                errno: Some(errno),
                ..ErrorLink::default()
            }]),
            claim: None,
            events: None,
        };
        let known = meaning(&report(7), &manifest);
        assert_eq!(known.outcome, Outcome::NotSent);
        assert_eq!(known.code.as_deref(), Some("CURLE_COULDNT_CONNECT"));
        let unknown = meaning(&report(3), &manifest);
        assert!(unknown.unmapped);
        assert_eq!(unknown.shown, "exit 3");
    }

    #[test]
    fn a_claim_of_the_client_itself_stands() {
        let report = Report {
            call: 1,
            shown: Shown::Error(Vec::new()),
            claim: Some(Claim::Applied),
            events: None,
        };
        let meaning = meaning(&report, &manifest());
        assert_eq!(
            (meaning.claim, meaning.outcome),
            (Claim::Applied, Outcome::Unknown)
        );
    }

    #[test]
    fn cancelled_and_held_claim_nothing() {
        let cancelled = of(Shown::Cancelled {}, Vec::new());
        assert_eq!(
            (cancelled.claim, cancelled.outcome),
            (Claim::Unknown, Outcome::Cancelled)
        );
        assert_eq!(of(Shown::Held {}, Vec::new()).outcome, Outcome::Held);
    }
}
