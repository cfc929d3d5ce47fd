//! The words that scenarios are selected by.

/// All tags with what they mean.
pub const TAGS: &[(&str, &str)] = &[
    (
        "billing",
        "sending again costs money or makes a second thing",
    ),
    ("cancel", "calls that their caller wants no more"),
    ("body", "the content of requests or answers"),
    ("connect", "faults before a connection can be used"),
    ("error", "how errors are told"),
    ("framing", "where an answer ends"),
    ("idempotency", "keys and effects"),
    ("keep-alive", "connections used more than once"),
    (
        "limit",
        "limits that the client is told or given by the server",
    ),
    ("raw", "bytes that no good server sends"),
    ("redirect", "3xx and where it leads"),
    ("request", "faults while the request is read"),
    ("response", "faults while the answer is sent"),
    ("retry", "sending again"),
    (
        "slow",
        "takes longer than most; left out of the default run",
    ),
    ("status", "what a status makes the client do"),
    ("stream", "lists of events that come one by one"),
    ("timeout", "the client's own patience"),
    ("budget", "how many requests a call may cost"),
    ("wait", "how long the client waits before it sends again"),
];
