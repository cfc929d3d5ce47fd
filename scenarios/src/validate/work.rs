//! `call` and `calls`: the work of the client.

use std::time::Duration;

use crate::document::decode::{Fields, Keys, not_yet};
use crate::document::{Key, Node, Span, ids};
use crate::manifest::OperationName;
use crate::plan::{BodyAs, Call, Request};
use crate::template::{Piece, Template};

use crate::reading::{Reading, all_good};

/// Most calls of one case.
const MOST_CALLS: u64 = 1000;

macro_rules! call_keys {
    ($of:literal, $($more:expr),*) => {
        Keys::new(
            $of,
            &[
                ("method", "the method; GET unless it is written"),
                ("url", "where it goes, such as \"{api}/x\""),
                ("headers", "header fields by name"),
                ("body", "the content"),
                ("body_as", "`buffer` or `stream`"),
                ("operation", "`create`, `fetch`, `replace`, `remove` or `upload`"),
                ("at", "with `operation`: the server, such as \"{api}\""),
                ("size", "with `operation: upload`: bytes of content"),
                (
                    "resumable",
                    "with `operation: upload`: `true` for one that goes on where it broke off",
                ),
                $($more),*
            ],
        )
        .elsewhere(&[
            ("text", "`body`"),
            ("json", "`body`"),
            ("attempts", "`limits` of the scenario"),
            ("redirects", "`limits` of the scenario"),
        ])
    };
}

static CALL: Keys = call_keys!("a call",)
    .not_yet(&["via", "look_up"])
    .elsewhere(&[
        ("pause", "an entry of `calls`"),
        ("repeat", "an entry of `calls`"),
        ("text", "`body`"),
        ("json", "`body`"),
        ("attempts", "`limits` of the scenario"),
        ("redirects", "`limits` of the scenario"),
    ]);

static CALLS: Keys = call_keys!(
    "a call",
    ("pause", "wait before it"),
    ("repeat", "how often it is made")
)
.not_yet(&["via", "look_up", "at_once"]);

/// Reads the calls; repeats are unrolled.
pub(super) fn calls(document: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Vec<Call>> {
    let (form, _, node) = document.one_of(&["call", "calls"], reading.out)?;
    if form == "call" {
        let fields = node.fields(&CALL, reading.out)?;
        return one_call(&fields, 1, Duration::ZERO, reading).map(|call| vec![call]);
    }
    let items = node.filled_list("`calls`", reading.out)?;
    let mut calls = Vec::new();
    let mut good = true;
    let mut id = 0;
    for item in items {
        let Some((fields, repeat, pause)) = entry(item, reading) else {
            good = false;
            continue;
        };
        if u64::from(id) + repeat > MOST_CALLS {
            let title = "too many calls";
            let out = &mut *reading.out;
            out.report(ids::TOO_MANY_CALLS, &item.span, title)
                .label(format!("more than {MOST_CALLS} with this entry"))
                .help("repeat it less often");
            return None;
        }
        for _ in 0..repeat {
            id += 1;
            match one_call(&fields, id, pause, reading) {
                Some(call) => calls.push(call),
                None => good = false,
            }
        }
    }
    good.then_some(calls)
}

fn entry<'n>(item: &'n Node, reading: &mut Reading<'_>) -> Option<(Fields<'n>, u64, Duration)> {
    let fields = item.fields(&CALLS, reading.out)?;
    let repeat = fields
        .get("repeat")
        .map(|node| node.number("`repeat`", 1..=MOST_CALLS, reading.out));
    let pause = fields
        .get("pause")
        .map(|node| node.duration("`pause`", reading.out));
    let repeat = all_good(repeat)?.unwrap_or(1);
    Some((fields, repeat, all_good(pause)?.unwrap_or_default()))
}

fn one_call(
    fields: &Fields<'_>,
    id: u32,
    pause: Duration,
    reading: &mut Reading<'_>,
) -> Option<Call> {
    reading.call = Some(id);
    let request = match fields.one_of(&["url", "operation"], reading.out) {
        Some(("operation", ..)) => operation(fields, reading),
        Some(_) => literal(fields, reading),
        None => None,
    };
    reading.call = None;
    Some(Call {
        id,
        line: reading.out.line(&fields.node.span),
        pause,
        request: request?,
    })
}

fn literal(fields: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Request> {
    misplaced(fields, &["at", "size", "resumable"], "`operation`", reading)?;
    let method = fields.get("method").map(|node| reading.method(node));
    let url = fields.get("url").and_then(|node| url(node, reading));
    let headers = fields.get("headers").map(|node| reading.headers(node));
    let body = fields.get("body").map(|node| reading.request_body(node));
    let words = [("buffer", BodyAs::Buffer), ("stream", BodyAs::Stream)];
    let body_as = fields
        .get("body_as")
        .map(|node| node.word("a way to hand over a body", &words, reading.out));
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

fn operation(fields: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Request> {
    misplaced(
        fields,
        &["method", "headers", "body", "body_as"],
        "`url`",
        reading,
    )?;
    let node = fields.get("operation")?;
    if node.is_word("stream") {
        not_yet(&node.span, "stream", reading.out);
        return None;
    }
    let words = [
        ("create", OperationName::Create),
        ("fetch", OperationName::Fetch),
        ("replace", OperationName::Replace),
        ("remove", OperationName::Remove),
        ("upload", OperationName::Upload),
    ];
    let operation = node.word("an operation", &words, reading.out);
    let at = fields
        .need("at", reading.out)
        .and_then(|node| at(node, reading));
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
    Some(Request::Operation {
        operation: operation?,
        at: at?,
        size: all_good(size)?,
        resumable: all_good(resumable)?.unwrap_or(false),
    })
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

fn url(node: &Node, reading: &mut Reading<'_>) -> Option<Template> {
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
