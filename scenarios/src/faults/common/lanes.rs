//! The faults of the lanes around the steps, for the list. Which of them a server
//! has is read by validation.

use crate::faults::Listed;

/// The words of the lanes around the steps.
pub(in crate::faults) const LANES: &[Listed] = &[
    lane(
        "step",
        "reads",
        "the answer begins when the request has been read up to a point",
        "reads: { head: all }, respond: { status: 413 }",
    ),
    lane(
        "step",
        "continue",
        "what a request meets that expects 100 (Continue): `sent`, `never` or `{after: TIME}`",
        "continue: never, respond: { status: 200 }",
    ),
    lane(
        "step",
        "slow_read",
        "the content of a request is read slowly, so that the client cannot send on",
        "slow_read: { bytes: 64KiB, every: 10ms }, respond: { status: 200 }",
    ),
    lane(
        "step",
        "takes",
        "the application works on an effect for a time, whatever becomes of the connection",
        "applies: order, takes: 2s, delay: 300ms, respond: { status: 504 }",
    ),
    lane(
        "cut",
        "half-close",
        "FIN, and what still comes is read and counted to the client's end",
        "cut: { after: { head: all }, with: half-close }",
    ),
    lane(
        "then",
        "close",
        "the connection, idle since the answer, is closed; after 0s the FIN comes with the last bytes",
        "then: { close: 100ms }",
    ),
    lane(
        "then",
        "reset",
        "the connection, idle since the answer, is reset",
        "then: { reset: 100ms }",
    ),
    lane(
        "then",
        "sends",
        "bytes that nobody asked for come on the idle connection, before its end",
        r#"then: { close: 100ms, sends: { text: "HTTP/1.1 408 Request Timeout\r\n\r\n" } }"#,
    ),
    lane(
        "then",
        "stay",
        "the idle connection stays open behind what it `sends`",
        r#"then: { stay: 100ms, sends: { text: "\r\n" } }"#,
    ),
    lane(
        "connections",
        "reset",
        "an accepted connection is reset",
        "connections: [reset, serve]",
    ),
    lane(
        "connections",
        "close",
        "an accepted connection is closed",
        "connections: [close, serve]",
    ),
    lane(
        "connections",
        "hang",
        "an accepted connection is never read",
        "connections: [hang]",
    ),
    lane(
        "listen",
        "refuse",
        "nobody listens: every attempt to connect is refused",
        "listen: refuse",
    ),
];

const fn lane(
    place: &'static str,
    word: &'static str,
    summary: &'static str,
    example: &'static str,
) -> Listed {
    Listed {
        place,
        word,
        summary,
        example,
    }
}
