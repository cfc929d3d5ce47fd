//! Answers and uploads that break off, hang or drip.

use scripted_servers::wire::{End, Position, RequestPoint};

use crate::faults::Fault;
use crate::faults::raw::{Raw, RawPart};
use crate::faults::respond::{Framing, ResponsePoint};
use crate::manifest::{ErrorKind, PolicyRule, WaitRule};
use crate::plan::{Content, Plan, SlowRead};
use crate::policy::predict;
use crate::template::Template;
use crate::testing::{cut, cut_after, plan, respond, server, step};
use crate::verdict::Outcome;

use super::{client, exact, limits, missing, ms, on_errors, on_statuses, one, range};

#[test]
fn where_an_answer_is_cut_decides_what_the_client_sees() {
    let body = |respond: &mut crate::faults::respond::Respond, point, end| {
        respond.body = Some(Content::Bytes(100));
        respond.cut = Some((point, end));
    };
    let retries = |kind| client([on_errors(&[kind], 2)]);
    let sent = |point, end, kind| {
        let step = respond(200).with(|respond| body(respond, point, end));
        exact(&predict(&one([step, respond(200)]), &retries(kind)), "api")
    };
    let nothing = ResponsePoint::Head(Position::Bytes(0));
    let head = ResponsePoint::Head(Position::Bytes(9));
    let start = ResponsePoint::Body(Position::Bytes(0));
    assert_eq!(sent(nothing, End::Reset, ErrorKind::Reset), 2);
    assert_eq!(sent(nothing, End::Close, ErrorKind::Closed), 2);
    assert_eq!(sent(head, End::Reset, ErrorKind::Truncated), 2);
    assert_eq!(sent(head, End::Reset, ErrorKind::Reset), 1);
    assert_eq!(sent(start, End::Close, ErrorKind::Truncated), 2);
}

#[test]
fn a_lie_about_the_length_is_a_silence_without_end() {
    let step = respond(200).with(|respond| {
        respond.body = Some(Content::Text(Template::text("12345")));
        respond.says_length = Some(20);
    });
    let case = one([step]);
    assert!(missing(&case, &client([])).contains("timeouts"));
    let case = case.limits(limits(Some(500), None));
    let retries = client([on_errors(&[ErrorKind::IdleTimeout], 3)]);
    let prediction = predict(&case, &retries);
    assert_eq!(exact(&prediction, "api"), 3);
    assert_eq!(prediction.outcome(1), Ok(vec![Outcome::Unknown]));
}

#[test]
fn the_limit_that_comes_first_ends_a_hang() {
    let sent = |idle, total, kind| {
        let case = one([cut(End::Hang), respond(200)]).limits(limits(idle, total));
        let at_once = WaitRule {
            at_most: vec![ms(100)],
            ..WaitRule::default()
        };
        let rule = PolicyRule {
            wait: at_once,
            ..on_errors(&[kind], 2)
        };
        exact(&predict(&case, &client([rule])), "api")
    };
    assert_eq!(sent(Some(500), None, ErrorKind::IdleTimeout), 2);
    assert_eq!(sent(Some(500), Some(9000), ErrorKind::IdleTimeout), 2);
    assert_eq!(sent(Some(9000), Some(500), ErrorKind::IdleTimeout), 1);
    assert_eq!(
        sent(None, Some(500), ErrorKind::TotalTimeout),
        1,
        "the time for all attempts is up, whatever a rule says"
    );
    let both = one([cut(End::Hang)]).limits(limits(Some(500), Some(500)));
    let told = missing(&both, &client([on_errors(&[ErrorKind::IdleTimeout], 2)]));
    assert!(told.contains("not computable"), "{told}");
    assert_eq!(exact(&predict(&both, &client([])), "api"), 1, "both end it");
}

#[test]
fn a_pause_shorter_than_the_limit_passes_and_a_longer_one_does_not() {
    let stalls = |time: u64| {
        let step = respond(200).with(|respond| {
            respond.body = Some(Content::Bytes(10));
            respond.stall = Some((ResponsePoint::Body(Position::Half), ms(time)));
        });
        one([step]).limits(limits(Some(1000), None))
    };
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    assert_eq!(outcome(&stalls(500)), Ok(vec![Outcome::Success]));
    assert_eq!(outcome(&stalls(2000)), Ok(vec![Outcome::Unknown]));
    assert!(outcome(&stalls(1000)).is_err(), "as long as the limit");
    let mut delayed = respond(200);
    delayed.delay = ms(2000);
    let case = one([delayed]).limits(limits(Some(1000), None));
    assert_eq!(outcome(&case), Ok(vec![Outcome::Unknown]));
    let mut works = respond(200).applies("order");
    works.takes = ms(2000);
    let case = one([works]).limits(limits(Some(1000), None));
    assert_eq!(outcome(&case), Ok(vec![Outcome::Unknown]));
}

#[test]
fn what_limits_make_of_content_that_is_read_slowly_is_not_documented() {
    let mut slow = respond(200);
    slow.slow_read = Some(SlowRead {
        bytes: 1,
        every: ms(100),
    });
    let case = plan([server("api").step(slow)])
        .call("POST", "api", "/x")
        .sending(10);
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    assert_eq!(outcome(&case), Ok(vec![Outcome::Success]));
    let limited = case.limits(limits(Some(1000), None));
    let unknown = outcome(&limited).expect_err("limited");
    assert!(unknown.starts_with("undocumented: what"), "{unknown}");
}

#[test]
fn a_drip_keeps_the_client_awake_but_not_for_ever() {
    let drips = |bytes: Content| {
        let step = respond(200).with(|respond| {
            respond.body = Some(bytes);
            respond.framing = Framing::Chunked;
            respond.drip = Some((1, ms(10)));
        });
        one([step]).limits(limits(Some(1000), Some(3000)))
    };
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    assert_eq!(
        outcome(&drips(Content::Bytes(100))),
        Ok(vec![Outcome::Success])
    );
    assert_eq!(
        outcome(&drips(Content::Bytes(1000))),
        Ok(vec![Outcome::Unknown])
    );
    let endless = drips(Content::Endless("x".to_owned()));
    assert_eq!(outcome(&endless), Ok(vec![Outcome::Unknown]));
}

#[test]
fn a_cut_upload_arrives_by_its_size_and_point() {
    let sent = |bytes: u64, point: RequestPoint| {
        let api = server("api").step(cut_after(point, End::Reset));
        let case = plan([api]).call("PUT", "api", "/f").sending(bytes);
        predict(&case, &client([]))
    };
    let half = RequestPoint::Body(Position::Half);
    assert_eq!(
        exact(&sent(1 << 10, half), "api"),
        1,
        "small: in the kernel"
    );
    assert_eq!(
        exact(&sent(8 << 20, half), "api"),
        0,
        "too much still to come"
    );
    assert_eq!(exact(&sent(8 << 20, RequestPoint::Request), "api"), 1);
    assert_eq!(range(&sent(100 << 10, half), "api"), (Some(0), Some(1)));
}

#[test]
fn a_client_that_is_still_sending_may_see_a_close_as_a_reset() {
    let api = server("api").step(cut_after(
        RequestPoint::Body(Position::Bytes(0)),
        End::Close,
    ));
    let case = plan([api]).call("PUT", "api", "/f").sending(8 << 20);
    assert_eq!(exact(&predict(&case, &client([])), "api"), 0);
    let told = missing(&case, &client([on_errors(&[ErrorKind::Closed], 2)]));
    assert!(told.contains("closed or reset"), "{told}");
}

#[test]
fn an_upload_behind_a_half_close_may_be_finished_and_is_never_reset() {
    let api = server("api").step(cut_after(
        RequestPoint::Body(Position::Bytes(0)),
        End::HalfClose,
    ));
    let case = plan([api]).call("PUT", "api", "/f").sending(8 << 20);
    let told = predict(&case, &client([on_errors(&[ErrorKind::Closed], 1)]));
    assert_eq!(range(&told, "api"), (Some(0), Some(1)));
}

#[test]
fn an_upload_that_is_answered_early_may_or_may_not_be_finished() {
    let mut early = respond(413);
    early.reads = Some(RequestPoint::Head(Position::All));
    let sends = |bytes| {
        let case = plan([server("api").step(early.clone())]).call("PUT", "api", "/f");
        predict(&case.sending(bytes), &client([on_statuses(413, 413, 1)]))
    };
    assert_eq!(range(&sends(100), "api"), (Some(0), Some(1)));
    assert_eq!(exact(&sends(0), "api"), 1);
}

#[test]
fn raw_bytes_are_an_answer_a_silence_or_nonsense() {
    let raw = |text: &str| {
        let parts = vec![RawPart::Text(Template::text(text)), RawPart::Pause(ms(5))];
        one([step(Fault::Raw(Raw { parts, end: None }))]).limits(limits(Some(500), None))
    };
    let outcome = |case: &Plan| predict(case, &client([])).outcome(1);
    let whole = raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_eq!(outcome(&whole), Ok(vec![Outcome::Success]));
    let retries = |kind| client([on_errors(&[kind], 2)]);
    let sent = |case: &Plan, kind| exact(&predict(case, &retries(kind)), "api");
    assert_eq!(sent(&raw("<html>"), ErrorKind::Malformed), 2);
    assert_eq!(sent(&raw("HTTP/1.1 200 OK\r\n"), ErrorKind::IdleTimeout), 2);
    assert!(outcome(&raw("HTTP/1.1 twelve\r\n\r\n")).is_err());
}
