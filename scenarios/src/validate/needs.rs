//! `needs`: what a client must be able to do for a case.

use std::collections::BTreeSet;

use crate::document::decode::Fields;
use crate::document::kind::Kind;
use crate::document::{Diagnostics, Node, ids};
use crate::manifest::Ability;
use crate::plan::{BodyAs, Call, Limits, Request, ServerPlan};
use crate::scope::Treatment;

/// Abilities that a scenario may ask for by name.
const NEEDS: &[(&str, Ability)] = &[
    ("follows-redirects", Ability::FollowsRedirects),
    ("retries", Ability::Retries),
    ("reuses-connections", Ability::ReusesConnections),
    ("resumes-after-crash", Ability::ResumesAfterCrash),
    ("decodes-gzip", Ability::DecodesGzip),
    ("decodes-deflate", Ability::DecodesDeflate),
    ("decodes-br", Ability::DecodesBr),
    ("tells-progress", Ability::TellsProgress),
    ("tells-causes", Ability::TellsCauses),
];

/// Abilities that follow from the work and the limits, with what implies them.
const IMPLIED: &[(&str, &str)] = &[
    ("literal", "a call with a method and a URL"),
    ("calls", "`calls` or `fleet`"),
    ("at-once", "`at_once`"),
    ("cancels", "`cancel`"),
    ("looks-up", "`look_up` of a call"),
    ("streams", "`stream`"),
    (
        "resumes",
        "`cursor` of a `stream`, or `resumable` of a `call`,",
    ),
    ("job", "`job`"),
    ("batch", "`batch`"),
    ("streams-body", "`body_as: stream`"),
    (
        "tries-every-address",
        "a URL with the host `localhost`, which is several addresses,",
    ),
    ("attempts", "the limit `attempts`"),
    ("layers", "the limit `layers`"),
    ("connect", "the limit `connect`"),
    ("idle", "the limit `idle`"),
    ("per-attempt", "the limit `per_attempt`"),
    ("total", "the limit `total`"),
    ("redirects", "the limit `redirects`"),
    ("backoff", "the limit `backoff`"),
    ("backoff-cap", "the limit `backoff_cap`"),
    ("jitter", "the limit `jitter`"),
    ("retry-after-cap", "the limit `retry_after_cap`"),
    ("wait", "the limit `wait`"),
    ("retry-share", "the limit `retry_share`"),
    ("in-flight", "the limit `in_flight`"),
    ("queue", "the limit `queue`"),
    ("breaker-failures", "the limit `breaker_failures`"),
    ("breaker-open", "the limit `breaker_open`"),
    ("hedge-after", "the limit `hedge_after`"),
    ("error-body", "the limit `error_body`"),
    ("poll-every", "the limit `poll_every`"),
];

/// `needs`.
pub(super) fn kind() -> Kind {
    Kind::list(Kind::words(NEEDS))
}

/// Reads `needs` as written.
pub(super) fn needs(document: &Fields<'_>, out: &mut Diagnostics) -> Option<Vec<Ability>> {
    let Some(node) = document.get("needs") else {
        return Some(Vec::new());
    };
    let items = node.filled_list("`needs`", out)?;
    let needs: Vec<_> = items.iter().map(|item| need(item, out)).collect();
    needs.into_iter().collect()
}

fn need(item: &Node, out: &mut Diagnostics) -> Option<Ability> {
    if let Some((word, by)) = IMPLIED.iter().find(|(word, _)| item.is_word(word)) {
        out.report(
            ids::IMPLIED_NEED,
            &item.span,
            format!("`{word}` is not asked for in `needs`"),
        )
        .label("this ability follows from the rest of the scenario")
        .help(format!("remove it; {by} implies it"));
        return None;
    }
    item.word("an ability", NEEDS, out)
}

/// The needs of a case, those included that its work and limits imply.
pub(super) fn all_needs(
    document: &Fields<'_>,
    written: Vec<Ability>,
    (servers, calls, limits): (&[ServerPlan], &[Call], &Limits),
    treatment: Treatment,
    out: &mut Diagnostics,
) -> BTreeSet<Ability> {
    let mut needs = implied(servers, calls, limits);
    // Only who is spoken with has its work when all are there, and marks its requests.
    if document.get("calls").is_some() || treatment.fleet {
        needs.insert(Ability::Calls);
    }
    if treatment.cancels {
        needs.insert(Ability::Cancels);
    }
    let nodes = document
        .get("needs")
        .and_then(|node| node.list("`needs`", out));
    for (ability, node) in written.into_iter().zip(nodes.unwrap_or_default()) {
        if !needs.insert(ability) {
            out.report(ids::IMPLIED_NEED, &node.span, "this need is there already")
                .label("the rest of the scenario implies it, or it stands here twice")
                .help("remove it")
                .beyond_schema();
        }
    }
    needs
}

fn implied(servers: &[ServerPlan], calls: &[Call], limits: &Limits) -> BTreeSet<Ability> {
    let mut needs = BTreeSet::new();
    for call in calls {
        if call.look_up.is_some() {
            needs.insert(Ability::LooksUp);
        }
        if call.at_once > 1 {
            needs.insert(Ability::AtOnce);
        }
        if let Request::Literal { url, body_as, .. } = &call.request {
            needs.insert(Ability::Literal);
            if url.is_at_localhost() {
                needs.insert(Ability::TriesEveryAddress);
            }
            if *body_as == BodyAs::Stream {
                needs.insert(Ability::StreamsBody);
            }
        }
    }
    if calls.iter().any(|call| call.stream.is_some()) {
        needs.insert(Ability::Streams);
    }
    if calls.iter().any(|call| call.job.is_some()) {
        needs.insert(Ability::Job);
    }
    if calls.iter().any(|call| call.batch.is_some()) {
        needs.insert(Ability::Batch);
    }
    if calls
        .iter()
        .any(|call| call.is_resumable() || call.has_cursor())
    {
        needs.insert(Ability::Resumes);
    }
    let steps = || {
        servers
            .iter()
            .flat_map(|server| &server.queues)
            .flat_map(|queue| &queue.steps)
    };
    needs.extend(steps().filter_map(|step| step.fault.behaviour().needs()));
    let reused = Some(scripted_servers::script::ConnectionUse::Reused);
    if steps().any(|step| step.when.connection == reused) {
        needs.insert(Ability::ReusesConnections);
    }
    needs.extend(limits.abilities());
    // A client that is told to follow no redirect need not be able to.
    if limits.redirects.is_some_and(|hops| hops > 0) {
        needs.insert(Ability::FollowsRedirects);
    }
    needs
}
