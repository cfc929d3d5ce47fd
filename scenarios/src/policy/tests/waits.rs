//! Waits between attempts.

use crate::faults::respond::RetryAfter;
use crate::manifest::{Manifest, PolicyRule, WaitRule};
use crate::matcher::Matcher;
use crate::plan::{Jitter, Layer, Limits, Of};
use crate::policy::{not_computable, predict};
use crate::scope::Treatment;
use crate::testing::respond;

use super::{client, exact, limits, missing, ms, on_statuses, one};

#[test]
fn waits_are_those_of_the_rule_and_of_retry_after() {
    let wait = WaitRule {
        at_least: vec![ms(100), ms(200)],
        at_most: vec![ms(150), ms(300)],
        retry_after: true,
    };
    let client = client([PolicyRule {
        wait,
        ..on_statuses(500, 599, 5)
    }]);
    let says = |value: RetryAfter| respond(503).with(|respond| respond.retry_after = Some(value));
    let case = one([
        respond(503),
        respond(503),
        says(RetryAfter::Seconds(2)),
        says(RetryAfter::Text("soon".to_owned())),
        respond(200),
    ]);
    let prediction = predict(&case, &client);
    let wait = |number| prediction.wait(1, "api", number);
    // A quarter of a second is granted for the client's own work.
    let between = |low, high| {
        Ok(Some(Matcher::Range {
            at_least: Some(ms(low)),
            at_most: Some(ms(high)),
        }))
    };
    assert_eq!(wait(0), between(100, 400));
    assert_eq!(wait(1), between(200, 550));
    assert_eq!(wait(2), between(2000, 2550));
    assert!(wait(3).expect_err("text").contains("soon"));
    assert_eq!(wait(4), Ok(None));
    assert_eq!(exact(&prediction, "api"), 5);
    let dated = one([says(RetryAfter::DateIn(ms(2000))), respond(200)]);
    let prediction = predict(&dated, &client);
    assert_eq!(prediction.wait(1, "api", 0), between(2000, 3400));
}

#[test]
fn a_wait_that_is_not_documented_leaves_the_counts_known() {
    let prediction = predict(&one([respond(503)]), &client([on_statuses(500, 599, 2)]));
    assert_eq!(exact(&prediction, "api"), 2);
    assert!(prediction.wait(1, "api", 0).is_err());
    assert!(prediction.promises_a_wait(1, &Of::default()));
}

#[test]
fn a_total_that_may_end_the_waits_can_not_be_computed() {
    let client = |most: u64| {
        client([PolicyRule {
            wait: WaitRule {
                at_least: vec![ms(100)],
                at_most: vec![ms(most)],
                retry_after: false,
            },
            ..on_statuses(500, 599, 3)
        }])
    };
    let case = one([respond(503)]).limits(limits(None, Some(2000)));
    assert_eq!(exact(&predict(&case, &client(200)), "api"), 3);
    assert!(missing(&case, &client(1000)).contains("limits.total"));
    let without_waits = super::client([on_statuses(500, 599, 3)]);
    let told = missing(&case, &without_waits);
    assert!(
        told.contains("`wait`") && told.contains("limits.total"),
        "{told}"
    );
}

fn told(backoff: u64, cap: u64, jitter: Option<Jitter>) -> Limits {
    Limits {
        attempts: Some(4),
        backoff: Some(ms(backoff)),
        backoff_cap: Some(ms(cap)),
        jitter,
        ..Limits::default()
    }
}

fn sends_again(retry_after: bool) -> Manifest {
    client([PolicyRule {
        wait: WaitRule {
            at_least: vec![ms(10)],
            at_most: vec![ms(20)],
            retry_after,
        },
        ..on_statuses(500, 599, 4)
    }])
}

#[test]
fn waits_that_the_scenario_sets_take_the_rules_place() {
    let bounds = |jitter| {
        let case = one([respond(503)]).limits(told(100, 300, jitter));
        let prediction = predict(&case, &sends_again(false));
        assert_eq!(exact(&prediction, "api"), 4);
        let wait = |number| prediction.wait(1, "api", number).map(Option::unwrap);
        let least = |number| wait(number).map(|wait| crate::matcher::bounds(&wait).0);
        let most = wait(2).map(|wait| crate::matcher::bounds(&wait).1);
        (least(0), least(2), most)
    };
    // A quarter of a second is granted for the client's own work.
    let longest = Ok(Some(ms(550)));
    let whole = (Ok(Some(ms(100))), Ok(Some(ms(300))), longest.clone());
    assert_eq!(bounds(Some(Jitter::None)), whole);
    let half = (Ok(Some(ms(50))), Ok(Some(ms(150))), longest.clone());
    assert_eq!(bounds(Some(Jitter::Equal)), half);
    let nothing = (Ok(Some(ms(0))), Ok(Some(ms(0))), longest);
    assert_eq!(bounds(Some(Jitter::Full)), nothing);
    let (first, ..) = bounds(None);
    assert!(first.expect_err("no jitter is told").contains("`jitter`"));
}

#[test]
fn layers_multiply_and_each_has_its_own_waits() {
    let layer = |name: &str, retries| Layer {
        name: name.to_owned(),
        retries,
    };
    let limits = Limits {
        attempts: None,
        layers: vec![layer("wrapper", 1), layer("sdk", 2)],
        ..told(100, 1000, Some(Jitter::None))
    };
    let case = one([respond(503)]).limits(limits);
    let prediction = predict(&case, &sends_again(false));
    assert_eq!(exact(&prediction, "api"), 6);
    let waits = &prediction.calls[0].waits;
    let least = |range: &Result<_, String>| crate::matcher::bounds(range.as_ref().unwrap()).0;
    let least: Vec<_> = waits.iter().map(|wait| least(&wait.range)).collect();
    assert_eq!(least, [100, 200, 100, 100, 200].map(|time| Some(ms(time))));
}

#[test]
fn a_retry_after_beyond_the_cap_is_not_waited_for() {
    let sends = |said: RetryAfter| {
        let limits = Limits {
            retry_after_cap: Some(ms(4000)),
            ..Limits::default()
        };
        let step = respond(503).with(|respond| respond.retry_after = Some(said));
        one([step, respond(200)]).limits(limits)
    };
    let client = sends_again(true);
    let exactly = |said| exact(&predict(&sends(said), &client), "api");
    assert_eq!(exactly(RetryAfter::Seconds(4)), 2);
    assert_eq!(exactly(RetryAfter::Seconds(5)), 1);
    assert_eq!(exactly(RetryAfter::DateIn(ms(5000))), 1);
    let about = sends(RetryAfter::DateIn(ms(3500)));
    assert!(missing(&about, &client).contains("retry_after_cap"));
}

#[test]
fn all_waits_together_end_the_call_where_that_is_certain() {
    let limits = |wait| Limits {
        wait: Some(ms(wait)),
        ..told(1000, 1000, Some(Jitter::None))
    };
    let sends = |wait| one([respond(503)]).limits(limits(wait));
    let client = sends_again(false);
    assert_eq!(exact(&predict(&sends(2900), &client), "api"), 3);
    assert_eq!(exact(&predict(&sends(9000), &client), "api"), 4);
    assert!(missing(&sends(2100), &client).contains("limits.wait"));
}

#[test]
fn what_depends_on_time_or_on_other_calls_can_not_be_computed() {
    let why = |limits| {
        let case = one([respond(503)]).limits(limits);
        not_computable(
            &case.servers,
            &case.calls,
            &case.limits,
            Treatment::default(),
        )
    };
    let some = Some(ms(1000));
    for limits in [
        Limits {
            per_attempt: some,
            ..Limits::default()
        },
        Limits {
            retry_share: Some(10),
            ..Limits::default()
        },
        Limits {
            in_flight: Some(4),
            ..Limits::default()
        },
        Limits {
            breaker_failures: Some(5),
            ..Limits::default()
        },
        Limits {
            hedge_after: some,
            ..Limits::default()
        },
    ] {
        assert!(why(limits.clone()).is_some(), "{limits:?}");
    }
    assert_eq!(why(told(1, 2, None)), None);
}
