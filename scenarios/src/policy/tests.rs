//! The walk over small scripts, one rule of the language each.

use std::time::Duration;

use scripted_servers::script::{ConnectionAct, ConnectionUse, FieldTest, Listen, Times, When};
use scripted_servers::wire::{End, IdleEnd, Position, RequestPoint};

use super::{PredictedEnd, Prediction, predict};
use crate::counter::Counter;
use crate::faults::Fault;
use crate::faults::raw::{Raw, RawPart};
use crate::faults::respond::{Framing, ResponsePoint, RetryAfter};
use crate::manifest::{ErrorKind, Manifest, PolicyRule, StatusRange, WaitRule};
use crate::matcher::Matcher;
use crate::plan::{Content, Limits, Of, Plan, Request, SlowRead, StepPlan, Then};
use crate::template::Template;
use crate::testing::{cut, cut_after, manifest, plan, redirect, respond, server, step, url};
use crate::verdict::Outcome;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn on_errors(kinds: &[ErrorKind], attempts: u32) -> PolicyRule {
    PolicyRule {
        error: kinds.to_vec(),
        attempts,
        ..PolicyRule::default()
    }
}

fn on_statuses(from: u16, to: u16, attempts: u32) -> PolicyRule {
    PolicyRule {
        status: vec![StatusRange { from, to }],
        attempts,
        ..PolicyRule::default()
    }
}

const ALL: &[ErrorKind] = &[
    ErrorKind::Refused,
    ErrorKind::ConnectTimeout,
    ErrorKind::Reset,
    ErrorKind::Closed,
    ErrorKind::Truncated,
    ErrorKind::IdleTimeout,
    ErrorKind::TotalTimeout,
    ErrorKind::Malformed,
    ErrorKind::TooManyRedirects,
];

/// Follows ten redirects, and has these rules before it gives up on all else.
fn client(rules: impl IntoIterator<Item = PolicyRule>) -> Manifest {
    let mut manifest = manifest();
    manifest.policy.redirects = Some(10);
    manifest.policy.rules = rules.into_iter().collect();
    manifest.policy.rules.push(on_errors(ALL, 1));
    manifest.policy.rules.push(on_statuses(100, 599, 1));
    manifest
}

fn one(steps: impl IntoIterator<Item = StepPlan>) -> Plan {
    let api = steps
        .into_iter()
        .fold(server("api"), |api, step| api.step(step));
    plan([api]).call("GET", "api", "/x")
}

fn exact(prediction: &Prediction, counter: &str) -> u64 {
    let counter = Counter::parse(counter).expect("a counter");
    match prediction.delivered(&counter, &Of::default()) {
        Ok(predicted) => match predicted.matcher {
            Matcher::OneOf(values) => values[0],
            range => panic!("a range: {range:?}, {:?}", predicted.reasoning),
        },
        Err(missing) => panic!("{missing}"),
    }
}

fn range(prediction: &Prediction, counter: &str) -> (Option<u64>, Option<u64>) {
    let counter = Counter::parse(counter).expect("a counter");
    match prediction
        .delivered(&counter, &Of::default())
        .expect("a range")
        .matcher
    {
        Matcher::Range { at_least, at_most } => (at_least, at_most),
        exact => panic!("{exact:?}"),
    }
}

fn missing(plan: &Plan, manifest: &Manifest) -> String {
    let prediction = predict(plan, manifest);
    let missing = prediction.delivered(&Counter::server("api"), &Of::default());
    match missing {
        Ok(predicted) => panic!("computed {predicted:?}"),
        Err(missing) => missing,
    }
}

fn limits(idle: Option<u64>, total: Option<u64>) -> Limits {
    Limits {
        idle: idle.map(ms),
        total: total.map(ms),
        ..Limits::default()
    }
}

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
fn a_refused_port_shows_no_delivery_and_no_wait() {
    let case = plan([server("api").refusing()]).call("GET", "api", "/x");
    let prediction = predict(&case, &client([on_errors(&[ErrorKind::Refused], 3)]));
    assert_eq!(exact(&prediction, "api"), 0);
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::NotSent]));
    assert!(!prediction.promises_a_wait(1, &Of::default()));
}

#[test]
fn a_client_that_never_stops_at_a_refused_port_ends_the_walk_all_the_same() {
    let case = plan([server("api").refusing()]).call("GET", "api", "/x");
    let prediction = predict(&case, &client([on_errors(&[ErrorKind::Refused], u32::MAX)]));
    assert_eq!(prediction.calls[0].end, PredictedEnd::Open);
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
fn connections_that_are_not_served_take_their_turns() {
    let acts = [
        ConnectionAct::Reset,
        ConnectionAct::Close,
        ConnectionAct::Serve,
    ];
    let api = server("api").connections(&acts).step(respond(200));
    let case = plan([api]).call("GET", "api", "/x");
    let retries = client([on_errors(&[ErrorKind::Reset, ErrorKind::Closed], 5)]);
    let prediction = predict(&case, &retries);
    assert_eq!(exact(&prediction, "api"), 3, "what arrived is delivered");
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::Success]));
    let gives_up = predict(&case, &client([]));
    assert_eq!(exact(&gives_up, "api"), 1);
    assert_eq!(gives_up.outcome(1), Ok(vec![Outcome::Unknown]));
}

fn reused() -> When {
    When {
        connection: Some(ConnectionUse::Reused),
        ..When::default()
    }
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
fn a_rule_can_ask_for_a_kept_connection() {
    let api = server("api")
        .step(respond(200))
        .step(cut(End::Reset).when(reused()))
        .step(respond(200));
    let case = plan([api])
        .call("GET", "api", "/warm")
        .call("POST", "api", "/x");
    let replays = PolicyRule {
        reused: Some(true),
        ..on_errors(&[ErrorKind::Reset], 2)
    };
    let prediction = predict(&case, &client([replays.clone()]));
    assert_eq!(exact(&prediction, "api POST /x"), 2);
    assert_eq!(prediction.outcome(2), Ok(vec![Outcome::Success]));
    let mut single = client([replays.clone()]);
    single
        .abilities
        .remove(&crate::manifest::Ability::ReusesConnections);
    assert_eq!(
        exact(&predict(&case, &single), "api POST /x"),
        1,
        "always fresh"
    );
    let fresh = one([cut(End::Reset)]);
    assert_eq!(exact(&predict(&fresh, &client([replays])), "api"), 1);
}

#[test]
fn a_connection_that_ended_while_idle_is_not_used_again() {
    let case = |pause: u64| {
        let mut first = respond(200);
        first.then = Some(Then::ends(IdleEnd::Close, ms(200)));
        let api = server("api")
            .step(first)
            .step(cut(End::Reset).when(reused()))
            .step(respond(200));
        plan([api])
            .call("GET", "api", "/1")
            .call("GET", "api", "/2")
            .after(pause)
    };
    let outcome = |pause| predict(&case(pause), &client([])).outcome(2);
    assert_eq!(outcome(0), Ok(vec![Outcome::Unknown]), "still open");
    assert_eq!(
        outcome(500),
        Ok(vec![Outcome::Success]),
        "known to be closed"
    );
    let close = outcome(200).expect_err("a race");
    assert!(close.contains("not computable"), "{close}");
}

#[test]
fn what_a_client_does_about_bytes_on_an_idle_connection_is_not_documented() {
    let case = |pause: u64| {
        let mut first = respond(200);
        first.then = Some(Then {
            after: ms(200),
            sends: Some(Content::Hex(b"\r\n".to_vec())),
            end: None,
        });
        plan([server("api").step(first).step(respond(200))])
            .call("GET", "api", "/1")
            .call("GET", "api", "/2")
            .after(pause)
    };
    let outcome = |pause| predict(&case(pause), &client([])).outcome(2);
    assert_eq!(outcome(0), Ok(vec![Outcome::Success]), "they come later");
    let unknown = outcome(500).expect_err("they came");
    assert!(unknown.starts_with("undocumented: whether"), "{unknown}");
}

#[test]
fn an_answer_that_is_not_whole_or_says_close_does_not_keep_the_connection() {
    let second = |first: StepPlan| {
        let api = server("api")
            .step(first)
            .step(cut(End::Reset).when(reused()))
            .step(respond(200));
        let case = plan([api])
            .call("GET", "api", "/1")
            .call("GET", "api", "/2");
        predict(&case, &client([])).outcome(2)
    };
    assert_eq!(second(respond(200)), Ok(vec![Outcome::Unknown]));
    let closes = respond(200).with(|respond| respond.framing = Framing::Close);
    assert_eq!(second(closes), Ok(vec![Outcome::Success]));
    let says = respond(200).with(|respond| {
        let close = ("Connection".to_owned(), Template::text("close"));
        respond.headers.push(close);
    });
    assert_eq!(second(says), Ok(vec![Outcome::Success]));
}

#[test]
fn where_an_answer_is_cut_decides_what_the_client_sees() {
    let body = |respond: &mut crate::faults::respond::Respond, point, end| {
        respond.body = Some(Content::Bytes(100));
        respond.cut = Some((point, end));
    };
    let retries = |kind| client([on_errors(&[kind], 2)]);
    let sent = |point, end, kind| {
        let step = respond(200).with(|respond| body(respond, point, end));
        exact(&predict(&one([step, respond(200)]), &retries(kind)), "api")
    };
    let nothing = ResponsePoint::Head(Position::Bytes(0));
    let head = ResponsePoint::Head(Position::Bytes(9));
    let start = ResponsePoint::Body(Position::Bytes(0));
    assert_eq!(sent(nothing, End::Reset, ErrorKind::Reset), 2);
    assert_eq!(sent(nothing, End::Close, ErrorKind::Closed), 2);
    assert_eq!(sent(head, End::Reset, ErrorKind::Truncated), 2);
    assert_eq!(sent(head, End::Reset, ErrorKind::Reset), 1);
    assert_eq!(sent(start, End::Close, ErrorKind::Truncated), 2);
}

#[test]
fn a_lie_about_the_length_is_a_silence_without_end() {
    let step = respond(200).with(|respond| {
        respond.body = Some(Content::Text(Template::text("12345")));
        respond.says_length = Some(20);
    });
    let case = one([step]);
    assert!(missing(&case, &client([])).contains("timeouts"));
    let case = case.limits(limits(Some(500), None));
    let retries = client([on_errors(&[ErrorKind::IdleTimeout], 3)]);
    let prediction = predict(&case, &retries);
    assert_eq!(exact(&prediction, "api"), 3);
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::Unknown]));
}

#[test]
fn the_limit_that_comes_first_ends_a_hang() {
    let sent = |idle, total, kind| {
        let case = one([cut(End::Hang), respond(200)]).limits(limits(idle, total));
        let at_once = WaitRule {
            at_most: vec![ms(100)],
            ..WaitRule::default()
        };
        let rule = PolicyRule {
            wait: at_once,
            ..on_errors(&[kind], 2)
        };
        exact(&predict(&case, &client([rule])), "api")
    };
    assert_eq!(sent(Some(500), None, ErrorKind::IdleTimeout), 2);
    assert_eq!(sent(Some(500), Some(9000), ErrorKind::IdleTimeout), 2);
    assert_eq!(sent(Some(9000), Some(500), ErrorKind::IdleTimeout), 1);
    assert_eq!(
        sent(None, Some(500), ErrorKind::TotalTimeout),
        1,
        "the time for all attempts is up, whatever a rule says"
    );
    let both = one([cut(End::Hang)]).limits(limits(Some(500), Some(500)));
    let told = missing(&both, &client([on_errors(&[ErrorKind::IdleTimeout], 2)]));
    assert!(told.contains("not computable"), "{told}");
    assert_eq!(exact(&predict(&both, &client([])), "api"), 1, "both end it");
}

#[test]
fn a_pause_shorter_than_the_limit_passes_and_a_longer_one_does_not() {
    let stalls = |time: u64| {
        let step = respond(200).with(|respond| {
            respond.body = Some(Content::Bytes(10));
            respond.stall = Some((ResponsePoint::Body(Position::Half), ms(time)));
        });
        one([step]).limits(limits(Some(1000), None))
    };
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    assert_eq!(outcome(&stalls(500)), Ok(vec![Outcome::Success]));
    assert_eq!(outcome(&stalls(2000)), Ok(vec![Outcome::Unknown]));
    assert!(outcome(&stalls(1000)).is_err(), "as long as the limit");
    let mut delayed = respond(200);
    delayed.delay = ms(2000);
    let case = one([delayed]).limits(limits(Some(1000), None));
    assert_eq!(outcome(&case), Ok(vec![Outcome::Unknown]));
    let mut works = respond(200).applies("order");
    works.takes = ms(2000);
    let case = one([works]).limits(limits(Some(1000), None));
    assert_eq!(outcome(&case), Ok(vec![Outcome::Unknown]));
}

#[test]
fn what_limits_make_of_content_that_is_read_slowly_is_not_documented() {
    let mut slow = respond(200);
    slow.slow_read = Some(SlowRead {
        bytes: 1,
        every: ms(100),
    });
    let case = plan([server("api").step(slow)])
        .call("POST", "api", "/x")
        .sending(10);
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    assert_eq!(outcome(&case), Ok(vec![Outcome::Success]));
    let limited = case.limits(limits(Some(1000), None));
    let unknown = outcome(&limited).expect_err("limited");
    assert!(unknown.starts_with("undocumented: what"), "{unknown}");
}

#[test]
fn a_drip_keeps_the_client_awake_but_not_for_ever() {
    let drips = |bytes: Content| {
        let step = respond(200).with(|respond| {
            respond.body = Some(bytes);
            respond.framing = Framing::Chunked;
            respond.drip = Some((1, ms(10)));
        });
        one([step]).limits(limits(Some(1000), Some(3000)))
    };
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    assert_eq!(
        outcome(&drips(Content::Bytes(100))),
        Ok(vec![Outcome::Success])
    );
    assert_eq!(
        outcome(&drips(Content::Bytes(1000))),
        Ok(vec![Outcome::Unknown])
    );
    let endless = drips(Content::Endless("x".to_owned()));
    assert_eq!(outcome(&endless), Ok(vec![Outcome::Unknown]));
}

#[test]
fn a_cut_upload_arrives_by_its_size_and_point() {
    let sent = |bytes: u64, point: RequestPoint| {
        let api = server("api").step(cut_after(point, End::Reset));
        let case = plan([api]).call("PUT", "api", "/f").sending(bytes);
        predict(&case, &client([]))
    };
    let half = RequestPoint::Body(Position::Half);
    assert_eq!(
        exact(&sent(1 << 10, half), "api"),
        1,
        "small: in the kernel"
    );
    assert_eq!(
        exact(&sent(8 << 20, half), "api"),
        0,
        "too much still to come"
    );
    assert_eq!(exact(&sent(8 << 20, RequestPoint::Request), "api"), 1);
    assert_eq!(range(&sent(100 << 10, half), "api"), (Some(0), Some(1)));
}

#[test]
fn a_client_that_is_still_sending_may_see_a_close_as_a_reset() {
    let api = server("api").step(cut_after(
        RequestPoint::Body(Position::Bytes(0)),
        End::Close,
    ));
    let case = plan([api]).call("PUT", "api", "/f").sending(8 << 20);
    assert_eq!(exact(&predict(&case, &client([])), "api"), 0);
    let told = missing(&case, &client([on_errors(&[ErrorKind::Closed], 2)]));
    assert!(told.contains("closed or reset"), "{told}");
}

#[test]
fn an_upload_behind_a_half_close_may_be_finished_and_is_never_reset() {
    let api = server("api").step(cut_after(
        RequestPoint::Body(Position::Bytes(0)),
        End::HalfClose,
    ));
    let case = plan([api]).call("PUT", "api", "/f").sending(8 << 20);
    let told = predict(&case, &client([on_errors(&[ErrorKind::Closed], 1)]));
    assert_eq!(range(&told, "api"), (Some(0), Some(1)));
}

#[test]
fn an_upload_that_is_answered_early_may_or_may_not_be_finished() {
    let mut early = respond(413);
    early.reads = Some(RequestPoint::Head(Position::All));
    let sends = |bytes| {
        let case = plan([server("api").step(early.clone())]).call("PUT", "api", "/f");
        predict(&case.sending(bytes), &client([on_statuses(413, 413, 1)]))
    };
    assert_eq!(range(&sends(100), "api"), (Some(0), Some(1)));
    assert_eq!(exact(&sends(0), "api"), 1);
}

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
    let without_waits = super::tests::client([on_statuses(500, 599, 3)]);
    let told = missing(&case, &without_waits);
    assert!(
        told.contains("`wait`") && told.contains("limits.total"),
        "{told}"
    );
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

#[test]
fn raw_bytes_are_an_answer_a_silence_or_nonsense() {
    let raw = |text: &str| {
        let parts = vec![RawPart::Text(Template::text(text)), RawPart::Pause(ms(5))];
        one([step(Fault::Raw(Raw { parts }))]).limits(limits(Some(500), None))
    };
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    let whole = raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_eq!(outcome(&whole), Ok(vec![Outcome::Success]));
    let retries = |kind| client([on_errors(&[kind], 2)]);
    let sent = |case: &Plan, kind| exact(&predict(case, &retries(kind)), "api");
    assert_eq!(sent(&raw("<html>"), ErrorKind::Malformed), 2);
    assert_eq!(sent(&raw("HTTP/1.1 200 OK\r\n"), ErrorKind::IdleTimeout), 2);
    assert!(outcome(&raw("HTTP/1.1 twelve\r\n\r\n")).is_err());
}

#[test]
fn a_port_that_drops_costs_every_attempt_the_connect_limit() {
    let limits = |connect: Option<u64>, total: Option<u64>| Limits {
        connect: connect.map(ms),
        total: total.map(ms),
        ..Limits::default()
    };
    let dropping = |limits| {
        let api = server("api").closed(Listen::Drop);
        plan([api]).call("GET", "api", "/x").limits(limits)
    };
    let mut rule = on_errors(&[ErrorKind::ConnectTimeout], 3);
    rule.wait.at_least = vec![ms(0)];
    rule.wait.at_most = vec![ms(100)];
    let client = client([rule]);
    let prediction = predict(&dropping(limits(Some(500), None)), &client);
    assert_eq!(exact(&prediction, "api"), 0);
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::NotSent]));
    let steps = &prediction.calls[0].reasoning;
    let tried = steps.iter().filter(|step| step.contains("no connection"));
    assert_eq!(tried.count(), 3, "{steps:?}");
    // Long enough for all three, then not.
    let within = predict(&dropping(limits(Some(500), Some(9000))), &client);
    assert_eq!(within.outcome(1), Ok(vec![Outcome::NotSent]));
    let short = predict(&dropping(limits(Some(500), Some(1200))), &client);
    assert!(short.outcome(1).unwrap_err().contains("limits.total"));
    let own = predict(&dropping(limits(None, None)), &client);
    assert!(own.outcome(1).unwrap_err().contains("own timeouts"));
}

#[test]
fn scripts_that_no_policy_can_walk_are_known_beforehand() {
    let mut when = When::default();
    let computable = |when: &When| {
        let case = one([respond(503).when(when.clone())]);
        super::not_computable(&case.servers, &case.calls).is_none()
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
