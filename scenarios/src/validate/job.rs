//! `job`: work that is submitted and asked after.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};
use crate::plan::{Call, Codes, Job, Query};
use crate::reading::{Reading, all_good, content};
use crate::template::Piece;

use super::work;

static JOB: Keys = Keys::new(
    "a job",
    &[
        (
            "submit",
            "the call that submits it; the `job` in the JSON of its answer is the id",
            || Kind::Map(&SUBMIT),
        ),
        (
            "query",
            "the call that asks after it, with `{job}` in its URL",
            || Kind::Map(&QUERY),
        ),
        ("codes", "what the codes in the answers mean", || {
            Kind::Map(&CODES)
        }),
    ],
)
.rules(&[Rule::Needs(&["submit", "query", "codes"])])
.elsewhere(&[
    ("url", "`submit` and `query`"),
    ("method", "`submit` and `query`"),
    ("body", "`submit`"),
    ("poll_every", "`limits` of the scenario"),
]);

static SUBMIT: Keys = Keys::new(
    "the call that submits",
    &[
        (
            "method",
            "the method; GET unless it is written",
            work::method_kind,
        ),
        (
            "url",
            "where it goes, such as \"{api}/jobs\"",
            work::url_kind,
        ),
        ("headers", "header fields by name", headers_kind),
        ("body", "the content", content::request_body),
        ("body_as", "`buffer` or `stream`", || {
            Kind::words(work::BODY_AS).by_default("buffer")
        }),
    ],
)
.rules(&[Rule::Needs(&["url"]), Rule::With("body_as", "body")]);

static QUERY: Keys = Keys::new(
    "the call that asks",
    &[
        (
            "method",
            "the method; GET unless it is written",
            work::method_kind,
        ),
        (
            "url",
            "where it goes, such as \"{api}/jobs/{job}\"",
            work::url_kind,
        ),
        ("headers", "header fields by name", headers_kind),
        ("body", "the content", content::request_body),
    ],
)
.rules(&[Rule::Needs(&["url"])]);

static CODES: Keys = Keys::new(
    "`codes`",
    &[
        (
            "header",
            "the header field of an answer that tells the code",
            content::field_name,
        ),
        ("done", "codes of a job that is done", codes_kind),
        ("working", "codes of a job that goes on", codes_kind),
        (
            "refused",
            "codes of a job that will never be done",
            codes_kind,
        ),
    ],
)
.rules(&[Rule::Needs(&["header", "done"])]);

/// `job`.
pub(super) fn kind() -> Kind {
    Kind::Map(&JOB)
}

fn headers_kind() -> Kind {
    content::headers_without(&[])
}

fn codes_kind() -> Kind {
    Kind::list(Kind::fits("[ -~]+"))
}

/// Reads `job`: a call that submits, and how it is asked after.
pub(super) fn job(node: &Node, reading: &mut Reading<'_>) -> Option<Call> {
    let fields = node.fields(&JOB, reading.out)?;
    let submit = fields.need("submit", reading.out);
    let query = fields.need("query", reading.out);
    let codes = fields.need("codes", reading.out);
    reading.call = Some(1);
    let request = submit.and_then(|node| {
        let fields = node.fields(&SUBMIT, reading.out)?;
        fields.need("url", reading.out)?;
        work::literal(&fields, reading)
    });
    let query = query.and_then(|node| self::query(node, reading));
    reading.call = None;
    let codes = codes.and_then(|node| self::codes(node, reading));
    let (query, codes) = (query?, codes?);
    Some(Call {
        id: 1,
        line: reading.out.line(&node.span),
        pause: Duration::ZERO,
        group: 0,
        at_once: 1,
        request: request?,
        look_up: None,
        stream: None,
        job: Some(Job { query, codes }),
        batch: None,
    })
}

fn query(node: &Node, reading: &mut Reading<'_>) -> Option<Query> {
    let fields = node.fields(&QUERY, reading.out)?;
    let method = fields.get("method").map(|node| reading.method(node));
    let url = fields.need("url", reading.out);
    reading.in_query = true;
    let template = url.and_then(|node| work::url(node, reading));
    let headers = fields.get("headers").map(|node| reading.headers(node));
    reading.in_query = false;
    let body = fields.get("body").map(|node| reading.request_body(node));
    let (url, template) = (url?, template?);
    if !template.0.contains(&Piece::Job) {
        reading
            .out
            .report(ids::BAD_URL, &url.span, "this query can ask after no job")
            .label("`{job}` is missing in it")
            .help("put `{job}` where the id stands, such as \"{api}/jobs/{job}\"")
            .beyond_schema();
        return None;
    }
    Some(Query {
        method: all_good(method)?.unwrap_or_else(|| "GET".to_owned()),
        url: template,
        headers: all_good(headers)?.unwrap_or_default(),
        body: all_good(body)?,
    })
}

fn codes(node: &Node, reading: &mut Reading<'_>) -> Option<Codes> {
    let fields = node.fields(&CODES, reading.out)?;
    let header = fields.need("header", reading.out);
    let done = fields.need("done", reading.out);
    let header = header.and_then(|node| reading.field_of(node, "`header`"));
    let mut seen = BTreeSet::new();
    let done = done.and_then(|node| list(node, "`done`", &mut seen, reading));
    let working = fields
        .get("working")
        .map(|node| list(node, "`working`", &mut seen, reading));
    let refused = fields
        .get("refused")
        .map(|node| list(node, "`refused`", &mut seen, reading));
    Some(Codes {
        header: header?,
        done: done?,
        working: all_good(working)?.unwrap_or_default(),
        refused: all_good(refused)?.unwrap_or_default(),
    })
}

/// Codes of one meaning, none of which stands anywhere else.
fn list(
    node: &Node,
    what: &str,
    seen: &mut BTreeSet<String>,
    reading: &mut Reading<'_>,
) -> Option<Vec<String>> {
    let items = node.filled_list(what, reading.out)?;
    let codes: Vec<_> = items.iter().map(|item| code(item, seen, reading)).collect();
    codes.into_iter().collect()
}

fn code(item: &Node, seen: &mut BTreeSet<String>, reading: &mut Reading<'_>) -> Option<String> {
    let code = item.text("a code", reading.out)?;
    if !code.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        reading
            .out
            .report(ids::BAD_FIELD, &item.span, "not the value of a header")
            .label("only plain characters can stand in it")
            .help("write digits and letters, and `*` at the end for whatever follows");
        return None;
    }
    if !seen.insert(code.to_owned()) {
        reading
            .out
            .report(ids::SAME_TWICE, &item.span, "this code stands here twice")
            .label("again here")
            .help("a code has one meaning");
        return None;
    }
    Some(code.to_owned())
}
