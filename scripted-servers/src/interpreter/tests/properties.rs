//! Properties of all wire programs.

use proptest::prelude::*;

use super::*;
use crate::wire::{Bytes, Position};

/// No stated wait of a generated program is longer.
const LONGEST_WAIT: u64 = 500;

/// All that a program states it sends, as far as `length`; a date is not told
/// byte by byte.
fn stated(steps: &[WireStep], length: usize) -> Vec<Option<u8>> {
    let mut all = Vec::new();
    let told = |bytes: &[u8]| bytes.iter().copied().map(Some).collect::<Vec<_>>();
    for step in steps {
        match step {
            WireStep::Send(bytes)
            | WireStep::Drip { bytes, .. }
            | WireStep::SendWhenIdle(_, bytes) => all.extend(told(bytes)),
            WireStep::SendDated { before, after, .. } => {
                all.extend(told(before));
                all.extend([None; 29]);
                all.extend(told(after));
            }
            WireStep::Endless { unit, .. } => {
                while !unit.is_empty() && all.len() < length {
                    all.extend(told(unit));
                }
                break;
            }
            WireStep::End(_) | WireStep::EndWhenIdle(..) => break,
            _ => {}
        }
    }
    all
}

fn is_prefix(written: &[u8], stated: &[Option<u8>]) -> bool {
    written.len() <= stated.len()
        && written
            .iter()
            .zip(stated)
            .all(|(byte, stated)| stated.is_none_or(|stated| stated == *byte))
}

fn any_bytes() -> impl Strategy<Value = Bytes> {
    (0_usize..400, any::<u8>()).prop_map(|(length, first)| {
        let bytes: Vec<u8> = (0..length)
            .map(|place| first.wrapping_add(place as u8))
            .collect();
        bytes.into()
    })
}

fn any_wait() -> impl Strategy<Value = Duration> {
    (0..LONGEST_WAIT).prop_map(Duration::from_millis)
}

fn any_point() -> impl Strategy<Value = RequestPoint> {
    let position = |longest| {
        prop_oneof![
            (0..=longest).prop_map(Position::Bytes),
            Just(Position::Half),
            Just(Position::Last),
            Just(Position::All),
        ]
    };
    prop_oneof![
        Just(RequestPoint::Request),
        position(80_u64).prop_map(RequestPoint::Head),
        // No more than the content has: such a point is missed.
        position(40_u64).prop_map(RequestPoint::Body),
    ]
}

fn order() -> Effect {
    Effect {
        name: "order".into(),
        key: None,
    }
}

fn any_wire_step() -> impl Strategy<Value = WireStep> {
    let every = (3_u64..50).prop_map(Duration::from_millis);
    prop_oneof![
        any_point().prop_map(WireStep::ReadUntil),
        any_wait().prop_map(WireStep::Wait),
        Just(WireStep::Effect(order())),
        any_wait().prop_map(|takes| WireStep::Work(order(), takes)),
        (any_point(), 1_usize..60, every.clone()).prop_map(|(point, bytes, every)| {
            WireStep::ReadSlowly {
                point,
                bytes,
                every,
            }
        }),
        any_bytes().prop_map(WireStep::Send),
        (any_bytes(), any_bytes()).prop_map(|(before, after)| WireStep::SendDated {
            before,
            date_in: Duration::from_secs(1),
            after,
        }),
        (any_bytes(), 0_usize..100, every).prop_map(|(bytes, size, every)| WireStep::Drip {
            bytes,
            size,
            every
        }),
        Just(WireStep::AwaitAcknowledged),
        Just(WireStep::AwaitTaken),
        Just(WireStep::Fired("fault")),
    ]
}

fn any_last_step() -> impl Strategy<Value = WireStep> {
    let pace = proptest::option::of((0_usize..5, (3_u64..50).prop_map(Duration::from_millis)));
    let idle = prop_oneof![Just(IdleEnd::Reset), Just(IdleEnd::Close)];
    prop_oneof![
        Just(WireStep::End(End::Reset)),
        Just(WireStep::End(End::Close)),
        Just(WireStep::End(End::HalfClose)),
        Just(WireStep::End(End::Hang)),
        (any_wait(), idle).prop_map(|(time, how)| WireStep::EndWhenIdle(time, how)),
        (any_bytes(), pace).prop_map(|(unit, every)| WireStep::Endless { unit, every }),
        any_wire_step(),
    ]
}

/// Bytes on an idle connection, and perhaps its end.
fn any_unsolicited() -> impl Strategy<Value = Vec<WireStep>> {
    let idle = prop_oneof![Just(IdleEnd::Reset), Just(IdleEnd::Close)];
    let sent = (1_usize..90).prop_map(|length| Bytes::from(vec![b'u'; length]));
    let end = proptest::option::of((0..2_u64, idle));
    (any_wait(), sent, end).prop_map(|(time, bytes, end)| {
        let end = end.map(|(time, how)| WireStep::EndWhenIdle(Duration::from_millis(time), how));
        let sent = [
            WireStep::SendWhenIdle(time, bytes),
            WireStep::Fired("unasked"),
        ];
        sent.into_iter().chain(end).collect()
    })
}

fn any_program() -> impl Strategy<Value = Vec<WireStep>> {
    let steps = proptest::collection::vec(any_wire_step(), 0..6);
    let last = prop_oneof![
        7 => any_last_step().prop_map(|last| vec![last]),
        1 => any_unsolicited(),
    ];
    (steps, last).prop_map(|(steps, last)| [steps, last].concat())
}

fn any_act() -> impl Strategy<Value = (u64, Act)> {
    let act = prop_oneof![
        4 => (1_usize..120).prop_map(Act::Send),
        2 => (1_usize..400).prop_map(Act::Read),
        1 => Just(Act::ReadAll),
        1 => Just(Act::HalfClose),
    ];
    (0_u64..300, act)
}

fn any_acts() -> impl Strategy<Value = Vec<(u64, Act)>> {
    proptest::collection::vec(any_act(), 0..8)
}

fn fired_steps(steps: &[WireStep]) -> usize {
    steps
        .iter()
        .filter(|step| matches!(step, WireStep::Fired(_)))
        .count()
}

proptest! {
    #[test]
    fn a_program_ends_soon_after_its_peer_has_ended(
        steps in any_program(),
        inside_head in any::<bool>(),
        acts in any_acts(),
        close in any::<bool>(),
    ) {
        let mut acts = acts;
        acts.push((100, if close { Act::Close } else { Act::Reset }));
        let left_at: u64 = acts.iter().map(|(after, _)| after).sum();
        let outcome = play(steps.clone(), inside_head, acts);
        // Bytes that still come in are settled; a drip that is under way ends
        // with the write that finds the peer gone.
        let bound = Duration::from_millis(left_at + 4000);
        prop_assert!(outcome.over_at.is_some_and(|at| at <= bound), "over at {:?}", outcome.over_at);
        prop_assert!(fired_events(&outcome.events) <= fired_steps(&steps));
    }

    #[test]
    fn a_program_never_sends_more_than_stated(
        steps in any_program(),
        inside_head in any::<bool>(),
        acts in any_acts(),
    ) {
        let outcome = play(steps.clone(), inside_head, acts);
        let stated = stated(&steps, outcome.written.len());
        prop_assert!(
            is_prefix(&outcome.written, &stated),
            "{} bytes written, {} stated", outcome.written.len(), stated.len()
        );
        let told = outcome.events.iter().find_map(|what| match what {
            What::Closed { sent, .. } => Some(*sent),
            _ => None,
        });
        prop_assert_eq!(told, Some(outcome.written.len() as u64));
        prop_assert!(fired_events(&outcome.events) <= fired_steps(&steps));
    }

    #[test]
    fn a_patient_peer_gets_everything_and_every_proof_is_left(
        steps in any_program(),
        inside_head in any::<bool>(),
    ) {
        let acts = vec![(0, Act::ReadAll), (0, Act::Send(REQUEST.len()))];
        let outcome = play(steps.clone(), inside_head, acts);
        let is_endless = steps.iter().any(|step| matches!(step, WireStep::Endless { .. }));
        let stated = stated(&steps, if is_endless { outcome.written.len() } else { 0 });
        prop_assert!(is_prefix(&outcome.written, &stated));
        if !is_endless {
            prop_assert_eq!(outcome.written.len(), stated.len());
        }
        let ends = matches!(
            steps.last(),
            Some(
                WireStep::End(End::Reset | End::Close | End::HalfClose) | WireStep::EndWhenIdle(..)
            )
        );
        prop_assert_eq!(outcome.ended_by_server, ends);
        // Of content that ends with its first piece nothing was slow.
        let may_doubt = steps.iter().any(|step| matches!(step, WireStep::ReadSlowly { .. }));
        let unproven = outcome.events.iter().filter(|what| matches!(what, What::Unproven { .. }));
        let unproven = unproven.count();
        prop_assert!(may_doubt || unproven == 0);
        prop_assert_eq!(fired_events(&outcome.events) + unproven, fired_steps(&steps));
        let effects = outcome.events.iter().filter(|what| matches!(what, What::Effect { .. }));
        let meant = steps.iter().filter(|step| matches!(step, WireStep::Effect(_) | WireStep::Work(..)));
        prop_assert_eq!(effects.count(), meant.count());
        let delivered = outcome.events.iter().filter(|what| matches!(what, What::Delivered { drained: false, .. }));
        prop_assert_eq!(delivered.count(), 1);
    }
}
