//! What a client's end makes of a program.

use std::sync::{OnceLock, Weak};

use super::*;
use crate::event::ServerEvent;
use crate::record::Record;

#[test]
fn what_arrives_of_a_request_after_its_script_was_stopped_takes_no_step() {
    in_jumping_time(async {
        let mut scene = scene(Step::answer(200, "never"));
        let mut says = REQUEST.iter().copied().collect();
        scene.memory.act(Act::Send(20), &mut says);
        tokio::select! {
            biased;
            () = live(&mut scene.line, ConnectionAct::Serve, 0) => panic!("it ended"),
            _busy = scene.clock.sleep_until(Duration::from_secs(1)) => {}
        }
        scene.cell.set_over(scene.clock.now());
        let later = scene.clock.now() + Duration::from_millis(1);
        let _busy = scene.clock.sleep_until(later).await;
        scene.memory.act(Act::Send(REQUEST.len()), &mut says);
        drain(&mut scene.line, ConnectionAct::Serve).await;
        let events = scene.record.events();
        let has = |wanted: fn(&What) -> bool| events.iter().any(|event| wanted(&event.what));
        assert!(has(|what| matches!(
            what,
            What::Delivered { drained: true, .. }
        )));
        assert!(!has(|what| what.step().is_some()));
    });
}

#[test]
fn a_script_that_gets_another_turn_after_the_client_ended_does_nothing() {
    let steps = vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Wait(Duration::from_millis(100)),
        WireStep::Effect(Effect {
            name: "order".into(),
            key: None,
        }),
        WireStep::Send(b"late".as_slice().into()),
        WireStep::Fired("late"),
        WireStep::End(End::Reset),
    ];
    in_jumping_time(async {
        let mut scene = scene(Step::new(WireProgram {
            steps,
            answer: None,
            ..WireProgram::default()
        }));
        let mut says = REQUEST.iter().copied().collect();
        scene.memory.act(Act::Send(REQUEST.len()), &mut says);
        let cell = scene.cell.clone();
        let ended_at = Duration::from_millis(50);
        let end = async {
            let _busy = scene.clock.sleep_until(ended_at).await;
            cell.set_over(ended_at);
            scene.clock.sleep_until(Duration::from_secs(1)).await
        };
        tokio::select! {
            biased;
            () = live(&mut scene.line, ConnectionAct::Serve, 0) => panic!("it went on"),
            _busy = end => {}
        }
        drain(&mut scene.line, ConnectionAct::Serve).await;
        let events = scene.record.events();
        let has = |wanted: fn(&What) -> bool| events.iter().any(|event| wanted(&event.what));
        assert!(has(|what| matches!(what, What::Delivered { .. })));
        let went_on = |what: &What| matches!(what, What::Effect { .. } | What::Ended { .. });
        assert!(!events.iter().any(|event| went_on(&event.what)));
        // The client ended within the wait, whenever the server saw that.
        let waited = |what: &What| matches!(what, What::Fired { proof, .. } if proof.ends_with("while the server was waiting"));
        assert!(events.iter().any(|event| waited(&event.what)));
        assert!(scene.memory.written().is_empty());
    });
}

/// Ends the client in the moment in which the whole answer was handed over, as
/// one does that gets a turn before the server gets its next.
struct EndsWhenAnswered {
    record: Arc<ledger::Memory>,
    clock: Arc<Jumping>,
    cell: OnceLock<Weak<Cell>>,
}

impl Record for EndsWhenAnswered {
    fn record(&self, event: ServerEvent) {
        if matches!(event.what, What::Answered { .. }) {
            let cell = self.cell.get().and_then(Weak::upgrade).unwrap();
            cell.set_over(self.clock.now());
        }
        self.record.record(event);
    }
}

#[test]
fn an_answer_was_given_to_a_client_that_read_it_and_ended_before_the_servers_next_turn() {
    let answer = |proof: bool| {
        let mut steps = vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Send(b"answer".as_slice().into()),
            WireStep::AwaitAcknowledged,
        ];
        steps.extend(proof.then_some(WireStep::Fired("answered")));
        steps
    };
    let then_close = vec![
        WireStep::Fired("closed"),
        WireStep::EndWhenIdle(Duration::ZERO, IdleEnd::Close),
    ];
    let then_silence = vec![WireStep::Fired("silent"), WireStep::End(End::Hang)];
    for (steps, fired) in [
        (answer(true), 1),
        (answer(false), 0),
        ([answer(false), then_close].concat(), 0),
        // It has met the silence behind the answer, which nobody ends but it.
        ([answer(false), then_silence].concat(), 1),
    ] {
        in_jumping_time(async {
            let (record, clock) = (ledger::Memory::new(), Jumping::start());
            let ends = Arc::new(EndsWhenAnswered {
                record: record.clone(),
                clock: clock.clone(),
                cell: OnceLock::new(),
            });
            let cell = Arc::new(Cell::new(clock.clone(), ends.clone()));
            ends.cell.set(Arc::downgrade(&cell)).unwrap();
            let step = Step::new(WireProgram {
                steps,
                answer: None,
                ..WireProgram::default()
            });
            let script = ServerScript::new("api").script(vec![step]);
            let server = Arc::new(Server::new(cell.clone(), script));
            let memory = Memory::default();
            let mut line = Connection::new(memory.clone(), server, 1);
            let mut says = REQUEST.iter().copied().collect();
            memory.act(Act::Send(REQUEST.len()), &mut says);
            tokio::select! {
                biased;
                () = live(&mut line, ConnectionAct::Serve, 0) => panic!("it went on"),
                _busy = clock.sleep_until(Duration::from_secs(1)) => {}
            }
            memory.act(Act::Read(100), &mut says);
            memory.act(Act::Close, &mut says);
            drain(&mut line, ConnectionAct::Serve).await;
            let events: Vec<What> = record
                .events()
                .into_iter()
                .map(|event| event.what)
                .collect();
            assert_eq!(fired_events(&events), fired, "{events:?}");
            assert_eq!(memory.written(), b"answer");
        });
    }
}

#[test]
fn what_arrives_after_the_end_that_the_servers_know_of_is_drained_and_takes_no_step() {
    let effect = WireStep::Effect(Effect {
        name: "order".into(),
        key: None,
    });
    let events = in_jumping_time(async {
        let mut scene = scene(Step::new(WireProgram {
            steps: vec![WireStep::ReadUntil(RequestPoint::Request), effect],
            answer: None,
            ..WireProgram::default()
        }));
        scene.cell.set_over(scene.clock.now());
        let _busy = scene.clock.sleep_until(Duration::from_millis(1)).await;
        let mut says = REQUEST.iter().copied().collect();
        scene.memory.act(Act::Send(REQUEST.len()), &mut says);
        drain(&mut scene.line, ConnectionAct::Serve).await;
        scene.record.events()
    });
    let delivered: Vec<bool> = events
        .iter()
        .filter_map(|event| match event.what {
            What::Delivered { drained, .. } => Some(drained),
            _ => None,
        })
        .collect();
    assert_eq!(delivered, [true]);
    let is_served = |what: &What| what.step().is_some() || matches!(what, What::Effect { .. });
    assert!(!events.iter().any(|event| is_served(&event.what)));
}

#[test]
fn no_part_that_begins_after_the_client_left_has_fired() {
    let wait = WireStep::Wait(Duration::from_secs(1));
    let drip = WireStep::Drip {
        bytes: b"ab".as_slice().into(),
        size: 1,
        every: Duration::from_secs(1),
    };
    let endless = WireStep::Endless {
        unit: b"a".as_slice().into(),
        every: None,
    };
    let fired = || WireStep::Fired("fault");
    let programs = [
        vec![fired(), WireStep::End(End::Hang)],
        vec![fired(), WireStep::End(End::Reset)],
        vec![fired(), WireStep::End(End::Close)],
        vec![wait.clone(), fired()],
        vec![fired(), wait],
        vec![drip.clone(), fired()],
        vec![fired(), drip],
        vec![endless.clone(), fired()],
        vec![fired(), endless],
    ];
    for program in programs {
        let steps = [vec![WireStep::ReadUntil(RequestPoint::Request)], program].concat();
        let outcome = in_jumping_time(async {
            let mut scene = scene(Step::new(WireProgram {
                steps: steps.clone(),
                answer: None,
                ..WireProgram::default()
            }));
            let mut says = REQUEST.iter().copied().collect();
            scene.memory.act(Act::Send(REQUEST.len()), &mut says);
            scene.memory.act(Act::Close, &mut says);
            live(&mut scene.line, ConnectionAct::Serve, 0).await;
            read_out(&mut scene.line).await;
            scene.record.events()
        });
        let what: Vec<What> = outcome.into_iter().map(|event| event.what).collect();
        assert_eq!(fired_events(&what), 0, "{steps:?}");
        assert!(
            what.iter()
                .any(|what| matches!(what, What::Delivered { .. }))
        );
    }
}

/// Bun aborted so soon after the bytes that its kernel had not acknowledged them.
#[test]
fn a_client_that_aborts_at_the_sight_of_the_bytes_has_met_the_silence_behind_them() {
    // The last one resets before all of them have gone out.
    for (act, sent, fired) in [
        (Act::Reset, 30, 1),
        (Act::Close, 30, 1),
        (Act::Reset, 120, 0),
    ] {
        let steps = vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Send(vec![b'x'; sent].into()),
            WireStep::AwaitAcknowledged,
            WireStep::Fired("silence"),
            WireStep::End(End::Hang),
        ];
        let what = in_jumping_time(async {
            let mut scene = scene(answering_by(steps));
            let mut says = REQUEST.iter().copied().collect();
            scene.memory.act(Act::Send(REQUEST.len()), &mut says);
            scene.memory.delay_acknowledgements();
            scene.memory.on_bytes(vec![act.clone()]);
            live(&mut scene.line, ConnectionAct::Serve, 0).await;
            read_out(&mut scene.line).await;
            told(&scene)
        });
        assert_eq!(fired_events(&what), fired, "{act:?} of {sent}");
    }
}

/// Bun answered the FIN by RST and ended before the server had another turn.
#[test]
fn a_fin_that_is_answered_by_rst_was_sent_also_where_the_client_ends_at_once() {
    for (resets, fired) in [(true, 1), (false, 0)] {
        let steps = vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Fired("closed"),
            WireStep::End(End::Close),
        ];
        let what = in_jumping_time(async {
            let mut scene = scene(answering_by(steps));
            let mut says = REQUEST.iter().copied().collect();
            scene.memory.act(Act::Send(REQUEST.len()), &mut says);
            scene.memory.delay_acknowledgements();
            let ended_at = Duration::from_secs(1);
            tokio::select! {
                biased;
                _busy = scene.clock.sleep_until(ended_at) => {}
                () = live(&mut scene.line, ConnectionAct::Serve, 0) => panic!("it ended"),
            }
            if resets {
                scene.memory.act(Act::Reset, &mut says);
            }
            scene.cell.set_over(ended_at);
            drain(&mut scene.line, ConnectionAct::Serve).await;
            told(&scene)
        });
        assert_eq!(fired_events(&what), fired);
    }
}

/// Bun's RST came while the socket was deaf, and the server looked for it to the end.
#[test]
fn a_rst_that_comes_while_nothing_is_heard_has_ended_the_idle_connection() {
    let steps = vec![
        WireStep::ReadUntil(RequestPoint::Request),
        WireStep::Send(b"answer".as_slice().into()),
        WireStep::SendWhenIdle(Duration::from_millis(50), b"more".as_slice().into()),
        WireStep::Fired("ended"),
        WireStep::EndWhenIdle(Duration::ZERO, IdleEnd::Reset),
    ];
    in_jumping_time(async {
        let mut scene = scene(answering_by(steps));
        let mut says = REQUEST.iter().copied().collect();
        scene.memory.act(Act::Send(REQUEST.len()), &mut says);
        scene.memory.on_deaf(vec![Act::Reset]);
        let reads = scene
            .memory
            .clone()
            .play(Vec::new(), vec![(10, Act::Read(6)), (45, Act::Read(4))]);
        let served = live(&mut scene.line, ConnectionAct::Serve, 0);
        let clock = scene.clock.clone();
        let both = async { tokio::join!(reads, served) };
        tokio::select! {
            _ = both => {}
            _busy = clock.sleep_until(Duration::from_secs(1)) => panic!("it is looked for to the end"),
        }
        read_out(&mut scene.line).await;
        let what = told(&scene);
        assert_eq!(fired_events(&what), 1, "{what:?}");
        let has = |one: &What| {
            matches!(
                one,
                What::PeerEnded {
                    how: crate::event::Ending::Reset,
                    ..
                }
            )
        };
        assert!(what.iter().any(has), "{what:?}");
    });
}

/// Bun's RST came before its kernel had acknowledged the bytes, and nothing was proved.
#[test]
fn a_client_that_aborts_at_the_sight_of_unasked_bytes_has_ended_the_idle_connection() {
    for (how, fired) in [(IdleEnd::Reset, 1), (IdleEnd::Close, 0)] {
        let steps = vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Send(b"answer".as_slice().into()),
            WireStep::SendWhenIdle(Duration::from_millis(50), b"more".as_slice().into()),
            WireStep::Fired("ended"),
            WireStep::EndWhenIdle(Duration::from_millis(1), how),
        ];
        let what = in_jumping_time(async {
            let mut scene = scene(answering_by(steps));
            let mut says = REQUEST.iter().copied().collect();
            scene.memory.act(Act::Send(REQUEST.len()), &mut says);
            scene.memory.delay_acknowledgements();
            let memory = scene.memory.clone();
            let reads = memory.play(Vec::new(), vec![(10, Act::Read(6))]);
            let (memory, clock) = (scene.memory.clone(), scene.clock.clone());
            let aborts = async {
                let _busy = clock.sleep_until(Duration::from_millis(20)).await;
                memory.on_bytes(vec![Act::Reset]);
            };
            let served = live(&mut scene.line, ConnectionAct::Serve, 0);
            let ((), (), _) = tokio::join!(reads, aborts, served);
            read_out(&mut scene.line).await;
            told(&scene)
        });
        assert_eq!(fired_events(&what), fired, "{how:?}: {what:?}");
    }
}

fn answering_by(steps: Vec<WireStep>) -> Step {
    Step::new(WireProgram {
        steps,
        answer: None,
        ..WireProgram::default()
    })
}

fn told(scene: &Scene) -> Vec<What> {
    let events = scene.record.events().into_iter();
    events.map(|event| event.what).collect()
}
