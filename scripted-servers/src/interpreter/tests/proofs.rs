//! Proofs that rest on facts which can not be known.

use super::*;

/// Programs with one proof each, of every kind.
fn proving_programs() -> Vec<Vec<WireStep>> {
    let send = || WireStep::Send(b"x".as_slice().into());
    let fired = || WireStep::Fired("fault");
    let wait = || WireStep::Wait(Duration::from_millis(1));
    let drip = || WireStep::Drip {
        bytes: b"ab".as_slice().into(),
        size: 1,
        every: Duration::from_millis(3),
    };
    let unasked = || {
        let time = Duration::from_millis(1);
        WireStep::SendWhenIdle(time, b"u".as_slice().into())
    };
    let idle = |how| WireStep::EndWhenIdle(Duration::from_millis(1), how);
    let programs = [
        vec![fired(), WireStep::End(End::Hang)],
        vec![fired(), WireStep::End(End::Reset)],
        vec![fired(), WireStep::End(End::Close)],
        vec![fired(), WireStep::End(End::HalfClose)],
        vec![send(), WireStep::AwaitTaken, fired()],
        vec![send(), fired(), WireStep::End(End::Reset)],
        vec![send(), fired(), idle(IdleEnd::Reset)],
        vec![send(), unasked(), fired()],
        vec![send(), unasked(), fired(), idle(IdleEnd::Reset)],
        vec![send(), unasked(), fired(), idle(IdleEnd::Close)],
        vec![wait(), fired()],
        vec![fired(), wait()],
        vec![drip(), fired()],
        vec![fired(), drip()],
        vec![
            WireStep::Endless {
                unit: b"a".as_slice().into(),
                every: Some((1, Duration::from_millis(3))),
            },
            fired(),
        ],
    ];
    let read = || vec![WireStep::ReadUntil(RequestPoint::Request)];
    programs.map(|program| [read(), program].concat()).into()
}

/// What is told of a program that a patient peer meets, the transport changed.
fn told_of(steps: Vec<WireStep>, change: fn(&Memory)) -> (Vec<What>, Arc<Cell>) {
    let program = WireProgram {
        steps,
        answer: None,
        ..WireProgram::default()
    };
    in_jumping_time(async {
        let mut scene = scene(Step::new(program));
        change(&scene.memory);
        let acts = vec![(0, Act::ReadAll), (0, Act::Send(REQUEST.len()))];
        tokio::spawn(scene.memory.clone().play(REQUEST.to_vec(), acts));
        tokio::select! {
            () = live(&mut scene.line, ConnectionAct::Serve, 0) => read_out(&mut scene.line).await,
            _busy = scene.clock.sleep_until(DEADLINE) => {
                scene.cell.set_over(scene.clock.now());
                drain(&mut scene.line, ConnectionAct::Serve).await;
            }
        }
        let events = scene.record.events().into_iter();
        (events.map(|event| event.what).collect(), scene.cell)
    })
}

#[test]
fn what_rests_on_a_peer_that_can_not_be_seen_is_not_proved_and_says_so() {
    for steps in proving_programs() {
        let (told, cell) = told_of(steps.clone(), Memory::hide_peer);
        assert_eq!(fired_events(&told), 0, "{steps:?}");
        let unproven = told.iter().filter(|what| {
            matches!(what, What::Unproven { reason, .. } if reason.contains("can not be seen"))
        });
        assert_eq!(unproven.count(), 1, "{steps:?}");
        assert_eq!(cell.broken(), None);
        let (told, _) = told_of(steps.clone(), |_| {});
        assert_eq!(fired_events(&told), 1, "{steps:?}");
    }
}

#[test]
fn a_fact_that_could_not_be_known_proves_nothing_and_breaks_the_record() {
    let acknowledged = vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Send(b"x".as_slice().into()),
        WireStep::AwaitAcknowledged,
        WireStep::Fired("fault"),
    ];
    for steps in proving_programs().into_iter().chain([acknowledged]) {
        let (told, cell) = told_of(steps.clone(), |memory| memory.doubt_all("no answer"));
        assert_eq!(fired_events(&told), 0, "{steps:?}");
        assert_eq!(cell.broken(), Some("no answer"));
    }
}

#[test]
fn a_client_that_leaves_with_the_bytes_before_a_part_has_met_it() {
    let program = |part: Vec<WireStep>| {
        let begin = vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Send(b"x".as_slice().into()),
        ];
        [begin, part].concat()
    };
    let more = || WireStep::Send(b"y".as_slice().into());
    let parts = [
        vec![
            WireStep::Wait(Duration::from_millis(100)),
            more(),
            WireStep::AwaitAcknowledged,
            WireStep::Fired("fault"),
        ],
        vec![
            WireStep::Drip {
                bytes: b"ab".as_slice().into(),
                size: 1,
                every: Duration::from_millis(3),
            },
            WireStep::AwaitAcknowledged,
            WireStep::Fired("fault"),
        ],
        vec![
            WireStep::Endless {
                unit: b"a".as_slice().into(),
                every: None,
            },
            WireStep::Fired("fault"),
        ],
        vec![
            WireStep::AwaitAcknowledged,
            WireStep::Fired("fault"),
            WireStep::End(End::Hang),
        ],
    ];
    let leave: [fn(&Memory); 3] = [
        |memory| memory.on_bytes(vec![Act::Reset]),
        |memory| memory.on_bytes(vec![Act::Close]),
        |memory| memory.on_bytes(vec![Act::Read(1), Act::Close]),
    ];
    for part in parts {
        for leave in leave {
            let (told, _) = told_of(program(part.clone()), leave);
            assert_eq!(fired_events(&told), 1, "{part:?}: {told:?}");
        }
    }
}

#[test]
fn a_client_that_takes_the_bytes_before_a_reset_and_closes_has_met_it_or_is_reset() {
    let steps = vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Send(b"x".as_slice().into()),
        WireStep::AwaitAcknowledged,
        WireStep::Fired("fault"),
        WireStep::End(End::Reset),
    ];
    let took: fn(&Memory) = |memory| memory.on_bytes(vec![Act::Read(1), Act::Close]);
    let (told, _) = told_of(steps.clone(), took);
    assert_eq!(fired_events(&told), 1, "{told:?}");
    // One that has not read them is not known to have met anything.
    let (told, _) = told_of(steps, |memory| memory.on_bytes(vec![Act::Reset]));
    assert_eq!(fired_events(&told), 0, "{told:?}");
}

#[test]
fn a_client_that_leaves_with_some_of_the_bytes_has_not_met_what_they_are() {
    let steps = vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Send(vec![b'x'; 200].as_slice().into()),
        WireStep::AwaitAcknowledged,
        WireStep::Fired("fault"),
    ];
    let (told, _) = told_of(steps, |memory| memory.on_bytes(vec![Act::Reset]));
    assert_eq!(fired_events(&told), 0, "{told:?}");
}
