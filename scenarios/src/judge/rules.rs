//! What is wrong without any expectation being written.

use super::case::{CallView, Case};
use super::checked::Raised;
use super::counts;
use super::exchange::Exchange;
use crate::expected::Words;
use crate::verdict::{EndedBy, FindingName, Outcome};

/// Whether it is already said that a call ended like this.
type Said<'s> = dyn Fn(u32, FindingName, Outcome) -> bool + 's;

/// All of it, each with the rule's name.
pub(super) fn raised(case: &Case<'_>, said: &Said<'_>) -> Vec<(&'static str, Raised)> {
    let rules = [
        ("unexpected-request", unexpected(case)),
        ("delivered-after-claim", after_claim(case)),
        ("cap", over_cap(case)),
        ("hung", silent(case, Outcome::Hung, FindingName::Hung, said)),
        (
            "crashed",
            silent(case, Outcome::Crashed, FindingName::Crashed, said),
        ),
    ];
    let raised = rules.into_iter();
    raised
        .filter_map(|(rule, raised)| Some((rule, raised?)))
        .collect()
}

/// Requests that no route expects, and bytes that are no request.
fn unexpected(case: &Case<'_>) -> Option<Raised> {
    let others = case.facts.exchanges.iter().filter(|one| one.is_other());
    let others: Vec<&Exchange> = others.collect();
    let malformed = others.iter().find_map(|one| one.malformed());
    let malformed = malformed.map(|(_, reason)| format!("; not a request: {reason}"));
    let first = others.first()?;
    let observed = counts::in_words(&others);
    Some(
        Raised::new(
            FindingName::UnexpectedRequest,
            "only requests that a route expects",
            format!(
                "{observed} at {}{}",
                first.place.server,
                malformed.unwrap_or_default()
            ),
            others.iter().map(|one| one.began().n),
        )
        .in_any_case(true),
    )
}

/// Requests whose first byte arrived after the final report of their call: the
/// client had said how it ended.
fn after_claim(case: &Case<'_>) -> Option<Raised> {
    let late = case.calls.iter().flat_map(|call| {
        let report = call.report.map(|(mark, _)| mark);
        let own = call.exchanges.iter().copied();
        own.filter(move |one| {
            let began = one.began().at_us;
            one.delivery().is_some() && report.is_some_and(|report| began > report.at_us)
        })
        .map(move |one| (one, report))
    });
    let late: Vec<_> = late.collect();
    let (first, report) = late.first()?;
    let after = report.map_or(0, |report| first.began().at_us - report.at_us);
    let after = std::time::Duration::from_micros(after);
    let requests: Vec<&Exchange> = late.iter().map(|(one, _)| *one).collect();
    let proof = late
        .iter()
        .flat_map(|(one, report)| one.proof().into_iter().chain(report.map(|mark| mark.n)));
    Some(
        Raised::new(
            FindingName::DeliveredAfterClaim,
            "no request after the final report of its call",
            format!(
                "{}, the first one {} after the report",
                counts::in_words(&requests),
                after.words()
            ),
            proof,
        )
        .in_any_case(true),
    )
}

fn over_cap(case: &Case<'_>) -> Option<Raised> {
    let (ended_by, mark) = case.facts.client.ended_by?;
    if ended_by != EndedBy::Cap {
        return None;
    }
    let requests = case.facts.exchanges.len();
    let servers = case.facts.servers.values();
    let connections: usize = servers.map(|server| server.accepted.len()).sum();
    Some(
        Raised::new(
            FindingName::OverBudget,
            format!("at most {} requests or connections", case.plan.cap),
            format!("{requests} requests, {connections} connections"),
            [mark.n],
        )
        .in_any_case(true),
    )
}

/// Calls of which no report came.
fn silent(case: &Case<'_>, outcome: Outcome, name: FindingName, said: &Said<'_>) -> Option<Raised> {
    let silent = case
        .calls
        .iter()
        .filter(|call| call.report.is_none() && !call.stopped && call.meaning.outcome == outcome)
        .filter(|call| !said(call.id, name, outcome));
    let silent: Vec<&CallView<'_>> = silent.collect();
    let first = silent.first()?;
    let calls: Vec<_> = silent.iter().map(|call| call.id.to_string()).collect();
    let client = &case.facts.client;
    let exit = client.exited.as_ref().map(|exit| exit.mark.n);
    let end = client.ended_by.map(|(_, mark)| mark.n);
    let proof = first.exchanges.iter().flat_map(|one| one.proof());
    Some(Raised::new(
        name,
        "a report of each call",
        format!("{} (call {})", first.meaning.shown, calls.join(", ")),
        exit.into_iter().chain(end).chain(proof),
    ))
}
