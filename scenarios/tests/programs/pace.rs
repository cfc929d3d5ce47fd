//! Pace: bytes that come late, in pieces, or without end; work that takes time.

use std::time::Duration;

use scenarios::faults::Fault;
use scenarios::faults::cut::Cut;
use scenarios::faults::raw::{Raw, RawPart};
use scenarios::faults::respond::{Framing, Respond, ResponsePoint};
use scenarios::plan::{Content, SlowRead, StepPlan};
use scenarios::template::Template;
use scripted_servers::wire::{Effect, End, Position, RequestPoint, WireStep};

use crate::support::{acts, of, program, shown, step, text};

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
fn raw_parts_are_writes_of_their_own() {
    let parts = vec![
        RawPart::Text(Template::text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r")),
        RawPart::Pause(Duration::from_millis(5)),
        RawPart::Hex(b"\nok".to_vec()),
    ];
    let program = program(&step(Fault::Raw(Raw { parts, end: None })));
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
