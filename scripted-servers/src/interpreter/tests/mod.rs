//! Properties of all wire programs, on a transport in memory and a clock that
//! jumps.

mod memory;

use std::future::Future;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use proptest::prelude::*;

use crate::clock::Clock;
use crate::connection::{Connection, drain, read_out};
use crate::event::{ServerEvent, What};
use crate::ledger;
use crate::record::Record;
use crate::script::{ConnectionAct, ServerScript, Step};
use crate::serve::live;
use crate::state::{Cell, Server};
use crate::wire::{Bytes, Effect, End, IdleEnd, Position, RequestPoint, WireProgram, WireStep};
use memory::{Act, Jumping, Memory};

const REQUEST: &[u8] = b"POST /orders/7 HTTP/1.1\r\nHost: api\r\nContent-Length: 40\r\n\r\n\
    0123456789012345678901234567890123456789";
/// No stated wait of a generated program is longer.
const LONGEST_WAIT: u64 = 500;
/// A cell ends after this, in jumped time.
const DEADLINE: Duration = Duration::from_secs(30);

/// What came of one program against one peer.
struct Outcome {
    written: Vec<u8>,
    ended_by_server: bool,
    /// When the connection was over by itself; none: the cell had to end it.
    over_at: Option<Duration>,
    events: Vec<What>,
}

/// A cell with one server, and one connection to it.
struct Scene {
    record: Arc<ledger::Memory>,
    clock: Arc<Jumping>,
    cell: Arc<Cell>,
    memory: Memory,
    line: Connection<Memory>,
}

fn scene(step: Step) -> Scene {
    let (record, clock) = (ledger::Memory::new(), Jumping::start());
    let cell = Arc::new(Cell::new(clock.clone(), record.clone()));
    let script = ServerScript::new("api").script(vec![step]);
    let server = Arc::new(Server::new(cell.clone(), script));
    let memory = Memory::default();
    Scene {
        line: Connection::new(memory.clone(), server, 1),
        record,
        clock,
        cell,
        memory,
    }
}

fn in_jumping_time<R>(future: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

fn play(steps: Vec<WireStep>, inside_head: bool, acts: Vec<(u64, Act)>) -> Outcome {
    let program = WireProgram {
        steps,
        answer: None,
        ..WireProgram::default()
    };
    let step = Step {
        inside_head,
        ..Step::new(program)
    };
    in_jumping_time(async {
        let Scene {
            record,
            clock,
            cell,
            memory,
            mut line,
        } = scene(step);
        tokio::spawn(memory.clone().play(REQUEST.to_vec(), acts));
        let over = tokio::select! {
            () = live(&mut line, ConnectionAct::Serve, 0) => true,
            _busy = clock.sleep_until(DEADLINE) => false,
        };
        let over_at = over.then(|| clock.now());
        if over {
            read_out(&mut line).await;
        } else {
            let before = clock.now();
            cell.set_over(before);
            drain(&mut line, ConnectionAct::Serve).await;
            assert!(
                clock.now() - before < Duration::from_secs(2),
                "draining took long"
            );
        }
        let events = record
            .events()
            .into_iter()
            .map(|event| event.what)
            .collect();
        Outcome {
            written: memory.written(),
            ended_by_server: memory.is_ended(),
            over_at,
            events,
        }
    })
}

/// All that a program states it sends, as far as `length`; a date is not told
/// byte by byte.
fn stated(steps: &[WireStep], length: usize) -> Vec<Option<u8>> {
    let mut all = Vec::new();
    let told = |bytes: &[u8]| bytes.iter().copied().map(Some).collect::<Vec<_>>();
    for step in steps {
        match step {
            WireStep::Send(bytes) | WireStep::Drip { bytes, .. } => all.extend(told(bytes)),
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

fn any_wire_step() -> impl Strategy<Value = WireStep> {
    let every = (3_u64..50).prop_map(Duration::from_millis);
    prop_oneof![
        any_point().prop_map(WireStep::ReadUntil),
        any_wait().prop_map(WireStep::Wait),
        Just(WireStep::Effect(Effect {
            name: "order".into(),
            key: None
        })),
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

fn any_program() -> impl Strategy<Value = Vec<WireStep>> {
    let steps = proptest::collection::vec(any_wire_step(), 0..6);
    (steps, any_last_step()).prop_map(|(mut steps, last)| {
        steps.push(last);
        steps
    })
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

fn fired_events(events: &[What]) -> usize {
    events
        .iter()
        .filter(|what| matches!(what, What::Fired { .. }))
        .count()
}

fn fired_steps(steps: &[WireStep]) -> usize {
    steps
        .iter()
        .filter(|step| matches!(step, WireStep::Fired(_)))
        .count()
}

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
        assert!(!has(|what| matches!(
            what,
            What::Effect { .. } | What::Ended { .. } | What::Fired { .. }
        )));
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
    for (steps, fired) in [
        (answer(true), 1),
        (answer(false), 0),
        ([answer(false), then_close].concat(), 0),
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
    let idle = |how| WireStep::EndWhenIdle(Duration::from_millis(1), how);
    let programs = [
        vec![fired(), WireStep::End(End::Hang)],
        vec![fired(), WireStep::End(End::Reset)],
        vec![fired(), WireStep::End(End::Close)],
        vec![fired(), WireStep::End(End::HalfClose)],
        vec![send(), WireStep::AwaitTaken, fired()],
        vec![send(), fired(), WireStep::End(End::Reset)],
        vec![send(), fired(), idle(IdleEnd::Reset)],
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
        prop_assert_eq!(fired_events(&outcome.events), fired_steps(&steps));
        let delivered = outcome.events.iter().filter(|what| matches!(what, What::Delivered { drained: false, .. }));
        prop_assert_eq!(delivered.count(), 1);
    }
}
