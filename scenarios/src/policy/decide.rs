//! What the client does after an attempt, and what it shows when it stops.

use super::client::{self, Facts};
use super::span::Span;
use crate::faults::shown::Comes;
use crate::faults::shown::RetryAfter;
use crate::manifest::{ErrorKind, Manifest, PolicyRule};
use crate::plan::Limits;
use crate::verdict::Outcome;

/// What one attempt came to.
pub(super) struct Came {
    pub what: What,
    /// Whether its last request went over a kept connection.
    pub reused: bool,
    /// Method of its last request; none where the client may choose it.
    pub method: Option<String>,
    /// Whether it followed a redirect.
    pub redirected: bool,
    /// The header fields that the call gives.
    pub headers: Vec<(String, String)>,
    /// Time that its hops after the first one took.
    pub after_first: Span,
}

/// The last answer, or what it died of.
pub(super) enum What {
    Answer {
        status: u16,
        retry_after: Option<RetryAfter>,
        /// A redirect that is not followed.
        unfollowed: bool,
    },
    /// Any of these.
    Fails(Vec<ErrorKind>),
}

impl Came {
    pub(super) fn retry_after(&self) -> Option<&RetryAfter> {
        match &self.what {
            What::Answer { retry_after, .. } => retry_after.as_ref(),
            What::Fails(_) => None,
        }
    }
}

/// The rule by which the client sends again, if it does, and why.
pub(super) fn decide<'m>(
    manifest: &'m Manifest,
    limits: &Limits,
    came: &Came,
    attempt: u32,
) -> Result<(Option<&'m PolicyRule>, String), String> {
    let mut facts = Facts {
        status: None,
        error: None,
        method: came.method.as_deref(),
        reused: came.reused,
        retry_after: came.retry_after().is_some(),
        redirected: came.redirected,
        headers: &came.headers,
    };
    match &came.what {
        What::Answer {
            status, unfollowed, ..
        } => {
            facts.status = Some(*status);
            let what = format!("status {status}");
            match client::rule(manifest, &facts)? {
                Some(rule) => Ok(by(rule, limits, attempt, &what)),
                None if (200..300).contains(status) || *unfollowed => {
                    Ok((None, format!("{what} is the end")))
                }
                None => Err(no_rule(&what)),
            }
        }
        What::Fails(kinds) => {
            let mut decisions = Vec::new();
            for kind in kinds {
                let what = format!("`{}`", word(*kind));
                facts.error = Some(*kind);
                decisions.push(match client::rule(manifest, &facts)? {
                    // All attempts together have no more time.
                    _ if *kind == ErrorKind::TotalTimeout => {
                        (None, "the time for the call is up".to_owned())
                    }
                    Some(rule) => by(rule, limits, attempt, &what),
                    None => return Err(no_rule(&format!("the error {what}"))),
                });
            }
            let again = decisions.iter().filter(|(rule, _)| rule.is_some()).count();
            if again != 0 && again != decisions.len() {
                return Err(format!(
                    "not computable: this may be any of {}, and the policy tells them apart",
                    words(kinds)
                ));
            }
            decisions
                .into_iter()
                .next()
                .ok_or_else(|| no_rule("nothing"))
        }
    }
}

fn by<'m>(
    rule: &'m PolicyRule,
    limits: &Limits,
    attempt: u32,
    what: &str,
) -> (Option<&'m PolicyRule>, String) {
    let attempts = client::attempts(rule, limits);
    if attempts > attempt {
        return (
            Some(rule),
            format!("{what} is sent again, up to {attempts} in all"),
        );
    }
    let why = if attempts == 1 {
        format!("{what} is not sent again")
    } else {
        format!("{attempts} attempts are all")
    };
    (None, why)
}

fn no_rule(what: &str) -> String {
    format!("undocumented: `policy.rules` has no rule for {what}")
}

/// What the client shows when it stops. Whether a refused hop of a redirect was
/// sent, and how it tells of redirects it does not follow, no policy says: both
/// ways fit.
pub(super) fn outcomes(came: &Came) -> Vec<Outcome> {
    match &came.what {
        What::Answer {
            status: 200..=299, ..
        } => vec![Outcome::Success],
        What::Answer {
            unfollowed: true, ..
        } => vec![Outcome::Rejected, Outcome::Unknown],
        What::Answer { .. } => vec![Outcome::Rejected],
        What::Fails(kinds) => {
            let mut outcomes: Vec<Outcome> = Vec::new();
            for kind in kinds {
                let new: &[Outcome] = match kind {
                    ErrorKind::Refused | ErrorKind::ConnectTimeout if came.redirected => {
                        &[Outcome::NotSent, Outcome::Unknown]
                    }
                    ErrorKind::Refused | ErrorKind::ConnectTimeout => &[Outcome::NotSent],
                    ErrorKind::TooManyRedirects => &[Outcome::Unknown, Outcome::Rejected],
                    _ => &[Outcome::Unknown],
                };
                outcomes.extend(new);
            }
            outcomes.sort_unstable();
            outcomes.dedup();
            outcomes
        }
    }
}

/// What comes, in words.
pub(super) fn in_words(comes: &Comes) -> String {
    match comes {
        Comes::Answer { status, .. } => status.to_string(),
        Comes::Fails(kinds) => words(kinds),
        Comes::Nothing => "nothing".to_owned(),
    }
}

fn words(kinds: &[ErrorKind]) -> String {
    let kinds: Vec<_> = kinds.iter().map(|kind| word(*kind)).collect();
    kinds.join(" or ")
}

/// The word for a kind of error.
pub(super) fn word(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Refused => "refused",
        ErrorKind::ConnectTimeout => "connect-timeout",
        ErrorKind::Reset => "reset",
        ErrorKind::Closed => "closed",
        ErrorKind::Truncated => "truncated",
        ErrorKind::IdleTimeout => "idle-timeout",
        ErrorKind::TotalTimeout => "total-timeout",
        ErrorKind::Malformed => "malformed",
        ErrorKind::TooManyRedirects => "too-many-redirects",
    }
}
