//! What holds of the judge whatever happened.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use scripted_servers::event::{Ending, What};
use scripted_servers::wire::End;

use super::judge;
use crate::assertions::Assertion;
use crate::assertions::body::BodyExpected;
use crate::assertions::error::{ErrorExpected, Kept};
use crate::assertions::header::{Field, HeaderExpected};
use crate::counter::Counter;
use crate::evidence::{Entry, Event};
use crate::expected::Expected;
use crate::manifest::{ErrorKind, Manifest, PolicyRule, WaitRule};
use crate::plan::Plan;
use crate::testing::{
    Story, between, count, cut, delivered, effect, exactly, manifest, of_call, plan, respond,
    server,
};
use crate::verdict::{CellVerdict, EndedBy, Level, Outcome, Verdict};

/// A case with two servers, two calls, and every assertion but `connections`,
/// which is about connections and nothing else.
fn case() -> Plan {
    let api = server("api")
        .step(cut(End::Reset).applies("order").required())
        .step(respond(200).applies("order"));
    let key = |is| {
        Assertion::Header(HeaderExpected {
            counter: Counter::server("api"),
            name: "Idempotency-Key".to_owned(),
            is: Some(is),
        })
    };
    let error = ErrorExpected {
        keeps: vec![Kept::Code],
        ..ErrorExpected::default()
    };
    let range = || {
        between(
            Some(Duration::from_millis(5)),
            Some(Duration::from_millis(60)),
        )
    };
    let plan = plan([api, server("other").step(respond(200))])
        .call("POST", "api", "/one")
        .call("GET", "other", "/two")
        .must(delivered("api", 2))
        .must(Assertion::Delivered(vec![count("api", Expected::ByPolicy)]))
        .must(Assertion::Started(vec![count(
            "other",
            between(Some(1), None),
        )]))
        .must(Assertion::Applied(vec![effect("order", exactly(1))]))
        .must(Assertion::PerKey(vec![effect("order", exactly(1))]))
        .must(Assertion::Outcome(exactly(Outcome::Success)))
        .must(Assertion::Honest)
        .must(Assertion::Error(error))
        .must(Assertion::Status(exactly(200)))
        .must(Assertion::Body(BodyExpected::Whole))
        .must(Assertion::Elapsed(range()))
        .must(Assertion::Gap(range()))
        .must(key(Field::Same))
        .expects(Level::Should, key(Field::Distinct))
        .must(Assertion::Order(vec![
            Counter::server("api"),
            Counter::server("other"),
        ]));
    let mut plan = plan;
    plan.expect[0].of = of_call(1);
    plan
}

fn client() -> Manifest {
    let mut manifest = manifest();
    manifest.policy.rules = vec![PolicyRule {
        error: vec![ErrorKind::Reset],
        attempts: 2,
        wait: WaitRule {
            at_most: vec![Duration::from_millis(20)],
            ..WaitRule::default()
        },
        ..PolicyRule::default()
    }];
    manifest
}

/// One request and what becomes of it.
#[derive(Clone, Debug)]
struct Sent {
    at: u64,
    api: bool,
    path: u8,
    mark: Option<u32>,
    key: Option<u8>,
    complete: u8,
    effect: Option<u8>,
    status: Option<u16>,
    whole: bool,
    ended: Option<(u64, bool)>,
}

fn sent() -> impl Strategy<Value = Sent> {
    let request = (
        0_u64..100,
        any::<bool>(),
        0_u8..3,
        prop::option::of(1_u32..4),
        prop::option::of(0_u8..2),
        0_u8..8,
    );
    let answer = (
        prop::option::of(0_u8..3),
        prop::option::of(prop::sample::select(vec![200_u16, 302, 404, 503])),
        any::<bool>(),
        prop::option::of((0_u64..30, any::<bool>())),
    );
    (request, answer).prop_map(
        |((at, api, path, mark, key, complete), (effect, status, whole, ended))| Sent {
            at,
            api,
            path,
            mark,
            key,
            complete,
            effect,
            status,
            whole,
            ended,
        },
    )
}

fn tell(story: Story, number: usize, sent: &Sent) -> Story {
    let server = if sent.api { "api" } else { "other" };
    let connection = u32::try_from(number).unwrap_or(0) + 1;
    let at = (server, connection, 1);
    let line = ["POST /one", "GET /two", "POST /else"][usize::from(sent.path)];
    let mark = sent.mark.map(|mark| mark.to_string());
    let key = sent.key.map(|key| key.to_string());
    let mark = mark.iter().map(|mark| ("Wirefault-Call", mark.as_str()));
    let key = key.iter().map(|key| ("Idempotency-Key", key.as_str()));
    let headers: Vec<_> = mark.chain(key).collect();
    let mut story = story.accepted(sent.at, server, connection);
    story = match sent.complete {
        0 => story.head(sent.at, at, line, &headers, Some(0)),
        1 => story.head(sent.at, at, line, &headers, None),
        2 => story.drained(sent.at, at, line),
        _ => story.on(sent.at, at, line, &headers),
    };
    if let Some(effect) = sent.effect {
        let key = ["A", "B", ""][usize::from(effect)];
        let key = Some(key).filter(|key| !key.is_empty());
        story = story.effect(sent.at + 1, at, "order", key);
    }
    if let Some(status) = sent.status {
        story = if sent.whole {
            story.answer(sent.at + 2, at, status, "ok")
        } else {
            story.answering(sent.at + 2, at, status, "ok", false)
        };
    }
    match sent.ended {
        Some((later, true)) => story.ended(sent.at + later, at, Ending::Reset),
        Some((later, false)) => {
            let how = Ending::Fin;
            let arrived_us = Some((sent.at + later) * 1000);
            story.server(
                120,
                (server, connection, 0),
                What::PeerEnded {
                    how,
                    arrived_us,
                    alive_us: 0,
                },
            )
        }
        None => story,
    }
}

fn evidence() -> impl Strategy<Value = Vec<Entry>> {
    let ends = prop::sample::select(vec![
        EndedBy::Exit,
        EndedBy::Finish,
        EndedBy::Deadline,
        EndedBy::Cap,
        EndedBy::Enough,
    ]);
    let report = || prop::option::of((0_u64..100, 0_u8..4));
    let requests = prop::collection::vec(sent(), 0..7);
    (requests, report(), report(), any::<bool>(), ends).prop_map(
        |(requests, first, second, fired, ended_by)| {
            let mut story = Story::new();
            for (number, sent) in requests.iter().enumerate() {
                story = tell(story, number, sent);
            }
            for (call, report) in [(1, first), (2, second)] {
                if let Some((at, shown)) = report {
                    story = match shown {
                        0 => story.shows(at, call, 200, "ok"),
                        1 => story.shows(at, call, 503, ""),
                        2 => story.fails(at, call, "ECONNREFUSED"),
                        _ => story.fails(at, call, "ECONNRESET"),
                    };
                }
            }
            if fired {
                story = story.fired(50, "api", 0);
            }
            story.end(200, ended_by).entries
        },
    )
}

/// The verdict with the numbers of entries as they were before they changed.
fn with_numbers(mut cell: CellVerdict, before: &BTreeMap<u64, u64>) -> CellVerdict {
    for finding in &mut cell.findings {
        for n in &mut finding.events {
            *n = before[n];
        }
        finding.events.sort_unstable();
    }
    cell
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_order_in_which_events_were_written_changes_nothing(
        (entries, shuffled) in evidence().prop_flat_map(|entries| {
            let shuffled = Just(entries.clone()).prop_shuffle();
            (Just(entries), shuffled)
        })
    ) {
        let mut numbers = BTreeMap::new();
        let renumbered: Vec<Entry> = shuffled
            .into_iter()
            .zip(1..)
            .map(|(entry, n)| {
                numbers.insert(n, entry.n);
                Entry { n, ..entry }
            })
            .collect();
        let one = judge(&case(), &client(), &entries);
        let other = judge(&case(), &client(), &renumbered);
        prop_assert_eq!(one, with_numbers(other, &numbers));
    }

    #[test]
    fn an_unrelated_connection_never_turns_a_failure_into_a_pass(
        entries in evidence(),
        at in 0_u64..200,
        api in any::<bool>(),
    ) {
        let before = judge(&case(), &client(), &entries);
        let place = (if api { "api" } else { "other" }, 99, 0);
        let story = Story { entries }
            .accepted(at, place.0, place.1)
            .server(at, place, What::PeerEnded { how: Ending::Fin, arrived_us: None, alive_us: 0 })
            .server(at, place, What::Closed { received: 0, sent: 0, taken: None });
        let after = judge(&case(), &client(), &story.entries);
        prop_assert!(
            before.verdict == Verdict::Pass || after.verdict != Verdict::Pass,
            "{:?} became {:?}", before, after
        );
        if before.verdict == Verdict::Fail {
            let names = |cell: &CellVerdict| {
                cell.findings.iter().map(|one| one.name).collect::<Vec<_>>()
            };
            prop_assert_eq!(names(&before), names(&after));
        }
    }

    #[test]
    fn evidence_plan_and_verdict_survive_writing_and_reading(entries in evidence()) {
        for entry in &entries {
            let line = serde_json::to_string(entry).unwrap();
            prop_assert!(!line.contains('\n'), "one entry is one line");
            prop_assert_eq!(&serde_json::from_str::<Entry>(&line).unwrap(), entry);
        }
        let plan = case();
        let text = serde_json::to_string(&plan).unwrap();
        let read: Plan = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &plan);
        let cell = judge(&read, &client(), &entries);
        let text = serde_json::to_string(&cell).unwrap();
        prop_assert_eq!(serde_json::from_str::<CellVerdict>(&text).unwrap(), cell);
    }

    /// A pass says that every must looked at something or had nothing to look
    /// at, that the fault happened, and that nothing is wrong.
    #[test]
    fn a_pass_has_no_must_finding_and_its_fault_fired(entries in evidence()) {
        let cell = judge(&case(), &client(), &entries);
        let fired = entries.iter().any(|entry| match &entry.event {
            Event::Server(event) => matches!(event.what, What::Fired { .. }),
            Event::Client(_) => false,
        });
        let musts = cell.findings.iter().filter(|one| one.level == Level::Must).count();
        prop_assert_eq!(cell.verdict, cell.conformance.max(cell.safety));
        if cell.verdict == Verdict::Pass {
            prop_assert!(fired);
            prop_assert_eq!(musts, 0);
        }
        if cell.verdict == Verdict::Fail {
            prop_assert!(musts > 0);
        }
        if !matches!(cell.verdict, Verdict::Pass | Verdict::Fail) {
            prop_assert!(cell.reason.is_some());
        }
        for finding in &cell.findings {
            prop_assert!(!finding.expected.is_empty() && !finding.observed.is_empty());
            prop_assert!(finding.events.iter().all(|n| entries.iter().any(|one| one.n == *n)));
        }
    }

    /// Of a client that keeps to a single attempt and tells the truth nothing
    /// is ever said but what the case asks for.
    #[test]
    fn an_honest_single_attempt_is_never_a_lie(
        status in prop::sample::select(vec![200_u16, 204, 404, 429, 503]),
        body in "[a-z]{0,20}",
        dies in any::<bool>(),
    ) {
        let plan = plan([server("api").step(respond(status).required())])
            .call("POST", "api", "/one")
            .must(Assertion::Honest)
            .must(delivered("api", 1));
        let at = ("api", 1, 1);
        let story = Story::new().request(5, "api", 1, "POST /one").took(5, at, 0).fired(7, "api", 0);
        let story = if dies {
            story.answering(6, at, status, &body, false).fails(9, 1, "ECONNRESET")
        } else {
            story.answer(6, at, status, &body).shows(9, 1, status, &body)
        };
        let cell = story.exit(10, 0).judge(&plan);
        prop_assert_eq!(cell.verdict, Verdict::Pass, "{:?}", cell);
    }
}

#[test]
fn the_case_of_the_properties_can_pass_and_fail() {
    let at = |connection| ("api", connection, 1);
    let key = [("Wirefault-Call", "1"), ("Idempotency-Key", "1")];
    let other = [("Wirefault-Call", "2")];
    let mut plan = case();
    // These two ask for what the rest can not give at the same time.
    plan.expect
        .retain(|one| !matches!(&one.assertion, Assertion::Order(_) | Assertion::Header(_)));
    let story = Story::new()
        .on(5, at(1), "POST /one", &key)
        .took(5, at(1), 0)
        .fired(6, "api", 0)
        .ended(7, at(1), Ending::Reset)
        .on(17, at(2), "POST /one", &key)
        .took(17, at(2), 1)
        .effect(18, at(2), "order", None)
        .answer(19, at(2), 200, "ok")
        .shows(20, 1, 200, "ok")
        .on(30, ("other", 1, 1), "GET /two", &other)
        .took(30, ("other", 1, 1), 0)
        .answer(31, ("other", 1, 1), 200, "")
        .shows(40, 2, 200, "");
    let passes = judge(&plan, &client(), &story.clone().exit(41, 0).entries);
    assert_eq!(passes.verdict, Verdict::Pass, "{passes:?}");
    let late = story.on(45, at(3), "POST /one", &key).exit(50, 0);
    assert_eq!(
        judge(&plan, &client(), &late.entries).verdict,
        Verdict::Fail
    );
}
