//! Ends of a connection.

use super::*;
use crate::wire::Position;

fn cut_after_one_byte(acts: Vec<(u64, Act)>) -> (bool, Duration) {
    let steps = vec![
        WireStep::ReadUntil(RequestPoint::Head(Position::Bytes(1))),
        WireStep::Fired("cut"),
        WireStep::End(End::Reset),
    ];
    let outcome = play(steps, true, acts);
    assert_eq!(fired_events(&outcome.events), 1);
    let delivered = |what: &What| matches!(what, What::Delivered { .. });
    let over_at = outcome.over_at.expect("it ends by itself");
    (outcome.events.iter().any(delivered), over_at)
}

#[test]
fn a_cut_waits_for_the_rest_of_a_small_request_but_not_for_ever() {
    let millis = Duration::from_millis;
    let whole = REQUEST.len();
    let (delivered, at) = cut_after_one_byte(vec![(0, Act::Send(whole))]);
    assert!(delivered && at >= millis(20) && at < millis(40), "{at:?}");
    let (delivered, at) = cut_after_one_byte(vec![(0, Act::Send(3)), (1_200, Act::Send(whole))]);
    assert!(
        delivered && at >= millis(1_220) && at < millis(1_240),
        "{at:?}"
    );
    let (delivered, at) = cut_after_one_byte(vec![(0, Act::Send(3))]);
    assert!(
        !delivered && at >= millis(2_000) && at < millis(2_020),
        "{at:?}"
    );
}

#[test]
fn an_idle_connection_is_not_reset_before_the_answer_is_taken() {
    let steps = vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Send(b"answer".as_slice().into()),
        WireStep::Fired("idle"),
        WireStep::EndWhenIdle(Duration::ZERO, IdleEnd::Reset),
    ];
    let acts = vec![(0, Act::Send(REQUEST.len())), (300, Act::Read(6))];
    let outcome = play(steps, false, acts);
    assert!(outcome.ended_by_server);
    assert!(outcome.over_at >= Some(Duration::from_millis(300)));
    assert_eq!(fired_events(&outcome.events), 1);
}

#[test]
fn what_comes_in_pieces_after_a_fin_is_counted_whole() {
    let program = WireProgram {
        steps: vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::End(End::Close),
        ],
        answer: None,
        ..WireProgram::default()
    };
    let says = [REQUEST, REQUEST].concat();
    let half = REQUEST.len() / 2;
    let acts = vec![
        (0, Act::Send(REQUEST.len())),
        (100, Act::Send(half)),
        (10, Act::Send(REQUEST.len() - half)),
    ];
    let events = in_jumping_time(async {
        let mut scene = scene(Step::new(program));
        tokio::spawn(scene.memory.clone().play(says, acts));
        live(&mut scene.line, ConnectionAct::Serve, 0).await;
        read_out(&mut scene.line).await;
        scene.record.events()
    });
    let count =
        |wanted: fn(&What) -> bool| events.iter().filter(|event| wanted(&event.what)).count();
    assert_eq!(count(|what| matches!(what, What::Delivered { .. })), 2);
    assert_eq!(count(|what| what.step().is_some()), 1);
}
