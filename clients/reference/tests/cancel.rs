//! Calls that their caller wants no more: what is sent, shown and closed then.

mod support;

use std::time::{Duration, Instant};

use client_kit::protocol::{Limits, Message, Shown};
use client_kit::session::Controls;
use reference_client::defects::{Defect, Defects};
use support::{Act, Server, answer, call, make_unless, status};

/// When a call is cancelled.
enum When {
    /// When its request has come.
    Sent,
    /// When the client says that it will send again.
    Retrying,
}

/// Makes a call and cancels it; whether that was shown.
fn cancelled(method: &str, acts: Vec<Act>, when: &When, defects: &Defects) -> (Server, bool) {
    let server = Server::start(acts);
    let controls = Controls::default();
    let calls = vec![call(method, server.url("/"))];
    let word = match when {
        When::Sent => None,
        When::Retrying => Some("retrying"),
    };
    let messages = std::thread::scope(|scope| {
        if word.is_none() {
            scope.spawn(|| {
                for _ in 0..2000 {
                    if !server.seen().is_empty() {
                        break;
                    }
                    std::thread::park_timeout(Duration::from_millis(5));
                }
                controls.follow(&b"{\"cancel\":{\"call\":1}}\n"[..]);
            });
        }
        make_unless(calls, Limits::default(), defects, &controls, word)
    });
    let shown = messages.iter().any(
        |message| matches!(message, Message::Report(report) if report.shown == Shown::Cancelled {}),
    );
    (server, shown)
}

fn with(defect: Defect) -> Defects {
    Defects::default().with(defect)
}

fn busy() -> Act {
    Act::Send(answer(503, "Retry-After: 1\r\n", ""))
}

#[expect(clippy::disallowed_methods, reason = "a test measures a wait")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_wait_between_attempts_ends_with_a_cancel_and_nothing_more_is_sent() {
    let began = now();
    let (server, shown) = cancelled("GET", vec![busy()], &When::Retrying, &Defects::default());
    assert!(shown && began.elapsed() < Duration::from_secs(1));
    assert_eq!(server.seen().len(), 1);
    let sleeps = with(Defect::SleepsThroughCancel);
    let acts = vec![busy(), Act::Silent(Duration::from_secs(5))];
    let (server, shown) = cancelled("GET", acts, &When::Retrying, &sleeps);
    assert!(shown);
    // The client does not wait for the server to read it.
    for _ in 0..2000 {
        if server.seen().len() == 2 {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    panic!("the next attempt was not made");
}

#[test]
fn a_request_at_the_server_is_given_up_and_not_sent_again() {
    let silent = || vec![Act::Silent(Duration::from_secs(5)), status(200)];
    let (server, shown) = cancelled("POST", silent(), &When::Sent, &Defects::default());
    assert!(shown);
    assert_eq!(server.seen().len(), 1);
    let again = with(Defect::RetriesWhatWasCancelled);
    let (server, shown) = cancelled("POST", silent(), &When::Sent, &again);
    assert!(!shown);
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn an_answer_is_not_read_on_when_its_call_is_cancelled() {
    let slow = || {
        let bytes = answer(200, "", &"x".repeat(30));
        vec![Act::Drip(bytes, Duration::from_millis(20))]
    };
    let time = |defects: &Defects| {
        let began = now();
        let (_, shown) = cancelled("GET", slow(), &When::Sent, defects);
        assert!(shown);
        began.elapsed()
    };
    let all = Duration::from_millis(1200);
    assert!(time(&Defects::default()) < all);
    assert!(time(&with(Defect::ReadsOnAfterCancel)) >= all);
}

#[test]
fn a_call_that_is_cancelled_before_it_begins_sends_nothing() {
    let controls = Controls::default();
    controls.follow(&b"{\"cancel\":{\"call\":1}}\n"[..]);
    let server = Server::start(vec![status(200)]);
    let calls = vec![call("GET", server.url("/"))];
    let messages = make_unless(
        calls,
        Limits::default(),
        &Defects::default(),
        &controls,
        None,
    );
    assert!(matches!(&messages[..], [.., Message::Report(report)]
        if report.shown == Shown::Cancelled {}));
    assert!(server.seen().is_empty());
}
