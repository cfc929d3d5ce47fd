//! `honest`: what the client claims agrees with what the servers know.

use super::{Assertion, Entry};
use crate::document::{Kind, Node};
use crate::evidence::{Shown, ShownResponse};
use crate::expected::Words;
use crate::judge::answers;
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::judge::effects;
use crate::manifest::Phase;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::{Claim, FindingName, Outcome};

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "honest",
    summary: "what the client claims of each call agrees with what the servers know",
    example: "honest: true",
    findings: &[
        FindingName::Masquerade,
        FindingName::FalseSuccess,
        FindingName::FabricatedAnswer,
        FindingName::FalseFailure,
        FindingName::DuplicateEffect,
    ],
    kind: || Kind::True,
    decode,
};

/// `true`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    if node.truth("`honest`", scope.out)? {
        return Some(Assertion::Honest);
    }
    node.wrong("`honest`", "`true`", scope.out)
}

/// Each call by itself; and no work is done twice for any of them.
pub(super) fn judge(of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for call in case.calls_of(of) {
        let before = out.raised.len();
        if call.report.is_some() {
            claim(call, case, &mut out);
            answer(call, &mut out);
        }
        let twice = effects::duplicates(case, &call.effects);
        for group in &twice {
            let name = &group[0].name;
            out.wrong(
                Raised::new(
                    FindingName::DuplicateEffect,
                    format!("{name} at most once"),
                    effects::in_words(group),
                    group.iter().map(|effect| effect.mark.n),
                )
                .in_any_case(true),
            );
        }
        let anything = call.report.is_some() || !call.effects.is_empty();
        if anything && out.raised.len() == before {
            out.good();
        }
    }
    out
}

/// The claim against the ledger of the call.
fn claim(call: &CallView<'_>, case: &Case<'_>, out: &mut Checked) {
    let shown = format!("call {} shows: {}", call.id, call.meaning.shown);
    let effects = call.effects.iter().map(|effect| effect.mark.n);
    let deliveries = call.exchanges.iter().filter_map(|one| one.delivery());
    let deliveries = deliveries.map(|mark| mark.n);
    match call.meaning.claim {
        Claim::NotSent if call.delivered() > 0 => out.wrong(Raised::new(
            FindingName::Masquerade,
            "a call that claims not-sent was delivered 0 times",
            format!("delivered {}; {shown}", call.delivered()),
            call.report_n().into_iter().chain(deliveries),
        )),
        Claim::NotApplied if !call.effects.is_empty() => out.wrong(Raised::new(
            FindingName::FalseFailure,
            "a call that claims not-applied was applied 0 times",
            format!("applied {}; {shown}", effects::in_words(&call.effects)),
            call.report_n().into_iter().chain(effects),
        )),
        Claim::Applied => applied(call, case, &shown, out),
        _ => {}
    }
}

/// A call that claims to be applied has an effect, where the case declares
/// effects. It needs none when a server gave a whole 2xx to the request as the
/// call makes it, from a step that applies nothing: then there was nothing to
/// apply.
fn applied(call: &CallView<'_>, case: &Case<'_>, shown: &str, out: &mut Checked) {
    let declared = effects::declared(case.plan);
    let plain = call.exchanges.iter().any(|one| {
        let method = one.head().map(|head| head.method);
        one.whole_answer(|status| (200..300).contains(&status))
            && method == Some(call.method())
            && !effects::applies(case.plan, one)
    });
    if declared && call.effects.is_empty() && !plain {
        let proof = call.exchanges.iter().flat_map(|one| one.proof());
        out.wrong(Raised::new(
            FindingName::FalseSuccess,
            "a call that claims applied was applied at least once",
            format!("applied 0; {shown}"),
            call.report_n().into_iter().chain(proof),
        ));
    }
}

/// What is shown as an answer was given by a server, whole.
fn answer(call: &CallView<'_>, out: &mut Checked) {
    let given = answers::given(call);
    let Some(given) = given else { return };
    let Some(Shown::Response(response)) = call.shown() else {
        return refusal(call, &given, out);
    };
    let proof = call.exchanges.iter();
    let proof: Vec<u64> = proof
        .filter_map(|one| one.answer())
        .map(|(mark, _)| mark.n)
        .chain(call.report_n())
        .collect();
    let status = response.status;
    if let Some(status) = status.filter(|status| !given.statuses.contains(status)) {
        out.wrong(Raised::new(
            FindingName::FabricatedAnswer,
            format!("a status that a server gave ({})", given.words()),
            format!("{status}, which none gave"),
            proof,
        ));
        return;
    }
    // The answer to HEAD has no content, whatever its fields say.
    let with_content = call.meaning.outcome == Outcome::Success && call.method() != "HEAD";
    if with_content && !body_is_whole(response, &given) {
        let shown = response.body_bytes.map_or_else(
            || "an answer".to_owned(),
            |bytes| format!("{} bytes", bytes.words()),
        );
        out.wrong(Raised::new(
            FindingName::FalseSuccess,
            format!("a whole answer ({})", given.bodies_in_words(status)),
            format!("call {} shows {shown} as a whole answer", call.id),
            proof,
        ));
    }
}

/// An error that says what the API answered needs an answer.
fn refusal(call: &CallView<'_>, given: &answers::Given<'_>, out: &mut Checked) {
    let answered = given.answers.iter().any(|answer| answer.whole);
    if call.meaning.phase != Some(Phase::Refused) || answered {
        return;
    }
    out.wrong(Raised::new(
        FindingName::FabricatedAnswer,
        format!("an answer in which the API refuses ({})", given.words()),
        format!("call {} shows: {}", call.id, call.meaning.shown),
        call.report_n(),
    ));
}

/// Whether the answer shown was sent whole, and its content is that answer's.
fn body_is_whole(response: &ShownResponse, given: &answers::Given<'_>) -> bool {
    given.with_status(response.status).any(|answer| {
        let length = response.body_bytes;
        let digest = response.body_sha256.as_ref();
        let success = answer
            .status
            .is_some_and(|status| (200..300).contains(&status));
        answer.whole
            && success
            && length.is_none_or(|length| length == answer.body_bytes)
            && digest.is_none_or(|digest| answers::same_content(answer, digest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Report;
    use crate::plan::Plan;
    use crate::testing::{Story, plan, redirect, respond, server, url};

    const AT: (&str, u32, u32) = ("api", 1, 1);

    fn case(applies: bool) -> Plan {
        let step = respond(200);
        let step = if applies { step.applies("order") } else { step };
        plan([server("api").step(step)]).call("POST", "api", "/x")
    }

    fn sent() -> Story {
        Story::new().request(5, "api", 1, "POST /x").took(5, AT, 0)
    }

    fn names(story: &Story, applies: bool) -> Vec<FindingName> {
        let checked = story.check(&case(applies), &Assertion::Honest);
        if checked.raised.is_empty() {
            checked.assert_good();
        }
        checked.names()
    }

    #[test]
    fn not_sent_means_that_nothing_was_delivered() {
        assert_eq!(names(&Story::new().fails(9, 1, "ECONNREFUSED"), false), []);
        let lied = sent().fails(9, 1, "ECONNREFUSED");
        assert_eq!(names(&lied, false), [FindingName::Masquerade]);
        let drained = Story::new()
            .drained(5, AT, "POST /x")
            .fails(9, 1, "ECONNREFUSED");
        assert_eq!(names(&drained, false), []);
    }

    #[test]
    fn unknown_is_always_honest() {
        assert_eq!(names(&sent().fails(9, 1, "ECONNRESET"), true), []);
        assert_eq!(names(&sent().fails(9, 1, "WHATEVER"), false), []);
    }

    #[test]
    fn applied_needs_an_effect_where_the_case_declares_one() {
        let answered = sent().answer(6, AT, 200, "ok").shows(9, 1, 200, "ok");
        assert_eq!(names(&answered, true), [FindingName::FalseSuccess]);
        let applied = answered.effect(6, AT, "order", None);
        assert_eq!(names(&applied, true), []);
        let plain = sent().answer(6, AT, 200, "ok").shows(9, 1, 200, "ok");
        assert_eq!(names(&plain, false), []);
    }

    #[test]
    fn a_plain_answer_to_the_request_itself_needs_no_effect() {
        // The first call warms the connection up; the second one orders.
        let plan = plan([server("api")
            .step(respond(200))
            .step(respond(200).applies("order"))])
        .call("GET", "api", "/warm")
        .call("POST", "api", "/x");
        let story = Story::new()
            .request(5, "api", 1, "GET /warm")
            .took(5, AT, 0)
            .answer(6, AT, 200, "")
            .shows(7, 1, 200, "")
            .on(8, ("api", 1, 2), "POST /x", &[])
            .took(8, ("api", 1, 2), 1)
            .effect(8, ("api", 1, 2), "order", None)
            .answer(8, ("api", 1, 2), 200, "")
            .shows(9, 2, 200, "");
        story.check(&plan, &Assertion::Honest).assert_good();
    }

    #[test]
    fn a_plain_answer_to_another_request_does_not_prove_the_work_done() {
        // A POST whose redirect is followed with GET orders nothing.
        let api = server("api")
            .route(None, "/x")
            .step(redirect(302, url("api", "/y")))
            .route(Some("POST"), "/y")
            .step(respond(200).applies("order"))
            .route(Some("GET"), "/y")
            .step(respond(200));
        let plan = plan([api]).call("POST", "api", "/x");
        let story = sent()
            .answer(6, AT, 302, "")
            .on(7, ("api", 1, 2), "GET /y", &[])
            .answer(8, ("api", 1, 2), 200, "")
            .shows(9, 1, 200, "");
        let checked = story.check(&plan, &Assertion::Honest);
        assert_eq!(checked.names(), [FindingName::FalseSuccess]);
    }

    #[test]
    fn not_applied_means_that_nothing_was_applied() {
        let rejected = sent().answer(6, AT, 422, "").shows(9, 1, 422, "");
        assert_eq!(names(&rejected, true), []);
        let applied = rejected.effect(6, AT, "order", None);
        assert_eq!(names(&applied, true), [FindingName::FalseFailure]);
    }

    #[test]
    fn an_answer_that_no_server_gave_is_fabricated() {
        let story = sent().answer(6, AT, 503, "").shows(9, 1, 200, "");
        assert_eq!(names(&story, false), [FindingName::FabricatedAnswer]);
        let without_any = sent().shows(9, 1, 502, "");
        assert_eq!(names(&without_any, false), [FindingName::FabricatedAnswer]);
    }

    #[test]
    fn a_success_has_the_whole_content_of_a_whole_answer() {
        let cut = |shown: &str| {
            sent()
                .answering(6, AT, 200, "hello", false)
                .shows(9, 1, 200, shown)
        };
        assert_eq!(names(&cut("hel"), false), [FindingName::FalseSuccess]);
        assert_eq!(names(&cut("hello"), false), [FindingName::FalseSuccess]);
        let whole = |shown: &str| sent().answer(6, AT, 200, "hello").shows(9, 1, 200, shown);
        assert_eq!(names(&whole("hello"), false), []);
        assert_eq!(names(&whole("hel"), false), [FindingName::FalseSuccess]);
        assert_eq!(names(&whole("jello"), false), [FindingName::FalseSuccess]);
    }

    #[test]
    fn a_cut_answer_that_is_no_success_may_be_shown() {
        let story = sent()
            .answering(6, AT, 500, "hello", false)
            .shows(9, 1, 500, "hel");
        assert_eq!(names(&story, false), []);
    }

    #[test]
    fn the_same_work_twice_is_a_duplicate_effect() {
        let twice = |method: &str, keys: [Option<&str>; 2]| {
            let line = format!("{method} /x");
            let story = Story::new()
                .request(5, "api", 1, &line)
                .effect(5, AT, "order", keys[0])
                .request(6, "api", 2, &line)
                .effect(6, ("api", 2, 1), "order", keys[1])
                .fails(9, 1, "ECONNRESET");
            let plan = plan([server("api").step(respond(200).applies("order"))]);
            let checked = story.check(&plan.call(method, "api", "/x"), &Assertion::Honest);
            checked.names()
        };
        assert_eq!(twice("POST", [None, None]), [FindingName::DuplicateEffect]);
        assert_eq!(twice("PUT", [None, None]), [], "PUT twice is as once");
        let same = [Some("A"), Some("A")];
        assert_eq!(twice("PUT", same), [FindingName::DuplicateEffect]);
        assert_eq!(twice("POST", [Some("A"), Some("B")]), []);
    }

    #[test]
    fn a_claim_of_the_client_itself_is_held_against_the_ledger() {
        let claims = |claim| {
            let response = ShownResponse {
                status: Some(503),
                ..ShownResponse::default()
            };
            let report = Report {
                call: 1,
                shown: Shown::Response(response),
                claim: Some(claim),
                events: None,
            };
            let story = sent()
                .answer(6, AT, 503, "")
                .client(9, crate::evidence::ClientEvent::Report(report));
            names(&story, true)
        };
        assert_eq!(claims(Claim::Applied), [FindingName::FalseSuccess]);
        assert_eq!(claims(Claim::NotSent), [FindingName::Masquerade]);
        assert_eq!(claims(Claim::Unknown), []);
    }

    #[test]
    fn a_call_without_report_and_effects_has_nothing_to_judge() {
        sent()
            .check(&case(true), &Assertion::Honest)
            .assert_nothing();
    }
}
