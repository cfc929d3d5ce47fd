//! `honest`: what the client claims agrees with what the servers know.

use super::{Assertion, Entry};
use crate::document::Node;
use crate::evidence::{Shown, ShownResponse};
use crate::expected::Words;
use crate::judge::answers;
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::judge::effects;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::{Claim, FindingName, Outcome};

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "honest",
    summary: "what the client claims of each call agrees with what the servers know",
    example: "honest: true",
    decode,
};

/// `true`.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    if node.truth("`honest`", scope.out)? {
        return Some(Assertion::Honest);
    }
    node.wrong("`honest`", "`true`", scope.out)
}

/// Each call by itself; and no work is done twice for any of them.
pub fn judge(of: &Of, case: &Case<'_>) -> Checked {
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
        let method = one.head.as_ref().map(|head| head.method.as_str());
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
    let Some(Shown::Response(response)) = call.shown() else {
        return;
    };
    let given = answers::given(call);
    let Some(given) = given else { return };
    let proof = call.exchanges.iter();
    let proof: Vec<u64> = proof
        .filter_map(|one| one.answer.as_ref())
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
