//! What a client makes of each limit that it is told, and what a careless one does:
//! the requests that arrived, and what was shown.

mod support;

use std::time::Duration;

use client_kit::protocol::{Call, Jitter, Layer, Limits};
use reference_client::defects::{Defect, Defects};
use support::{Act, Server, answer, call, make, ok, shown, status};

const LONG: Duration = Duration::from_secs(60);

/// A number of requests, and what was shown.
type Seen = (usize, &'static str);

/// The same calls by the good client and by the defective one. What a client sent and
/// did not wait for is waited for.
fn differ(
    defect: Defect,
    limits: &Limits,
    script: &[Act],
    calls: fn(&Server) -> Vec<Call>,
    (good, bad): (Seen, Seen),
) {
    let by = |defects: &Defects, wanted: Seen| {
        let server = Server::start(script.to_vec());
        let messages = make(calls(&server), limits.clone(), defects);
        for _ in 0..200 {
            if server.seen().len() >= wanted.0 {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        let shown = shown(&messages);
        assert_eq!(
            (server.seen().len(), shown.as_str()),
            wanted,
            "{defect:?}, {defects:?}"
        );
    };
    by(&Defects::default(), good);
    by(&Defects::default().with(defect), bad);
}

fn get(server: &Server) -> Vec<Call> {
    vec![call("GET", server.url("/"))]
}

fn post(server: &Server) -> Vec<Call> {
    vec![call("POST", server.url("/"))]
}

fn four(server: &Server) -> Vec<Call> {
    (0..4).map(|_| call("GET", server.url("/"))).collect()
}

/// Four calls at the same time.
fn four_at_once(server: &Server) -> Vec<Call> {
    let mut calls = four(server);
    for call in &mut calls {
        (call.group, call.at_once) = (1, 4);
    }
    calls
}

fn short_waits() -> Limits {
    Limits {
        backoff_ms: Some(1),
        backoff_cap_ms: Some(2),
        jitter: Some(Jitter::None),
        ..Limits::default()
    }
}

/// An answer that takes longer than the tests wait for one.
fn slow(status: u16) -> Act {
    Act::Drip(answer(status, "", "ok"), Duration::from_millis(40))
}

#[test]
fn layers_multiply_and_one_layer_does_not() {
    let layer = |retries| Layer {
        name: "one".to_owned(),
        retries,
    };
    let stacked = Limits {
        layers: vec![layer(1), layer(2)],
        ..short_waits()
    };
    let down = [status(503)];
    let (good, bad) = ((6, "503:0"), (4, "503:0"));
    differ(Defect::AddsLayersUp, &stacked, &down, get, (good, bad));
    let alone = Limits {
        attempts: Some(3),
        ..short_waits()
    };
    let (good, bad) = ((3, "503:0"), (9, "503:0"));
    differ(Defect::RetriesInTwoLayers, &alone, &down, get, (good, bad));
}

#[test]
fn an_attempt_has_its_own_time() {
    let limits = Limits {
        per_attempt_ms: Some(400),
        ..short_waits()
    };
    let hangs = [Act::Silent(LONG), ok()];
    let (good, bad) = ((2, "200:2"), (1, "EARLIER_REQUEST_SENT"));
    differ(Defect::SharesAbortTimer, &limits, &hangs, get, (good, bad));
}

#[test]
fn waits_are_held_against_their_limits() {
    let asks = [Act::Send(answer(503, "Retry-After: 1\r\n", ""))];
    let together = Limits {
        attempts: Some(4),
        wait_ms: Some(1500),
        ..Limits::default()
    };
    let (good, bad) = ((2, "503:0"), (4, "503:0"));
    differ(
        Defect::ForgetsEarlierWaits,
        &together,
        &asks,
        get,
        (good, bad),
    );
    let capped = Limits {
        attempts: Some(2),
        retry_after_cap_ms: Some(20),
        ..Limits::default()
    };
    let (good, bad) = ((1, "503:0"), (2, "503:0"));
    differ(
        Defect::CutsRetryAfterToTheCap,
        &capped,
        &asks,
        get,
        (good, bad),
    );
}

#[test]
fn all_calls_share_their_retries() {
    let limits = |share, attempts| Limits {
        retry_share: Some(share),
        attempts: Some(attempts),
        ..short_waits()
    };
    let down = [status(503)];
    let shown = "503:0 503:0 503:0 503:0";
    let (good, bad) = ((6, shown), (7, shown));
    let half = limits(50, 9);
    differ(
        Defect::CountsRetriesAsCalls,
        &half,
        &down,
        four,
        (good, bad),
    );
    let (good, bad) = ((5, shown), (8, shown));
    let quarter = limits(25, 2);
    differ(
        Defect::IgnoresRetryShare,
        &quarter,
        &down,
        four,
        (good, bad),
    );
}

#[test]
fn what_finds_the_queue_full_is_not_sent() {
    let limits = Limits {
        in_flight: Some(1),
        queue: Some(0),
        ..Limits::default()
    };
    let slow = [slow(200)];
    let full = "QUEUE_FULL QUEUE_FULL QUEUE_FULL 200:2";
    let all = "200:2 200:2 200:2 200:2";
    for defect in [Defect::QueuesWithoutLimit, Defect::IgnoresInFlight] {
        differ(defect, &limits, &slow, four_at_once, ((1, full), (4, all)));
    }
}

#[test]
fn a_breaker_that_is_open_sends_nothing() {
    let limits = |open| Limits {
        breaker_failures: Some(2),
        breaker_open_ms: Some(open),
        attempts: Some(1),
        ..Limits::default()
    };
    let down = [status(500)];
    let good = (2, "500:0 500:0 BREAKER_OPEN BREAKER_OPEN");
    let bad = (4, "500:0 500:0 500:0 500:0");
    differ(
        Defect::BreakerNeverOpens,
        &limits(60_000),
        &down,
        four,
        (good, bad),
    );
    // A time of one millisecond is over at the next call.
    let back = |server: &Server| {
        let mut calls = four(server);
        calls[2].pause_ms = 50;
        calls
    };
    let down_and_back = [status(500), status(500), ok()];
    let good = (4, "500:0 500:0 200:2 200:2");
    let bad = (3, "500:0 500:0 200:2 BREAKER_OPEN");
    differ(
        Defect::BreakerNeverCloses,
        &limits(50),
        &down_and_back,
        back,
        (good, bad),
    );
    let backlog = |server: &Server| {
        let mut calls = four(server);
        for call in &mut calls[2..] {
            (call.group, call.at_once, call.pause_ms) = (1, 2, 400);
        }
        calls
    };
    let slow = [status(500), status(500), slow(200)];
    let good = (3, "500:0 500:0 BREAKER_OPEN 200:2");
    let bad = (4, "500:0 500:0 200:2 200:2");
    differ(
        Defect::BreakerProbesWithAll,
        &limits(200),
        &slow,
        backlog,
        (good, bad),
    );
}

#[test]
fn an_open_breaker_leaves_a_call_the_answer_that_it_had() {
    let limits = Limits {
        breaker_failures: Some(2),
        attempts: Some(9),
        ..short_waits()
    };
    let server = Server::start(vec![status(503)]);
    let messages = make(get(&server), limits, &Defects::default());
    assert_eq!(
        (shown(&messages).as_str(), server.seen().len()),
        ("503:0", 2)
    );
}

#[test]
fn an_upload_that_a_breaker_ends_does_not_say_that_nothing_was_sent() {
    let limits = Limits {
        breaker_failures: Some(1),
        ..short_waits()
    };
    let session = answer(201, "Location: /session\r\n", "");
    let server = Server::start(vec![Act::Send(session), status(503)]);
    let mut calls = post(&server);
    calls[0].resumable = true;
    let messages = make(calls, limits, &Defects::default());
    let seen = server.seen().len();
    assert_eq!(
        (shown(&messages).as_str(), seen),
        ("EARLIER_REQUEST_SENT", 2)
    );
}

#[test]
fn a_second_copy_is_for_slow_answers_of_what_may_arrive_twice() {
    let after = |ms| Limits {
        hedge_after_ms: Some(ms),
        attempts: Some(1),
        ..Limits::default()
    };
    let fast = [ok()];
    let (good, bad) = ((1, "200:2"), (2, "200:2"));
    differ(
        Defect::HedgesAtOnce,
        &after(60_000),
        &fast,
        get,
        (good, bad),
    );
    let slow_first = [Act::Silent(LONG), ok()];
    let limits = Limits {
        idle_ms: Some(1000),
        ..after(200)
    };
    let (good, bad) = ((1, "IDLE_TIMEOUT"), (2, "200:2"));
    differ(Defect::HedgesPosts, &limits, &slow_first, post, (good, bad));
}

#[test]
fn a_copy_that_was_sent_speaks_for_the_call() {
    let limits = Limits {
        hedge_after_ms: Some(100),
        idle_ms: Some(500),
        attempts: Some(1),
        ..Limits::default()
    };
    let server = Server::start(vec![Act::Silent(LONG)]);
    let messages = make(get(&server), limits, &Defects::default());
    assert_eq!(
        (shown(&messages).as_str(), server.seen().len()),
        ("IDLE_TIMEOUT", 2)
    );
}
