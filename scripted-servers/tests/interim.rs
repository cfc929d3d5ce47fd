//! Interim answers (1xx), byte by byte, with a plain socket.

mod support;

use scripted_servers::event::What;
use scripted_servers::script::Step;
use scripted_servers::wire::{Answer, End, RequestPoint, WireProgram, WireStep};
use support::*;

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn send(text: &str) -> WireStep {
    WireStep::Send(bytes(text.as_bytes()))
}

fn two_hints() -> Step {
    let mut steps = vec![WireStep::ReadUntil(RequestPoint::Request)];
    steps.extend([send(HINTS), send(HINTS), send(OK)]);
    steps.extend([WireStep::AwaitAcknowledged, WireStep::Fired("hints")]);
    Step::new(WireProgram {
        steps,
        answer: Some(Answer {
            status: Some(200),
            body_bytes: 2,
            body_sha256: None,
            whole: true,
            events: scripted_servers::wire::SentEvents::default(),
        }),
        answer_from: 3,
        ..WireProgram::default()
    })
}

#[test]
fn interim_answers_come_first_and_are_not_told_as_the_answer() {
    let served = serve_steps(vec![two_hints()]);
    let mut client = served.send(GET);
    let all = format!("{HINTS}{HINTS}{OK}");
    assert_eq!(read_exactly(&mut client, all.len()), all.as_bytes());
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    let happened = served.end();
    assert_eq!(happened.fired(), ["hints"]);
    let told = OK.len() as u64;
    assert!(happened.any(|what| matches!(what, What::Answered { bytes, .. } if *bytes == told)));
    let answers = happened.events.iter();
    let answers = answers.filter(|event| matches!(event.what, What::Answering { .. }));
    assert_eq!(answers.count(), 1);
}

#[test]
fn an_answer_to_head_ends_behind_its_own_head_and_not_behind_an_interim_one() {
    let served = serve_steps(vec![two_hints(), Step::answer(200, "next")]);
    let mut client = served.send(format!("HEAD / HTTP/1.1\r\nHost: api\r\n\r\n{GET}"));
    let all = format!("{HINTS}{HINTS}{}{NEXT}", &OK[..OK.len() - 2]);
    assert_eq!(read_exactly(&mut client, all.len()), all.as_bytes());
}

#[test]
fn interim_answers_without_end_fire_as_they_begin_and_are_no_answer() {
    let served = serve_steps(vec![Step::new(WireProgram {
        steps: vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Endless {
                unit: bytes(HINTS.as_bytes()),
                every: None,
            },
            WireStep::Fired("hints"),
            WireStep::End(End::Close),
        ],
        answer_from: usize::MAX,
        ..WireProgram::default()
    })]);
    let mut client = served.send(GET);
    let all = HINTS.repeat(100);
    assert_eq!(read_exactly(&mut client, all.len()), all.as_bytes());
    drop(client);
    served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert_eq!(happened.fired(), ["hints: its endless part began"]);
    let is_answer = |what: &What| matches!(what, What::Answering { .. } | What::Answered { .. });
    assert!(!happened.any(is_answer));
}
