//! Faults as wire programs: which bytes, in which order, with which end.

#![expect(clippy::expect_used, reason = "helpers of tests may fail the test")]

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use scenarios::faults::cut::Cut;
use scenarios::faults::raw::{Raw, RawPart};
use scenarios::faults::respond::{
    Coding, CodingState, Framing, Interim, Respond, ResponsePoint, RetryAfter, Scheme,
};
use scenarios::faults::{self, Fault};
use scenarios::plan::{Content, SlowRead, StepPlan, Then};
use scenarios::rendering::{Format, Rendering};
use scenarios::template::{Bindings, Piece, Template};
use scripted_servers::script::Times;
use scripted_servers::wire::{Effect, End, IdleEnd, Position, RequestPoint, WireProgram, WireStep};

fn step(fault: Fault) -> StepPlan {
    StepPlan {
        required: true,
        ..StepPlan::new(fault)
    }
}

fn program(step: &StepPlan) -> WireProgram {
    let address = "127.0.0.1:8080".parse().expect("an address");
    let bindings = Bindings(BTreeMap::from([("api".to_owned(), address)]));
    let with = Rendering {
        bindings: &bindings,
        format: Format::PlainJson,
        seed: 1,
    };
    step.fault.program(step, &with)
}

fn of(respond: Respond) -> WireProgram {
    program(&step(Fault::Respond(respond)))
}

fn text(text: &str) -> Option<Content> {
    Some(Content::Text(Template::text(text)))
}

/// All bytes that a program writes before anything endless; a date as dots.
fn bytes(program: &WireProgram) -> Vec<u8> {
    let mut bytes = Vec::new();
    for step in &program.steps {
        match step {
            WireStep::Send(part) | WireStep::Drip { bytes: part, .. } => {
                bytes.extend_from_slice(part);
            }
            WireStep::SendDated { before, after, .. } => {
                bytes.extend_from_slice(before);
                bytes.extend_from_slice(&[b'.'; 29]);
                bytes.extend_from_slice(after);
            }
            _ => {}
        }
    }
    bytes
}

fn shown(program: &WireProgram) -> String {
    String::from_utf8(bytes(program)).expect("text")
}

/// The steps behind the request, without the bytes.
fn acts(program: &WireProgram) -> Vec<String> {
    program
        .steps
        .iter()
        .map(|step| match step {
            WireStep::Send(part) => format!("send {}", part.len()),
            WireStep::SendDated { .. } => "send dated".to_owned(),
            WireStep::Drip { bytes, size, .. } => format!("drip {} by {size}", bytes.len()),
            WireStep::Endless { unit, every } => {
                format!("endless {} {:?}", unit.len(), every.map(|(units, _)| units))
            }
            WireStep::Fired(_) => "fired".to_owned(),
            step => format!("{step:?}"),
        })
        .collect()
}

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
            ..hints
        }],
        ..Respond::plain()
    });
    let expected = ["endless 40 None", "fired", "End(Close)"];
    assert_eq!(acts(&endless)[1..], expected);
    assert_eq!(endless.answer, None);
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
    let program = program(&step(Fault::Raw(Raw { parts })));
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
    let program = program(&step(Fault::Raw(Raw { parts })));
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
fn a_drip_is_one_chunk_a_write_and_the_head_comes_at_once() {
    let respond = Respond {
        body: text("0123456789ab"),
        drip: Some((5, Duration::from_millis(10))),
        ..Respond::plain()
    };
    let chunked = Respond {
        framing: Framing::Chunked,
        ..respond.clone()
    };
    assert_eq!(acts(&of(respond))[1..3], ["send 39", "drip 12 by 5"]);
    let program = of(chunked);
    assert_eq!(acts(&program)[1..3], ["send 47", "drip 32 by 10"]);
    assert!(shown(&program).ends_with("\r\n5\r\n01234\r\n5\r\n56789\r\n2\r\nab\r\n0\r\n\r\n"));
}

#[test]
fn a_stall_is_between_two_writes_that_make_the_whole() {
    let program = of(Respond {
        body: text("abcd"),
        stall: Some((
            ResponsePoint::Body(Position::Bytes(1)),
            Duration::from_secs(2),
        )),
        ..Respond::plain()
    });
    assert_eq!(
        acts(&program)[1..],
        [
            "send 39",
            "AwaitAcknowledged",
            "Wait(2s)",
            "send 3",
            "AwaitAcknowledged",
            "fired"
        ]
    );
    assert!(shown(&program).ends_with("\r\n\r\nabcd"));
}

#[test]
fn endless_content_is_framed_units_and_a_proof_behind_them() {
    let program = of(Respond {
        status: 500,
        framing: Framing::Chunked,
        body: Some(Content::Endless("no ".to_owned())),
        drip: Some((100, Duration::from_millis(10))),
        ..Respond::plain()
    });
    // 33 times "no ", framed as a chunk of 0x63 bytes.
    assert_eq!(
        acts(&program)[2..],
        ["endless 105 Some(1)", "fired", "End(Close)"]
    );
    let answer = program.answer.expect("an answer");
    assert_eq!((answer.body_sha256, answer.whole), (None, false));
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
fn an_answer_waits_for_the_work_unless_it_has_a_delay_and_an_end_never_does() {
    let begins = |delay: u64, fault: Fault| {
        let step = StepPlan {
            applies: Some(Effect {
                name: "order".to_owned(),
                key: None,
            }),
            takes: Duration::from_secs(2),
            delay: Duration::from_millis(delay),
            ..step(fault)
        };
        acts(&program(&step))[2].clone()
    };
    let cut = || {
        Fault::Cut(Cut {
            after: RequestPoint::Request,
            with: End::Close,
        })
    };
    assert_eq!(begins(0, Fault::plain()), "Wait(2s)");
    assert_eq!(begins(300, Fault::plain()), "Wait(300ms)");
    assert_eq!(begins(0, cut()), "fired");
    assert_eq!(begins(300, cut()), "Wait(300ms)");
}

#[test]
fn content_is_read_slowly_up_to_the_point_of_the_step() {
    let slow = StepPlan {
        slow_read: Some(SlowRead {
            bytes: 1024,
            every: Duration::from_millis(5),
        }),
        ..step(Fault::plain())
    };
    let program = program(&slow);
    assert_eq!(
        program.steps[0],
        WireStep::ReadSlowly {
            point: RequestPoint::Request,
            bytes: 1024,
            every: Duration::from_millis(5),
        }
    );
    let acts = acts(&program);
    assert_eq!(acts[2..], ["AwaitAcknowledged", "fired"]);
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

#[test]
fn raw_parts_are_writes_of_their_own() {
    let parts = vec![
        RawPart::Text(Template::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r")),
        RawPart::Pause(Duration::from_millis(5)),
        RawPart::Hex(b"\nok".to_vec()),
    ];
    let program = program(&step(Fault::Raw(Raw { parts })));
    assert!(
        program.verbatim,
        "whatever the method, raw bytes go out as written"
    );
    assert!(!of(Respond::plain()).verbatim);
    assert_eq!(
        acts(&program)[1..],
        [
            "send 37",
            "Wait(5ms)",
            "send 3",
            "AwaitAcknowledged",
            "fired"
        ]
    );
    let answer = program.answer.expect("an answer");
    assert_eq!(
        (answer.status, answer.body_bytes, answer.whole),
        (Some(200), 2, true)
    );
}

#[test]
fn the_list_of_behaviours_is_the_folder() {
    let mut files: Vec<_> = std::fs::read_dir("src/faults")
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "mod")
        .collect();
    files.sort();
    let mut words: Vec<_> = faults::behaviours().map(|listed| listed.word).collect();
    words.sort_unstable();
    assert_eq!(files, words);
}

#[test]
fn every_example_in_the_list_is_a_scenario() {
    for listed in faults::all() {
        let example = listed.example;
        let server = match listed.place {
            "step" if example.contains("applies") => format!("script: [ {{ {example} }} ]"),
            "step" | "respond" | "cut" | "raw" => {
                format!("script: [ {{ applies: x, {example} }} ]")
            }
            "then" => {
                format!("script: [ {{ applies: x, respond: {{ status: 200 }}, {example} }} ]")
            }
            "connections" if example.contains("serve") => {
                format!("{example}, script: [ {{ applies: x, respond: {{ status: 200 }} }} ]")
            }
            _ => example.to_owned(),
        };
        let source = scenarios::document::Source {
            path: listed.word.to_owned(),
            text: format!(
                "title: t\nwhy: w\nservers: {{ api: {{ {server} }}, \
                 other: {{ script: [ {{ applies: x, respond: {{ status: 200 }} }} ] }} }}\n\
                 calls: [ {{ method: PUT, url: \"{{api}}/1\", body: {{ bytes: 1MiB }} }}, {{ url: \"{{other}}/2\" }} ]\n\
                 expect: {{ must: [ {{ honest: true }} ] }}\n"
            ),
        };
        let known = scenarios::validate::Known::default();
        if let Err(found) = scenarios::validate::scenario(&source, "a/b", 1, &known) {
            panic!("{}", scenarios::document::render(&found, &source, false));
        }
    }
}

fn position() -> impl Strategy<Value = Position> {
    prop_oneof![
        (0..80_u64).prop_map(Position::Bytes),
        Just(Position::Half),
        Just(Position::Last),
        Just(Position::All),
    ]
}

fn point() -> impl Strategy<Value = ResponsePoint> {
    prop_oneof![
        position().prop_map(ResponsePoint::Head),
        position().prop_map(ResponsePoint::Body),
        position().prop_map(ResponsePoint::Wire),
        (0..5_u64).prop_map(ResponsePoint::Chunks),
    ]
}

fn answer() -> impl Strategy<Value = Respond> {
    let framing = prop_oneof![
        Just(Framing::Length),
        Just(Framing::Chunked),
        Just(Framing::Close)
    ];
    let retry_after = prop_oneof![
        Just(None),
        Just(Some(RetryAfter::Seconds(1))),
        Just(Some(RetryAfter::DateIn(Duration::from_secs(1)))),
    ];
    let drip = proptest::option::of((1..20_u64, Just(Duration::from_millis(3))));
    let chunks = proptest::collection::vec(1..9_u64, 0..4);
    let stall = proptest::option::of((point(), Just(Duration::from_millis(5))));
    let lie = proptest::option::of(0..60_u64);
    (
        200..600_u16,
        framing,
        0..50_u64,
        retry_after,
        drip,
        chunks,
        stall,
        lie,
    )
        .prop_map(
            |(status, framing, length, retry_after, drip, chunks, stall, lie)| Respond {
                status,
                framing,
                body: Some(Content::Bytes(length)),
                retry_after,
                drip,
                chunks,
                stall,
                says_length: lie.filter(|_| framing == Framing::Length),
                ..Respond::plain()
            },
        )
}

#[test]
fn an_answer_that_promises_less_than_it_sends_is_whole_where_it_promised_to_end() {
    let promising = |says_length| {
        let respond = Respond {
            body: text("hello"),
            says_length: Some(says_length),
            ..Respond::plain()
        };
        of(respond).answer.expect("an answer")
    };
    let three = of(Respond {
        body: text("hel"),
        ..Respond::plain()
    });
    assert_eq!(promising(3), three.answer.expect("an answer"));
    assert_eq!(promising(0).body_bytes, 0);
    assert!(promising(0).whole);
    assert!(!promising(6).whole);
    assert_eq!(promising(6).body_bytes, 5);
}

proptest! {
    #[test]
    fn a_cut_answer_is_a_prefix_of_the_whole_one(
        whole in answer(), at in point(), end in prop_oneof![Just(End::Reset), Just(End::Close), Just(End::HalfClose), Just(End::Hang)]
    ) {
        let cut = Respond { cut: Some((at, end)), ..whole.clone() };
        let (whole, cut) = (of(whole), of(cut));
        prop_assert!(bytes(&whole).starts_with(&bytes(&cut)));
        prop_assert_eq!(cut.steps.last(), Some(&WireStep::End(end)));
        prop_assert!(!cut.answer.expect("an answer").whole);
    }

    #[test]
    fn an_answer_is_whole_only_when_it_is_honest(respond in answer()) {
        let sent = respond.body.as_ref().and_then(Content::length).unwrap_or(0);
        // 204 and 304 have no content, whatever their fields say.
        let honest = respond.has_no_content()
            || respond.says_length.is_none_or(|says| says <= sent);
        let program = of(respond.clone());
        let answer = program.answer.expect("an answer");
        prop_assert_eq!(answer.whole, honest);
        prop_assert_eq!(answer.status, Some(respond.status));
    }

    #[test]
    fn dripping_and_stalling_change_no_byte(respond in answer()) {
        let at_once = Respond { drip: None, stall: None, ..respond.clone() };
        // A drip decides the sizes of chunks where no others are given.
        prop_assume!(respond.framing != Framing::Chunked || !respond.chunks.is_empty() || respond.drip.is_none());
        prop_assert_eq!(bytes(&of(respond)), bytes(&of(at_once)));
    }

    #[test]
    fn a_fault_has_one_proof_and_a_plain_step_none(respond in answer(), cut in proptest::option::of(point())) {
        let respond = Respond { cut: cut.map(|at| (at, End::Close)), ..respond };
        let step = step(Fault::Respond(respond));
        let program = program(&step);
        let proofs = program.steps.iter().filter(|step| matches!(step, WireStep::Fired(_))).count();
        prop_assert_eq!(proofs, usize::from(step.is_fault()));
        let ends = program.steps.iter().rposition(|step| matches!(step, WireStep::End(_)));
        prop_assert!(ends.is_none_or(|at| at + 1 == program.steps.len()));
    }
}
