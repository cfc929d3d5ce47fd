//! `limits` and `needs`: what the client is told, and what it must be able to do.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::document::decode::{Fields, Keys, not_yet};
use crate::document::kind::{Kind, Time};
use crate::document::{Diagnostics, Node, ids};
use crate::manifest::Ability;
use crate::plan::{BodyAs, Call, Limits, Request, ServerPlan};

static KEYS: Keys = Keys::new(
    "`limits`",
    &[
        ("attempts", "sends of a call, the first included", || {
            Kind::Number(1..=1000)
        }),
        ("connect", "timeout of connecting", timeout_kind),
        ("idle", "timeout without a byte", timeout_kind),
        (
            "total",
            "timeout of a call, all attempts together",
            timeout_kind,
        ),
        ("redirects", "redirect hops followed; 0: none", || {
            Kind::Number(0..=1000)
        }),
    ],
)
.not_yet(&[
    "layers",
    "per_attempt",
    "backoff",
    "backoff_cap",
    "poll_every",
    "hedge_after",
    "in_flight",
    "queue",
    "retry_after_cap",
    "wait",
    "retry_share",
    "error_body",
    "breaker_failures",
    "breaker_open",
]);

/// `limits`.
pub(super) fn kind() -> Kind {
    Kind::Map(&KEYS)
}

/// `needs`.
pub(super) fn needs_kind() -> Kind {
    Kind::list(Kind::words(NEEDS))
}

fn timeout_kind() -> Kind {
    Kind::Time(Time {
        least: Duration::from_millis(1),
        whole: true,
    })
}

/// Reads `limits`.
pub(super) fn limits(document: &Fields<'_>, out: &mut Diagnostics) -> Option<Limits> {
    let Some(node) = document.get("limits") else {
        return Some(Limits::default());
    };
    let fields = node.fields(&KEYS, out)?;
    let mut good = true;
    let mut count = |key: &str, low: u64, out: &mut Diagnostics| {
        let read = fields
            .get(key)
            .map(|node| node.number(&format!("`{key}`"), low..=1000, out));
        good &= read != Some(None);
        read.flatten().and_then(|count| u32::try_from(count).ok())
    };
    let attempts = count("attempts", 1, out);
    let redirects = count("redirects", 0, out);
    let mut timeout = |key: &str, out: &mut Diagnostics| {
        let read = fields.get(key).map(|node| timeout(node, key, out));
        good &= read != Some(None);
        read.flatten()
    };
    let connect = timeout("connect", out);
    let idle = timeout("idle", out);
    let total = timeout("total", out);
    good.then_some(Limits {
        attempts,
        connect,
        idle,
        total,
        redirects,
    })
}

/// Clients are told timeouts in whole milliseconds.
fn timeout(node: &Node, key: &str, out: &mut Diagnostics) -> Option<Duration> {
    let time = node.duration(&format!("`{key}`"), out)?;
    let whole = time.subsec_nanos() % 1_000_000 == 0;
    if time.is_zero() || !whole {
        out.report(
            ids::BAD_DURATION,
            &node.span,
            format!("`{key}` must be a timeout"),
        )
        .label("at least 1ms, in whole milliseconds")
        .help("leave the key out for the client's own default");
        return None;
    }
    Some(time)
}

/// Abilities that a scenario may ask for by name.
const NEEDS: &[(&str, Ability)] = &[
    ("follows-redirects", Ability::FollowsRedirects),
    ("retries", Ability::Retries),
    ("reuses-connections", Ability::ReusesConnections),
    ("decodes-gzip", Ability::DecodesGzip),
    ("decodes-deflate", Ability::DecodesDeflate),
    ("decodes-br", Ability::DecodesBr),
    ("tells-progress", Ability::TellsProgress),
];

/// Abilities that follow from the work and the limits, with what implies them.
const IMPLIED: &[(&str, &str)] = &[
    ("literal", "a call with a method and a URL"),
    ("calls", "`calls`"),
    ("at-once", "`at_once`"),
    ("cancels", "`cancel`"),
    ("looks-up", "`look_up` of a call"),
    ("streams", "`stream`"),
    ("streams-body", "`body_as: stream`"),
    (
        "tries-every-address",
        "a URL with the host `localhost`, which is several addresses,",
    ),
    ("attempts", "the limit `attempts`"),
    ("connect", "the limit `connect`"),
    ("idle", "the limit `idle`"),
    ("total", "the limit `total`"),
    ("redirects", "the limit `redirects`"),
];

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
    for word in ["resumes", "resumes-after-crash"] {
        if item.is_word(word) {
            not_yet(&item.span, word, out);
            return None;
        }
    }
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
    cancels: bool,
    out: &mut Diagnostics,
) -> BTreeSet<Ability> {
    let mut needs = implied(servers, calls, limits);
    if document.get("calls").is_some() {
        needs.insert(Ability::Calls);
    }
    if cancels {
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
    if calls.iter().any(Call::is_resumable) {
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
    let limit = |set: bool, ability: Ability, needs: &mut BTreeSet<Ability>| {
        if set {
            needs.insert(ability);
        }
    };
    limit(limits.attempts.is_some(), Ability::Attempts, &mut needs);
    limit(limits.connect.is_some(), Ability::Connect, &mut needs);
    limit(limits.idle.is_some(), Ability::Idle, &mut needs);
    limit(limits.total.is_some(), Ability::Total, &mut needs);
    limit(limits.redirects.is_some(), Ability::Redirects, &mut needs);
    // A client that is told to follow no redirect need not be able to.
    let follows = limits.redirects.is_some_and(|hops| hops > 0);
    limit(follows, Ability::FollowsRedirects, &mut needs);
    needs
}
