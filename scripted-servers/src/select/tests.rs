use proptest::prelude::*;

use super::*;
use crate::route::path_of;
use crate::script::{PathPattern, Route};
use crate::wire::WireProgram;

fn queue(method: Option<&str>, path: PathPattern) -> Queue {
    Queue {
        route: Route {
            method: method.map(str::to_owned),
            path,
        },
        steps: Vec::new(),
    }
}

fn exact(path: &str) -> PathPattern {
    PathPattern::Exact(path.into())
}

fn prefix(path: &str) -> PathPattern {
    PathPattern::Prefix(path.into())
}

fn step(times: Times) -> Step {
    Step {
        when: When::default(),
        times,
        inside_head: false,
        program: WireProgram::default(),
        through: None,
    }
}

fn facts(head: Option<&Head>) -> Facts<'_> {
    Facts {
        reused: false,
        since_first: Duration::ZERO,
        head,
        content: None,
    }
}

#[test]
fn the_longest_path_wins_and_then_the_one_with_a_method() {
    let queues = [
        queue(None, prefix("/jobs/")),
        queue(None, exact("/jobs/1")),
        queue(Some("POST"), exact("/jobs/1")),
        queue(Some("POST"), exact("/other")),
        queue(None, PathPattern::Any),
    ];
    assert_eq!(route(&queues, "POST", "/jobs/1"), Some(2));
    assert_eq!(route(&queues, "GET", "/jobs/1?q=/other"), Some(1));
    assert_eq!(route(&queues, "GET", "/jobs/2"), Some(0));
    assert_eq!(route(&queues, "GET", "/other"), Some(4));
    assert_eq!(route(&queues[..4], "GET", "/other"), None);
    assert_eq!(route(&queues[..4], "OPTIONS", "*"), None);
    assert_eq!(route(&queues, "POST", "http://h:1/jobs/1?x"), Some(2));
}

#[test]
fn a_target_is_reduced_to_its_path() {
    assert_eq!(path_of("/a?b=http://c/d"), "/a");
    assert_eq!(path_of("http://host:80"), "/");
    assert_eq!(path_of("http://host:80?x"), "/");
    assert_eq!(path_of("http://host/a/b?x"), "/a/b");
    assert_eq!(path_of("*"), "*");
    assert_eq!(path_of("host:443"), "host:443");
}

#[test]
fn steps_take_their_turns_and_the_last_repeats() {
    let steps = [step(Times::Count(2)), step(Times::Count(1))];
    let mut taken = [0, 0];
    let mut order = Vec::new();
    let head = Head::default();
    for _ in 0..5 {
        let Due::Step(place) = due(&steps, &taken, &facts(Some(&head))) else {
            panic!("no step is due");
        };
        taken[place] += 1;
        order.push(place);
    }
    assert_eq!(order, [0, 0, 1, 1, 1]);
}

#[test]
fn a_step_that_does_not_fit_keeps_its_turn() {
    let mut reused = step(Times::Count(1));
    reused.when.connection = Some(ConnectionUse::Reused);
    let steps = [reused, step(Times::Count(1))];
    let head = Head::default();
    let fresh = facts(Some(&head));
    let warm = Facts {
        reused: true,
        ..facts(Some(&head))
    };
    assert_eq!(due(&steps, &[0, 0], &fresh), Due::Step(1));
    assert_eq!(due(&steps, &[0, 1], &warm), Due::Step(0));
    assert_eq!(
        due(&steps, &[1, 1], &warm),
        Due::Step(1),
        "the last fitting one"
    );
    assert_eq!(due(&steps[..1], &[0], &fresh), Due::Nothing);
}

#[test]
fn every_guard_is_asked() {
    let head = Head {
        method: "PUT".into(),
        headers: vec![
            ("Expect".into(), "100-continue".into()),
            ("a".into(), "1".into()),
            ("A".into(), "2".into()),
        ],
        ..Head::default()
    };
    let content = serde_json::json!({"a": {"b": [1, "x"]}});
    let facts = Facts {
        reused: true,
        since_first: Duration::from_secs(5),
        head: Some(&head),
        content: Some(&content),
    };
    let header = |name: &str, test| When {
        header: Some((name.into(), test)),
        ..When::default()
    };
    let cases = [
        (When::default(), true),
        (
            When {
                method: Some("PUT".into()),
                ..When::default()
            },
            true,
        ),
        (
            When {
                method: Some("put".into()),
                ..When::default()
            },
            false,
        ),
        (header("expect", FieldTest::Present), true),
        (header("expect", FieldTest::Absent), false),
        (header("x", FieldTest::Absent), true),
        (header("A", FieldTest::Equals("2".into())), true),
        (header("A", FieldTest::Equals("3".into())), false),
        (
            When {
                json: Some(("/a/b/1".into(), "x".into())),
                ..When::default()
            },
            true,
        ),
        (
            When {
                json: Some(("/a/b/1".into(), 1.into())),
                ..When::default()
            },
            false,
        ),
        (
            When {
                json: Some(("/z".into(), serde_json::Value::Null)),
                ..When::default()
            },
            false,
        ),
        (
            When {
                since: Some(Duration::from_secs(5)),
                ..When::default()
            },
            true,
        ),
        (
            When {
                since: Some(Duration::from_secs(6)),
                ..When::default()
            },
            false,
        ),
        (
            When {
                until: Some(Duration::from_secs(6)),
                ..When::default()
            },
            true,
        ),
        (
            When {
                until: Some(Duration::from_secs(5)),
                ..When::default()
            },
            false,
        ),
        (
            When {
                connection: Some(ConnectionUse::Fresh),
                ..When::default()
            },
            false,
        ),
    ];
    for (when, expected) in cases {
        assert_eq!(fits(&when, &facts), expected, "{when:?}");
    }
}

#[test]
fn only_a_step_inside_the_head_is_taken_at_the_first_byte() {
    let inside = Step {
        inside_head: true,
        ..step(Times::Count(1))
    };
    let mut guarded = step(Times::Count(1));
    guarded.when.method = Some("POST".into());
    let plain = step(Times::Count(1));
    let first_byte = facts(None);
    let steps = [inside.clone(), plain.clone()];
    assert_eq!(due(&steps, &[0, 0], &first_byte), Due::Step(0));
    assert_eq!(due(&steps, &[1, 0], &first_byte), Due::WithHead);
    assert_eq!(
        due(&[guarded, inside.clone()], &[0, 0], &first_byte),
        Due::WithHead
    );
    assert_eq!(
        due(&[plain, inside], &[1, 1], &first_byte),
        Due::Step(1),
        "it repeats"
    );
}

fn any_when() -> impl Strategy<Value = When> {
    let connection = proptest::option::of(prop_oneof![
        Just(ConnectionUse::Fresh),
        Just(ConnectionUse::Reused)
    ]);
    let method = proptest::option::of(prop_oneof![Just("GET".to_owned()), Just("POST".to_owned())]);
    let seconds = || proptest::option::of((0_u64..4).prop_map(Duration::from_secs));
    (connection, method, seconds(), seconds()).prop_map(|(connection, method, since, until)| When {
        connection,
        method,
        since,
        until,
        ..When::default()
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let times = prop_oneof![Just(Times::Always), (1_u32..4).prop_map(Times::Count)];
    (any_when(), times, any::<bool>()).prop_map(|(when, times, inside_head)| Step {
        when,
        times,
        inside_head,
        program: WireProgram::default(),
        through: None,
    })
}

proptest! {
    #[test]
    fn a_choice_fits_and_nothing_better_was_passed_over(
        steps in proptest::collection::vec(any_step(), 0..6),
        taken in proptest::collection::vec(0_u32..5, 6),
        reused in any::<bool>(),
        seconds in 0_u64..4,
        post in any::<bool>(),
    ) {
        let head = Head { method: if post { "POST" } else { "GET" }.into(), ..Head::default() };
        let facts = Facts {
            reused,
            since_first: Duration::from_secs(seconds),
            head: Some(&head),
            content: None,
        };
        let left = |place: usize| match steps[place].times {
            Times::Always => true,
            Times::Count(times) => taken[place] < times,
        };
        let fitting: Vec<usize> = (0..steps.len()).filter(|place| fits(&steps[*place].when, &facts)).collect();
        let expected = fitting.iter().find(|place| left(**place)).or(fitting.last());
        let expected = expected.map_or(Due::Nothing, |place| Due::Step(*place));
        prop_assert_eq!(due(&steps, &taken, &facts), expected);
    }

    #[test]
    fn what_is_chosen_at_the_first_byte_is_what_the_whole_head_would_choose(
        steps in proptest::collection::vec(any_step(), 0..6),
        taken in proptest::collection::vec(0_u32..5, 6),
        reused in any::<bool>(),
        post in any::<bool>(),
    ) {
        let head = Head { method: if post { "POST" } else { "GET" }.into(), ..Head::default() };
        let at_first_byte = Facts { reused, since_first: Duration::ZERO, head: None, content: None };
        let with_head = Facts { head: Some(&head), reused, since_first: Duration::ZERO, content: None };
        match due(&steps, &taken, &at_first_byte) {
            Due::Step(place) => {
                prop_assert!(steps[place].inside_head);
                prop_assert_eq!(due(&steps, &taken, &with_head), Due::Step(place));
            }
            Due::Nothing => prop_assert_eq!(due(&steps, &taken, &with_head), Due::Nothing),
            Due::WithHead => {}
        }
    }

    #[test]
    fn a_route_is_found_exactly_when_one_fits(
        patterns in proptest::collection::vec((proptest::option::of(prop_oneof![Just("GET"), Just("POST")]), 0_usize..4, any::<bool>()), 0..6),
        place in 0_usize..4,
    ) {
        const PATHS: [&str; 4] = ["/", "/a/", "/a/b", "/c"];
        let queues: Vec<Queue> = patterns
            .iter()
            .map(|(method, path, is_exact)| {
                let path = PATHS[*path];
                queue(*method, if *is_exact { exact(path) } else { prefix(path) })
            })
            .collect();
        let path = PATHS[place];
        let takes = |queue: &Queue| {
            queue.route.method.as_deref().is_none_or(|method| method == "GET")
                && queue.route.path.closeness(path).is_some()
        };
        let chosen = route(&queues, "GET", path);
        prop_assert_eq!(chosen.is_some(), queues.iter().any(takes));
        if let Some(chosen) = chosen {
            prop_assert!(takes(&queues[chosen]));
            let best = queues[chosen].route.path.closeness(path);
            for queue in queues.iter().filter(|queue| takes(queue)) {
                prop_assert!(queue.route.path.closeness(path) <= best);
            }
        }
    }
}
