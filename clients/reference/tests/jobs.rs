//! What the client makes of a job: how often it submits and asks, and what it shows.

mod support;

use client_kit::protocol::{Call, Codes, Job, Limits, Message, Polls, Shown};
use reference_client::defects::{Defect, Defects};
use support::{Act, Server, answer, call, make, shown, status};

/// A job whose answers mean what R9's do.
fn job(server: &Server) -> Call {
    let codes = |codes: &[&str]| codes.iter().map(|code| (*code).to_owned()).collect();
    Call {
        job: Some(Job {
            method: "GET".to_owned(),
            url: server.url("/jobs/{job}"),
            headers: vec![("X-Job".to_owned(), "{job}".to_owned())],
            body: None,
            codes: Codes {
                header: "X-Code".to_owned(),
                done: codes(&["20000000", "20000003"]),
                working: codes(&["20000001", "20000002"]),
                refused: codes(&["4500*"]),
            },
        }),
        ..call("POST", server.url("/jobs"))
    }
}

fn limits() -> Limits {
    let phase = |every_ms, for_ms| Polls { every_ms, for_ms };
    Limits {
        total_ms: Some(1_500),
        poll_every: vec![phase(5, Some(20)), phase(600, None)],
        ..Limits::default()
    }
}

fn submitted() -> Act {
    Act::Send(answer(200, "", r#"{"job":"j-7"}"#))
}

fn code(code: &str, body: &str) -> Act {
    Act::Send(answer(200, &format!("X-Code: {code}\r\n"), body))
}

/// The requests that arrived, and what was shown.
fn seen(script: &[Act], defects: &Defects) -> (String, Vec<Message>) {
    let server = Server::start(script.to_vec());
    let messages = make(vec![job(&server)], limits(), defects);
    let seen = server.seen();
    let requests: Vec<_> = seen.iter().map(|seen| seen.method.as_str()).collect();
    let all = format!("{} -> {}", requests.join(" "), shown(&messages));
    (all, messages)
}

/// What the good client and the defective one make of the same server.
fn differ(defect: Defect, script: &[Act], good: &str, bad: &str) {
    assert_eq!(seen(script, &Defects::default()).0, good, "{defect:?}");
    let careless = Defects::default().with(defect);
    assert_eq!(seen(script, &careless).0, bad, "{defect:?}");
}

/// That a job was given up after the queries that its schedule has room for: four, and
/// two more unless this machine was slow.
fn gave_up(all: &str) {
    let queries = all.matches("GET").count();
    assert!((4..=6).contains(&queries), "{all}");
    assert!(all.ends_with(" -> TOTAL_TIMEOUT"), "{all}");
}

#[test]
fn a_job_is_asked_after_until_a_code_ends_it() {
    let done = [
        submitted(),
        code("20000002", ""),
        status(502),
        Act::SendReset(String::new()),
        code("55000000", "fault"),
        code("20000000", "text"),
    ];
    differ(
        Defect::ResubmitsWhenAQueryFails,
        &done,
        "POST GET GET GET GET GET -> 200:4",
        // The server of this test answers a second submit with its next act.
        "POST GET GET POST -> ECONNRESET",
    );
    let bare = "POST GET GET -> 502:0";
    differ(
        Defect::GivesUpAtABare502,
        &done,
        "POST GET GET GET GET GET -> 200:4",
        bare,
    );
    let fault = [submitted(), code("55000000", ""), code("20000000", "text")];
    let good = "POST GET GET -> 200:4";
    let bad = "POST GET -> JOB_REFUSED";
    differ(Defect::GivesUpAtAProviderFault, &fault, good, bad);
    let works = [
        submitted(),
        code("20000001", "not yet"),
        code("20000000", "text"),
    ];
    let bad = "POST GET -> 200:7";
    differ(Defect::TakesWorkingForDone, &works, good, bad);
}

#[test]
fn the_id_stands_in_the_url_and_in_header_fields() {
    let server = Server::start(vec![submitted(), code("20000000", "")]);
    make(vec![job(&server)], limits(), &Defects::default());
    let query = &server.seen()[1];
    assert_eq!(query.target, "/jobs/j-7");
    assert_eq!(query.header("x-job"), Some("j-7"));
}

#[test]
fn a_refusal_is_final_and_says_its_code() {
    let refused = [submitted(), code("45000151", "no audio")];
    let (all, messages) = seen(&refused, &Defects::default());
    assert_eq!(all, "POST GET -> JOB_REFUSED");
    let said = messages.iter().any(|message| match message {
        Message::Report(report) => match &report.shown {
            Shown::Error(chain) => chain[0]
                .message
                .as_ref()
                .is_some_and(|text| text.contains("45000151") && text.contains("no audio")),
            _ => false,
        },
        _ => false,
    });
    assert!(said, "{messages:?}");
    let careless = Defects::default().with(Defect::PollsAfterATerminalCode);
    gave_up(&seen(&refused, &careless).0);
}

#[test]
fn every_code_of_an_end_ends_it() {
    let silence = [submitted(), code("20000003", "")];
    assert_eq!(seen(&silence, &Defects::default()).0, "POST GET -> 200:0");
    let careless = Defects::default().with(Defect::KnowsOneDoneCode);
    gave_up(&seen(&silence, &careless).0);
}

#[test]
fn queries_keep_to_their_schedule_and_the_calls_budget() {
    let works = [submitted(), code("20000002", "")];
    // Four in the first 20 ms, then one each 600 ms, as long as one is over in time.
    gave_up(&seen(&works, &Defects::default()).0);
    let careless = Defects::default().with(Defect::IgnoresPollSchedule);
    let (all, _) = seen(&works, &careless);
    assert!(all.matches("GET").count() > 20, "{all}");
    let mut slow = vec![submitted()];
    slow.extend(vec![code("20000002", ""); 6]);
    slow.push(code("20000000", "late"));
    let for_ever = "POST GET GET GET GET GET GET GET -> 200:4";
    gave_up(&seen(&slow, &Defects::default()).0);
    let careless = Defects::default().with(Defect::PollsWithoutABudget);
    assert_eq!(seen(&slow, &careless).0, for_ever);
}

#[test]
fn what_is_no_job_is_not_asked_after() {
    let cases = [
        (status(422), "POST -> 422:0"),
        (Act::Send(answer(200, "", "{}")), "POST -> MALFORMED_ANSWER"),
        (Act::SendReset(String::new()), "POST -> ECONNRESET"),
    ];
    for (act, wanted) in cases {
        assert_eq!(seen(&[act], &Defects::default()).0, wanted);
    }
    let unknown = [submitted(), status(404)];
    assert_eq!(seen(&unknown, &Defects::default()).0, "POST GET -> 404:0");
}
