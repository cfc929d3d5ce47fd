//! When there is nothing to judge: the client can not do this, or the harness
//! or the adapter broke.

use scripted_servers::script::Listen;

use super::attribution::CALL_HEADER;
use super::case::Case;
use crate::document::harmless;
use crate::verdict::{EndedBy, Verdict};

/// Why a cell can not be judged as a whole.
pub(super) struct Broken {
    /// What it then is.
    pub(super) verdict: Verdict,
    /// Why.
    pub(super) reason: String,
    /// Whether the servers' side of the record is good, so that too much is a
    /// failure all the same.
    pub(super) servers_are_right: bool,
}

/// The verdict with its reason; none when the cell can be judged.
pub(super) fn why(case: &Case<'_>, no_evidence: bool) -> Option<Broken> {
    let client = &case.facts.client;
    let ours = |reason: String| Broken {
        verdict: Verdict::Error,
        reason,
        servers_are_right: false,
    };
    if no_evidence {
        return Some(ours("there is no evidence".to_owned()));
    }
    if let Some(reason) = client.harness_errors.first() {
        return Some(ours(harmless(reason)));
    }
    unsupported(case)
        .or_else(|| {
            breach(case).map(|reason| Broken {
                servers_are_right: true,
                ..ours(reason)
            })
        })
        .or_else(|| unfinished(case).map(ours))
}

/// What the client says that it can not do, it must not have begun.
fn unsupported(case: &Case<'_>) -> Option<Broken> {
    let reason = harmless(case.facts.client.unsupported.as_ref()?);
    let sent = case.facts.exchanges.len();
    let (verdict, reason) = if sent == 0 {
        (Verdict::Unsupported, reason)
    } else {
        let reason = format!(
            "the client says that it can not do this ({reason}), but its requests arrived: {sent}"
        );
        (Verdict::Error, reason)
    };
    Some(Broken {
        verdict,
        reason,
        servers_are_right: true,
    })
}

/// What the client did against the protocol.
fn breach(case: &Case<'_>) -> Option<String> {
    let client = &case.facts.client;
    if let Some((n, line, reason)) = client.garbage.first() {
        let (line, reason) = (harmless(line), harmless(reason));
        return Some(format!(
            "the client printed a line that is not of the protocol (event {n}, {reason}): {line}"
        ));
    }
    if let Some((call, n)) = client.reported_again.first() {
        return Some(format!(
            "the client reported call {call} more than once (event {n})"
        ));
    }
    if let Some(unmarked) = unmarked(case) {
        return Some(unmarked);
    }
    let known = |id: &u32| case.calls.iter().any(|call| call.id == *id);
    let unknown = client.reports.iter().find(|(id, _)| !known(id));
    unknown.map(|(id, (mark, _))| {
        format!(
            "the client reported call {id}, which is not in its work (event {})",
            mark.n
        )
    })
}

/// Calls of a fleet are told apart by nothing but their mark.
fn unmarked(case: &Case<'_>) -> Option<String> {
    let mut requests = case.facts.exchanges.iter();
    let unmarked = requests
        .find(|one| one.call.is_none() && one.head().is_some() && !one.is_other())
        .filter(|_| case.plan.is_fleet())?;
    Some(format!(
        "a request has no header field `{CALL_HEADER}` with a number of its work (event {}), so \
         nobody knows which process of the fleet sent it",
        unmarked.began().n
    ))
}

/// A record that breaks off, or a program that ended as if it had never begun.
///
/// A program that ends without a report has crashed, which is a finding about
/// the client, once it has been seen to work. One that never connected to any
/// open port is an adapter that does not run; where no port is open that can
/// not be seen, and ending in peace without a report tells it.
fn unfinished(case: &Case<'_>) -> Option<String> {
    let client = &case.facts.client;
    let Some(ended_by) = client.end() else {
        return Some("the record breaks off before the cell ended".to_owned());
    };
    let reported = case.calls.iter().any(|call| call.report.is_some());
    if ended_by != EndedBy::Exit || reported || case.calls.is_empty() {
        return None;
    }
    let exit = client.exited.as_ref();
    let how = exit.map_or_else(|| "no exit seen".to_owned(), |exit| exit.words());
    let open = case.plan.servers.iter();
    let open = open.filter(|server| server.listen == Listen::Open).count();
    let connected = case
        .facts
        .servers
        .values()
        .any(|one| !one.accepted.is_empty());
    let broken = if open > 0 {
        !connected
    } else {
        exit.is_some_and(|exit| exit.code == Some(0))
    };
    broken.then(|| {
        format!("the program ended ({how}) without a report and without having connected anywhere")
    })
}
