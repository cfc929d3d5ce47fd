//! The judge as a whole: which verdict wins, and what is wrong without any
//! expectation.

mod fired;
mod time;

use std::time::Duration;

use scripted_servers::event::{Lane, StepId, What};
use scripted_servers::script::{ConnectionAct, Listen, Phase, PortState};
use scripted_servers::wire::End;

use super::not_run;
use crate::assertions::Assertion;
use crate::evidence::ClientEvent;
use crate::expected::Expected;
use crate::matcher::Matcher;
use crate::plan::Plan;
use crate::testing::{Story, count, cut, delivered, exactly, plan, redirect, respond, server, url};
use crate::verdict::{Axis, CellVerdict, EndedBy, FindingName, Level, Outcome, Verdict};

fn names(cell: &CellVerdict) -> Vec<FindingName> {
    cell.findings.iter().map(|finding| finding.name).collect()
}

/// A POST that is cut after the request; one delivery is expected.
fn one_post() -> Plan {
    let api = server("api").step(cut(End::Reset).required());
    plan([api])
        .call("POST", "api", "/x")
        .must(delivered("api", 1))
}

const AT: (&str, u32, u32) = ("api", 1, 1);

#[test]
fn a_fault_that_fired_and_a_count_that_fits_is_a_pass() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0);
    let cell = story.judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Pass, "{cell:?}");
    assert_eq!(cell.delivered["api"], 1);
    assert_eq!(cell.connections["api"], 1);
    assert_eq!(cell.outcome, Outcome::Unknown);
    assert_eq!(cell.elapsed_ms, 10);
    assert_eq!(cell.calls[0].code.as_deref(), Some("ECONNRESET"));
    assert_eq!(cell.reason, None);
}

fn one_post_without_its_fault() -> CellVerdict {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .answer(6, AT, 200, "")
        .shows(10, 1, 200, "");
    story.exit(11, 0).judge(&one_post())
}

#[test]
fn a_required_fault_that_did_not_fire_is_inconclusive_and_names_its_line() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .answer(6, AT, 200, "")
        .shows(10, 1, 200, "")
        .exit(11, 0);
    let cell = story.judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    let reason = cell.reason.unwrap();
    assert!(reason.contains("line 10"), "{reason}");
    assert!(reason.contains("cut with reset"), "{reason}");
    assert!(one_post_without_its_fault().lacks_its_fault());
    let other = Story::new().exit(11, 1).judge(&one_post());
    assert!(!other.lacks_its_fault(), "{other:?}");
}

#[test]
fn too_much_fails_although_no_fault_fired() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .request(6, "api", 2, "POST /x")
        .shows(10, 1, 200, "")
        .exit(11, 0);
    let cell = story.judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Fail);
    assert_eq!(names(&cell), [FindingName::DuplicateDelivery]);
    assert!(
        cell.reason.is_some(),
        "that the fault did not fire is still said"
    );
}

#[test]
fn a_first_delivery_that_was_to_be_prevented_is_no_failure_without_the_fault() {
    let plan = plan([server("api").step(cut(End::Reset).required())])
        .call("PUT", "api", "/x")
        .must(delivered("api", 0));
    let story = Story::new()
        .request(5, "api", 1, "PUT /x")
        .shows(10, 1, 200, "")
        .exit(11, 0);
    let cell = story.judge(&plan);
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    assert_eq!(names(&cell), []);
    let cell = story.fired(7, "api", 0).judge(&plan);
    assert_eq!(cell.verdict, Verdict::Fail);
    assert_eq!(names(&cell), [FindingName::OverBudget]);
}

#[test]
fn a_client_that_never_connected_is_named() {
    let story = Story::new().fails(10, 1, "ECONNRESET").exit(11, 0);
    let cell = story.judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    let reason = cell.reason.unwrap();
    assert!(reason.contains("never connected to api"), "{reason}");
}

#[test]
fn a_should_leaves_the_cell_green_and_a_must_does_not() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0);
    let expected = Assertion::Outcome(exactly(Outcome::Success));
    let cell = story.judge(&one_post().expects(Level::Should, expected.clone()));
    assert_eq!(cell.verdict, Verdict::Pass);
    assert_eq!(names(&cell), [FindingName::WrongOutcome]);
    assert_eq!(cell.findings[0].level, Level::Should);
    let cell = story.judge(&one_post().must(expected));
    assert_eq!(cell.verdict, Verdict::Fail);
    assert_eq!(cell.findings[0].line, Some(61));
    assert!(!cell.findings[0].events.is_empty());
}

#[test]
fn an_info_shows_its_value_and_never_fails() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0);
    let shown = Assertion::Delivered(vec![count("api", Expected::Shown)]);
    let cell = story.judge(&one_post().expects(Level::Info, shown));
    assert_eq!(cell.verdict, Verdict::Pass);
    assert!(
        cell.notes.contains(&"delivered api: 1".to_owned()),
        "{:?}",
        cell.notes
    );
}

#[test]
fn the_axes_are_kept_apart() {
    let conforming = Assertion::Delivered(vec![count("api", Expected::ByPolicy)]);
    let plan = one_post().must(conforming);
    assert_eq!(plan.expect[1].axis, Axis::Conformance);
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0);
    // The manifest of these tests has no rules: nothing is promised.
    let cell = story.judge(&plan);
    assert_eq!(cell.safety, Verdict::Pass);
    assert_eq!(cell.conformance, Verdict::Inconclusive);
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    let reason = cell.reason.unwrap();
    assert!(reason.contains("undocumented"), "{reason}");
    assert!(reason.contains("`reset`"), "{reason}");
}

#[test]
fn nothing_to_judge_in_any_must_is_inconclusive() {
    let api = server("api").step(respond(503).required());
    let plan = plan([api])
        .call("GET", "api", "/x")
        .must(Assertion::Order(vec![crate::counter::Counter::server(
            "api",
        )]));
    let story = Story::new()
        .accepted(4, "api", 1)
        .head(5, AT, "GET /x", &[], Some(0))
        .fired(6, "api", 0)
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0);
    let cell = story.judge(&plan);
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    let reason = cell.reason.unwrap();
    assert!(reason.contains("no must found anything"), "{reason}");
}

#[test]
fn a_request_after_the_report_is_a_finding_and_one_before_it_is_none() {
    let story = |at: u64| {
        Story::new()
            .request(5, "api", 1, "GET /x")
            .fired(6, "api", 0)
            .shows(10, 1, 503, "")
            .request(at, "api", 2, "GET /x")
            .exit(40, 0)
    };
    let api = server("api").step(respond(503).required());
    let plan = plan([api])
        .call("GET", "api", "/x")
        .must(delivered("api", 2));
    assert_eq!(names(&story(9).judge(&plan)), []);
    let late = story(30).judge(&plan);
    assert_eq!(names(&late), [FindingName::DeliveredAfterClaim]);
    assert_eq!(late.verdict, Verdict::Fail);
    assert_eq!(late.findings[0].line, None);
    assert!(late.findings[0].observed.contains("20ms after"), "{late:?}");
}

#[test]
fn a_late_request_of_an_earlier_call_is_found_by_its_mark() {
    let api = server("api").step(respond(200).required());
    let plan = plan([api])
        .call("GET", "api", "/x")
        .call("GET", "api", "/x")
        .must(delivered("api", 3));
    let mark = |call| [("wirefault-call", call)];
    let story = Story::new()
        .on(5, AT, "GET /x", &mark("1"))
        .fired(6, "api", 0)
        .shows(10, 1, 200, "")
        .on(20, ("api", 2, 1), "GET /x", &mark("2"))
        .on(25, ("api", 3, 1), "GET /x", &mark("1"))
        .shows(30, 2, 200, "")
        .exit(40, 0);
    let cell = story.judge(&plan);
    assert_eq!(names(&cell), [FindingName::DeliveredAfterClaim]);
    assert_eq!(cell.calls[0].delivered, 2);
    assert_eq!(cell.calls[1].delivered, 1);
}

#[test]
fn a_request_belongs_to_the_call_with_its_method_and_target() {
    let api = server("api").step(respond(200).required());
    let plan = plan([api])
        .call("GET", "api", "/x")
        .call("POST", "api", "/x")
        .must(delivered("api", 2));
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .request(7, "api", 2, "GET /x")
        .shows(10, 1, 200, "")
        .shows(12, 2, 200, "")
        .exit(20, 0);
    let cell = story.judge(&plan);
    let of_each: Vec<u64> = cell.calls.iter().map(|call| call.delivered).collect();
    assert_eq!(of_each, [1, 1]);
}

#[test]
fn a_request_that_no_route_expects_is_other_and_a_finding() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .head(7, ("api", 1, 2), "GET /probe", &[], None)
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0);
    let cell = story.judge(&one_post());
    assert_eq!(names(&cell), [FindingName::UnexpectedRequest]);
    assert_eq!(cell.other["api"], 1);
    assert_eq!(cell.delivered["api"], 1);
}

#[test]
fn what_only_draining_completed_is_not_delivered() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .drained(7, ("api", 2, 1), "POST /x")
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0);
    let cell = story.judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Pass);
    assert_eq!((cell.delivered["api"], cell.drained["api"]), (1, 1));
}

#[test]
fn the_cap_is_over_the_budget() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .end(900, EndedBy::Cap);
    let cell = story.judge(&one_post());
    assert_eq!(names(&cell), [FindingName::OverBudget]);
    assert_eq!(cell.verdict, Verdict::Fail);
}

#[test]
fn no_report_before_the_deadline_is_hung_unless_that_is_expected() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .end(30_000, EndedBy::Deadline);
    let cell = story.judge(&one_post());
    assert_eq!(cell.outcome, Outcome::Hung);
    assert_eq!(names(&cell), [FindingName::Hung]);
    assert_eq!(cell.verdict, Verdict::Fail);
    let expected = one_post().must(Assertion::Outcome(exactly(Outcome::Hung)));
    assert_eq!(story.judge(&expected).verdict, Verdict::Pass);
    let other = one_post().must(Assertion::Outcome(exactly(Outcome::Success)));
    assert_eq!(
        names(&story.judge(&other)),
        [FindingName::Hung],
        "said once"
    );
}

#[test]
fn a_program_that_dies_in_the_middle_has_crashed() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .exit(11, 134);
    let cell = story.judge(&one_post());
    assert_eq!(cell.outcome, Outcome::Crashed);
    assert_eq!(names(&cell), [FindingName::Crashed]);
    assert_eq!(cell.verdict, Verdict::Fail);
}

#[test]
fn a_program_that_never_began_is_an_error() {
    let cell = Story::new().exit(11, 1).judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Error);
    assert!(cell.reason.unwrap().contains("exit code 1"));
    assert_eq!(cell.outcome, Outcome::Crashed);
}

#[test]
fn a_breach_of_the_protocol_is_an_error_shown_harmlessly() {
    let garbage = ClientEvent::Garbage {
        line: "\u{1b}[31mhello\n::error::".to_owned(),
        reason: "expected value".to_owned(),
    };
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .client(7, garbage)
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0);
    let cell = story.judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Error);
    let reason = cell.reason.unwrap();
    assert!(reason.contains("hello"), "{reason}");
    assert!(!reason.contains(char::is_control), "{reason:?}");
}

#[test]
fn two_reports_of_a_call_and_one_of_no_call_are_errors() {
    let twice = Story::new()
        .request(5, "api", 1, "POST /x")
        .fails(10, 1, "ECONNRESET")
        .fails(12, 1, "ECONNRESET")
        .exit(13, 0);
    assert_eq!(twice.judge(&one_post()).verdict, Verdict::Error);
    let unknown = Story::new()
        .request(5, "api", 1, "POST /x")
        .fails(10, 7, "ECONNRESET")
        .exit(13, 0);
    let cell = unknown.judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Error);
    assert!(cell.reason.unwrap().contains("call 7"));
}

#[test]
fn a_record_that_breaks_off_is_an_error_with_its_counts() {
    let story = Story::new().request(5, "api", 1, "POST /x");
    let cell = story.judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Error);
    assert_eq!(cell.delivered["api"], 1);
    assert_eq!(Story::default().judge(&one_post()).verdict, Verdict::Error);
}

#[test]
fn unsupported_and_harness_errors_are_said_as_they_are() {
    let reason = "no streams".to_owned();
    let unsupported = Story::new().client(1, ClientEvent::Unsupported { reason });
    let cell = unsupported.clone().exit(2, 127).judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Unsupported);
    assert_eq!(cell.reason.as_deref(), Some("no streams"));
    let reason = "no port".to_owned();
    let sent = unsupported.clone().request(5, "api", 1, "POST /x");
    let cell = sent.exit(9, 127).judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Error);
    assert!(cell.reason.unwrap().contains("its requests arrived"));
    let broken = unsupported.client(1, ClientEvent::HarnessError { reason });
    assert_eq!(broken.judge(&one_post()).verdict, Verdict::Error);
}

#[test]
fn what_sends_requests_is_not_unsupported() {
    let unsupported = || ClientEvent::Unsupported {
        reason: "no streams".to_owned(),
    };
    let once = Story::new()
        .request(5, "api", 1, "POST /x")
        .client(8, unsupported())
        .exit(9, 127)
        .judge(&one_post());
    assert_eq!(once.verdict, Verdict::Error);
    let reason = once.reason.unwrap();
    assert!(
        reason.contains("no streams") && reason.contains(": 1"),
        "{reason}"
    );
    let twice = Story::new()
        .request(5, "api", 1, "POST /x")
        .request(6, "api", 2, "POST /x")
        .client(8, unsupported())
        .exit(9, 127)
        .judge(&one_post());
    assert_eq!(twice.verdict, Verdict::Fail);
    assert_eq!(names(&twice), [FindingName::DuplicateDelivery]);
}

#[test]
fn too_much_fails_although_the_client_broke_the_protocol() {
    let garbage = || ClientEvent::Garbage {
        line: "hello".to_owned(),
        reason: "expected value".to_owned(),
    };
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .request(6, "api", 2, "POST /x")
        .client(7, garbage());
    let cell = story.clone().exit(9, 0).judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Fail);
    assert_eq!(names(&cell), [FindingName::DuplicateDelivery]);
    assert!(cell.reason.unwrap().contains("hello"));
    let reason = "the disk is full".to_owned();
    let ours = story
        .client(8, ClientEvent::HarnessError { reason })
        .exit(9, 0);
    assert_eq!(ours.judge(&one_post()).verdict, Verdict::Error);
}

#[test]
fn that_one_call_may_hang_excuses_no_other() {
    let api = server("api").step(respond(200).required());
    let two = || {
        plan([api.clone()])
            .call("GET", "api", "/1")
            .call("GET", "api", "/2")
            .must(delivered("api", 2))
    };
    let story = Story::new()
        .request(5, "api", 1, "GET /1")
        .fired(6, "api", 0)
        .shows(10, 1, 200, "")
        .request(15, "api", 2, "GET /2")
        .end(30_000, EndedBy::Deadline);
    let may_hang = |level, call| {
        let outcomes = vec![Outcome::Success, Outcome::Hung];
        let outcome = Assertion::Outcome(Expected::Fits(Matcher::OneOf(outcomes)));
        let mut plan = two().expects(level, outcome);
        plan.expect[1].of.call = call;
        story.judge(&plan)
    };
    assert_eq!(may_hang(Level::Must, None).verdict, Verdict::Pass);
    assert_eq!(may_hang(Level::Must, Some(2)).verdict, Verdict::Pass);
    for excuse in [
        may_hang(Level::Must, Some(1)),
        may_hang(Level::Should, Some(2)),
    ] {
        assert_eq!(names(&excuse), [FindingName::Hung]);
        assert_eq!(excuse.verdict, Verdict::Fail);
    }
}

#[test]
fn a_death_after_the_reports_and_processes_left_behind_are_noted() {
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .fails(10, 1, "ECONNRESET");
    let exited = |killed| ClientEvent::Exited {
        code: None,
        signal: Some(11),
        killed,
    };
    let died = story
        .clone()
        .client(11, exited(false))
        .client(12, ClientEvent::Swept { count: 2 })
        .end(13, EndedBy::Exit)
        .judge(&one_post());
    assert_eq!(
        died.notes,
        [
            "after its reports the program died: signal 11",
            "processes the client left behind: 2"
        ]
    );
    let killed = story.client(11, exited(true)).end(13, EndedBy::Finish);
    let notes = killed.judge(&one_post()).notes;
    assert!(
        matches!(&notes[..], [only] if only.starts_with("bounded: ")),
        "{notes:?}"
    );
}

#[test]
fn enough_deliveries_stop_the_client_without_a_finding() {
    let mut plan = one_post();
    plan.enough.insert("api".to_owned(), 1);
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .end(7, EndedBy::Enough);
    let cell = story.judge(&plan);
    assert_eq!(cell.verdict, Verdict::Pass, "{cell:?}");
    assert_eq!(cell.outcome, Outcome::Cancelled);
}

#[test]
fn a_count_cut_short_by_the_deadline_can_not_be_too_few() {
    let plan = one_post().must(Assertion::Delivered(vec![count(
        "api",
        Expected::Fits(Matcher::OneOf(vec![3])),
    )]));
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .end(30_000, EndedBy::Deadline);
    assert_eq!(names(&story.judge(&plan)), [FindingName::Hung]);
}

#[test]
fn calls_that_end_in_different_ways_are_mixed() {
    let api = server("api").step(respond(200).required());
    let plan = plan([api])
        .call("GET", "api", "/1")
        .call("GET", "api", "/2")
        .must(delivered("api", 2));
    let story = Story::new()
        .request(5, "api", 1, "GET /1")
        .fired(6, "api", 0)
        .shows(10, 1, 200, "")
        .request(15, "api", 2, "GET /2")
        .fails(20, 2, "ECONNRESET")
        .exit(21, 0);
    assert_eq!(story.judge(&plan).outcome, Outcome::Mixed);
}

#[test]
fn a_cell_that_did_not_run_has_zeros_and_its_reason() {
    let cell = not_run(&one_post(), Verdict::Skipped, "no node here");
    assert_eq!(cell.verdict, Verdict::Skipped);
    assert_eq!(
        (cell.conformance, cell.safety),
        (Verdict::Skipped, Verdict::Skipped)
    );
    assert_eq!(cell.reason.as_deref(), Some("no node here"));
    assert_eq!(cell.delivered["api"], 0);
    assert_eq!(cell.ended_by, None);
    assert!(cell.calls.is_empty());
}
