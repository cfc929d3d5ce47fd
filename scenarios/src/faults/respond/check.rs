//! What about one answer cannot be: keys that do not go together, points beyond
//! the end, cuts that leave it whole.

use scripted_servers::wire::{End, Position};

use super::message::Message;
use super::{Framing, Respond, ResponsePoint};
use crate::apis::Api;
use crate::document::decode::Fields;
use crate::document::ids;
use crate::manifest::OperationName;
use crate::plan::Content;
use crate::reading::Reading;
use crate::rendering::Rendering;
use crate::template::Bindings;

/// Checks one answer as a whole.
pub(super) fn check(respond: &Respond, fields: &Fields<'_>, reading: &mut Reading<'_>) -> bool {
    let before = reading.out.reports();
    check_keys(respond, fields, reading);
    // What a model answers is not known here.
    let by_model = respond.body.is_none() && reading.goes_through;
    if reading.out.reports() == before && is_fixed(respond) && !by_model {
        let bindings = Bindings::default();
        let message = Message::new(
            &without_random_bytes(respond),
            &Rendering {
                bindings: &bindings,
                api: Api::PlainJson,
                to: OperationName::Create,
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
    // Coded, other bytes would have another length.
    if respond.coding.is_none()
        && let Some(Content::Bytes(bytes)) = respond.body
    {
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
    if let Some(coding) = respond.coding {
        let name = coding.scheme.name();
        let why = match &respond.body {
            None => Some("there is no content"),
            Some(_) if respond.is_endless() => Some("content without end is never coded"),
            Some(_) if respond.says_length.is_some() => {
                Some("with a length that lies nobody can say what is decoded")
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let help = "remove it; `half` cuts what is coded, and keeps the framing";
            refused.say(
                name,
                ids::CANNOT_FIRE,
                "nothing can be coded here",
                why,
                help,
            );
        }
        let mut names = respond.headers.iter().map(|(name, _)| name);
        if names.any(|name| name.eq_ignore_ascii_case("content-encoding")) {
            refused.say(
                name,
                ids::HEADER_BY_KEY,
                "the coding is told twice",
                "this adds the header Content-Encoding itself",
                "remove the header",
            );
            refused.reading.out.last().beyond_schema();
        }
    }
    if !respond.trailers.is_empty() && (!chunked || respond.is_endless()) {
        refused.say(
            "trailers",
            ids::FRAMING,
            "`trailers` stand behind the last chunk",
            "there is none",
            "add `framing: chunked`, with content that ends",
        );
    }
    if respond.surplus.is_some() {
        let never = respond.cut.is_some() || respond.is_endless();
        let is_content = respond.framing == Framing::Close || respond.says_length.is_some();
        if never || is_content {
            let why = match never {
                true => "this answer never comes to its end",
                false => "a client would read it as content",
            };
            refused.say(
                "surplus",
                ids::FRAMING,
                "nothing is surplus here",
                why,
                "remove `surplus`; content is written in `body`",
            );
        }
    }
    for key in ["cut", "stall", "drip", "surplus", "trailers"] {
        if respond.is_never_answered() {
            refused.say(
                key,
                ids::CANNOT_FIRE,
                "this answer never begins",
                "interim answers go on without end",
                "remove it, or write a number of `times`",
            );
        }
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
    let by_model = respond.body.is_none() && refused.reading.goes_through;
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
        // What a model answers instead is not known here.
        let list = matches!(respond.body, Some(Content::Events(_))) || by_model;
        if point.is_of_events() && (!list || respond.coding.is_some()) {
            refused.say(
                key,
                ids::FRAMING,
                "a point in events needs `body: {events: [..]}`",
                "there are no events that can be seen here",
                "write the body as `events`, and do not code it",
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
        ResponsePoint::Head(_) | ResponsePoint::Events(_) | ResponsePoint::InsideEvent(_) => {
            return;
        }
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
    // An orderly close is the end of such content wherever it comes (RFC 9112
    // section 6.3): no client can tell the rest from nothing.
    let is_fin = matches!(end, End::Close | End::HalfClose);
    // A list of events says itself where it ends.
    let whole_by_close = respond.framing == Framing::Close
        && is_fin
        && at >= message.head
        && (!point.is_of_events() || at == message.bytes.len());
    if whole_by_close {
        refused.say(
            "cut",
            ids::CUT_OF_WHOLE,
            "this cut leaves a complete message",
            "without a length, an orderly close is the end of the content",
            "write `with: reset`, or another `framing`",
        );
    } else if message.complete.is_some_and(|complete| complete <= at) {
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
