//! What the client makes of a batch: which items it sends, together or alone, and what
//! it reports of each.

mod support;

use client_kit::protocol::{Batch, Body, Call, Jitter, Limits};
use reference_client::defects::{Defect, Defects};
use support::{Act, Server, answer, call, make, shown, status};

/// Six items, so many in a request.
fn items(server: &Server, per_request: u32) -> Vec<Call> {
    let item = |id: u32| Call {
        body: Some(Body::Text(format!(r#"{{"id":{id}}}"#))),
        group: 1,
        batch: Some(Batch {
            per_request,
            into: (per_request > 1).then(|| "rows".to_owned()),
        }),
        ..call("POST", server.url("/rows"))
    };
    (1..=6).map(item).collect()
}

/// An answer with a status for each item.
fn verdicts(statuses: &[u16]) -> Act {
    let items: Vec<_> = statuses
        .iter()
        .map(|status| format!(r#"{{"status":{status}}}"#))
        .collect();
    let content = format!(r#"{{"items":[{}]}}"#, items.join(","));
    Act::Send(answer(200, "", &content))
}

/// The items of each request by the field that marks it, and what was shown.
fn seen(per_request: u32, script: &[Act], defects: &Defects) -> String {
    let server = Server::start(script.to_vec());
    let limits = Limits {
        backoff_ms: Some(1),
        backoff_cap_ms: Some(2),
        jitter: Some(Jitter::None),
        ..Limits::default()
    };
    let messages = make(items(&server, per_request), limits, defects);
    let requests: Vec<_> = server
        .seen()
        .iter()
        .map(|seen| seen.header("wirefault-call").unwrap_or_default().to_owned())
        .collect();
    format!("{} -> {}", requests.join(" "), shown(&messages))
}

fn differ(defect: Defect, per_request: u32, script: &[Act], good: &str, bad: &str) {
    assert_eq!(
        seen(per_request, script, &Defects::default()),
        good,
        "{defect:?}"
    );
    let careless = Defects::default().with(defect);
    assert_eq!(seen(per_request, script, &careless), bad, "{defect:?}");
}

#[test]
fn only_what_may_be_taken_later_is_sent_again() {
    let script = [
        verdicts(&[200, 503, 422]),
        verdicts(&[429, 200, 200]),
        verdicts(&[200, 200]),
        verdicts(&[200, 200, 200]),
    ];
    let good = "1,2,3 4,5,6 2,4 -> 200:cut ITEM_REFUSED 200:cut 200:cut 200:cut 200:cut";
    differ(
        Defect::ResendsTheWholeBatch,
        3,
        &script,
        good,
        // The third answer of this server is for two.
        "1,2,3 4,5,6 1,2,3 4,5,6 -> MALFORMED_ANSWER MALFORMED_ANSWER MALFORMED_ANSWER \
         200:cut 200:cut 200:cut",
    );
    let refused = [
        verdicts(&[422, 200, 200]),
        verdicts(&[200, 200, 200]),
        verdicts(&[200]),
    ];
    differ(
        Defect::ResendsRefusedItems,
        3,
        &refused,
        "1,2,3 4,5,6 -> ITEM_REFUSED 200:cut 200:cut 200:cut 200:cut 200:cut",
        "1,2,3 4,5,6 1 -> 200:cut 200:cut 200:cut 200:cut 200:cut 200:cut",
    );
}

#[test]
fn an_item_that_is_refused_holds_up_nobody() {
    let ok = || status(200);
    let script = [ok(), status(422), ok()];
    differ(
        Defect::PoisonBlocksTheRest,
        1,
        &script,
        "1 2 3 4 5 6 -> 200:0 422:0 200:0 200:0 200:0 200:0",
        "1 2 -> 200:0 422:0 UNUSABLE_CALL UNUSABLE_CALL UNUSABLE_CALL UNUSABLE_CALL",
    );
}

#[test]
fn an_item_is_given_up_after_its_attempts() {
    let script = [
        verdicts(&[503, 200, 200]),
        verdicts(&[200, 200, 200]),
        verdicts(&[503]),
    ];
    let good = "1,2,3 4,5,6 1 1 -> 200:cut 200:cut 200:cut 200:cut 200:cut ITEM_REFUSED";
    assert_eq!(seen(3, &script, &Defects::default()), good);
}

#[test]
fn what_becomes_of_a_request_becomes_of_its_items_and_of_no_others() {
    let good = verdicts(&[200, 200, 200]);
    for (act, told) in [
        (Act::SendReset(String::new()), "ECONNRESET"),
        (status(413), "413:0"),
        (Act::Send(answer(200, "", "{}")), "MALFORMED_ANSWER"),
        (verdicts(&[200]), "MALFORMED_ANSWER"),
    ] {
        let wanted = format!("1,2,3 4,5,6 -> {told} {told} {told} 200:cut 200:cut 200:cut");
        let script = [act, good.clone()];
        assert_eq!(seen(3, &script, &Defects::default()), wanted);
    }
}
