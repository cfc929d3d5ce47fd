//! Ends: where an answer or a request is cut, and how a connection ends.

use std::time::Duration;

use scenarios::faults::Fault;
use scenarios::faults::cut::Cut;
use scenarios::faults::raw::{Raw, RawPart};
use scenarios::faults::respond::{Framing, Respond, ResponsePoint};
use scenarios::plan::{Content, SentEvent, StepPlan, Then};
use scenarios::template::Template;
use scripted_servers::wire::{Effect, End, IdleEnd, Position, RequestPoint};

use crate::support::{acts, bytes, of, program, shown, step, text};

#[test]
fn close_framing_ends_by_fin() {
    let program = of(Respond {
        status: 502,
        framing: Framing::Close,
        body: text("no"),
        ..Respond::plain()
    });
    assert_eq!(shown(&program), "HTTP/1.1 502 Bad Gateway\r\n\r\nno");
    assert_eq!(
        acts(&program)[2..],
        ["AwaitAcknowledged", "fired", "End(Close)"]
    );
    assert!(program.answer.expect("an answer").whole);
}

#[test]
fn a_reset_waits_until_the_client_took_what_was_sent() {
    let program = of(Respond {
        body: text("helloworld"),
        cut: Some((ResponsePoint::Body(Position::Half), End::Reset)),
        ..Respond::plain()
    });
    assert_eq!(
        acts(&program)[1..],
        [
            "send 44",
            "AwaitAcknowledged",
            "AwaitTaken",
            "fired",
            "End(Reset)"
        ]
    );
    let answer = program.answer.expect("an answer");
    assert_eq!((answer.body_bytes, answer.whole), (10, false));
}

#[test]
fn a_cut_of_chunks_lies_between_them() {
    let cut = |point| {
        let program = of(Respond {
            framing: Framing::Chunked,
            chunks: vec![5, 5],
            body: text("helloworld"),
            cut: Some((point, End::Close)),
            ..Respond::plain()
        });
        shown(&program)
            .split_once("\r\n\r\n")
            .expect("a head")
            .1
            .to_owned()
    };
    assert_eq!(cut(ResponsePoint::Chunks(0)), "");
    assert_eq!(cut(ResponsePoint::Chunks(1)), "5\r\nhello\r\n");
    assert_eq!(
        cut(ResponsePoint::Chunks(2)),
        "5\r\nhello\r\n5\r\nworld\r\n"
    );
    assert_eq!(
        cut(ResponsePoint::Body(Position::Bytes(6))),
        "5\r\nhello\r\n5\r\nw"
    );
    assert_eq!(cut(ResponsePoint::Body(Position::Bytes(0))), "");
    assert_eq!(
        cut(ResponsePoint::Wire(Position::Last)),
        "5\r\nhello\r\n5\r\nworld\r\n0\r\n\r"
    );
}

#[test]
fn a_cut_of_endless_content_is_exact() {
    let program = of(Respond {
        status: 500,
        framing: Framing::Close,
        body: Some(Content::Endless("no ".to_owned())),
        cut: Some((ResponsePoint::Body(Position::Bytes(100_000)), End::Close)),
        ..Respond::plain()
    });
    let bytes = bytes(&program);
    let head = "HTTP/1.1 500 Internal Server Error\r\n\r\n".len();
    assert_eq!(bytes.len(), head + 100_000);
    assert!(bytes[head..].starts_with(b"no no no "));
}

#[test]
fn a_list_is_cut_behind_an_event_or_in_its_middle() {
    let event = |id: &str, data: &str| SentEvent {
        id: Some(id.to_owned()),
        event: None,
        data: data.to_owned(),
    };
    let events = vec![event("1", "a"), event("2", "b\nc")];
    let cut = |point, framing| {
        let program = of(Respond {
            body: Some(Content::Events(events.clone())),
            framing,
            cut: Some((point, End::Reset)),
            ..Respond::plain()
        });
        let text = shown(&program);
        let (head, rest) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("Content-Type: text/event-stream"), "{head}");
        rest.to_owned()
    };
    assert_eq!(cut(ResponsePoint::Events(0), Framing::Close), "");
    let first = "id: 1\ndata: a\n\n";
    assert_eq!(cut(ResponsePoint::Events(1), Framing::Close), first);
    let whole = format!("{first}id: 2\ndata: b\ndata: c\n\n");
    assert_eq!(cut(ResponsePoint::Events(2), Framing::Close), whole);
    let half = format!("{first}id: 2\ndata:");
    assert_eq!(cut(ResponsePoint::InsideEvent(2), Framing::Close), half);
    let chunk = format!("{:x}\r\n{first}", whole.len());
    assert_eq!(cut(ResponsePoint::Events(1), Framing::Chunked), chunk);
}

#[test]
fn a_cut_request_is_read_counted_and_ended() {
    let effect = Effect {
        name: "order".to_owned(),
        key: None,
    };
    let cut = StepPlan {
        applies: Some(effect),
        delay: Duration::from_millis(5),
        ..step(Fault::Cut(Cut {
            after: RequestPoint::Request,
            with: End::Hang,
        }))
    };
    let program = program(&cut);
    assert_eq!(
        acts(&program),
        [
            "ReadUntil(Request)",
            "Effect(Effect { name: \"order\", key: None })",
            "Wait(5ms)",
            "fired",
            "End(Hang)",
        ]
    );
    assert_eq!(program.answer, None);
}

#[test]
fn an_idle_end_has_its_proof_before_it() {
    let then = StepPlan {
        then: Some(Then::ends(IdleEnd::Close, Duration::from_millis(100))),
        ..step(Fault::plain())
    };
    assert_eq!(
        acts(&program(&then))[2..],
        ["AwaitAcknowledged", "fired", "EndWhenIdle(100ms, Close)"]
    );
}

#[test]
fn a_close_after_no_time_stands_right_behind_the_bytes_with_which_its_fin_comes() {
    let bare = Raw {
        parts: vec![RawPart::Text(Template::text("<html>"))],
        end: None,
    };
    let closes = |end| {
        let then = StepPlan {
            then: Some(Then::ends(end, Duration::ZERO)),
            ..step(Fault::Raw(bare.clone()))
        };
        program(&then)
    };
    assert_eq!(
        acts(&closes(IdleEnd::Close))[1..],
        [
            "send 6",
            "AwaitAcknowledged",
            "fired",
            "EndWhenIdle(0ns, Close)"
        ]
    );
    let page = Raw {
        parts: vec![RawPart::Text(Template::text("HTTP/1.0 200 OK\r\n\r\nok"))],
        end: None,
    };
    let whole = |end| {
        let then = StepPlan {
            then: Some(Then::ends(end, Duration::ZERO)),
            ..step(Fault::Raw(page.clone()))
        };
        program(&then).answer.expect("an answer").whole
    };
    assert!(whole(IdleEnd::Close) && !whole(IdleEnd::Reset));
}

#[test]
fn raw_bytes_are_taken_or_acknowledged_before_the_connection_ends() {
    let raw = |end| {
        let parts = vec![RawPart::Text(Template::text("HTTP/1.1 200 OK\r\n\r\nok"))];
        let end = Some(end);
        program(&step(Fault::Raw(Raw { parts, end })))
    };
    let closed = raw(End::Close);
    let expected = ["send 21", "AwaitAcknowledged", "fired", "End(Close)"];
    assert_eq!(acts(&closed)[1..], expected);
    assert!(closed.answer.expect("an answer").whole, "FIN ends it");
    let reset = raw(End::Reset);
    let expected = [
        "send 21",
        "AwaitAcknowledged",
        "AwaitTaken",
        "fired",
        "End(Reset)",
    ];
    assert_eq!(acts(&reset)[1..], expected);
    assert!(!reset.answer.expect("an answer").whole);
}

#[test]
fn bytes_on_an_idle_connection_come_before_its_end_and_have_their_proof_behind_them() {
    let acts = |end| {
        let then = StepPlan {
            then: Some(Then {
                after: Duration::from_millis(100),
                sends: Some(Content::Hex(b"\r\n".to_vec())),
                end,
            }),
            ..step(Fault::plain())
        };
        acts(&program(&then))[3..].to_vec()
    };
    assert_eq!(acts(None), ["SendWhenIdle(100ms, [13, 10])", "fired"]);
    assert_eq!(
        acts(Some(IdleEnd::Reset)),
        [
            "SendWhenIdle(100ms, [13, 10])",
            "fired",
            "EndWhenIdle(0ns, Reset)"
        ]
    );
}
