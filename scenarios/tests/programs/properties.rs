//! What holds for every answer.

use std::time::Duration;

use proptest::prelude::*;
use scenarios::faults::Fault;
use scenarios::faults::respond::{Framing, Respond, ResponsePoint, RetryAfter};
use scenarios::plan::Content;
use scripted_servers::wire::{End, Position, WireStep};

use crate::support::{bytes, of, program, step, text};

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
        (0..4_u64).prop_map(ResponsePoint::Events),
        (1..4_u64).prop_map(ResponsePoint::InsideEvent),
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
