//! Answers: heads, framing, and what stands around the content.

use std::time::Duration;

use scenarios::faults::Fault;
use scenarios::faults::raw::{Raw, RawPart};
use scenarios::faults::respond::{
    Coding, CodingState, Framing, Interim, Respond, ResponsePoint, RetryAfter, Scheme,
};
use scenarios::plan::{Content, StepPlan};
use scenarios::template::{Piece, Template};
use scripted_servers::script::Times;
use scripted_servers::wire::{End, Position, RequestPoint};

use crate::support::{acts, bytes, of, program, shown, step, text};

#[test]
fn a_plain_answer_is_one_write_without_a_proof() {
    let program = of(Respond {
        headers: vec![("X-A".to_owned(), Template::text("1"))],
        body: text("hello"),
        ..Respond::plain()
    });
    let expected = "HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(shown(&program), expected);
    assert_eq!(acts(&program), ["ReadUntil(Request)", "send 51"]);
    let answer = program.answer.expect("an answer");
    assert_eq!(
        (answer.status, answer.body_bytes, answer.whole),
        (Some(200), 5, true)
    );
    let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(answer.body_sha256.as_deref(), Some(sha256));
}

#[test]
fn a_status_without_content_has_no_framing_header() {
    let respond = |status| Respond {
        status,
        ..Respond::plain()
    };
    assert_eq!(shown(&of(respond(204))), "HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(
        shown(&of(respond(529))),
        "HTTP/1.1 529 \r\nContent-Length: 0\r\n\r\n"
    );
}

#[test]
fn names_of_servers_become_addresses() {
    let location = vec![Piece::Url("api".to_owned()), Piece::Text("/r".to_owned())];
    let program = of(Respond {
        status: 307,
        headers: vec![("Location".to_owned(), Template(location))],
        ..Respond::plain()
    });
    assert!(shown(&program).contains("Location: http://127.0.0.1:8080/r\r\n"));
    assert_eq!(acts(&program)[2..], ["AwaitAcknowledged", "fired"]);
}

#[test]
fn chunks_have_their_sizes_and_the_rest_is_one_more() {
    let program = of(Respond {
        framing: Framing::Chunked,
        chunks: vec![5, 3],
        body: text("helloworld!"),
        ..Respond::plain()
    });
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = "5\r\nhello\r\n3\r\nwor\r\n3\r\nld!\r\n0\r\n\r\n";
    assert_eq!(shown(&program), format!("{head}{body}"));
}

#[test]
fn an_early_answer_begins_at_its_point_and_is_a_fault_with_a_proof() {
    let early = StepPlan {
        reads: Some(RequestPoint::Head(Position::All)),
        ..step(Fault::Respond(Respond::plain()))
    };
    assert!(early.is_fault());
    let read = "ReadUntil(Head(All))";
    let acts = acts(&program(&early));
    assert_eq!(acts, [read, "send 38", "AwaitAcknowledged", "fired"]);
}

#[test]
fn interim_answers_come_first_and_the_answer_is_told_behind_them() {
    let hints = Interim {
        status: 103,
        headers: vec![("Link".to_owned(), Template::text("</a>"))],
        times: Times::Count(2),
        every: None,
    };
    let program = of(Respond {
        interim: vec![hints.clone()],
        ..Respond::plain()
    });
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(shown(&program), format!("{hint}{hint}{answer}"));
    assert_eq!(program.answer_from, 3);
    let endless = of(Respond {
        interim: vec![Interim {
            times: Times::Always,
            ..hints.clone()
        }],
        ..Respond::plain()
    });
    let expected = ["endless 40 None", "fired", "End(Close)"];
    assert_eq!(acts(&endless)[1..], expected);
    assert_eq!(endless.answer, None);
    let paced = |times| {
        let every = Some(Duration::from_millis(20));
        let hints = hints.clone();
        acts(&of(Respond {
            interim: vec![Interim {
                times,
                every,
                ..hints
            }],
            ..Respond::plain()
        }))
    };
    assert_eq!(
        paced(Times::Count(2))[1..4],
        ["send 40", "Wait(20ms)", "send 40"]
    );
    assert_eq!(paced(Times::Always)[1], "endless 40 Some(1)");
    assert_eq!(endless.answer_from, usize::MAX);
}

#[test]
fn interim_answers_in_exact_bytes_are_not_the_answer() {
    let part = |text: &str| RawPart::Text(Template::text(text));
    let parts = vec![
        part("HTTP/1.1 103 X\r\n"),
        part("\r\nHTTP/1.1 100 X\r\n\r\n"),
        part("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ];
    let program = program(&step(Fault::Raw(Raw { parts, end: None })));
    assert_eq!(program.answer_from, 3);
    assert_eq!(program.answer.expect("an answer").status, Some(200));
}

#[test]
fn trailers_stand_behind_the_last_chunk_and_can_be_cut() {
    let respond = Respond {
        framing: Framing::Chunked,
        body: text("ok"),
        trailers: vec![("X-Sum".to_owned(), Template::text("1"))],
        ..Respond::plain()
    };
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let whole = format!("{head}2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n");
    let program = of(respond.clone());
    assert_eq!(shown(&program), whole);
    assert!(program.proves_content);
    assert_eq!(program.answer.expect("an answer").body_bytes, 2);
    let cut = of(Respond {
        cut: Some((ResponsePoint::Wire(Position::Last), End::Close)),
        ..respond
    });
    assert_eq!(shown(&cut), whole[..whole.len() - 1]);
    assert!(!cut.answer.expect("an answer").whole);
}

#[test]
fn surplus_goes_out_with_the_last_bytes_and_is_no_content() {
    let respond = Respond {
        body: text("ok"),
        surplus: Some(Content::Hex(b"HTTP".to_vec())),
        ..Respond::plain()
    };
    let program = of(respond.clone());
    let expected = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP";
    assert_eq!(shown(&program), expected);
    let sends = ["send 44", "AwaitAcknowledged", "fired"];
    assert_eq!(acts(&program)[1..], sends);
    assert!(program.proves_content, "an answer to HEAD shows none of it");
    let answer = program.answer.expect("an answer");
    assert_eq!((answer.body_bytes, answer.whole), (2, true));
    let drips = of(Respond {
        drip: Some((1, Duration::from_millis(5))),
        ..respond
    });
    assert!(shown(&drips).ends_with("okHTTP"));
}

#[test]
fn coded_content_is_framed_as_it_is_sent_and_told_as_it_is_decoded() {
    let coded = |scheme, state| {
        of(Respond {
            coding: Some(Coding { scheme, state }),
            body: text("hello"),
            ..Respond::plain()
        })
    };
    let plain = of(Respond {
        body: text("hello"),
        ..Respond::plain()
    });
    let whole = coded(Scheme::Br, CodingState::Whole);
    let told = String::from_utf8_lossy(&bytes(&whole)).into_owned();
    assert!(told.contains("\r\nContent-Encoding: br\r\n"), "{told}");
    assert_eq!(
        whole.answer, plain.answer,
        "as a client shows it that decodes"
    );
    for state in [CodingState::Half, CodingState::Corrupt] {
        let answer = coded(Scheme::Gzip, state).answer.expect("an answer");
        assert!(!answer.whole, "{state:?}");
    }
    let empty = coded(Scheme::Deflate, CodingState::Empty);
    assert!(shown(&empty).ends_with("Content-Length: 0\r\n\r\n"));
    let answer = empty.answer.expect("an answer");
    assert_eq!((answer.body_bytes, answer.whole), (0, true));
}

#[test]
fn a_repeated_part_is_one_write() {
    let part = |text: &str| RawPart::Text(Template::text(text));
    let parts = vec![
        part("HTTP/1.1 200 OK\r\n"),
        RawPart::Repeated(Box::new(part("X: 1\r\n")), 10_000),
        RawPart::Repeated(Box::new(RawPart::Hex(vec![13, 10])), 1),
    ];
    let program = program(&step(Fault::Raw(Raw { parts, end: None })));
    let expected = [
        "send 17",
        "send 60000",
        "send 2",
        "AwaitAcknowledged",
        "fired",
    ];
    assert_eq!(acts(&program)[1..], expected);
}

#[test]
fn a_date_is_made_when_it_is_sent() {
    let program = of(Respond {
        status: 429,
        retry_after: Some(RetryAfter::DateIn(Duration::from_secs(2))),
        ..Respond::plain()
    });
    let expected = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: \
                    .............................\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(shown(&program), expected);
}
