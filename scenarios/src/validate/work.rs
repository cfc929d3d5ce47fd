//! `call` and `calls`: the work of the client.

use std::time::Duration;

use crate::document::decode::{Fields, Keys, not_yet};
use crate::document::kind::{Kind, NAME, Rule};
use crate::document::{Key, Node, Span, ids};
use crate::manifest::{OPERATIONS, OperationName};
use crate::plan::{BodyAs, Call, Request, Stream};
use crate::template::{Piece, Template};

use crate::reading::{Reading, all_good, content, cursor, names};

use super::{batch, job};

/// Most calls of one case.
pub(super) const MOST_CALLS: u64 = 1000;

/// Most calls at the same time.
const MOST_AT_ONCE: u64 = 100;

macro_rules! call_keys {
    ($of:literal, $($more:expr),*) => {
        Keys::new(
            $of,
            &[
                ("method", "the method; GET unless it is written", method_kind),
                ("url", "where it goes, such as \"{api}/x\"", url_kind),
                ("headers", "header fields by name", || content::headers_without(&[])),
                ("body", "the content", content::request_body),
                ("body_as", "`buffer` or `stream`", || Kind::words(BODY_AS).by_default("buffer")),
                ("operation", "`create`, `fetch`, `replace`, `remove` or `upload`", || Kind::words(OPERATIONS)),
                ("at", "with `operation`: the server, such as \"{api}\"", at_kind),
                $($more),*
            ],
        )
        .rules(&[
            Rule::OneOf(&["url", "operation"]),
            Rule::With("method", "url"),
            Rule::With("headers", "url"),
            Rule::With("body", "url"),
            Rule::With("body_as", "url"),
            Rule::With("look_up", "url"),
            Rule::With("body_as", "body"),
            Rule::With("operation", "at"),
            Rule::With("at", "operation"),
            Rule::WithWord("size", "operation", "upload"),
            Rule::WithWord("resumable", "operation", "upload"),
            Rule::With("at_once", "repeat"),
        ])
        .elsewhere(&[
            ("text", "`body`"),
            ("json", "`body`"),
            ("attempts", "`limits` of the scenario"),
            ("redirects", "`limits` of the scenario"),
        ])
    };
}

static CALL: Keys = call_keys!(
    "a call",
    (
        "size",
        "with `operation: upload`: bytes of content",
        content::content_size
    ),
    (
        "resumable",
        "with `operation: upload`: `true` for one that goes on where it broke off",
        || Kind::Truth.by_default(false)
    ),
    (
        "look_up",
        "where the truth can be asked for after an unknown outcome, by GET",
        url_kind
    )
)
.not_yet(&["via"])
.elsewhere(&[
    ("ends_with", "`stream`, in the place of `call`"),
    ("cursor", "`stream`, in the place of `call`"),
    ("pause", "an entry of `calls`"),
    ("repeat", "an entry of `calls`"),
    ("text", "`body`"),
    ("json", "`body`"),
    ("attempts", "`limits` of the scenario"),
    ("redirects", "`limits` of the scenario"),
]);

static CALLS: Keys = call_keys!(
    "a call",
    (
        "size",
        "with `operation: upload`: bytes of content",
        content::content_size
    ),
    (
        "resumable",
        "with `operation: upload`: `true` for one that goes on where it broke off",
        || Kind::Truth.by_default(false)
    ),
    (
        "look_up",
        "where the truth can be asked for after an unknown outcome, by GET",
        url_kind
    ),
    ("pause", "wait before it", || Kind::time().by_default("0ms")),
    ("repeat", "how often it is made", || Kind::Number(
        1..=MOST_CALLS
    )
    .by_default(1)),
    (
        "at_once",
        "with `repeat`: how many are made at the same time",
        || Kind::Number(2..=MOST_AT_ONCE)
    )
)
.not_yet(&["via"]);

static STREAM: Keys = call_keys!(
    "a stream",
    (
        "ends_with",
        "the data of the API's last event, without which the list is not whole",
        Kind::text
    ),
    (
        "cursor",
        "where a client that goes on behind the last event that it has says its id",
        cursor::kind
    )
)
.not_yet(&["via", "look_up"])
.elsewhere(&[
    ("events", "the `body` of an answer"),
    ("size", "a `call`"),
    ("resumable", "a `call`"),
    ("pause", "an entry of `calls`"),
    ("repeat", "an entry of `calls`"),
]);

/// How a call stands among the others.
#[derive(Clone, Copy)]
struct Among {
    pause: Duration,
    repeat: u64,
    group: u32,
    at_once: u32,
    /// Whether it can be told how an upload is made.
    uploads: bool,
}

impl Among {
    const ALONE: Self = Self {
        pause: Duration::ZERO,
        repeat: 1,
        group: 0,
        at_once: 1,
        uploads: true,
    };
    const STREAM: Self = Self {
        uploads: false,
        ..Self::ALONE
    };
}

pub(super) const BODY_AS: &[(&str, BodyAs)] =
    &[("buffer", BodyAs::Buffer), ("stream", BodyAs::Stream)];

/// The forms of work, of which a scenario has one.
pub(super) const FORMS: &[&str] = &["call", "calls", "stream", "job", "batch"];

/// `call`.
pub(super) fn call_kind() -> Kind {
    Kind::Map(&CALL)
}

/// `calls`.
pub(super) fn calls_kind() -> Kind {
    Kind::list(Kind::Map(&CALLS))
}

/// `stream`.
pub(super) fn stream_kind() -> Kind {
    Kind::Map(&STREAM)
}

/// The name of a method, `GET` where nothing is written.
pub(super) fn method_kind() -> Kind {
    names::method_kind().by_default("GET")
}

/// A server in braces; `{n}` is the number of a call.
const SERVER: &str = r"\{(?!n\})[a-z][a-z0-9_]*\}";

fn at_kind() -> Kind {
    Kind::fits(SERVER)
}

pub(super) fn url_kind() -> Kind {
    const IN_BRACES: &str = r"\{[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?\}";
    const USER: &str = r"(?:(?!IN_BRACES)[^/\s])*@";
    const REST: &str = r"(?:[/?][^\s\x00-\x1f\x7f-\x9f]*)?";
    let user = USER.replace("IN_BRACES", IN_BRACES);
    Kind::fits(format!(
        r"(?:{SERVER}|http://(?:{user})?(?:\{{{NAME}\.host\}}|localhost):\{{{NAME}\.port\}}){REST}"
    ))
}

/// Reads the calls; repeats are unrolled.
pub(super) fn calls(document: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Vec<Call>> {
    let (form, _, node) = document.one_of(FORMS, reading.out)?;
    if form == "job" {
        return job::job(node, reading).map(|call| vec![call]);
    }
    if form == "batch" {
        return batch::batch(node, reading);
    }
    if form == "stream" {
        let fields = node.fields(&STREAM, reading.out)?;
        let ends_with = fields.get("ends_with");
        let ends_with = ends_with.map(|node| node.text("`ends_with`", reading.out));
        let cursor = fields.get("cursor").map(|node| reading.cursor(node));
        let call = one_call(&fields, 1, Among::STREAM, reading);
        let ends_with = all_good(ends_with)?.map(str::to_owned);
        let cursor = all_good(cursor)?;
        return call.map(|call| {
            let stream = Some(Stream { ends_with, cursor });
            vec![Call { stream, ..call }]
        });
    }
    if form == "call" {
        let fields = node.fields(&CALL, reading.out)?;
        return one_call(&fields, 1, Among::ALONE, reading).map(|call| vec![call]);
    }
    let items = node.filled_list("`calls`", reading.out)?;
    let mut calls = Vec::new();
    let mut good = true;
    let mut id = 0;
    for (place, item) in (1..).zip(items) {
        let Some((fields, among)) = entry(item, place, reading) else {
            good = false;
            continue;
        };
        if u64::from(id) + among.repeat > MOST_CALLS {
            let title = "too many calls";
            let out = &mut *reading.out;
            out.report(ids::TOO_MANY_CALLS, &item.span, title)
                .label(format!("more than {MOST_CALLS} with this entry"))
                .help("repeat it less often");
            return None;
        }
        for _ in 0..among.repeat {
            id += 1;
            match one_call(&fields, id, among, reading) {
                Some(call) => calls.push(call),
                None => good = false,
            }
        }
    }
    good.then_some(calls)
}

fn entry<'n>(item: &'n Node, place: u32, reading: &mut Reading<'_>) -> Option<(Fields<'n>, Among)> {
    let fields = item.fields(&CALLS, reading.out)?;
    let repeat = fields
        .get("repeat")
        .map(|node| node.number("`repeat`", 1..=MOST_CALLS, reading.out));
    let pause = fields
        .get("pause")
        .map(|node| node.duration("`pause`", reading.out));
    let at_once = fields.entry("at_once").map(|(key, node)| {
        let number = node.number("`at_once`", 2..=MOST_AT_ONCE, reading.out)?;
        if repeat.flatten().is_none_or(|repeat| repeat < number) && repeat != Some(None) {
            reading
                .out
                .report(ids::KEY_WITHOUT, &key.span, "`at_once` needs `repeat`")
                .label(format!("there are no {number} calls to be made at once"))
                .help(format!(
                    "add `repeat: {number}` or more, and `{{n}}` to the URL"
                ))
                .beyond_schema = repeat.is_some();
            return None;
        }
        u32::try_from(number).ok()
    });
    let at_once = all_good(at_once)?;
    let among = Among {
        pause: all_good(pause)?.unwrap_or_default(),
        repeat: all_good(repeat)?.unwrap_or(1),
        group: at_once.map_or(0, |_| place),
        at_once: at_once.unwrap_or(1),
        uploads: true,
    };
    Some((fields, among))
}

fn one_call(fields: &Fields<'_>, id: u32, among: Among, reading: &mut Reading<'_>) -> Option<Call> {
    reading.call = Some(id);
    let request = match fields.one_of(&["url", "operation"], reading.out) {
        Some(("operation", ..)) => operation(fields, among.uploads, reading),
        Some(_) => alone(fields, among.uploads, reading).and_then(|()| literal(fields, reading)),
        None => None,
    };
    let look_up = match among.uploads {
        true => fields.get("look_up").map(|node| url(node, reading)),
        false => None,
    };
    reading.call = None;
    Some(Call {
        id,
        line: reading.out.line(&fields.node.span),
        pause: among.pause,
        group: among.group,
        at_once: among.at_once,
        request: request?,
        look_up: all_good(look_up)?,
        stream: None,
        job: None,
        batch: None,
    })
}

/// Refuses what only an operation can have.
fn alone(fields: &Fields<'_>, uploads: bool, reading: &mut Reading<'_>) -> Option<()> {
    let keys = ["at", "size", "resumable"];
    let keys = if uploads { &keys[..] } else { &keys[..1] };
    misplaced(fields, keys, "`operation`", reading)
}

/// Exactly the request that is written.
pub(super) fn literal(fields: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Request> {
    let method = fields.get("method").map(|node| reading.method(node));
    let url = fields.get("url").and_then(|node| url(node, reading));
    let headers = fields.get("headers").map(|node| reading.headers(node));
    let body = fields.get("body").map(|node| reading.request_body(node));
    let body_as = fields
        .get("body_as")
        .map(|node| node.word("a way to hand over a body", BODY_AS, reading.out));
    let body = all_good(body)?;
    let body_as = all_good(body_as)?;
    if let (None, Some((key, _))) = (&body, fields.entry("body_as")) {
        reading
            .out
            .report(ids::KEY_WITHOUT, &key.span, "`body_as` needs `body`")
            .label("there is no body")
            .help("add a `body`, or remove `body_as`");
        return None;
    }
    Some(Request::Literal {
        method: all_good(method)?.unwrap_or_else(|| "GET".to_owned()),
        url: url?,
        headers: all_good(headers)?.unwrap_or_default(),
        body,
        body_as: body_as.unwrap_or_default(),
    })
}

fn operation(fields: &Fields<'_>, may_upload: bool, reading: &mut Reading<'_>) -> Option<Request> {
    misplaced(
        fields,
        match may_upload {
            true => &["method", "headers", "body", "body_as", "look_up"],
            false => &["method", "headers", "body", "body_as"],
        },
        "`url`",
        reading,
    )?;
    let node = fields.get("operation")?;
    if node.is_word("stream") {
        not_yet(&node.span, "stream", reading.out);
        return None;
    }
    let operation = node.word("an operation", OPERATIONS, reading.out);
    let at = fields
        .need("at", reading.out)
        .and_then(|node| at(node, reading));
    let (size, resumable) = if may_upload {
        upload(fields, operation, reading)?
    } else {
        (None, false)
    };
    Some(Request::Operation {
        operation: operation?,
        at: at?,
        size,
        resumable,
    })
}

/// How an upload is made: bytes of its content, and whether it goes on where it
/// broke off.
fn upload(
    fields: &Fields<'_>,
    operation: Option<OperationName>,
    reading: &mut Reading<'_>,
) -> Option<(Option<u64>, bool)> {
    let uploads = operation.is_none_or(|name| name == OperationName::Upload);
    let size = fields.entry("size").map(|(key, node)| {
        of_an_upload(
            key,
            uploads,
            "the content of other operations is small",
            reading,
        )?;
        reading.content_size(node)
    });
    let resumable = fields.entry("resumable").map(|(key, node)| {
        of_an_upload(key, uploads, "other operations are one request", reading)?;
        node.truth("`resumable`", reading.out)
    });
    Some((all_good(size)?, all_good(resumable)?.unwrap_or(false)))
}

/// Refuses a key that only an upload can have.
fn of_an_upload(key: &Key, uploads: bool, label: &str, reading: &mut Reading<'_>) -> Option<()> {
    if uploads {
        return Some(());
    }
    reading
        .out
        .report(
            ids::KEY_WITHOUT,
            &key.span,
            format!("`{}` needs `operation: upload`", key.text),
        )
        .label(label)
        .help("remove it");
    None
}

fn misplaced(
    fields: &Fields<'_>,
    keys: &[&str],
    needed: &str,
    reading: &mut Reading<'_>,
) -> Option<()> {
    let mut good = Some(());
    for key in keys {
        if let Some((key, _)) = fields.entry(key) {
            reading
                .out
                .report(
                    ids::KEY_WITHOUT,
                    &key.span,
                    format!("`{}` needs {needed}", key.text),
                )
                .label("it has no place in a call of this form")
                .help(format!("remove it, or write the call with {needed}"));
            good = None;
        }
    }
    good
}

fn at(node: &Node, reading: &mut Reading<'_>) -> Option<String> {
    let template = reading.template(node, "`at`")?;
    if let [Piece::Url(server)] = &template.0[..] {
        return Some(server.clone());
    }
    reading
        .out
        .report(ids::BAD_URL, &node.span, "`at` must be a server")
        .label("not the name of a server in braces")
        .help("write \"{api}\" for the server `api`");
    None
}

pub(super) fn url(node: &Node, reading: &mut Reading<'_>) -> Option<Template> {
    let template = reading.template(node, "`url`")?;
    let path = match &template.0[..] {
        [Piece::Url(_)] => Some(""),
        [Piece::Url(_), Piece::Text(path), ..] => Some(path.as_str()),
        [
            Piece::Text(scheme),
            Piece::Host(_),
            Piece::Text(colon),
            Piece::Port(_),
            rest @ ..,
        ] if begins_authority(scheme) && colon == ":" => match rest.first() {
            Some(Piece::Text(path)) => Some(path.as_str()),
            _ => Some(""),
        },
        [Piece::Text(_), Piece::Port(_), rest @ ..] if template.is_at_localhost() => {
            match rest.first() {
                Some(Piece::Text(path)) => Some(path.as_str()),
                _ => Some(""),
            }
        }
        _ => None,
    };
    let Some(path) = path else {
        return bad_url(&node.span, "it does not begin with a server", reading);
    };
    if !path.is_empty() && !path.starts_with(['/', '?']) {
        return bad_url(&node.span, "a path begins with `/`", reading);
    }
    let all_text = template.0.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        _ => None,
    });
    for text in all_text {
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return bad_url(&node.span, "white space cannot stand in it", reading);
        }
    }
    Some(template)
}

/// `http://`, perhaps with a user.
fn begins_authority(text: &str) -> bool {
    let rest = text.strip_prefix("http://");
    rest.is_some_and(|rest| rest.is_empty() || (rest.ends_with('@') && !rest.contains('/')))
}

fn bad_url(span: &Span, label: &str, reading: &mut Reading<'_>) -> Option<Template> {
    reading
        .out
        .report(ids::BAD_URL, span, "this is no URL of a server here")
        .label(label)
        .help("write \"{api}/path\" for a path at the server `api`");
    None
}
