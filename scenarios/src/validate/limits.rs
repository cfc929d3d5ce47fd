//! `limits`: what the client is told to keep to.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::document::decode::{Fields, Keys};
use crate::document::kind::{Kind, NAME, Rule, Time};
use crate::document::{Diagnostics, Key, Node, ids};
use crate::plan::{Call, Jitter, Layer, Limits};
use crate::reading::names::is_name;

use super::polls;

static KEYS: Keys = Keys::new(
    "`limits`",
    &[
        ("attempts", "sends of a call, the first included", || {
            Kind::Number(ATTEMPTS)
        }),
        (
            "layers",
            "retries of each layer, outermost first",
            layers_kind,
        ),
        ("connect", "timeout of connecting", timeout_kind),
        ("idle", "timeout without a byte", timeout_kind),
        ("per_attempt", "timeout of one attempt", timeout_kind),
        (
            "total",
            "timeout of a call, all attempts together",
            timeout_kind,
        ),
        ("redirects", "redirect hops followed; 0: none", || {
            Kind::Number(REDIRECTS)
        }),
        (
            "backoff",
            "the first wait between attempts, which doubles",
            timeout_kind,
        ),
        ("backoff_cap", "the longest such wait", timeout_kind),
        ("jitter", "how much of such a wait is chance", || {
            Kind::words(JITTERS)
        }),
        (
            "retry_after_cap",
            "the longest Retry-After that is waited for",
            timeout_kind,
        ),
        ("wait", "all waits of a call together", timeout_kind),
        ("retry_share", "retries per hundred calls", || {
            Kind::Number(SHARE)
        }),
        ("in_flight", "calls that are open at the same time", || {
            Kind::Number(IN_FLIGHT)
        }),
        (
            "queue",
            "calls that wait for that; one more is not sent",
            || Kind::Number(QUEUE),
        ),
        (
            "breaker_failures",
            "failures in a row after which nothing is sent",
            || Kind::Number(FAILURES),
        ),
        (
            "breaker_open",
            "for how long; then one request is a probe",
            timeout_kind,
        ),
        (
            "hedge_after",
            "wait for an answer before a second copy is sent",
            timeout_kind,
        ),
        (
            "error_body",
            "bytes of an answer without success that are read",
            Kind::size,
        ),
        (
            "poll_every",
            "wait before each query of a `job`; a list has phases",
            polls::kind,
        ),
    ],
)
.rules(&[
    Rule::AtMostOneOf(&["attempts", "layers"]),
    Rule::With("queue", "in_flight"),
    Rule::With("breaker_open", "breaker_failures"),
]);

const ATTEMPTS: RangeInclusive<u64> = 1..=1000;
const REDIRECTS: RangeInclusive<u64> = 0..=1000;
const RETRIES: RangeInclusive<u64> = 0..=100;
const SHARE: RangeInclusive<u64> = 0..=100;
const IN_FLIGHT: RangeInclusive<u64> = 1..=1000;
const QUEUE: RangeInclusive<u64> = 0..=100_000;
const FAILURES: RangeInclusive<u64> = 1..=1000;

/// The most layers: more than anybody has found in one stack.
const MOST_LAYERS: usize = 10;

const JITTERS: &[(&str, Jitter)] = &[
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("none", Jitter::None),
];

/// `limits`.
pub(super) fn kind() -> Kind {
    Kind::Map(&KEYS)
}

pub(super) fn timeout_kind() -> Kind {
    Kind::Time(Time {
        least: Duration::from_millis(1),
        whole: true,
    })
}

fn layers_kind() -> Kind {
    Kind::names(NAME, 1..=MOST_LAYERS, Kind::Number(RETRIES))
}

/// Reads `limits`.
pub(super) fn limits(document: &Fields<'_>, out: &mut Diagnostics) -> Option<Limits> {
    let Some(node) = document.get("limits") else {
        return Some(Limits::default());
    };
    let fields = node.fields(&KEYS, out)?;
    // All are read before one that is wrong ends it, so that all mistakes are told.
    let together = go_together(&fields, out);
    let attempts = count(&fields, "attempts", ATTEMPTS, out);
    let layers = fields
        .get("layers")
        .map_or(Some(Vec::new()), |node| layers(node, out));
    let connect = timeout(&fields, "connect", out);
    let idle = timeout(&fields, "idle", out);
    let per_attempt = timeout(&fields, "per_attempt", out);
    let total = timeout(&fields, "total", out);
    let redirects = count(&fields, "redirects", REDIRECTS, out);
    let backoff = timeout(&fields, "backoff", out);
    let backoff_cap = timeout(&fields, "backoff_cap", out);
    let jitter = one(&fields, "jitter", |node| {
        node.word("a kind of jitter", JITTERS, out)
    });
    let retry_after_cap = timeout(&fields, "retry_after_cap", out);
    let wait = timeout(&fields, "wait", out);
    let retry_share = count(&fields, "retry_share", SHARE, out);
    let in_flight = count(&fields, "in_flight", IN_FLIGHT, out);
    let queue = count(&fields, "queue", QUEUE, out);
    let breaker_failures = count(&fields, "breaker_failures", FAILURES, out);
    let breaker_open = timeout(&fields, "breaker_open", out);
    let hedge_after = timeout(&fields, "hedge_after", out);
    let error_body = one(&fields, "error_body", |node| node.size("`error_body`", out));
    let poll_every = fields
        .get("poll_every")
        .map_or(Some(Vec::new()), |node| polls::polls(node, out));
    together?;
    Some(Limits {
        attempts: attempts?,
        layers: layers?,
        connect: connect?,
        idle: idle?,
        per_attempt: per_attempt?,
        total: total?,
        redirects: redirects?,
        backoff: backoff?,
        backoff_cap: backoff_cap?,
        jitter: jitter?,
        retry_after_cap: retry_after_cap?,
        wait: wait?,
        retry_share: retry_share?,
        in_flight: in_flight?,
        queue: queue?,
        breaker_failures: breaker_failures?,
        breaker_open: breaker_open?,
        hedge_after: hedge_after?,
        error_body: error_body?,
        poll_every: poll_every?,
    })
}

/// A limit that may be left out; none on the outside: it is wrong.
fn one<T>(
    fields: &Fields<'_>,
    key: &str,
    read: impl FnOnce(&Node) -> Option<T>,
) -> Option<Option<T>> {
    match fields.get(key) {
        None => Some(None),
        Some(node) => read(node).map(Some),
    }
}

fn count(
    fields: &Fields<'_>,
    key: &str,
    bounds: RangeInclusive<u64>,
    out: &mut Diagnostics,
) -> Option<Option<u32>> {
    one(fields, key, |node| {
        number(node, &format!("`{key}`"), bounds, out)
    })
}

fn number(
    node: &Node,
    what: &str,
    bounds: RangeInclusive<u64>,
    out: &mut Diagnostics,
) -> Option<u32> {
    let number = node.number(what, bounds, out)?;
    u32::try_from(number).ok()
}

/// Clients are told times in whole milliseconds.
fn timeout(fields: &Fields<'_>, key: &str, out: &mut Diagnostics) -> Option<Option<Duration>> {
    one(fields, key, |node| told_time(node, key, out))
}

/// A time that a client can be told.
pub(super) fn told_time(node: &Node, key: &str, out: &mut Diagnostics) -> Option<Duration> {
    let time = node.duration(&format!("`{key}`"), out)?;
    let whole = time.subsec_nanos() % 1_000_000 == 0;
    if time.is_zero() || !whole {
        out.report(
            ids::BAD_DURATION,
            &node.span,
            format!("`{key}` must be a time that a client can be told"),
        )
        .label("at least 1ms, in whole milliseconds")
        .help("leave the key out for the client's own default");
        return None;
    }
    Some(time)
}

/// `{gateway: 1, sdk: 2}`.
fn layers(node: &Node, out: &mut Diagnostics) -> Option<Vec<Layer>> {
    let entries = node.map("`layers`", out)?;
    if entries.is_empty() || entries.len() > MOST_LAYERS {
        let title = format!("`layers` has from 1 to {MOST_LAYERS} entries");
        out.report(ids::EMPTY_LIST, &node.span, title)
            .label(format!("{} here", entries.len()))
            .help("write each layer with its retries, outermost first: `{gateway: 1, sdk: 2}`");
        return None;
    }
    let layers: Vec<_> = entries
        .iter()
        .map(|(name, retries)| layer(name, retries, out))
        .collect();
    let layers: Vec<Layer> = layers.into_iter().collect::<Option<_>>()?;
    let sends = layers.iter().map(Layer::tries).product::<u64>();
    if !ATTEMPTS.contains(&sends) {
        let most = ATTEMPTS.end();
        let title = format!("these layers make more than {most} sends of a call");
        out.report(ids::BAD_NUMBER, &node.span, title)
            .label(format!(
                "{sends}: one more than its retries, of each layer, multiplied"
            ))
            .help("take a layer away, or retries")
            .beyond_schema();
        return None;
    }
    Some(layers)
}

fn layer(name: &Key, retries: &Node, out: &mut Diagnostics) -> Option<Layer> {
    let good = is_name(&name.text);
    if !good {
        out.report(
            ids::BAD_NAME,
            &name.span,
            "this can not be the name of a layer",
        )
        .label("a name of `layers`")
        .help("a name is a lower-case word such as `sdk` or `api_gateway`");
    }
    let what = format!("the retries of `{}`", name.text);
    let retries = number(retries, &what, RETRIES, out)?;
    good.then(|| Layer {
        name: name.text.clone(),
        retries,
    })
}

/// Which limits can not stand beside each other, and which not alone.
fn go_together(fields: &Fields<'_>, out: &mut Diagnostics) -> Option<()> {
    let apart = fields.at_most_one_of(&["attempts", "layers"], out);
    let queue = with(fields, "queue", "in_flight", "4", out);
    let open = with(fields, "breaker_open", "breaker_failures", "5", out);
    apart.and(queue).and(open)
}

fn with(
    fields: &Fields<'_>,
    key: &str,
    other: &str,
    such_as: &str,
    out: &mut Diagnostics,
) -> Option<()> {
    match fields.entry(key) {
        Some((at, _)) if fields.get(other).is_none() => {
            out.report(
                ids::KEY_WITHOUT,
                &at.span,
                format!("`{key}` needs `{other}`"),
            )
            .label("it says more about that limit")
            .help(format!("add `{other}: {such_as}`, or remove `{key}`"));
            None
        }
        _ => Some(()),
    }
}

/// Limits that the rest of the case never brings a client to.
pub(super) fn check(
    document: &Fields<'_>,
    (limits, calls): (&Limits, &[Call]),
    out: &mut Diagnostics,
) {
    let Some(fields) = document.get("limits").map(|node| node.map("`limits`", out)) else {
        return;
    };
    let entries = fields.unwrap_or_default();
    let mut say = |key: &str, label: String, help: &str| {
        let at = entries.iter().find(|(name, _)| name.text == key);
        if let Some((name, _)) = at {
            let title = format!("no client ever comes to the limit `{key}`");
            out.report(ids::UNUSED_LIMIT, &name.span, title)
                .label(label)
                .help(help);
        }
    };
    let at_once = calls.iter().map(|call| call.at_once).max().unwrap_or(1);
    if limits.in_flight.is_some_and(|most| most >= at_once) {
        let label = format!("at most {at_once} of the calls are made at the same time");
        say("in_flight", label, "raise `at_once` of the calls above it");
    }
    let earned = |share: u32| u64::from(share).saturating_mul(calls.len() as u64);
    if limits
        .retry_share
        .is_some_and(|share| share > 0 && earned(share) < 100)
    {
        let label = format!("{} calls are too few for one retry", calls.len());
        say(
            "retry_share",
            label,
            "make more calls with `repeat`, or write `attempts: 1` for no retry at all",
        );
    }
    if !limits.poll_every.is_empty() && calls.iter().all(|call| call.job.is_none()) {
        say(
            "poll_every",
            "nothing is asked after here".to_owned(),
            "write the work as `job`, with a `query`, or remove it",
        );
    }
    let (backoff, cap) = (limits.backoff, limits.backoff_cap);
    if let (Some(backoff), Some(cap)) = (backoff, cap)
        && cap < backoff
    {
        say(
            "backoff",
            format!("every wait is `backoff_cap`, {cap:?}"),
            "raise `backoff_cap`, or lower `backoff`",
        );
    }
}
