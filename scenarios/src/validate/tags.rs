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
    // The rows of the requirements: what right clients are told from wrong ones by.
    (
        "R1",
        "redirects to a closed port, in a loop, to another origin",
    ),
    (
        "R2",
        "RST and FIN at every point of a connection, a request and an answer",
    ),
    (
        "R3",
        "bodies that drip or have no end, those of errors above all",
    ),
    (
        "R4",
        "a gateway's bare 502, 503 or 504, which the API did not give",
    ),
    ("R5", "Retry-After in every form"),
    (
        "R6",
        "429 for causes that waiting ends, and for causes that it does not",
    ),
    (
        "R7",
        "statuses that are worth a second request, and those that never are",
    ),
    ("R8", "failures to connect and to look a name up"),
    ("R9", "work that is submitted and asked after"),
    (
        "R10",
        "outcomes that nobody knows, and how they are found out",
    ),
    ("R11", "idempotency keys, and what their receiver keeps"),
    ("R12", "backoff and its jitter"),
    ("R13", "budgets of attempts, waits and retries"),
    ("R14", "layers of retries that multiply"),
    (
        "R15",
        "timeouts of connecting, of silence, and of the whole call",
    ),
    (
        "R16",
        "calls that are cancelled, and whether the server sees it",
    ),
    (
        "R17",
        "lists of events that break off, go on, or tell of an error",
    ),
    ("R18", "the limits of a server as it keeps them"),
    (
        "R19",
        "so many calls at once, and those that wait for their turn",
    ),
    ("R20", "circuit breakers"),
    ("R21", "batches of which a part fails"),
    ("R22", "clients that are killed and started again"),
    ("R23", "hedged requests"),
    ("R24", "webhooks that are delivered twice"),
    (
        "R25",
        "causes that must not be lost on the way to the caller",
    ),
    ("R26", "what a user is told meanwhile"),
];
