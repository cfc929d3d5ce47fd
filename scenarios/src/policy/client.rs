//! The client's side of the walk: which rule of its policy decides, and how
//! long it waits.

use std::time::Duration;

use super::span::Span;
use crate::faults::shown::RetryAfter;
use crate::manifest::{ErrorKind, Manifest, PolicyRule, WaitRule};
use crate::matcher::Matcher;
use crate::plan::{Jitter, Limits};

/// What an attempt came to, as a policy looks at it.
pub(super) struct Facts<'a> {
    pub status: Option<u16>,
    pub error: Option<ErrorKind>,
    pub method: Option<&'a str>,
    pub reused: bool,
    pub retry_after: bool,
    pub redirected: bool,
    pub headers: &'a [(String, String)],
}

/// The time that the client's own work and a connection may add to a wait that
/// a policy promises.
const OWN_WORK: Duration = Duration::from_millis(250);

/// The first rule that fits; none when no rule does; an error when the walk
/// does not know enough to say.
pub(super) fn rule<'m>(
    manifest: &'m Manifest,
    came: &Facts<'_>,
) -> Result<Option<&'m PolicyRule>, String> {
    for rule in &manifest.policy.rules {
        let status = |status: u16| {
            let mut ranges = rule.status.iter();
            ranges.any(|range| (range.from..=range.to).contains(&status))
        };
        let about = came.status.is_some_and(status)
            || came.error.is_some_and(|error| rule.error.contains(&error));
        let fits = about
            && rule.reused.is_none_or(|reused| reused == came.reused)
            && rule.retry_after.is_none_or(|said| said == came.retry_after)
            && rule.redirected.is_none_or(|one| one == came.redirected)
            && (rule.header.is_empty() || gives_one(came.headers, &rule.header));
        if !fits {
            continue;
        }
        if rule.method.is_empty() {
            return Ok(Some(rule));
        }
        let method = came.method.ok_or(super::walk::UNKNOWN_METHOD)?;
        if rule.method.iter().any(|one| one == method) {
            return Ok(Some(rule));
        }
    }
    Ok(None)
}

/// Whether one of these fields is among those that the call gives.
fn gives_one(given: &[(String, String)], wanted: &[String]) -> bool {
    given
        .iter()
        .any(|(name, _)| wanted.iter().any(|one| one.eq_ignore_ascii_case(name)))
}

/// Sends of the call in all when this rule is met each time.
pub(super) fn attempts(rule: &PolicyRule, limits: &Limits) -> u32 {
    match limits.sends() {
        Some(sends) if rule.attempts > 1 => u32::try_from(sends).unwrap_or(u32::MAX),
        _ => rule.attempts,
    }
}

/// How long the client waits the `number`-th time, from 0. The bounds are those
/// of what a server can see.
pub(super) fn wait(
    rule: &WaitRule,
    limits: &Limits,
    number: u32,
    said: Option<&RetryAfter>,
) -> Result<Matcher<Duration>, String> {
    let own = own_wait(rule, number);
    let (at_least, at_most) = match said.filter(|_| rule.retry_after) {
        None => told_wait(own, limits, number)?,
        Some(said) => {
            let (least, latest) = asked(said)?;
            (Some(least), own.1.map(|more| latest.saturating_add(more)))
        }
    };
    if at_least.is_none() && at_most.is_none() {
        return Err("undocumented: `policy.rules`, `wait` of the rule that fits".to_owned());
    }
    Ok(Matcher::Range {
        at_least,
        at_most: at_most.map(|most| most.saturating_add(OWN_WORK)),
    })
}

/// At least and at most.
type Bounds = (Option<Duration>, Option<Duration>);

/// The wait that the rule names.
fn own_wait(rule: &WaitRule, number: u32) -> Bounds {
    let at = |times: &[Duration]| times.get(number as usize).or(times.last()).copied();
    (at(&rule.at_least), at(&rule.at_most))
}

/// What a Retry-After asks for, at least and at most.
fn asked(said: &RetryAfter) -> Result<(Duration, Duration), String> {
    match said {
        RetryAfter::Seconds(seconds) => {
            let value = Duration::from_secs(*seconds);
            Ok((value, value))
        }
        // The date is rounded up to a whole second.
        RetryAfter::DateIn(value) => Ok((*value, value.saturating_add(Duration::from_secs(1)))),
        RetryAfter::Text(text) => Err(format!(
            "undocumented: how the client reads `Retry-After: {text}`"
        )),
    }
}

/// The wait under the limits that the scenario sets. A rule that sends again at once
/// has no wait that could grow.
fn told_wait(own: Bounds, limits: &Limits, number: u32) -> Result<Bounds, String> {
    let at_once = own == (Some(Duration::ZERO), Some(Duration::ZERO));
    if at_once || (limits.backoff, limits.backoff_cap, limits.jitter) == (None, None, None) {
        return Ok(own);
    }
    let (Some(backoff), Some(cap), Some(jitter)) =
        (limits.backoff, limits.backoff_cap, limits.jitter)
    else {
        return Err(
            "undocumented: the client's own part of `backoff`, `backoff_cap` and `jitter`, of \
             which `limits` names not all"
                .to_owned(),
        );
    };
    let doubled = backoff.saturating_mul(2_u32.saturating_pow(number));
    let whole = doubled.min(cap);
    let least = match jitter {
        Jitter::Full => Duration::ZERO,
        Jitter::Equal => whole / 2,
        Jitter::None => whole,
    };
    Ok((Some(least), Some(whole)))
}

/// Whether a client gives up since it is asked to wait longer than the scenario
/// allows; an error where that is not certain.
pub(super) fn is_asked_too_much(
    rule: &WaitRule,
    limits: &Limits,
    said: Option<&RetryAfter>,
) -> Result<bool, String> {
    let (Some(cap), Some(said)) = (limits.retry_after_cap, said.filter(|_| rule.retry_after))
    else {
        return Ok(false);
    };
    let (least, most) = asked(said)?;
    match (least > cap, most > cap) {
        (true, _) => Ok(true),
        (false, false) => Ok(false),
        (false, true) => Err(
            "not computable: `Retry-After` is about as long as `limits.retry_after_cap`".to_owned(),
        ),
    }
}

/// The same for the clock of the walk; what is not documented has no bounds.
pub(super) fn span(wait: &Result<Matcher<Duration>, String>) -> Span {
    match wait {
        Ok(range) => {
            let (least, most) = crate::matcher::bounds(range);
            Span {
                least: least.unwrap_or_default(),
                most,
            }
        }
        Err(_) => Span {
            least: Duration::ZERO,
            most: None,
        },
    }
}
