//! Waits between attempts.

use crate::faults::respond::RetryAfter;
use crate::manifest::{PolicyRule, WaitRule};
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::policy::predict;
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
