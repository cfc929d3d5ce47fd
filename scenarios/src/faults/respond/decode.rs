//! Reading the parameters of `respond`, and what about an answer cannot be.

use std::time::Duration;

use scripted_servers::wire::{End, Position};

use super::{Framing, Respond, ResponsePoint, RetryAfter};
use crate::document::decode::{Fields, Keys};
use crate::document::{Node, Span, Value, ids};
use crate::message::Message;
use crate::plan::Content;
use crate::rendering::{Format, Rendering};
use crate::template::Bindings;
use crate::validate::{Reading, all_good};

static KEYS: Keys = Keys::new(
    "`respond`",
    &[
        ("status", "the status code"),
        ("headers", "header fields by name"),
        ("retry_after", "`{seconds}`, `{date_in}` or `{text}`"),
        ("body", "the content"),
        ("framing", "`length`, `chunked` or `close`"),
        ("says_length", "a Content-Length that lies"),
        ("chunks", "sizes of the chunks"),
        ("drip", "`{bytes, every}`: the body in pieces"),
        ("stall", "`{after, for}`: a pause after a point"),
        ("cut", "`{after, with}`: the connection ends after a point"),
    ],
)
.elsewhere(&[
    ("text", "`body`"),
    ("json", "`body`"),
    ("bytes", "`body`, or `drip`"),
    ("shape", "`body`"),
    ("applies", "the step, beside `respond`"),
    ("times", "the step, beside `respond`"),
    ("when", "the step, beside `respond`"),
    ("delay", "the step, beside `respond`"),
    ("then", "the step, beside `respond`"),
    ("required", "the step, beside `respond`"),
    ("after", "`cut` or `stall`"),
    ("with", "`cut`"),
])
.not_yet(&["gzip", "interim", "trailers", "surplus"]);

static RETRY_AFTER: Keys = Keys::new(
    "`retry_after`",
    &[
        ("seconds", "so many seconds"),
        ("date_in", "a date this far from now"),
        ("text", "any text"),
    ],
);

static DRIP: Keys = Keys::new(
    "`drip`",
    &[("bytes", "bytes a piece"), ("every", "time between pieces")],
);

static STALL: Keys = Keys::new(
    "`stall`",
    &[("after", "a point in the answer"), ("for", "how long")],
);

static CUT: Keys = Keys::new(
    "`cut` of an answer",
    &[
        (
            "after",
            "a point in the answer: `{head}`, `{body}`, `{wire}` or `{chunks}`",
        ),
        (
            "with",
            "how the connection ends: `reset`, `close` or `hang`",
        ),
    ],
);

/// Reads the parameters.
pub(in crate::faults) fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Respond> {
    let fields = node.fields(&KEYS, reading.out)?;
    let status = fields.need("status", reading.out);
    let status = status.and_then(|node| node.number("a status", 200..=599, reading.out));
    let headers = fields.get("headers").map(|node| headers(node, reading));
    let retry_after = fields
        .get("retry_after")
        .map(|node| retry_after(node, reading));
    let body = fields.get("body").map(|node| reading.answer_body(node));
    let framing = fields.get("framing").map(|node| framing(node, reading));
    let says_length = fields.get("says_length");
    let says_length = says_length.map(|node| node.size("`says_length`", reading.out));
    let chunks = fields.get("chunks").map(|node| chunks(node, reading));
    let drip = fields.get("drip").map(|node| drip(node, reading));
    let stall = fields.get("stall").map(|node| stall(node, reading));
    let cut = fields.get("cut").map(|node| cut(node, reading));
    let respond = Respond {
        status: u16::try_from(status?).ok()?,
        headers: all_good(headers)?.unwrap_or_default(),
        retry_after: all_good(retry_after)?,
        body: all_good(body)?,
        framing: all_good(framing)?.unwrap_or_default(),
        says_length: all_good(says_length)?,
        chunks: all_good(chunks)?.unwrap_or_default(),
        drip: all_good(drip)?,
        stall: all_good(stall)?,
        cut: all_good(cut)?,
    };
    check(&respond, &fields, reading).then_some(respond)
}

type Headers = Vec<(String, crate::template::Template)>;

fn headers(node: &Node, reading: &mut Reading<'_>) -> Option<Headers> {
    let headers = reading.headers(node)?;
    let mut good = true;
    for (key, _) in node.map("`headers`", reading.out)? {
        let instead = match key.text.to_ascii_lowercase().as_str() {
            "retry-after" => "`retry_after`, beside `headers`",
            "content-length" => "`framing: length`, or `says_length` for a lie",
            "transfer-encoding" => "`framing: chunked`",
            _ => continue,
        };
        good = false;
        reading
            .out
            .report(
                ids::HEADER_BY_KEY,
                &key.span,
                format!("`{}` is not written as a header", key.text),
            )
            .label("this header has a key of its own")
            .help(format!(
                "write {instead}; any bytes at all are sent by `raw`"
            ));
    }
    good.then_some(headers)
}

fn retry_after(node: &Node, reading: &mut Reading<'_>) -> Option<RetryAfter> {
    let fields = node.fields(&RETRY_AFTER, reading.out)?;
    let (form, _, value) = fields.one_of(&["seconds", "date_in", "text"], reading.out)?;
    match form {
        "seconds" => value
            .number("`seconds`", 0..=u64::MAX, reading.out)
            .map(RetryAfter::Seconds),
        "date_in" => value
            .duration("`date_in`", reading.out)
            .map(RetryAfter::DateIn),
        _ => {
            let text = value.any_text("`text`", reading.out)?;
            if text.contains(|c: char| c.is_control()) {
                reading
                    .out
                    .report(ids::BAD_FIELD, &value.span, "not the value of a header")
                    .label("line breaks and control characters cannot stand in it")
                    .help("bytes that break the rules are written with `raw`");
                return None;
            }
            Some(RetryAfter::Text(text.to_owned()))
        }
    }
}

fn framing(node: &Node, reading: &mut Reading<'_>) -> Option<Framing> {
    let words = [
        ("length", Framing::Length),
        ("chunked", Framing::Chunked),
        ("close", Framing::Close),
    ];
    node.word("a framing", &words, reading.out)
}

fn chunks(node: &Node, reading: &mut Reading<'_>) -> Option<Vec<u64>> {
    let items = node.filled_list("`chunks`", reading.out)?;
    let sizes: Vec<_> = items
        .iter()
        .map(|item| {
            let size = item.size("the size of a chunk", reading.out)?;
            if size == 0 {
                reading
                    .out
                    .report(ids::BAD_SIZE, &item.span, "a chunk of no bytes")
                    .label("it would be the end of the content")
                    .help("the last chunk is written by itself");
                return None;
            }
            Some(size)
        })
        .collect();
    sizes.into_iter().collect()
}

fn drip(node: &Node, reading: &mut Reading<'_>) -> Option<(u64, Duration)> {
    const LEAST: Duration = Duration::from_millis(3);
    let fields = node.fields(&DRIP, reading.out)?;
    let bytes = fields.need("bytes", reading.out);
    let every = fields.need("every", reading.out);
    let bytes = bytes.and_then(|node| {
        let bytes = node.size("`bytes`", reading.out)?;
        if bytes == 0 {
            return node.wrong("`bytes`", "at least 1", reading.out);
        }
        Some(bytes)
    });
    let every_node = every?;
    let every = every_node.duration("`every`", reading.out)?;
    if every < LEAST {
        reading
            .out
            .report(ids::BAD_DURATION, &every_node.span, "this drip is too fast")
            .label("a machine cannot keep a beat below 3ms")
            .help("write 3ms or more; for speed, more bytes a piece");
        return None;
    }
    Some((bytes?, every))
}

fn stall(node: &Node, reading: &mut Reading<'_>) -> Option<(ResponsePoint, Duration)> {
    let fields = node.fields(&STALL, reading.out)?;
    let after = fields.need("after", reading.out);
    let pause = fields.need("for", reading.out);
    let after = after.and_then(|node| reading.response_point(node));
    let pause = pause.and_then(|node| node.duration("`for`", reading.out));
    Some((after?, pause?))
}

fn cut(node: &Node, reading: &mut Reading<'_>) -> Option<(ResponsePoint, End)> {
    let fields = node.fields(&CUT, reading.out)?;
    let after = fields.need("after", reading.out);
    let with = fields.need("with", reading.out);
    let point = after.and_then(|node| reading.response_point(node));
    let with = with.and_then(|node| reading.end(node));
    if let (Some(ResponsePoint::Head(Position::Bytes(0))), Some(after)) = (point, after)
        && is_written_inside(after, &node.span)
    {
        reading
            .out
            .report(
                ids::CUT_OF_NOTHING,
                &after.span,
                "no byte of an answer is sent",
            )
            .label("always 0, so this is no answer at all")
            .help("write the behaviour `cut: {after: request, with: ...}`");
        return None;
    }
    Some((point?, with?))
}

/// Whether a value stands in its own place, and did not come from a column.
fn is_written_inside(node: &Node, outer: &Span) -> bool {
    let inside = outer.start <= node.span.start && node.span.end <= outer.end;
    let Value::Map(entries) = &node.value else {
        return inside;
    };
    inside
        && entries
            .iter()
            .all(|(_, value)| is_written_inside(value, outer))
}

/// Checks one answer as a whole.
fn check(respond: &Respond, fields: &Fields<'_>, reading: &mut Reading<'_>) -> bool {
    let before = reading.out.reports();
    check_keys(respond, fields, reading);
    if reading.out.reports() == before && is_fixed(respond) {
        let bindings = Bindings::default();
        let message = Message::new(
            &without_random_bytes(respond),
            &Rendering {
                bindings: &bindings,
                format: Format::PlainJson,
                seed: 0,
            },
        );
        check_points(respond, &message, fields, reading);
    }
    reading.out.reports() == before
}

/// The same answer with other bytes of the same number, which cost nothing.
fn without_random_bytes(respond: &Respond) -> Respond {
    let mut respond = respond.clone();
    if let Some(Content::Bytes(bytes)) = respond.body {
        let zeros = vec![0; usize::try_from(bytes).unwrap_or(0)];
        respond.body = Some(Content::Hex(zeros));
    }
    respond
}

/// Whether the bytes do not depend on addresses or on a client's manifest.
fn is_fixed(respond: &Respond) -> bool {
    let headers = respond.headers.iter();
    let body = respond.body.as_ref();
    headers
        .flat_map(|(_, value)| value.servers())
        .next()
        .is_none()
        && body.is_none_or(|body| respond.is_endless() || body.length().is_some())
}

struct Refused<'f, 'n, 'r, 'd> {
    fields: &'f Fields<'n>,
    reading: &'r mut Reading<'d>,
}

impl Refused<'_, '_, '_, '_> {
    fn say(&mut self, key: &str, id: &'static str, title: &str, label: &str, help: &str) {
        if let Some((key, value)) = self.fields.entry(key) {
            let span = key.span.start..value.span.end.max(key.span.end);
            let out = &mut *self.reading.out;
            out.report(id, &span, title).label(label).help(help);
        }
    }
}

fn check_keys(respond: &Respond, fields: &Fields<'_>, reading: &mut Reading<'_>) {
    let chunked = respond.framing == Framing::Chunked;
    let mut refused = Refused { fields, reading };
    if respond.has_no_content() && (respond.body.is_some() || chunked) {
        let key = if respond.body.is_some() {
            "body"
        } else {
            "framing"
        };
        refused.say(
            key,
            ids::NO_CONTENT,
            "204 and 304 have no content",
            "a client does not read it",
            "leave it out, or send such bytes with `raw`",
        );
    }
    if respond.is_endless() && respond.framing == Framing::Length {
        refused.say(
            "body",
            ids::FRAMING,
            "content without end has no length",
            "the framing is `length`",
            "add `framing: chunked` or `framing: close`",
        );
    }
    if respond.is_endless() && !respond.chunks.is_empty() {
        refused.say(
            "chunks",
            ids::FRAMING,
            "content without end has no sizes of chunks",
            "there is no last one",
            "leave `chunks` out",
        );
    }
    if !respond.chunks.is_empty() && !chunked {
        refused.say(
            "chunks",
            ids::FRAMING,
            "`chunks` needs `framing: chunked`",
            "there are no chunks",
            "add `framing: chunked`",
        );
    }
    if respond.says_length.is_some() && respond.framing != Framing::Length {
        refused.say(
            "says_length",
            ids::FRAMING,
            "`says_length` needs `framing: length`",
            "no Content-Length is sent",
            "remove `framing`",
        );
    }
    for (key, point) in points(respond) {
        if matches!(point, ResponsePoint::Chunks(_)) && !chunked {
            refused.say(
                key,
                ids::FRAMING,
                "a point in chunks needs `framing: chunked`",
                "there are no chunks",
                "add `framing: chunked`",
            );
        }
        endless_point(respond, key, point, &mut refused);
    }
}

fn endless_point(
    respond: &Respond,
    key: &str,
    point: ResponsePoint,
    refused: &mut Refused<'_, '_, '_, '_>,
) {
    const MOST: u64 = 64 << 20;
    let position = match point {
        ResponsePoint::Body(position) | ResponsePoint::Wire(position) => position,
        ResponsePoint::Chunks(chunks) => Position::Bytes(chunks.saturating_mul(4096)),
        ResponsePoint::Head(_) => return,
    };
    if respond.is_endless() && !matches!(position, Position::Bytes(bytes) if bytes <= MOST) {
        refused.say(
            key,
            ids::FRAMING,
            "no such place in content without end",
            "it has no half and no last byte",
            "write a number of bytes, at most 64MiB",
        );
    }
}

fn points(respond: &Respond) -> impl Iterator<Item = (&'static str, ResponsePoint)> {
    let cut = respond.cut.map(|(point, _)| ("cut", point));
    let stall = respond.stall.map(|(point, _)| ("stall", point));
    cut.into_iter().chain(stall)
}

fn check_points(
    respond: &Respond,
    message: &Message,
    fields: &Fields<'_>,
    reading: &mut Reading<'_>,
) {
    let length = u64::try_from(message.content.len()).unwrap_or(u64::MAX);
    let mut refused = Refused { fields, reading };
    if respond.says_length == Some(length) && !respond.has_no_content() {
        refused.say(
            "says_length",
            ids::TRUE_LENGTH,
            "`says_length` says the truth",
            &format!("the content has {length} bytes"),
            "write another number, or leave it out",
        );
    }
    if respond
        .chunks
        .iter()
        .fold(0, |sum: u64, size| sum.saturating_add(*size))
        > length
    {
        refused.say(
            "chunks",
            ids::BEYOND_END,
            "these chunks hold more than the content",
            &format!("the content has {length} bytes"),
            "make the chunks smaller, or the body larger",
        );
    }
    if respond.drip.is_some() && length == 0 && !respond.is_endless() {
        refused.say(
            "drip",
            ids::CANNOT_FIRE,
            "nothing drips",
            "the content is empty",
            "add a `body`",
        );
    }
    for (key, point) in points(respond) {
        if !respond.is_endless() && message.is_beyond(point) {
            refused.say(
                key,
                ids::BEYOND_END,
                "this point lies beyond the end of the answer",
                &format!("the head has {} bytes, the content {length}", message.head),
                "write a smaller number, or `half`, `last` or `all`",
            );
        }
    }
    complete_cut(respond, message, &mut refused);
    late_stall(respond, message, &mut refused);
}

fn complete_cut(respond: &Respond, message: &Message, refused: &mut Refused<'_, '_, '_, '_>) {
    let Some((point, end)) = respond.cut else {
        return;
    };
    if message.is_beyond(point) {
        return;
    }
    let at = message.offset(point);
    let whole_by_close = respond.framing == Framing::Close
        && end == End::Close
        && !respond.is_endless()
        && at >= message.bytes.len();
    if whole_by_close || message.complete.is_some_and(|complete| complete <= at) {
        refused.say(
            "cut",
            ids::CUT_OF_WHOLE,
            "this cut leaves a complete message",
            "the client has everything before it",
            "cut earlier, for example at `{wire: last}`; \
             `then: {close: 0s}` ends the connection behind an answer",
        );
    }
}

fn late_stall(respond: &Respond, message: &Message, refused: &mut Refused<'_, '_, '_, '_>) {
    let Some((point, _)) = respond.stall else {
        return;
    };
    if message.is_beyond(point) || respond.is_endless() {
        return;
    }
    let at = message.offset(point);
    let end = respond.cut.map(|(point, _)| message.offset(point));
    if end.is_some_and(|end| end < at) {
        refused.say(
            "stall",
            ids::CANNOT_FIRE,
            "this stall is never reached",
            "the cut comes before",
            "put the stall before the cut",
        );
    } else if end.is_none() && message.complete.is_some_and(|complete| complete <= at) {
        refused.say(
            "stall",
            ids::CANNOT_FIRE,
            "nothing is left behind this stall",
            "the client has a complete message before it",
            "stall earlier, for example at `{wire: last}`",
        );
    }
}
