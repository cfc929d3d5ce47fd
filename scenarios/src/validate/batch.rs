//! `batch`: work of many items.

use std::time::Duration;

use crate::document::decode::{Fields, Keys};
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};
use crate::plan::{Batch, Call, Content, Request};
use crate::reading::{Reading, all_good, content};

use super::work::{self, MOST_CALLS};

static BATCH: Keys = Keys::new(
    "a batch",
    &[
        ("items", "how many items there are", || {
            Kind::Number(2..=MOST_CALLS)
        }),
        ("per_request", "items of one request", || {
            Kind::Number(1..=MOST_PER_REQUEST).by_default(1)
        }),
        (
            "into",
            "with `per_request` above 1: the key of the list that their contents become",
            Kind::text,
        ),
        (
            "send",
            "what is sent of each item; `{n}` is its number",
            || Kind::Map(&SEND),
        ),
    ],
)
.rules(&[
    Rule::Needs(&["items", "send"]),
    Rule::With("into", "per_request"),
])
.elsewhere(&[
    ("url", "`send`"),
    ("method", "`send`"),
    ("body", "`send`"),
    ("verdicts", "`batch` under `models` of a server"),
]);

static SEND: Keys = Keys::new(
    "what is sent of an item",
    &[
        (
            "method",
            "the method; GET unless it is written",
            work::method_kind,
        ),
        (
            "url",
            "where it goes, such as \"{api}/rows/{n}\"",
            work::url_kind,
        ),
        ("headers", "header fields by name", || {
            content::headers_without(&[])
        }),
        ("body", "the content", content::request_body),
    ],
)
.rules(&[Rule::Needs(&["url"])]);

/// Most items of one request.
const MOST_PER_REQUEST: u64 = 100;

/// `batch`.
pub(super) fn kind() -> Kind {
    Kind::Map(&BATCH)
}

/// Reads `batch`: a call for each item.
pub(super) fn batch(node: &Node, reading: &mut Reading<'_>) -> Option<Vec<Call>> {
    let fields = node.fields(&BATCH, reading.out)?;
    let items = fields.need("items", reading.out);
    let send = fields.need("send", reading.out);
    let items = items.and_then(|node| node.number("`items`", 2..=MOST_CALLS, reading.out));
    let per_request = fields
        .get("per_request")
        .map(|node| node.number("`per_request`", 1..=MOST_PER_REQUEST, reading.out));
    let into = fields
        .get("into")
        .map(|node| node.text("`into`", reading.out).map(str::to_owned));
    let (items, per_request) = (items?, all_good(per_request)?.unwrap_or(1));
    let into = all_good(into)?;
    let batch = Batch {
        per_request: u32::try_from(per_request).ok()?,
        into,
    };
    together(&fields, items, &batch, reading)?;
    let line = reading.out.line(&node.span);
    let send = send?;
    let sent = send.fields(&SEND, reading.out)?;
    let url = sent.need("url", reading.out)?;
    let mut calls = Vec::new();
    for id in 1..=u32::try_from(items).ok()? {
        calls.push(item(&sent, id, line, &batch, reading)?);
    }
    if batch.per_request > 1 {
        alike(&calls, url, reading)?;
        in_json(&calls, send, reading)?;
    }
    Some(calls)
}

fn item(
    sent: &Fields<'_>,
    id: u32,
    line: u32,
    batch: &Batch,
    reading: &mut Reading<'_>,
) -> Option<Call> {
    reading.call = Some(id);
    let method = sent.get("method").map(|node| reading.method(node));
    let url = sent.get("url").and_then(|node| work::url(node, reading));
    let headers = sent.get("headers").map(|node| reading.headers(node));
    let body = sent.get("body").map(|node| reading.request_body(node));
    reading.call = None;
    Some(Call {
        id,
        line,
        pause: Duration::ZERO,
        group: 1,
        at_once: 1,
        request: Request::Literal {
            method: all_good(method)?.unwrap_or_else(|| "GET".to_owned()),
            url: url?,
            headers: all_good(headers)?.unwrap_or_default(),
            body: all_good(body)?,
            body_as: Default::default(),
        },
        look_up: None,
        stream: None,
        job: None,
        batch: Some(batch.clone()),
    })
}

/// `into` is for items that share a request, and those need it.
fn together(
    fields: &Fields<'_>,
    items: u64,
    batch: &Batch,
    reading: &mut Reading<'_>,
) -> Option<()> {
    let shared = batch.per_request > 1;
    let (key, title, label, help) = if u64::from(batch.per_request) > items {
        (
            "per_request",
            "a request has more items than the batch",
            format!("there are {items} items"),
            "write fewer, or more `items`",
        )
    } else if shared && batch.into.is_none() {
        (
            "per_request",
            "`per_request` needs `into`",
            "nobody knows where the items of a request stand in its content".to_owned(),
            "add `into: rows`, the key of the list that the contents become",
        )
    } else if !shared && batch.into.is_some() {
        (
            "into",
            "`into` needs `per_request` above 1",
            "each item is a request of its own".to_owned(),
            "add `per_request: 5`, or remove `into`",
        )
    } else {
        return Some(());
    };
    let (key, _) = fields.entry(key)?;
    reading
        .out
        .report(ids::KEY_WITHOUT, &key.span, title)
        .label(label)
        .help(help)
        .beyond_schema = true;
    None
}

/// Items of one request have the same method, URL and header fields.
fn alike(calls: &[Call], url: &Node, reading: &mut Reading<'_>) -> Option<()> {
    let head = |call: &Call| match &call.request {
        Request::Literal { url, headers, .. } => Some((url.clone(), headers.clone())),
        Request::Operation { .. } => None,
    };
    let heads = calls.first().zip(calls.get(1));
    if heads.is_none_or(|(one, other)| head(one) == head(other)) {
        return Some(());
    }
    reading
        .out
        .report(
            ids::BAD_URL,
            &url.span,
            "items of one request have one URL and one set of headers",
        )
        .label("`{n}` makes another one for each item")
        .help("write `{n}` in the body only, or remove `per_request` and `into`")
        .beyond_schema();
    None
}

/// Only JSON can be put into a list.
fn in_json(calls: &[Call], send: &Node, reading: &mut Reading<'_>) -> Option<()> {
    let is_json = |call: &Call| {
        matches!(
            &call.request,
            Request::Literal {
                body: Some(Content::Json(_)),
                ..
            }
        )
    };
    if calls.iter().all(is_json) {
        return Some(());
    }
    reading
        .out
        .report(
            ids::KEY_WITHOUT,
            &send.span,
            "`per_request` needs a `body` of JSON",
        )
        .label("the contents of several items become one list")
        .help("write `body: {json: {id: \"{n}\"}}`")
        .beyond_schema = true;
    None
}
