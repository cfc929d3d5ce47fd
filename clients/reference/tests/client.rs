//! The good client: what it sends, what it shows, and what it does not do.

mod support;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use client_kit::protocol::{Body, Claim, Limits, Message, Shown};
use reference_client::defects::Defects;
use support::{Act, Server, answer, call, closed, make, ok, shown, status};

fn good(calls: Vec<client_kit::protocol::Call>, limits: Limits) -> Vec<Message> {
    make(calls, limits, &Defects::default())
}

fn states(messages: &[Message]) -> Vec<&str> {
    messages
        .iter()
        .filter_map(|message| match message {
            Message::Progress(progress) => Some(progress.state.as_str()),
            _ => None,
        })
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "a test measures a wait")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_call_is_reported_once_and_its_progress_told() {
    let server = Server::start(vec![status(503), ok()]);
    let messages = good(vec![call("GET", server.url("/a?b"))], Limits::default());
    let wanted = ["pending", "working", "retrying", "succeeded"];
    assert_eq!(states(&messages), wanted);
    assert_eq!(shown(&messages), "200:2");
    let seen = server.seen();
    assert_eq!(seen[0].target, "/a?b");
    assert!(
        seen.iter()
            .all(|seen| seen.header("wirefault-call") == Some("1"))
    );
}

#[test]
fn calls_share_one_connection() {
    let server = Server::start(vec![ok()]);
    let calls = ["/1", "/2", "/3"].map(|path| call("POST", server.url(path)));
    let messages = good(calls.to_vec(), Limits::default());
    assert_eq!(shown(&messages), "200:2 200:2 200:2");
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_refused_call_is_tried_three_times_and_says_that_nothing_was_sent() {
    let messages = good(vec![call("POST", closed())], Limits::default());
    let wanted = ["pending", "working", "retrying", "retrying", "failed"];
    assert_eq!(states(&messages), wanted);
    assert_eq!(shown(&messages), "ECONNREFUSED");
}

#[test]
fn a_get_survives_each_end_of_its_connection() {
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel".to_owned();
    for act in [
        Act::SendClose(String::new()),
        Act::SendReset(String::new()),
        Act::SendClose(short.clone()),
        Act::SendReset(short),
    ] {
        let server = Server::start(vec![act, ok()]);
        let messages = good(vec![call("GET", server.url("/"))], Limits::default());
        assert_eq!(shown(&messages), "200:2");
        assert_eq!(server.seen().len(), 2);
    }
}

#[test]
fn a_get_on_a_used_connection_that_dies_is_sent_again_on_a_fresh_one() {
    let server = Server::start(vec![ok(), Act::SendClose(String::new()), ok()]);
    let calls = vec![call("GET", server.url("/1")), call("GET", server.url("/2"))];
    let messages = good(calls, Limits::default());
    assert_eq!(shown(&messages), "200:2 200:2");
    assert_eq!((server.seen().len(), server.connections()), (3, 2));
}

#[test]
fn the_limit_of_attempts_counts_every_send() {
    let server = Server::start(vec![status(503)]);
    let limits = Limits {
        attempts: Some(5),
        ..Limits::default()
    };
    let messages = good(vec![call("GET", server.url("/"))], limits);
    assert_eq!(shown(&messages), "503:0");
    assert_eq!(server.seen().len(), 5);
}

#[test]
fn a_wait_beyond_the_cap_or_the_total_means_giving_up_at_once() {
    for seconds in [31, 25] {
        let busy = answer(503, &format!("Retry-After: {seconds}\r\n"), "");
        let server = Server::start(vec![Act::Send(busy), ok()]);
        let begin = now();
        let messages = good(vec![call("GET", server.url("/"))], Limits::default());
        assert_eq!(shown(&messages), "503:0");
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn an_endless_error_body_is_read_for_two_seconds_at_most() {
    let head = "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nno \r\n".to_owned();
    let server = Server::start(vec![Act::SendHold(head)]);
    let begin = now();
    let messages = good(vec![call("POST", server.url("/"))], Limits::default());
    assert_eq!(shown(&messages), "500:cut");
    assert!(begin.elapsed() >= Duration::from_secs(2));
    let Some(Message::Report(report)) = messages.last() else {
        panic!("{messages:?}");
    };
    let Shown::Response(shown) = &report.shown else {
        panic!("{report:?}");
    };
    assert_eq!(shown.body_start.as_deref(), Some("no "));
}

#[test]
fn a_redirect_can_be_shown_as_it_is() {
    let to = Act::Send(answer(302, "Location: /x\r\n", ""));
    let server = Server::start(vec![to, ok()]);
    let limits = Limits {
        redirects: Some(0),
        ..Limits::default()
    };
    let messages = good(vec![call("GET", server.url("/"))], limits);
    assert_eq!(shown(&messages), "302:0");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_get_whose_redirect_target_refuses_starts_again_and_then_says_that_it_was_sent() {
    let to = Act::Send(answer(302, &format!("Location: {}\r\n", closed()), ""));
    let server = Server::start(vec![to]);
    let messages = good(vec![call("GET", server.url("/"))], Limits::default());
    assert_eq!(shown(&messages), "EARLIER_REQUEST_SENT");
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn a_refused_second_attempt_does_not_hide_that_the_first_was_sent() {
    // The port closes behind the first answer.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        drop(listener);
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).unwrap();
        let busy = answer(503, "Connection: close\r\n", "");
        stream.write_all(busy.as_bytes()).unwrap();
    });
    let messages = good(vec![call("PUT", url)], Limits::default());
    server.join().unwrap();
    assert_eq!(shown(&messages), "EARLIER_REQUEST_SENT");
}

#[test]
fn a_streamed_body_arrives_whole_and_again() {
    let server = Server::start(vec![status(503), ok()]);
    let mut put = call("PUT", server.url("/"));
    put.body = Some(Body::Text("x".repeat(100_000)));
    put.stream_body = true;
    let messages = good(vec![put], Limits::default());
    assert_eq!(shown(&messages), "200:2");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|seen| seen.body.len() == 100_000));
    assert_eq!(seen[0].header("transfer-encoding"), Some("chunked"));
}

#[test]
fn an_answer_before_the_end_of_a_large_body_is_taken() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 64]).unwrap();
        let early = format!("HTTP/1.1 103 X\r\n\r\n{}", answer(413, "", "too large"));
        stream.write_all(early.as_bytes()).unwrap();
        // Held until the client has gone, so that it is the answer that ends
        // the upload.
        let mut rest = Vec::new();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let _ = stream.take(100_000_000).read_to_end(&mut rest);
        rest.len()
    });
    let mut put = call("PUT", url);
    put.body = Some(Body::Text("x".repeat(20_000_000)));
    let messages = good(vec![put], Limits::default());
    assert_eq!(shown(&messages), "413:9");
    assert!(server.join().unwrap() <= 20_000_000);
}

#[test]
fn a_call_that_cannot_be_sent_says_so_and_is_not_tried_again() {
    for (method, url) in [
        ("G ET", "http://h/"),
        ("GET", "https://h/"),
        ("GET", "nonsense"),
    ] {
        let messages = good(vec![call(method, url.to_owned())], Limits::default());
        assert_eq!(shown(&messages), "UNUSABLE_CALL");
        assert_eq!(states(&messages), ["pending", "failed"]);
    }
}

#[test]
fn a_refusal_after_an_attempt_whose_end_was_not_seen_claims_nothing() {
    let claims = |acts| {
        let server = Server::start(acts);
        let put = vec![call("PUT", server.url("/"))];
        let messages = good(put, Limits::default());
        let report = messages.into_iter().find_map(|message| match message {
            Message::Report(report) => Some(report),
            _ => None,
        });
        report.unwrap().claim
    };
    // The first PUT may have been applied; the answer is about the second one.
    let lost = vec![Act::SendReset(String::new()), status(400)];
    assert_eq!(claims(lost), Some(Claim::Unknown));
    assert_eq!(claims(vec![status(400)]), None);
}
