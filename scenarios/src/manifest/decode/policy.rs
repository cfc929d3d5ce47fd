//! What a client's documentation promises.

use std::time::Duration;

use super::owned;
use crate::document::decode::{Keys, brief};
use crate::document::{Diagnostics, Node, Scalar, ScalarKind, Value, ids};
use crate::manifest::{ErrorKind, Policy, PolicyRule, StatusRange, WaitRule};

static POLICY: Keys = Keys::new(
    "`policy`",
    &[
        ("source", "where it is written down"),
        ("redirects", "redirect hops it follows unless told"),
        ("rules", "what it does after each kind of failure"),
    ],
);

static RULE: Keys = Keys::new(
    "a rule",
    &[
        ("status", "a list of statuses or ranges such as \"500-504\""),
        ("error", "a list of kinds of error"),
        ("method", "a list of methods; all when missing"),
        ("connection", "`reused` or `fresh`; both when missing"),
        ("retry_after", "whether the answer says Retry-After"),
        ("redirected", "whether the attempt followed a redirect"),
        ("header", "a list of fields, of which the call gives one"),
        ("attempts", "sends of the call in all; 1: not again"),
        ("wait", "how long it waits before the next one"),
        ("source", "where this is written down"),
    ],
);

static WAIT: Keys = Keys::new(
    "`wait`",
    &[
        ("at_least", "a list: the n-th wait is at least this"),
        ("at_most", "a list: the n-th wait is at most this"),
        ("retry_after", "whether Retry-After is kept to"),
    ],
);

const ERRORS: &[(&str, ErrorKind)] = &[
    ("refused", ErrorKind::Refused),
    ("connect-timeout", ErrorKind::ConnectTimeout),
    ("reset", ErrorKind::Reset),
    ("closed", ErrorKind::Closed),
    ("truncated", ErrorKind::Truncated),
    ("idle-timeout", ErrorKind::IdleTimeout),
    ("total-timeout", ErrorKind::TotalTimeout),
    ("malformed", ErrorKind::Malformed),
    ("too-many-redirects", ErrorKind::TooManyRedirects),
];

const CONNECTIONS: &[(&str, bool)] = &[("reused", true), ("fresh", false)];

/// `policy`.
pub(super) fn policy(node: &Node, out: &mut Diagnostics) -> Option<Policy> {
    let fields = node.fields(&POLICY, out)?;
    let source = fields
        .need("source", out)
        .and_then(|node| owned(node, "`source`", out));
    let redirects = fields.get("redirects").map_or(Some(None), |node| {
        let number = node.number("`redirects`", 0..=1000, out)?;
        Some(u32::try_from(number).ok())
    });
    let rules = fields.need("rules", out).and_then(|node| {
        let items = node.list("`rules`", out)?;
        let rules: Vec<_> = items.iter().map(|item| rule(item, out)).collect();
        rules.into_iter().collect()
    });
    Some(Policy {
        source: source?,
        redirects: redirects?,
        rules: rules?,
    })
}

fn rule(node: &Node, out: &mut Diagnostics) -> Option<PolicyRule> {
    let fields = node.fields(&RULE, out)?;
    if fields.get("status").is_none() && fields.get("error").is_none() {
        out.report(ids::ONE_OF, &node.span, "this rule is about nothing")
            .label("neither `status` nor `error`")
            .help("say when it applies, such as `status: [503]` or `error: [reset]`");
    }
    let status = list(fields.get("status"), "`status`", out, range);
    let error = list(fields.get("error"), "`error`", out, |node, out| {
        node.word("a kind of error", ERRORS, out)
    });
    let method = list(fields.get("method"), "`method`", out, method);
    let reused = fields.get("connection").map_or(Some(None), |node| {
        node.word("`connection`", CONNECTIONS, out).map(Some)
    });
    let retry_after = fields.get("retry_after").map_or(Some(None), |node| {
        node.truth("`retry_after`", out).map(Some)
    });
    let redirected = fields
        .get("redirected")
        .map_or(Some(None), |node| node.truth("`redirected`", out).map(Some));
    let header = list(fields.get("header"), "`header`", out, |node, out| {
        owned(node, "the name of a field", out)
    });
    let attempts = fields
        .need("attempts", out)
        .and_then(|node| attempts(node, out));
    let wait = fields
        .get("wait")
        .map_or(Some(WaitRule::default()), |node| wait(node, out));
    let source = fields
        .get("source")
        .map_or(Some(None), |node| owned(node, "`source`", out).map(Some));
    let (status, error) = (status?, error?);
    if status.is_empty() && error.is_empty() {
        return None;
    }
    Some(PolicyRule {
        status,
        error,
        method: method?,
        reused: reused?,
        retry_after: retry_after?,
        redirected: redirected?,
        header: header?,
        attempts: attempts?,
        wait: wait?,
        source: source?,
    })
}

fn list<T>(
    node: Option<&Node>,
    what: &str,
    out: &mut Diagnostics,
    read: impl Fn(&Node, &mut Diagnostics) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(node) = node else {
        return Some(Vec::new());
    };
    let items = node.filled_list(what, out)?;
    let items: Vec<_> = items.iter().map(|item| read(item, out)).collect();
    items.into_iter().collect()
}

/// `503` or `"500-504"`.
fn range(node: &Node, out: &mut Diagnostics) -> Option<StatusRange> {
    if let Value::Scalar(Scalar {
        text,
        kind: ScalarKind::Text,
    }) = &node.value
    {
        let ends = text.split_once('-');
        let ends = ends.and_then(|(from, to)| Some((status(from)?, status(to)?)));
        if let Some((from, to)) = ends.filter(|(from, to)| from <= to) {
            return Some(StatusRange { from, to });
        }
        out.report(
            ids::BAD_RANGE,
            &node.span,
            format!("`{}` is no range of statuses", brief(text)),
        )
        .label("two statuses from 100 to 599 with `-` between, the lower one first")
        .help("write \"500-504\", or a single status without quotes");
        return None;
    }
    let status = node.number("a status", 100..=599, out)?;
    let status = u16::try_from(status).ok()?;
    Some(StatusRange {
        from: status,
        to: status,
    })
}

fn status(text: &str) -> Option<u16> {
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let status = text.parse().ok().filter(|_| digits);
    status.filter(|status| (100..=599).contains(status))
}

fn method(node: &Node, out: &mut Diagnostics) -> Option<String> {
    let method = node.text("a method", out)?;
    if method
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'-')
    {
        return Some(method.to_owned());
    }
    out.report(
        ids::BAD_NAME,
        &node.span,
        format!("`{}` is no method", brief(method)),
    )
    .label("methods are written in capitals")
    .help("write it as it goes on the wire, such as GET or POST");
    None
}

/// A number, or `unlimited` for a client that never gives up.
fn attempts(node: &Node, out: &mut Diagnostics) -> Option<u32> {
    if node.is_word("unlimited") {
        return Some(u32::MAX);
    }
    let number = node.number("`attempts`", 1..=u64::from(u32::MAX), out)?;
    u32::try_from(number).ok()
}

fn wait(node: &Node, out: &mut Diagnostics) -> Option<WaitRule> {
    let fields = node.fields(&WAIT, out)?;
    let duration = |node: &Node, out: &mut Diagnostics| node.duration("a wait", out);
    let at_least: Vec<Duration> = list(fields.get("at_least"), "`at_least`", out, duration)?;
    let at_most: Vec<Duration> = list(fields.get("at_most"), "`at_most`", out, duration)?;
    let retry_after = match fields.get("retry_after") {
        Some(node) => node.truth("`retry_after`", out)?,
        None => false,
    };
    // The last of each list repeats; with Retry-After `at_most` comes on top.
    let waits = at_least.len().max(at_most.len());
    let at = |times: &[Duration], number: usize| times.get(number).or(times.last()).copied();
    let crossed = (0..waits).find(|number| {
        let bounds = at(&at_least, *number).zip(at(&at_most, *number));
        bounds.is_some_and(|(low, high)| low > high)
    });
    if let (Some(number), false) = (crossed, retry_after) {
        out.report(
            ids::BAD_RANGE,
            &node.span,
            format!("wait {} is at least more than it is at most", number + 1),
        )
        .label("the last entry of a shorter list repeats")
        .help("write both lists as long as the waits differ");
        return None;
    }
    Some(WaitRule {
        at_least,
        at_most,
        retry_after,
    })
}
