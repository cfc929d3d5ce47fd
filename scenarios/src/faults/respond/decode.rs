//! Reading the parameters of `respond`.

use std::time::Duration;

use scripted_servers::script::Times;
use scripted_servers::wire::{End, Position};

use super::{
    Coding, CodingState, Framing, Interim, Respond, ResponsePoint, RetryAfter, Scheme, check,
};
use crate::document::decode::{Fields, Keys, unknown_word};
use crate::document::kind::{Kind, Rule};
use crate::document::values::MOST_BYTES;
use crate::document::{Node, Span, Value, ids};
use crate::reading::{Reading, all_good, content, points};

pub(super) static KEYS: Keys = Keys::new(
    "`respond`",
    &[
        ("status", "the status code", || Kind::Number(200..=599)),
        ("headers", "header fields by name", headers_kind),
        (
            "retry_after",
            "`{seconds}`, `{date_in}` or `{text}`",
            || Kind::Map(&RETRY_AFTER),
        ),
        ("interim", "interim answers (1xx) before this one", || {
            Kind::list(Kind::Map(&INTERIM))
        }),
        ("body", "the content", content::answer_body),
        ("gzip", "`whole`, `half`, `empty` or `corrupt`", coding_kind),
        ("deflate", "as `gzip`, in the zlib format", coding_kind),
        ("br", "as `gzip`, in brotli", coding_kind),
        ("framing", "`length`, `chunked` or `close`", || {
            Kind::words(FRAMINGS).by_default("length")
        }),
        ("says_length", "a Content-Length that lies", Kind::size),
        ("chunks", "sizes of the chunks", || {
            Kind::list(Kind::Size(1..=MOST_BYTES))
        }),
        (
            "trailers",
            "trailer fields by name, behind the last chunk",
            headers_kind,
        ),
        (
            "surplus",
            "`{text}` or `{hex}`: bytes behind the end",
            content::exact_kind,
        ),
        ("drip", "`{bytes, every}`: the body in pieces", || {
            Kind::Map(&DRIP)
        }),
        ("stall", "`{after, for}`: a pause after a point", || {
            Kind::Map(&STALL)
        }),
        (
            "cut",
            "`{after, with}`: the connection ends after a point",
            || Kind::Map(&CUT),
        ),
    ],
)
.rules(&[Rule::AtMostOneOf(&["gzip", "deflate", "br"])])
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
]);

pub(super) static RETRY_AFTER: Keys = Keys::new(
    "`retry_after`",
    &[
        ("seconds", "so many seconds", || Kind::Number(0..=u64::MAX)),
        ("date_in", "a date this far from now", Kind::time),
        ("text", "any text", || Kind::fits(r"[^\x00-\x1f\x7f-\x9f]*")),
    ],
)
.rules(&[Rule::OneOf(&["seconds", "date_in", "text"])]);

static INTERIM: Keys = Keys::new(
    "an interim answer",
    &[
        ("status", "100 to 199, but not 101", interim_status),
        ("headers", "header fields by name", headers_kind),
        ("times", "how often: a number, or `always`", || {
            Kind::Number(1..=MOST_INTERIM)
                .or_word("always")
                .by_default(1)
        }),
        ("every", "time between them; without it none", || {
            Kind::time_from(SHORTEST_BEAT)
        }),
    ],
)
.rules(&[Rule::Needs(&["status"])]);

static DRIP: Keys = Keys::new(
    "`drip`",
    &[
        ("bytes", "bytes a piece", || Kind::Size(1..=MOST_BYTES)),
        ("every", "time between pieces", || {
            Kind::time_from(SHORTEST_BEAT)
        }),
    ],
)
.rules(&[Rule::Needs(&["bytes", "every"])]);

static STALL: Keys = Keys::new(
    "`stall`",
    &[
        ("after", "a point in the answer", point),
        ("for", "how long", Kind::time),
    ],
)
.rules(&[Rule::Needs(&["after", "for"])]);

static CUT: Keys = Keys::new(
    "`cut` of an answer",
    &[
        (
            "after",
            "a point in the answer: `{head}`, `{body}`, `{wire}`, `{chunks}`, `{events}` or `{inside_event}`",
            point,
        ),
        (
            "with",
            "how the connection ends: `reset`, `close`, `half-close` or `hang`",
            points::end,
        ),
    ],
)
.rules(&[Rule::Needs(&["after", "with"])]);

const FRAMINGS: &[(&str, Framing)] = &[
    ("length", Framing::Length),
    ("chunked", Framing::Chunked),
    ("close", Framing::Close),
];

/// How often an interim answer can be sent, unless it is sent always.
const MOST_INTERIM: u64 = 10_000;

/// A machine cannot keep a beat below this.
const SHORTEST_BEAT: Duration = Duration::from_millis(3);

/// Headers that have a key of their own, with that key.
const BY_KEY: &[(&str, &str)] = &[
    ("retry-after", "`retry_after`, beside `headers`"),
    (
        "content-length",
        "`framing: length`, or `says_length` for a lie",
    ),
    ("transfer-encoding", "`framing: chunked`"),
];

pub(super) fn headers_kind() -> Kind {
    let names: Vec<&str> = BY_KEY.iter().map(|(name, _)| *name).collect();
    content::headers_without(&names)
}

/// A point in an answer.
fn point() -> Kind {
    Kind::one_key(
        "a point in an answer",
        &[
            ("head", "so many bytes of the head", || Kind::position(0)),
            ("body", "so many bytes of the content", || Kind::position(0)),
            (
                "wire",
                "so many bytes after the head, framing included",
                || Kind::position(0),
            ),
            ("chunks", "so many whole chunks", || {
                Kind::Number(0..=1_000_000)
            }),
            ("events", "so many whole events", || {
                Kind::Number(0..=1_000_000)
            }),
            (
                "inside_event",
                "the middle of the event with this number",
                || Kind::Number(1..=1_000_000),
            ),
        ],
    )
}

/// Reads the parameters.
pub(super) fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Respond> {
    let fields = node.fields(&KEYS, reading.out)?;
    let status = status(&fields, reading);
    let trailers = fields.get("trailers").map(|node| headers(node, reading));
    let headers = fields.get("headers").map(|node| headers(node, reading));
    let retry_after = fields
        .get("retry_after")
        .map(|node| retry_after(node, reading));
    let interim = fields.get("interim").map(|node| interim(node, reading));
    let body = fields.get("body").map(|node| reading.answer_body(node));
    let coding = coding(&fields, reading);
    let framing = fields.get("framing").map(|node| framing(node, reading));
    let says_length = fields.get("says_length");
    let says_length = says_length.map(|node| node.size("`says_length`", reading.out));
    let chunks = fields.get("chunks").map(|node| chunks(node, reading));
    let surplus = fields.get("surplus").map(|node| reading.exact(node));
    let drip = fields.get("drip").map(|node| drip(node, reading));
    let stall = fields.get("stall").map(|node| stall(node, reading));
    let cut = fields.get("cut").map(|node| cut(node, reading));
    let respond = Respond {
        status: status?.unwrap_or(200),
        by_model: status?.is_none(),
        headers: all_good(headers)?.unwrap_or_default(),
        retry_after: all_good(retry_after)?,
        interim: all_good(interim)?.unwrap_or_default(),
        body: all_good(body)?,
        coding: coding?,
        framing: all_good(framing)?.unwrap_or_default(),
        says_length: all_good(says_length)?,
        chunks: all_good(chunks)?.unwrap_or_default(),
        trailers: all_good(trailers)?.unwrap_or_default(),
        surplus: all_good(surplus)?,
        drip: all_good(drip)?,
        stall: all_good(stall)?,
        cut: all_good(cut)?,
    };
    check::check(&respond, &fields, reading).then_some(respond)
}

/// The status; none where the models of the step say it.
fn status(fields: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Option<u16>> {
    let Some(node) = fields.get("status") else {
        if !reading.goes_through {
            reading
                .out
                .report(
                    ids::NO_STATUS,
                    &fields.node.span,
                    "`respond` needs the key `status`",
                )
                .label("`status` is missing here")
                .help(
                    "add `status:`, the status code; only a model of the step can say it instead",
                );
        }
        return reading.goes_through.then_some(None);
    };
    let status = node.number("a status", 200..=599, reading.out)?;
    u16::try_from(status).ok().map(Some)
}

pub(super) type Headers = Vec<(String, crate::template::Template)>;

pub(super) fn headers(node: &Node, reading: &mut Reading<'_>) -> Option<Headers> {
    let headers = reading.headers(node)?;
    let mut good = true;
    for (key, _) in node.map("`headers`", reading.out)? {
        let mut by_key = BY_KEY.iter();
        let Some((_, instead)) = by_key.find(|(name, _)| key.text.eq_ignore_ascii_case(name))
        else {
            continue;
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

pub(super) fn retry_after(node: &Node, reading: &mut Reading<'_>) -> Option<RetryAfter> {
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

/// 100 to 199; 101 ends HTTP.
fn interim_status() -> Kind {
    Kind::Either(vec![Kind::Number(100..=100), Kind::Number(102..=199)])
}

fn interim(node: &Node, reading: &mut Reading<'_>) -> Option<Vec<Interim>> {
    let items = node.filled_list("`interim`", reading.out)?;
    let read: Vec<_> = items
        .iter()
        .map(|item| one_interim(item, reading))
        .collect();
    let read = read.into_iter().collect::<Option<Vec<_>>>()?;
    let endless = read.iter().position(|one| one.times == Times::Always);
    if let Some(behind) = endless.and_then(|at| items.get(at + 1)) {
        reading
            .out
            .report(ids::CANNOT_FIRE, &behind.span, "this is never sent")
            .label("the interim answer before it is sent without end")
            .help("put the one that is sent `always` last");
        return None;
    }
    Some(read)
}

fn one_interim(node: &Node, reading: &mut Reading<'_>) -> Option<Interim> {
    let fields = node.fields(&INTERIM, reading.out)?;
    let status_node = fields.need("status", reading.out);
    let status = status_node.and_then(|node| node.number("a status", 100..=199, reading.out));
    let headers = fields.get("headers").map(|node| headers(node, reading));
    let times = fields.get("times").map(|node| {
        if node.is_word("always") {
            return Some(Times::Always);
        }
        let count = node.number("`times`", 1..=MOST_INTERIM, reading.out)?;
        u32::try_from(count).ok().map(Times::Count)
    });
    let every = fields.get("every").map(|node| {
        let help = "write 3ms or more, or leave it out: they come as fast as the client reads";
        beat(node, "these interim answers come too fast", help, reading)
    });
    if status == Some(101) {
        let status = status_node?;
        return status.wrong(
            "an interim status",
            "100 or 102 to 199: 101 ends HTTP",
            reading.out,
        );
    }
    Some(Interim {
        status: u16::try_from(status?).ok()?,
        headers: all_good(headers)?.unwrap_or_default(),
        times: all_good(times)?.unwrap_or(Times::Count(1)),
        every: all_good(every)?,
    })
}

const CODINGS: &[(&str, CodingState)] = &[
    ("whole", CodingState::Whole),
    ("half", CodingState::Half),
    ("empty", CodingState::Empty),
    ("corrupt", CodingState::Corrupt),
];

fn coding_kind() -> Kind {
    Kind::words(CODINGS)
}

fn coding(fields: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Option<Coding>> {
    let schemes = [Scheme::Gzip, Scheme::Deflate, Scheme::Br];
    let mut written = schemes
        .into_iter()
        .filter_map(|scheme| Some((scheme, fields.entry(scheme.name())?)));
    let Some((scheme, (_, node))) = written.next() else {
        return Some(None);
    };
    if let Some((_, (key, _))) = written.next() {
        reading
            .out
            .report(ids::ONE_OF, &key.span, "content is coded once")
            .label("there is another coding beside it")
            .help("keep one of `gzip`, `deflate` and `br`");
        return None;
    }
    let state = node.word("coded content", CODINGS, reading.out)?;
    Some(Some(Coding { scheme, state }))
}

fn framing(node: &Node, reading: &mut Reading<'_>) -> Option<Framing> {
    node.word("a framing", FRAMINGS, reading.out)
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
    let help = "write 3ms or more; for speed, more bytes a piece";
    let every = beat(every?, "this drip is too fast", help, reading)?;
    Some((bytes?, every))
}

/// A time between pieces that a machine can keep.
fn beat(node: &Node, what: &str, help: &str, reading: &mut Reading<'_>) -> Option<Duration> {
    let every = node.duration("`every`", reading.out)?;
    if every < SHORTEST_BEAT {
        reading
            .out
            .report(ids::BAD_DURATION, &node.span, what)
            .label("a machine cannot keep a beat below 3ms")
            .help(help);
        return None;
    }
    Some(every)
}

fn stall(node: &Node, reading: &mut Reading<'_>) -> Option<(ResponsePoint, Duration)> {
    let fields = node.fields(&STALL, reading.out)?;
    let after = fields.need("after", reading.out);
    let pause = fields.need("for", reading.out);
    let after = after.and_then(|node| response_point(node, reading));
    let pause = pause.and_then(|node| node.duration("`for`", reading.out));
    Some((after?, pause?))
}

fn cut(node: &Node, reading: &mut Reading<'_>) -> Option<(ResponsePoint, End)> {
    let fields = node.fields(&CUT, reading.out)?;
    let after = fields.need("after", reading.out);
    let with = fields.need("with", reading.out);
    let point = after.and_then(|node| response_point(node, reading));
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

/// A point in an answer.
fn response_point(node: &Node, reading: &mut Reading<'_>) -> Option<ResponsePoint> {
    let (key, value) = node.tagged("a point in an answer", reading.out)?;
    let position = |out: &mut _| value.position("a place in an answer", out);
    match key.text.as_str() {
        "head" => position(reading.out).map(ResponsePoint::Head),
        "body" => position(reading.out).map(ResponsePoint::Body),
        "wire" => position(reading.out).map(ResponsePoint::Wire),
        "chunks" => value
            .number("a number of chunks", 0..=1_000_000, reading.out)
            .map(ResponsePoint::Chunks),
        "events" => value
            .number("a number of events", 0..=1_000_000, reading.out)
            .map(ResponsePoint::Events),
        "inside_event" => value
            .number("the number of an event", 1..=1_000_000, reading.out)
            .map(ResponsePoint::InsideEvent),
        "request" => {
            reading
                .out
                .report(ids::WRONG_KIND, &key.span, "this is a point in a request")
                .label("an answer has none of it")
                .help("to end a connection without an answer, write the behaviour `cut`");
            None
        }
        word => {
            let words = ["head", "body", "wire", "chunks", "events", "inside_event"].into_iter();
            unknown_word(&key.span, word, "a part of an answer", words, reading.out);
            None
        }
    }
}
