//! Ports, and connections that are kept or not.

use scripted_servers::script::{ConnectionAct, ConnectionUse, Listen, When};
use scripted_servers::wire::{End, IdleEnd};

use crate::faults::respond::Framing;
use crate::manifest::{ErrorKind, PolicyRule};
use crate::plan::{Content, Limits, Of, StepPlan, Then};
use crate::policy::{PredictedEnd, predict};
use crate::template::Template;
use crate::testing::{cut, plan, respond, server};
use crate::verdict::Outcome;

use super::{client, exact, ms, on_errors, one};

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
