//! Defects that show in when something happens: in waits, in the order of what is
//! told, and in what is open at the same time.

mod support;

use std::time::{Duration, Instant};

use client_kit::protocol::{Limits, Message};
use reference_client::defects::{Defect, Defects};
use support::{Act, Server, answer, call, make, ok, shown};

/// Defects of time are told apart by the wait between the attempts.
fn waited(retry_after: &str, defect: Option<Defect>) -> Duration {
    let limited = answer(429, &format!("Retry-After: {retry_after}\r\n"), "");
    let server = Server::start(vec![Act::Send(limited), ok()]);
    let defects = defect.map_or_else(Defects::default, |on| Defects::default().with(on));
    let begin = now();
    let messages = make(
        vec![call("GET", server.url("/"))],
        Limits::default(),
        &defects,
    );
    assert_eq!(
        (shown(&messages).as_str(), server.seen().len()),
        ("200:2", 2)
    );
    begin.elapsed()
}

#[expect(clippy::disallowed_methods, reason = "a test measures a wait")]
fn now() -> Instant {
    Instant::now()
}

/// A date this far from now, rounded up to a whole second as servers do.
fn date_in(wait: Duration) -> String {
    let date = std::time::SystemTime::now() + wait + Duration::from_millis(999);
    httpdate::fmt_http_date(date)
}

#[test]
fn defects_of_waiting_wait_too_short_or_too_long() {
    let second = Duration::from_secs(1);
    assert!(waited("1", None) >= second);
    assert!(waited("1", Some(Defect::IgnoresRetryAfter)) < second);
    assert!(waited("1", Some(Defect::ReadsSecondsAsMilliseconds)) < second);
    assert!(waited(&date_in(second), None) >= second);
    assert!(waited(&date_in(second), Some(Defect::IgnoresRetryAfterDate)) < second);
    assert!(waited("0", None) < second);
    assert!(waited("0", Some(Defect::ZeroMeansDefault)) >= second);
}

#[test]
fn success_is_told_when_it_is_so_and_not_before() {
    let told = |defects: &Defects| {
        let short = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello";
        let server = Server::start(vec![Act::SendReset(short.to_owned()), ok()]);
        let calls = vec![call("GET", server.url("/"))];
        let messages = make(calls, Limits::default(), defects);
        let states = messages.iter().filter_map(|message| match message {
            Message::Progress(progress) => Some(progress.state.as_str()),
            _ => None,
        });
        states.collect::<Vec<_>>().join(" ")
    };
    let good = told(&Defects::default());
    assert_eq!(good, "pending working retrying succeeded");
    let early = told(&Defects::default().with(Defect::AnnouncesSuccessEarly));
    assert_eq!(early, "pending working succeeded retrying succeeded");
}

/// The most calls that were begun and had not reported.
fn most_at_once(defects: &Defects) -> usize {
    let slow = Act::Drip(answer(200, "", "ok"), Duration::from_millis(10));
    let server = Server::start(vec![slow]);
    let calls = (0..5).map(|_| {
        let mut call = call("GET", server.url("/"));
        (call.group, call.at_once) = (1, 2);
        call
    });
    let messages = make(calls.collect(), Limits::default(), defects);
    assert_eq!(shown(&messages), ["200:2"; 5].join(" "));
    let (mut open, mut most) = (0, 0);
    for message in &messages {
        match message {
            Message::Progress(progress) if progress.state == "pending" => open += 1,
            Message::Report(_) => open -= 1,
            _ => {}
        }
        most = most.max(open);
    }
    most
}

#[test]
fn of_a_group_only_so_many_calls_are_made_at_once() {
    assert_eq!(most_at_once(&Defects::default()), 2);
    let all = Defects::default().with(Defect::IgnoresAtOnce);
    assert!(most_at_once(&all) > 2);
}
