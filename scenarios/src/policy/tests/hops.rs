//! Redirects, and what the requests of a call carry.

use scripted_servers::script::{FieldTest, When};

use crate::counter::Counter;
use crate::manifest::{ErrorKind, PolicyRule};
use crate::plan::{Limits, Of, Plan, Request};
use crate::policy::predict;
use crate::template::Template;
use crate::testing::{plan, redirect, respond, server, url};
use crate::verdict::Outcome;

use super::{client, exact, missing, on_errors, on_statuses, one};

/// The product's first proof: a redirect to a port that refuses.
#[test]
fn a_refused_hop_is_sent_again_from_the_first_hop() {
    let api = server("api").step(redirect(307, url("dead", "/y")));
    let case = plan([api, server("dead").refusing()]).call("POST", "api", "/x");
    let trusting = client([on_errors(&[ErrorKind::Refused], 3)]);
    let prediction = predict(&case, &trusting);
    assert_eq!(exact(&prediction, "api"), 3);
    assert_eq!(exact(&prediction, "dead"), 0);
    assert_eq!(
        prediction.outcome(1),
        Ok(vec![Outcome::NotSent, Outcome::Unknown])
    );
    let mut still = trusting;
    still.policy.redirects = Some(0);
    let prediction = predict(&case, &still);
    assert_eq!(exact(&prediction, "api"), 1);
    still.policy.redirects = None;
    assert!(missing(&case, &still).contains("policy.redirects"));
    let case = case.limits(Limits {
        redirects: Some(0),
        ..Limits::default()
    });
    assert_eq!(
        exact(&predict(&case, &still), "api"),
        1,
        "the limit overrides"
    );
}

#[test]
fn a_loop_is_followed_up_to_the_limit() {
    let case = one([redirect(302, Template::text("/x"))]).limits(Limits {
        redirects: Some(5),
        ..Limits::default()
    });
    let prediction = predict(&case, &client([]));
    assert_eq!(exact(&prediction, "api"), 6);
    assert_eq!(
        prediction.outcome(1),
        Ok(vec![Outcome::Rejected, Outcome::Unknown])
    );
}

#[test]
fn a_303_is_followed_with_get_and_a_302_after_post_is_left_to_the_client() {
    let api = |status: u16| {
        let api = server("api")
            .route(None, "/in")
            .step(redirect(status, Template::text("/r")))
            .route(None, "/r")
            .step(respond(200));
        plan([api]).call("POST", "api", "/in")
    };
    let client = client([]);
    let see_other = predict(&api(303), &client);
    assert_eq!(exact(&see_other, "api GET /r"), 1);
    assert_eq!(exact(&see_other, "api POST /r"), 0);
    let temporary = predict(&api(307), &client);
    assert_eq!(exact(&temporary, "api POST /r"), 1);
    let found = predict(&api(302), &client);
    assert_eq!(exact(&found, "api /r"), 1);
    let by_method = Counter::parse("api POST /r").expect("a counter");
    assert!(found.delivered(&by_method, &Of::default()).is_err());
}

#[test]
fn a_request_that_no_route_expects_is_answered_404_and_not_counted() {
    let api = server("api").route(Some("POST"), "/x").step(respond(200));
    let prediction = predict(&plan([api]).call("GET", "api", "/x"), &client([]));
    assert_eq!(exact(&prediction, "api"), 0);
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::Rejected]));
}

#[test]
fn a_rule_can_ask_whether_a_redirect_was_followed() {
    let to_dead = plan([
        server("api").step(redirect(307, url("dead", "/"))),
        server("dead").refusing(),
    ]);
    let trusting = on_errors(&[ErrorKind::Refused], 3);
    let careful = PolicyRule {
        redirected: Some(false),
        ..trusting.clone()
    };
    let case = to_dead.call("POST", "api", "/x");
    assert_eq!(exact(&predict(&case, &client([trusting])), "api"), 3);
    assert_eq!(exact(&predict(&case, &client([careful])), "api"), 1);
}

#[test]
fn a_rule_can_ask_for_a_field_that_the_call_gives() {
    let with = |name: &str| {
        let mut plan = plan([server("api").step(respond(503))]).call("POST", "api", "/x");
        if let Request::Literal { headers, .. } = &mut plan.calls[0].request {
            headers.push((name.to_owned(), Template(Vec::new())));
        }
        plan
    };
    let guarded = PolicyRule {
        header: vec!["If-Match".to_owned()],
        ..on_statuses(503, 503, 3)
    };
    let client = client([guarded, on_statuses(503, 503, 1)]);
    assert_eq!(exact(&predict(&with("if-match"), &client), "api"), 3);
    assert_eq!(exact(&predict(&with("If-None-Match"), &client), "api"), 1);
}

#[test]
fn a_header_that_the_call_gives_can_be_asked_for_and_another_can_not() {
    let asks = |name: &str, test| {
        let when = When {
            header: Some((name.to_owned(), test)),
            ..When::default()
        };
        one([respond(417).when(when), respond(200)]).with_header("Expect", "100-continue")
    };
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    let rejected = Ok(vec![Outcome::Rejected]);
    assert_eq!(outcome(&asks("expect", FieldTest::Present)), rejected);
    assert_eq!(
        outcome(&asks("Expect", FieldTest::Absent)),
        Ok(vec![Outcome::Success])
    );
    let equals = FieldTest::Equals("100-continue".to_owned());
    assert_eq!(outcome(&asks("Expect", equals)), rejected);
    let told = outcome(&asks("User-Agent", FieldTest::Present)).expect_err("unknown");
    assert!(told.contains("User-Agent"), "{told}");
}
