//! Which rule decides, how often a client sends, and when nothing can be told.

use scripted_servers::script::{Times, When};
use scripted_servers::wire::End;

use crate::faults::respond::RetryAfter;
use crate::manifest::PolicyRule;
use crate::plan::{Limits, Of};
use crate::policy::{PredictedEnd, Prediction, predict};
use crate::scope::Treatment;
use crate::testing::{cut, plan, respond, server};
use crate::verdict::Outcome;

use super::{client, exact, missing, ms, on_statuses, one, range};

#[test]
fn a_client_without_retries_sends_once() {
    let case = one([respond(503), respond(200)]);
    let prediction = predict(&case, &client([]));
    assert_eq!(exact(&prediction, "api"), 1);
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::Rejected]));
    assert!(!prediction.promises_a_wait(1, &Of::default()));
}

#[test]
fn a_status_is_sent_again_until_it_is_good_or_the_attempts_are_used_up() {
    let retries = client([on_statuses(500, 599, 4)]);
    let good = one([respond(503).times(Times::Count(2)), respond(200)]);
    let prediction = predict(&good, &retries);
    assert_eq!(exact(&prediction, "api"), 3);
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::Success]));
    let never = predict(&one([respond(503)]), &retries);
    assert_eq!(exact(&never, "api"), 4, "the last step repeats");
    assert_eq!(never.outcome(1), Ok(vec![Outcome::Rejected]));
}

#[test]
fn a_limit_takes_the_place_of_attempts_above_one() {
    let told = Limits {
        attempts: Some(2),
        ..Limits::default()
    };
    let case = one([respond(503)]).limits(told);
    let retries = client([on_statuses(500, 599, 4)]);
    assert_eq!(exact(&predict(&case, &retries), "api"), 2);
    let never = client([on_statuses(500, 599, 1)]);
    assert_eq!(exact(&predict(&case, &never), "api"), 1);
}

#[test]
fn the_first_rule_that_fits_decides_by_method_and_retry_after() {
    let get = PolicyRule {
        method: vec!["GET".to_owned()],
        ..on_statuses(503, 503, 3)
    };
    let said = PolicyRule {
        retry_after: Some(true),
        ..on_statuses(429, 429, 2)
    };
    let client = client([get, said]);
    assert_eq!(exact(&predict(&one([respond(503)]), &client), "api"), 3);
    let post = plan([server("api").step(respond(503))]).call("POST", "api", "/x");
    assert_eq!(exact(&predict(&post, &client), "api"), 1);
    assert_eq!(exact(&predict(&one([respond(429)]), &client), "api"), 1);
    let says = respond(429).with(|respond| respond.retry_after = Some(RetryAfter::Seconds(1)));
    assert_eq!(exact(&predict(&one([says]), &client), "api"), 2);
}

#[test]
fn what_no_rule_covers_is_undocumented_and_named() {
    let mut client = client([]);
    client.policy.rules.truncate(1);
    let told = missing(&one([respond(503)]), &client);
    assert!(
        told.contains("`policy.rules` has no rule for status 503"),
        "{told}"
    );
    let good = predict(&one([respond(200)]), &client);
    assert_eq!(exact(&good, "api"), 1, "a success needs no rule");
    client.policy.rules.clear();
    let told = missing(&one([cut(End::Reset)]), &client);
    assert!(told.contains("`reset`"), "{told}");
}

#[test]
fn after_an_undocumented_call_nothing_is_known_of_later_ones() {
    let mut client = client([]);
    client.policy.rules.clear();
    let case = one([respond(200), respond(503)])
        .call("GET", "api", "/y")
        .call("GET", "api", "/z");
    let prediction = predict(&case, &client);
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::Success]));
    assert!(prediction.outcome(2).is_err());
    assert!(prediction.outcome(3).is_err());
}

#[test]
fn a_client_that_never_stops_is_bounded_by_enough_or_the_cap() {
    let client = client([on_statuses(500, 599, u32::MAX)]);
    let mut case = one([respond(503)]);
    case.cap = 20;
    let prediction = predict(&case, &client);
    assert_eq!(range(&prediction, "api"), (Some(20), None));
    assert!(prediction.outcome(1).is_err());
    case.enough.insert("api".to_owned(), 7);
    assert_eq!(range(&predict(&case, &client), "api"), (Some(7), None));
    assert_eq!(predict(&case, &client).calls[0].end, PredictedEnd::Open);
}

#[test]
fn enough_is_as_many_as_wanted_at_every_server_and_the_cap_is_allowed() {
    let mut case = plan([server("api"), server("other")]);
    assert!(!case.has_enough(|_| 99), "nothing is wanted");
    case.enough.insert("api".to_owned(), 2);
    case.enough.insert("other".to_owned(), 1);
    assert!(!case.has_enough(|server| if server == "api" { 9 } else { 0 }));
    assert!(case.has_enough(|server| if server == "api" { 2 } else { 1 }));
    case.cap = 5;
    assert!(!case.is_over_cap(5, 5));
    assert!(case.is_over_cap(6, 0) && case.is_over_cap(0, 6));
}

#[test]
fn enough_does_not_loosen_what_a_client_promises_that_stops_before() {
    let mut case = one([respond(503)]);
    case.enough.insert("api".to_owned(), 7);
    let prediction = predict(&case, &client([on_statuses(500, 599, 3)]));
    assert_eq!(exact(&prediction, "api"), 3);
}

#[test]
fn scripts_that_no_policy_can_walk_are_known_beforehand() {
    let mut when = When::default();
    let computable = |when: &When| {
        let case = one([respond(503).when(when.clone())]);
        crate::policy::not_computable(
            &case.servers,
            &case.calls,
            &case.limits,
            Treatment::default(),
        )
        .is_none()
    };
    assert!(computable(&when));
    when.until = Some(ms(500));
    assert!(!computable(&when));
    when = When::default();
    when.json = Some(("/a".to_owned(), serde_json::json!(1)));
    assert!(!computable(&when));
}

#[test]
fn a_prediction_survives_writing_and_reading() {
    let prediction = predict(&one([respond(503)]), &client([on_statuses(500, 599, 2)]));
    let text = serde_json::to_string(&prediction).expect("JSON");
    let read: Prediction = serde_json::from_str(&text).expect("read");
    assert_eq!(read, prediction);
    assert!(prediction.calls[0].reasoning[0].contains("GET api /x: 503"));
}
