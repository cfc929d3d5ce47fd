//! The faults among the parameters of an answer, for the list.

use crate::faults::Listed;

/// What can be wrong with an answer, key by key.
pub(super) const PARTS: &[Listed] = &[
    of_respond(
        "retry_after",
        "a Retry-After header in seconds, as a date or as any text",
        "respond: { status: 429, retry_after: { seconds: 2 } }",
    ),
    of_respond(
        "interim",
        "interim answers (1xx) before it, some or without end",
        "respond: { status: 200, interim: [ { status: 103, headers: { Link: \"</a>\" } }, { status: 100, times: 2 } ] }",
    ),
    of_respond(
        "framing",
        "how the end of the content is told: `length`, `chunked` or `close`",
        "respond: { status: 502, framing: close, body: { text: \"bad gateway\" } }",
    ),
    of_respond(
        "says_length",
        "a Content-Length that lies",
        "respond: { status: 200, body: { text: \"12345\" }, says_length: 20 }",
    ),
    of_respond(
        "chunks",
        "sizes of the chunks",
        "respond: { status: 200, framing: chunked, chunks: [5, 5], body: { text: helloworld } }",
    ),
    of_respond(
        "gzip",
        "the content coded: `whole`, its first `half`, `empty` or `corrupt`",
        "respond: { status: 200, gzip: half, body: { text: hello } }",
    ),
    of_respond(
        "deflate",
        "as `gzip`, in the zlib format",
        "respond: { status: 200, deflate: corrupt, body: { text: hello } }",
    ),
    of_respond(
        "br",
        "as `gzip`, in brotli",
        "respond: { status: 200, br: empty, body: { text: hello } }",
    ),
    of_respond(
        "trailers",
        "trailer fields behind the last chunk",
        "respond: { status: 200, framing: chunked, body: { text: ok }, trailers: { X-Sum: \"1\" } }",
    ),
    of_respond(
        "surplus",
        "bytes behind the end of the message, with its last ones",
        "respond: { status: 204, surplus: { text: \"<html>\" } }",
    ),
    of_respond(
        "drip",
        "the body in small pieces, one after the other",
        "respond: { status: 200, body: { bytes: 200 }, drip: { bytes: 10, every: 10ms } }",
    ),
    of_respond(
        "stall",
        "a pause after a point of the answer",
        "respond: { status: 200, body: { bytes: 1KiB }, stall: { after: { body: half }, for: 2s } }",
    ),
    of_respond(
        "cut",
        "the connection ends after a point of the answer: `reset`, `close`, `half-close` or `hang`",
        "respond: { status: 200, body: { bytes: 1KiB }, cut: { after: { body: half }, with: reset } }",
    ),
    of_respond(
        "body.events",
        "server-sent events, with points between and inside them",
        "respond: { status: 200, body: { events: [ { id: \"1\", data: a }, { id: \"2\", data: b } ] }, cut: { after: { inside_event: 2 }, with: reset } }",
    ),
    of_respond(
        "body.endless",
        "content that never ends",
        "respond: { status: 500, framing: chunked, body: { endless: \"no \" } }",
    ),
];

const fn of_respond(word: &'static str, summary: &'static str, example: &'static str) -> Listed {
    Listed {
        place: "respond",
        word,
        summary,
        example,
    }
}
