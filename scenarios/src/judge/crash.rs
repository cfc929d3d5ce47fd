//! Whether the client was killed at its moment, with a call open, and came again.
//!
//! A client that was killed late, or not at all, proves nothing about how it resumes.

use std::time::Duration;

use super::cancel::LATEST;
use super::case::Case;
use super::moment;
use crate::expected::Words;
use crate::plan::Crash;

/// Why the crash of this case proves nothing; none when it came about, or when the case
/// has none.
pub(super) fn not_made(case: &Case<'_>) -> Option<String> {
    let crash = case.plan.crash.as_ref()?;
    let why = why(crash, case)?;
    Some(format!("line {}: `crash`: {why}", crash.line))
}

fn why(crash: &Crash, case: &Case<'_>) -> Option<String> {
    let client = &case.facts.client;
    let Some(moment) = moment::at(&crash.when, None, case) else {
        return Some("its moment never came".to_owned());
    };
    let (Some(ordered), Some(crashed)) = (client.crash_ordered, client.crashed) else {
        return Some("the client had ended before it could be killed".to_owned());
    };
    let reported = |id: u32| {
        let report = client.reports.get(&id);
        report.is_some_and(|(mark, _)| mark.at_us <= crashed.mark.at_us)
    };
    if case.calls.iter().all(|call| reported(call.id)) {
        return Some("every call had reported when the client was killed".to_owned());
    }
    // The end says when it came about, the order that it was not of the client's doing.
    let due = moment.mark.at_us;
    if ordered.at_us < due {
        return Some("the client was killed before the moment".to_owned());
    }
    let late = Duration::from_micros(crashed.mark.at_us.saturating_sub(due));
    if late > LATEST {
        return Some(format!("the client was killed {} late", late.words()));
    }
    let gone = client.restarted.is_none();
    gone.then(|| "the client was not started again".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assertions::Assertion;
    use crate::evidence::ClientEvent;
    use crate::moment::Moment;
    use crate::plan::Plan;
    use crate::testing::{Story, delivered, effect, exactly, plan, respond, server};
    use crate::verdict::{FindingName, Outcome, Verdict};

    fn case() -> Plan {
        let mut plan = plan([server("api").step(respond(200).applies("row"))])
            .call("POST", "api", "/1")
            .call("POST", "api", "/2")
            .must(Assertion::Outcome(exactly(Outcome::Success)));
        plan.crash = Some(Crash {
            line: 9,
            when: Moment::Delivered {
                server: "api".to_owned(),
                count: 2,
            },
            restart_after: Duration::from_millis(100),
            withheld: false,
        });
        plan
    }

    fn spawned() -> ClientEvent {
        ClientEvent::Spawned {
            pid: 7,
            args: Vec::new(),
        }
    }

    fn killed() -> ClientEvent {
        ClientEvent::Exited {
            code: None,
            signal: Some(9),
            killed: true,
        }
    }

    fn sends(story: Story, at: u64, connection: u32, line: &str) -> Story {
        let place = ("api", connection, 1);
        let story = story.request(at, "api", connection, line);
        story
            .effect(at, place, "row", None)
            .answer(at, place, 200, "")
    }

    /// The first call is through, the second is under way at 20 ms.
    fn first_life() -> Story {
        let story = sends(Story::default().client(0, spawned()), 5, 1, "POST /1");
        sends(story.shows(6, 1, 200, ""), 20, 2, "POST /2")
    }

    fn crashed(at: u64) -> Story {
        let story = first_life().client(at, ClientEvent::CrashOrdered);
        story.client(at + 1, killed())
    }

    fn again(story: Story) -> Story {
        story.client(150, spawned())
    }

    fn verdict(story: Story) -> (Verdict, String) {
        let cell = story.shows(900, 2, 200, "").exit(910, 0).judge(&case());
        (cell.verdict, cell.reason.unwrap_or_default())
    }

    #[test]
    fn a_crash_in_time_proves_how_the_client_resumes() {
        let resumed = || sends(again(crashed(22)), 160, 3, "POST /2");
        assert_eq!(verdict(resumed()).0, Verdict::Pass);
        // What the process knows of the one before, it may say again, once.
        let said_again = || resumed().shows(155, 1, 200, "");
        assert_eq!(verdict(said_again()).0, Verdict::Pass);
        let thrice = said_again().shows(156, 1, 200, "");
        assert_eq!(verdict(thrice).0, Verdict::Error);
    }

    #[test]
    fn without_a_crash_in_time_nothing_is_proved() {
        let all_reported = first_life()
            .shows(21, 2, 200, "")
            .client(22, ClientEvent::CrashOrdered)
            .client(23, killed());
        let never = Story::default().client(0, spawned());
        for (story, why) in [
            (again(crashed(600)), "killed 581ms late"),
            (again(crashed(19)), "killed before the moment"),
            (first_life(), "had ended before it could be killed"),
            (never.accepted(1, "api", 1), "its moment never came"),
            (crashed(22), "was not started again"),
        ] {
            let (verdict, reason) = verdict(story);
            assert_eq!(verdict, Verdict::Inconclusive, "{why}");
            assert!(reason.contains(why), "{reason}: {why}");
            assert!(reason.contains("line 9: `crash`"), "{reason}");
        }
        let cell = again(all_reported).exit(310, 0).judge(&case());
        assert_eq!(cell.verdict, Verdict::Inconclusive);
        assert!(cell.reason.unwrap().contains("every call had reported"));
    }

    #[test]
    fn what_came_while_the_client_was_dead_is_drained() {
        let between = sends(crashed(22), 60, 3, "POST /2");
        let cell = again(between).shows(300, 2, 200, "").exit(310, 0);
        let cell = cell.judge(&case().must(delivered("api", 2)));
        assert_eq!((cell.delivered["api"], cell.drained["api"]), (2, 1));
        assert_eq!(cell.applied["row"], 2);
    }

    #[test]
    fn what_is_done_again_after_the_crash_is_done_twice() {
        let twice = sends(again(crashed(22)), 160, 3, "POST /1");
        let case = case().must(Assertion::Applied(vec![effect("row", exactly(2))]));
        let cell = twice.shows(300, 2, 200, "").exit(310, 0).judge(&case);
        assert_eq!(cell.verdict, Verdict::Fail);
        let names: Vec<_> = cell.findings.iter().map(|found| found.name).collect();
        assert!(names.contains(&FindingName::DuplicateEffect), "{names:?}");
        assert!(
            names.contains(&FindingName::DeliveredAfterClaim),
            "{names:?}"
        );
    }
}
