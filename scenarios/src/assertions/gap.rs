//! `gap`: from the end of one attempt to the first byte of the next.

use std::time::Duration;

use super::{Assertion, Entry};
use crate::document::{Kind, Node};
use crate::expected::{Expected, Words, values};
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::judge::exchange::Exchange;
use crate::judge::time::{Bounded, bounded, micros};
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "gap",
    summary: "time from the end of one answer or failure to the first byte of the next attempt",
    example: "gap: { at_least: 1s, at_most: 2200ms }",
    findings: &[FindingName::EarlyRetry, FindingName::LateRetry],
    kind: || Kind::Either(vec![values::time(), Kind::word("by-policy")]).expected(),
    decode,
};

/// A range, or `by-policy`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    values::range_of_time(node, "`gap`", true, scope).map(Assertion::Gap)
}

/// The time between two attempts of a call at a server.
struct Wait<'a> {
    /// Which wait at this server, from 0.
    number: usize,
    time: Duration,
    /// As the end of the attempt before is known: at least and at most.
    shortest: Duration,
    longest: Duration,
    /// Whether `longest` is more than a guess.
    told: bool,
    before: &'a Exchange,
    after: &'a Exchange,
}

/// Every wait by itself: too short is an early retry, too long a late one.
/// Without a second attempt there is nothing to judge, which is fine if the
/// client promises none.
pub(super) fn judge(expected: &Expected<Duration>, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for call in case.calls_of(of) {
        let waits = waits(call, of);
        if waits.is_empty() {
            if case.prediction.promises_a_wait(call.id, of) && !call.stopped {
                out.doubt(format!(
                    "the client's policy promises another attempt of call {}, and none came",
                    call.id
                ));
            }
            continue;
        }
        for wait in &waits {
            one(expected, wait, call, case, &mut out);
        }
    }
    out
}

fn one(
    expected: &Expected<Duration>,
    wait: &Wait<'_>,
    call: &CallView<'_>,
    case: &Case<'_>,
    out: &mut Checked,
) {
    let server = &wait.before.place.server;
    match expected {
        Expected::Fits(range) => held(range, "", wait, call, case, out),
        Expected::Shown => {
            let number = wait.number + 1;
            let time = wait.time.words();
            out.note(format!(
                "gap {number} of call {} at {server}: {time}",
                call.id
            ));
        }
        Expected::ByPolicy => match case.prediction.wait(call.id, server, wait.number) {
            Ok(Some(range)) => {
                let words = range.words();
                let number = wait.number + 1;
                out.note(format!(
                    "by-policy, gap {number} of call {}: {words}",
                    call.id
                ));
                held(
                    &range,
                    ", by the client's declared policy",
                    wait,
                    call,
                    case,
                    out,
                );
            }
            // More attempts than promised: the counts say so.
            Ok(None) => {}
            Err(missing) => out.doubt(missing),
        },
    }
}

fn held(
    range: &Matcher<Duration>,
    by: &str,
    wait: &Wait<'_>,
    call: &CallView<'_>,
    case: &Case<'_>,
    out: &mut Checked,
) {
    // A client is early only if it is so however early the attempt was over, and
    // late only if it is so however late it was.
    // However early it began: the delay of other waits explains nothing here.
    let began = wait.after.began().at_us;
    let earliest = began.saturating_sub(micros(wait.longest));
    let delay = case.facts.client.run_delay.between(earliest, began);
    let (name, time) = match (
        bounded(range, wait.longest, delay),
        bounded(range, wait.shortest, delay),
    ) {
        (Bounded::TooShort, _) => (FindingName::EarlyRetry, wait.longest),
        (_, Bounded::TooLong) => (FindingName::LateRetry, wait.shortest),
        (_, Bounded::Doubtful(why)) => return out.doubt(why),
        (_, Bounded::TooShort) if !wait.told => {
            return out.doubt(format!(
                "the gap was between {} and {}: when the client ended the attempt is known \
                 only from when the server noticed it",
                wait.shortest.words(),
                wait.longest.words()
            ));
        }
        _ => return out.good(),
    };
    let over = wait.before.over().map(|mark| mark.n);
    out.wrong(Raised::new(
        name,
        format!("a gap of {} in call {}{by}", range.words(), call.id),
        format!("{} before attempt {}", time.words(), wait.after.attempt),
        over.into_iter().chain([wait.after.began().n]),
    ));
}

/// The waits of a call, server by server. A redirect that is followed is no new
/// attempt: the next request has another target, and there is nothing to wait
/// for.
fn waits<'a>(call: &CallView<'a>, of: &Of) -> Vec<Wait<'a>> {
    let mut waits = Vec::new();
    let mut servers: Vec<&str> = Vec::new();
    for exchange in &call.exchanges {
        if !servers.contains(&&*exchange.place.server) {
            servers.push(&exchange.place.server);
        }
    }
    for server in servers {
        let attempts = call.exchanges.iter();
        let attempts: Vec<&Exchange> = attempts
            .filter(|one| one.place.server == server && one.attempt > 0)
            .copied()
            .collect();
        let mut number = 0;
        for pair in attempts.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            if followed(before, after) {
                continue;
            }
            if let (Some(over), true) = (before.over_within(), after.is_of(of)) {
                let since =
                    |at_us| Duration::from_micros(after.began().at_us.saturating_sub(at_us));
                waits.push(Wait {
                    number,
                    time: since(over.mark.at_us),
                    shortest: since(over.latest_us),
                    longest: since(over.earliest_us),
                    told: over.told,
                    before,
                    after,
                });
            }
            number += 1;
        }
    }
    waits
}

fn followed(before: &Exchange, after: &Exchange) -> bool {
    let redirect = matches!(before.status(), Some(301 | 302 | 303 | 307 | 308));
    redirect && before.head().map(|head| head.target) != after.head().map(|head| head.target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ClientEvent;
    use crate::manifest::{ErrorKind, Manifest, PolicyRule, StatusRange, WaitRule};
    use crate::plan::Plan;
    use crate::testing::{Story, between, cut, manifest, plan, respond, server};
    use scripted_servers::event::{Ending, What};
    use scripted_servers::wire::End;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn case() -> Plan {
        plan([server("api").step(respond(503)).step(respond(200))]).call("GET", "api", "/x")
    }

    /// Answered at 10 ms, sent again at 510 ms.
    fn story() -> Story {
        Story::new()
            .request(5, "api", 1, "GET /x")
            .answer(10, ("api", 1, 1), 503, "")
            .on(510, ("api", 1, 2), "GET /x", &[])
            .answer(511, ("api", 1, 2), 200, "")
            .shows(520, 1, 200, "")
    }

    fn within(least: u64, most: u64) -> Assertion {
        Assertion::Gap(between(Some(ms(least)), Some(ms(most))))
    }

    #[test]
    fn it_is_the_time_from_the_end_of_the_answer_to_the_next_first_byte() {
        story().check(&case(), &within(500, 500)).assert_good();
        let early = story().check(&case(), &within(502, 600));
        assert_eq!(early.names(), [FindingName::EarlyRetry]);
        let late = story().check(&case(), &within(0, 499));
        assert_eq!(late.names(), [FindingName::LateRetry]);
        assert_eq!(late.raised[0].events.len(), 2);
    }

    #[test]
    fn after_a_failure_it_begins_with_the_end_of_the_connection() {
        let ends = |story: Story| {
            let story = story
                .request(510, "api", 2, "GET /x")
                .shows(520, 1, 200, "");
            story.check(&case(), &within(300, 300)).assert_good();
        };
        let sent = || Story::new().request(5, "api", 1, "GET /x");
        ends(sent().ended(210, ("api", 1, 1), Ending::Reset));
        let cut = sent().answering(100, ("api", 1, 1), 200, "hello", false);
        ends(cut.ended(210, ("api", 1, 0), Ending::Fin));
        let gone = What::PeerEnded {
            how: Ending::Fin,
            arrived_us: Some(210_000),
            alive_us: 0,
        };
        ends(sent().server(400, ("api", 1, 0), gone));
    }

    /// Hung from 5 ms on, left by the client at 210 ms, and sent again at 252 ms.
    fn left(how: Ending, noticed: u64, arrived_us: Option<u64>) -> Story {
        Story::new()
            .request(5, "api", 1, "GET /x")
            .server(
                noticed,
                ("api", 1, 0),
                What::PeerEnded {
                    how,
                    arrived_us,
                    alive_us: 0,
                },
            )
            .request(252, "api", 2, "GET /x")
            .shows(260, 1, 200, "")
    }

    #[test]
    fn a_server_that_notices_the_end_late_makes_no_client_early() {
        let fin = |noticed| left(Ending::Fin, noticed, Some(210_000));
        fin(240).check(&case(), &within(40, 50)).assert_good();
        let early = fin(240).check(&case(), &within(50, 60));
        assert_eq!(early.names(), [FindingName::EarlyRetry]);
        let late = fin(210).check(&case(), &within(0, 40));
        assert_eq!(late.names(), [FindingName::LateRetry]);

        let reset = left(Ending::Reset, 240, None);
        let doubtful = reset.check(&case(), &within(40, 50));
        doubtful.assert_nothing();
        assert_eq!(doubtful.doubts.len(), 1);
        reset.check(&case(), &within(10, 50)).assert_good();
        // However early it left, that was no wait of 300 ms.
        let early = reset.check(&case(), &within(300, 400));
        assert_eq!(early.names(), [FindingName::EarlyRetry]);
    }

    #[test]
    fn a_redirect_that_is_followed_is_no_wait() {
        let story = Story::new()
            .request(5, "api", 1, "GET /x")
            .answer(6, ("api", 1, 1), 302, "")
            .on(7, ("api", 1, 2), "GET /y", &[])
            .answer(8, ("api", 1, 2), 200, "")
            .shows(9, 1, 200, "");
        story.check(&case(), &within(500, 600)).assert_nothing();
    }

    #[test]
    fn a_late_one_that_load_explains_is_a_doubt_and_an_early_one_never() {
        let story = story().client(530, ClientEvent::RunDelay { micros: 400_000 });
        assert_eq!(story.check(&case(), &within(0, 200)).doubts.len(), 1);
        let early = story.check(&case(), &within(600, 700));
        assert_eq!(early.names(), [FindingName::EarlyRetry]);
    }

    /// Two calls with a wait of 500 ms each; the client was kept from running for
    /// 400 ms by the time of one of its reports.
    #[test]
    fn the_delay_of_another_call_explains_no_late_one() {
        let case = case().call("GET", "api", "/y");
        let kept = |first: u64, second: u64| {
            let story = story().client(521, ClientEvent::RunDelay { micros: first });
            let story = story
                .on(530, ("api", 1, 3), "GET /y", &[])
                .answer(540, ("api", 1, 3), 503, "")
                .on(1040, ("api", 1, 4), "GET /y", &[])
                .answer(1041, ("api", 1, 4), 200, "")
                .shows(1050, 2, 200, "")
                .client(1051, ClientEvent::RunDelay { micros: second });
            let of = |call| Of {
                call: Some(call),
                ..Of::default()
            };
            let check = |call| story.check_of(&case, &within(0, 200), &of(call));
            (check(1), check(2))
        };
        let late = [FindingName::LateRetry];
        let (first, second) = kept(400_000, 400_000);
        assert_eq!((first.doubts.len(), second.doubts.len()), (1, 0));
        assert_eq!(second.names(), late);
        let (first, second) = kept(0, 400_000);
        assert_eq!((first.doubts.len(), second.doubts.len()), (0, 1));
        assert_eq!(first.names(), late);
    }

    fn promises(wait: WaitRule) -> Manifest {
        let mut manifest = manifest();
        manifest.policy.rules = vec![PolicyRule {
            status: vec![StatusRange { from: 503, to: 503 }],
            error: vec![ErrorKind::Reset],
            attempts: 2,
            wait,
            ..PolicyRule::default()
        }];
        manifest
    }

    fn waits(least: u64, most: u64) -> WaitRule {
        WaitRule {
            at_least: vec![ms(least)],
            at_most: vec![ms(most)],
            retry_after: false,
        }
    }

    fn by_policy(story: &Story, case: &Plan, wait: WaitRule) -> Checked {
        let gap = Assertion::Gap(Expected::ByPolicy);
        story.check_with(case, &promises(wait), &gap, &Of::default())
    }

    #[test]
    fn by_policy_is_the_wait_that_the_client_promises() {
        by_policy(&story(), &case(), waits(400, 500)).assert_good();
        let early = by_policy(&story(), &case(), waits(600, 700));
        assert_eq!(early.names(), [FindingName::EarlyRetry]);
        let late = by_policy(&story(), &case(), waits(0, 200));
        assert_eq!(late.names(), [FindingName::LateRetry]);
        let undocumented = by_policy(&story(), &case(), WaitRule::default());
        undocumented.assert_nothing();
        assert_eq!(undocumented.doubts.len(), 1);
    }

    #[test]
    fn without_a_second_attempt_the_policy_says_whether_one_is_missing() {
        let alone = Story::new()
            .request(5, "api", 1, "GET /x")
            .answer(6, ("api", 1, 1), 503, "")
            .shows(9, 1, 503, "");
        let missing = by_policy(&alone, &case(), waits(0, 100));
        missing.assert_nothing();
        assert_eq!(missing.doubts.len(), 1);
        let plain = plan([server("api").step(respond(200))]).call("GET", "api", "/x");
        let fine = by_policy(&alone, &plain, waits(0, 100));
        fine.assert_nothing();
        assert_eq!(fine.doubts.len(), 0);
    }

    #[test]
    fn a_policy_that_sends_again_after_a_reset_promises_a_wait() {
        let case = plan([server("api").step(cut(End::Reset)).step(respond(200))]);
        let case = case.call("GET", "api", "/x");
        let story = Story::new()
            .request(5, "api", 1, "GET /x")
            .ended(10, ("api", 1, 1), Ending::Reset)
            .request(60, "api", 2, "GET /x")
            .shows(70, 1, 200, "");
        by_policy(&story, &case, waits(40, 100)).assert_good();
    }
}
