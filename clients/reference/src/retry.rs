//! Whether an attempt is followed by another one: a table, read from the top.
//!
//! It decides from how the attempt ended and from the request alone. Limits of
//! attempts and time are the caller's business. Each rule stands in the manifest
//! too; change both together.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::cause;
use crate::clock;
use crate::defects::{Defect, Defects};
use crate::exchange::Answer;
use crate::failure::{EndedBy, Failure, Kind};
use crate::policy::{JITTER, Policy};
use crate::retry_after;

/// What to do after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// This was the last one.
    Stop,
    /// Send again, at once.
    AtOnce,
    /// Send again after a growing wait.
    BackOff,
    /// Send again after the time that Retry-After asks for.
    AsAsked,
}

/// How an attempt ended, as rules see it.
enum When {
    /// It is proved that nothing was sent.
    Unsent,
    /// A used connection died without a byte of an answer.
    ReusedDied,
    /// It ended with one of these errors.
    Error(&'static [Kind]),
    /// The connection was ended like this.
    EndedBy(EndedBy),
    /// It was answered with one of these statuses.
    Status(&'static [RangeInclusive<u16>]),
    /// The same, and the answer has a Retry-After that makes sense.
    StatusAsking(&'static [RangeInclusive<u16>]),
}

#[derive(PartialEq, Eq)]
enum Methods {
    Any,
    /// Those of a request that may arrive twice: by its method, or by a field
    /// that guards it.
    Repeatable,
}

struct Rule {
    /// A rule that only a defective client has.
    defect: Option<Defect>,
    when: When,
    methods: Methods,
    then: Then,
}

/// Statuses that say "not now" rather than "no".
const NOT_NOW: &[RangeInclusive<u16>] = &[
    408..=409,
    425..=425,
    429..=429,
    500..=500,
    502..=504,
    529..=529,
];
const DIED: &[Kind] = &[
    Kind::Reset,
    Kind::Closed,
    Kind::Truncated,
    Kind::IdleTimeout,
    Kind::AttemptTimeout,
];

const fn rule(when: When, methods: Methods, then: Then) -> Rule {
    Rule {
        defect: None,
        when,
        methods,
        then,
    }
}

const fn defect(defect: Defect, when: When, methods: Methods, then: Then) -> Rule {
    Rule {
        defect: Some(defect),
        when,
        methods,
        then,
    }
}

/// The first rule that fits decides; what none fits is final.
#[rustfmt::skip]
const TABLE: &[Rule] = &[
    // Ways to be careless.
    defect(Defect::ResendsOn400, When::Status(&[400..=499]), Methods::Any, Then::BackOff),
    defect(Defect::TrustsRetryAfterOnAnyStatus, When::StatusAsking(&[400..=599]), Methods::Any, Then::AsAsked),
    defect(Defect::GivesUpOn429, When::Status(&[429..=429]), Methods::Any, Then::Stop),
    defect(Defect::Treats408AsFinal, When::Status(&[408..=408]), Methods::Any, Then::Stop),
    defect(Defect::ReplaysPostOnReusedConnection, When::ReusedDied, Methods::Any, Then::AtOnce),
    defect(Defect::RetriesPostOnReset, When::EndedBy(EndedBy::Reset), Methods::Any, Then::BackOff),
    defect(Defect::RetriesPostOnClose, When::EndedBy(EndedBy::Close), Methods::Any, Then::BackOff),
    defect(Defect::RetriesPostOnTimeout, When::Error(&[Kind::IdleTimeout]), Methods::Any, Then::BackOff),
    defect(Defect::RetriesPostOnStatus, When::StatusAsking(NOT_NOW), Methods::Any, Then::AsAsked),
    defect(Defect::RetriesPostOnStatus, When::Status(NOT_NOW), Methods::Any, Then::BackOff),
    // What was not sent can be sent.
    rule(When::Unsent, Methods::Any, Then::BackOff),
    // A used connection dies because it was old; a fresh one is tried at once.
    rule(When::ReusedDied, Methods::Repeatable, Then::AtOnce),
    rule(When::Error(DIED), Methods::Repeatable, Then::BackOff),
    rule(When::StatusAsking(NOT_NOW), Methods::Repeatable, Then::AsAsked),
    rule(When::Status(NOT_NOW), Methods::Repeatable, Then::BackOff),
    // A rate limiter that names a time did not pass the request on. A 503 with
    // Retry-After does not say that, so a POST is not sent again after one.
    rule(When::StatusAsking(&[429..=429]), Methods::Any, Then::AsAsked),
];

/// How an attempt ended: with an answer or without.
pub(crate) type Ended = Result<Answer, Failure>;

/// What to do after this attempt, and how long to wait before the next one. `repeatable`
/// says that the request may arrive twice, `retry` which one of its layer is to come,
/// from 1. None: this was the last one.
pub(crate) fn decide(
    repeatable: bool,
    ended: &Ended,
    retry: u32,
    policy: &Policy,
    defects: &Defects,
) -> Option<Duration> {
    if matches!(ended, Err(failure) if failure.kind == Kind::Cancelled) {
        let again = defects.has(Defect::RetriesWhatWasCancelled);
        return again.then(|| policy.backoff.wait(retry, random()));
    }
    let hopeless = ended.as_ref().is_ok_and(cause::is_hopeless);
    if hopeless && !defects.has(Defect::WaitsForEvery429) {
        return None;
    }
    let asked = asked(ended, defects);
    let fitting = TABLE.iter().find(|rule| {
        rule.defect.is_none_or(|defect| defects.has(defect))
            && (rule.methods == Methods::Any || repeatable)
            && fits(&rule.when, ended, asked)
    });
    match fitting.map_or(Then::Stop, |rule| rule.then) {
        Then::Stop => None,
        Then::AtOnce => Some(Duration::ZERO),
        Then::BackOff => Some(policy.backoff.wait(retry, random())),
        Then::AsAsked if defects.has(Defect::CutsRetryAfterToTheCap) => {
            asked.map(|wait| wait.min(policy.retry_after_cap))
        }
        Then::AsAsked => asked
            .filter(|wait| *wait <= policy.retry_after_cap)
            .map(|wait| wait + JITTER.mul_f64(random())),
    }
}

/// The wait before this retry, from 1, where no answer names one.
pub(crate) fn backoff(retry: u32, policy: &Policy) -> Duration {
    policy.backoff.wait(retry, random())
}

/// Whether a status says "not now" rather than "no".
pub(crate) fn is_not_now(status: u16) -> bool {
    NOT_NOW.iter().any(|range| range.contains(&status))
}

fn fits(when: &When, ended: &Ended, asked: Option<Duration>) -> bool {
    let has = |statuses: &[RangeInclusive<u16>], status| {
        statuses.iter().any(|range| range.contains(&status))
    };
    match (when, ended) {
        (When::Unsent, Err(failure)) => {
            failure.proves_unsent() && !failure.kind.is_the_clients_own()
        }
        (When::ReusedDied, Err(failure)) => {
            failure.reused && !failure.answered && failure.ended_by.is_some()
        }
        (When::Error(kinds), Err(failure)) => {
            // A target that refuses after a hop was delivered is an error after
            // sending, whatever its kind.
            kinds.contains(&failure.kind)
                || (failure.hops_before > 0 && failure.kind.is_before_sending())
        }
        (When::EndedBy(how), Err(failure)) => failure.ended_by == Some(*how),
        (When::Status(statuses), Ok(answer)) => has(statuses, answer.status),
        (When::StatusAsking(statuses), Ok(answer)) => {
            asked.is_some() && has(statuses, answer.status)
        }
        _ => false,
    }
}

fn asked(ended: &Ended, defects: &Defects) -> Option<Duration> {
    let answer = ended.as_ref().ok()?;
    retry_after::asked(answer.fields.get("Retry-After")?, clock::wall(), defects)
}

/// A number from 0 up to 1, from the randomness that std seeds its maps with.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    f64::from((bits >> 32) as u32) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use client_kit::digest::BodyDigest;
    use client_kit::protocol::Limits;

    use super::*;
    use crate::codec::Fields;

    fn answer(status: u16, retry_after: Option<&str>) -> Ended {
        let mut fields = Fields::default();
        if let Some(value) = retry_after {
            fields
                .take(format!("Retry-After: {value}").as_bytes())
                .unwrap();
        }
        Ok(Answer {
            status,
            fields,
            kept: Vec::new(),
            content: BodyDigest::new(),
            whole: true,
            reusable: true,
        })
    }

    fn failure(kind: Kind) -> Failure {
        Failure::new(kind, "test")
    }

    fn again(method: &str, ended: &Ended, defects: &Defects) -> bool {
        let repeatable = method != "POST" && method != "PATCH";
        decide(repeatable, ended, 1, &policy(), defects).is_some()
    }

    fn policy() -> Policy {
        Policy::new(&Limits::default(), &good())
    }

    fn good() -> Defects {
        Defects::default()
    }

    #[test]
    fn what_was_not_sent_is_sent_again_whatever_the_method() {
        for kind in [Kind::Refused, Kind::ConnectTimeout, Kind::Unreachable] {
            assert!(again("POST", &Err(failure(kind)), &good()), "{kind:?}");
        }
        for kind in [Kind::Unusable, Kind::QueueFull, Kind::BreakerOpen] {
            assert!(!again("GET", &Err(failure(kind)), &good()), "{kind:?}");
        }
    }

    #[test]
    fn a_refused_target_after_a_delivered_hop_is_an_error_after_sending() {
        let refused = || {
            Err(Failure {
                hops_before: 1,
                ..failure(Kind::Refused)
            })
        };
        assert!(!again("POST", &refused(), &good()));
        assert!(again("GET", &refused(), &good()));
    }

    #[test]
    fn after_sending_only_idempotent_methods_are_sent_again() {
        for kind in DIED {
            assert!(again("GET", &Err(failure(*kind)), &good()), "{kind:?}");
            assert!(again("DELETE", &Err(failure(*kind)), &good()), "{kind:?}");
            assert!(!again("POST", &Err(failure(*kind)), &good()), "{kind:?}");
            assert!(!again("PATCH", &Err(failure(*kind)), &good()), "{kind:?}");
        }
        for kind in [Kind::Malformed, Kind::TotalTimeout, Kind::TooManyRedirects] {
            assert!(!again("GET", &Err(failure(kind)), &good()), "{kind:?}");
        }
    }

    #[test]
    fn statuses_are_sent_again_by_the_list() {
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
            assert!(again("GET", &answer(status, None), &good()), "{status}");
            assert!(!again("POST", &answer(status, None), &good()), "{status}");
        }
        for status in [200, 304, 307, 400, 401, 402, 403, 404, 413, 422, 501, 505] {
            assert!(!again("GET", &answer(status, None), &good()), "{status}");
        }
    }

    #[test]
    fn a_post_is_sent_again_only_after_a_429_that_names_a_time() {
        assert!(again("POST", &answer(429, Some("1")), &good()));
        assert!(!again("POST", &answer(429, Some("soon")), &good()));
        assert!(!again("POST", &answer(503, Some("1")), &good()));
    }

    #[test]
    fn retry_after_is_kept_to_and_beyond_the_cap_given_up() {
        let wait = |value| decide(true, &answer(503, Some(value)), 1, &policy(), &good());
        let two = wait("2").unwrap();
        assert!(two >= Duration::from_secs(2) && two <= Duration::from_millis(2100));
        assert!(wait("0").unwrap() <= JITTER);
        assert!(wait("90").is_some());
        assert_eq!(wait("91"), None);
        assert!(wait("soon").unwrap() <= policy().backoff.base);
    }

    #[test]
    fn chance_is_from_0_up_to_1() {
        assert!((0..1000).map(|_| random()).all(|n| (0.0..1.0).contains(&n)));
    }

    #[test]
    fn a_used_connection_that_died_is_replaced_at_once() {
        let died = |answered| {
            Err(Failure {
                reused: true,
                answered,
                ended_by: Some(EndedBy::Close),
                ..failure(Kind::Closed)
            })
        };
        assert_eq!(
            decide(true, &died(false), 1, &policy(), &good()),
            Some(Duration::ZERO)
        );
        assert_ne!(
            decide(true, &died(true), 1, &policy(), &good()),
            Some(Duration::ZERO)
        );
        assert!(!again("POST", &died(false), &good()));
        let replays = good().with(Defect::ReplaysPostOnReusedConnection);
        assert!(again("POST", &died(false), &replays));
    }

    #[test]
    fn each_defective_rule_changes_its_case_and_not_its_neighbour() {
        let ended = |kind, by| {
            Err(Failure {
                ended_by: by,
                ..failure(kind)
            })
        };
        let reset = ended(Kind::Reset, Some(EndedBy::Reset));
        let closed = ended(Kind::Closed, Some(EndedBy::Close));
        let idle = ended(Kind::IdleTimeout, None);
        for (defect, method, case, neighbour) in [
            (Defect::RetriesPostOnReset, "POST", &reset, &closed),
            (Defect::RetriesPostOnClose, "POST", &closed, &reset),
            (Defect::RetriesPostOnTimeout, "POST", &idle, &reset),
            (
                Defect::RetriesPostOnStatus,
                "POST",
                &answer(503, None),
                &reset,
            ),
            (
                Defect::ResendsOn400,
                "POST",
                &answer(422, None),
                &answer(503, None),
            ),
        ] {
            let defects = good().with(defect);
            assert!(again(method, case, &defects), "{defect:?}");
            assert!(!again(method, neighbour, &defects), "{defect:?}");
        }
        assert!(!again(
            "GET",
            &answer(429, None),
            &good().with(Defect::GivesUpOn429)
        ));
        assert!(!again(
            "GET",
            &answer(408, None),
            &good().with(Defect::Treats408AsFinal)
        ));
    }
}
