//! The client protocol, version 1: JSON Lines over stdin and stdout.
//!
//! The harness writes one [`Work`] line, later [`Control`] lines. The client
//! writes [`Message`] lines: progress as it likes, and exactly one report for
//! each call. After its last report a client neither exits, nor cancels, nor
//! detaches work: it ends by itself when nothing is left to do, or waits for
//! `finish`. How a program ends decides whether a late retry is seen.
//! A client that can not do the work says `unsupported` or exits with 127.

use serde::{Deserialize, Serialize};

/// The version of this protocol.
pub const VERSION: u32 = 1;

/// The first line on stdin: everything that is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// [`VERSION`].
    pub protocol: u32,
    /// The calls, to be made in this order by one client object: group after
    /// group, and in a group so many at the same time as it says.
    pub calls: Vec<Call>,
    /// What to keep to; what is absent is the client's own default.
    pub limits: Limits,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its number, for the report. Clients that can, send it as the header
    /// field `Wirefault-Call` in every request of the call.
    pub id: u32,
    /// The operation, where the scenario names one; for SDKs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Method.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// Header fields in order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Whether to hand the body over as a stream.
    #[serde(default)]
    pub stream_body: bool,
    /// Whether it is an upload that goes on where it broke off: a POST without
    /// content to the URL begins a session, whose URL is in the Location of the
    /// answer; content goes there by PUT with Content-Range, and an empty PUT
    /// with `bytes */SIZE` asks what has arrived (308 with Range).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumable: bool,
    /// Whether its answer is a list of server-sent events; none: it is not. The
    /// report then carries the ids of the events that its caller was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// Where the truth can be asked for, by GET, after an unknown outcome: 2xx with
    /// what was done, or 404 where nothing was. None: nobody can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_up: Option<String>,
    /// Where the call submits work that is done later: how that is asked after. The
    /// answer of the call is JSON whose `job` is the id. The whole of it is one call with
    /// one report, of its last answer. None: the answer of the call is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// Where the call is an item of a batch, how those are sent; the whole batch is one
    /// group. Each item has its report. None: it is no item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
    /// Milliseconds to wait before the call.
    #[serde(default)]
    pub pause_ms: u64,
    /// Calls that follow each other with the same number are made beside each
    /// other; 0: this one is made alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub group: u32,
    /// How many calls of its group are open at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub at_once: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(group: &u32) -> bool {
    *group == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(at_once: &u32) -> bool {
    *at_once == 1
}

fn one() -> u32 {
    1
}

impl Work {
    /// The calls that are made beside each other, group after group.
    pub fn groups(&self) -> impl Iterator<Item = &[Call]> {
        let beside = |one: &Call, next: &Call| one.group > 0 && one.group == next.group;
        self.calls.chunk_by(beside)
    }
}

/// A list of events as the answer of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// The data of the API's last event. A list that ends before it is not whole,
    /// however the connection ended. None: the API has no such event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_with: Option<String>,
    /// Where a request says the id of the last event that its client has, so that a
    /// list which broke off goes on behind it. None: the API has no such thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// Where a request says how far its client has got in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cursor {
    /// In the header field of that name (WHATWG HTML, 9.2.4).
    LastEventId,
    /// In this parameter of the query.
    Query(String),
}

/// How the items of a batch are sent: each alone, or several in a request.
///
/// Several have the same method, URL and header fields. Their contents, JSON each, become
/// one list, which stands under the key `into` in the content, and `Wirefault-Call` lists
/// the numbers of all of them, with commas between. The answer is JSON with a list
/// `items`, in the same order, of which each has its `status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Items of one request, at most.
    pub per_request: u32,
    /// The key of the list in the content; none: each item is sent alone, as its call
    /// says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
}

/// How a job is asked after: again and again, until a code ends it or the call's limit
/// of time is over. In the URL and in values of header fields `{job}` stands for the id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Method of a query.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// Header fields in order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// What the codes in the answers mean.
    pub codes: Codes,
}

/// What the codes of a job mean. A code in no list ends nothing, and an answer without one
/// (a gateway's 502) does not speak of the job. An entry that ends with `*` stands for all
/// codes that begin so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codes {
    /// The header field of an answer that tells the code.
    pub header: String,
    /// It is done, and the answer holds what came of it.
    pub done: Vec<String>,
    /// It goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub working: Vec<String>,
    /// It will never be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

/// Content of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// This text, as UTF-8.
    Text(String),
    /// The bytes of this file.
    File(String),
}

/// What a client is told to keep to. It is told only what its manifest says it can be
/// told, so a kit passes over what it does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Sends a call, the first included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Layers that send again, each what the one below it gives up; outermost first.
    /// They take the place of `attempts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Timeout of connecting, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ms: Option<u64>,
    /// Timeout without a byte, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// Timeout of one attempt, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_attempt_ms: Option<u64>,
    /// Timeout of a call, all attempts together, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<u64>,
    /// Redirect hops followed; 0: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<u32>,
    /// The first wait between two attempts, milliseconds; each further one is twice as
    /// long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// The longest such wait, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_cap_ms: Option<u64>,
    /// How much of such a wait is left to chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// The longest Retry-After that is waited for, milliseconds; beyond it the client
    /// gives up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_cap_ms: Option<u64>,
    /// All waits of a call together, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Retries per hundred calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_share: Option<u32>,
    /// Calls that are open at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
    /// Calls that wait for that; one more is given up at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Failures in a row after which nothing is sent for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker_failures: Option<u32>,
    /// For how long, milliseconds; then one request is sent as a probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker_open_ms: Option<u64>,
    /// How long an answer is waited for before a second copy is sent, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedge_after_ms: Option<u64>,
    /// Bytes of the content of an answer that are read when it is no success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_body: Option<u64>,
    /// How long is waited before each query of a job, the first included: phase after
    /// phase, of which the last stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub poll_every: Vec<Polls>,
}

/// A phase of asking after a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Polls {
    /// The wait before each query, milliseconds.
    pub every_ms: u64,
    /// The phase is over when its waits together are as long as this, milliseconds; none:
    /// it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
}

/// A layer that sends again what the one below it gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// How often it sends again.
    pub retries: u32,
}

/// How much of a wait is left to chance, so that clients do not return in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Jitter {
    /// All of it: from nothing to the whole wait.
    Full,
    /// The second half: from half of the wait to all of it.
    Equal,
    /// Nothing: the whole wait.
    None,
}

/// A later line on stdin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// All calls have reported and nothing moves: end.
    Finish {},
    /// Cancel this call.
    Cancel {
        /// Its number.
        call: u32,
    },
}

/// A line on stdout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// How a call goes.
    Progress(Progress),
    /// The final report of a call.
    Report(Report),
    /// The client can not do this work.
    Unsupported {
        /// Why.
        reason: String,
    },
}

/// How a call goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Number of the call.
    pub call: u32,
    /// pending, working, retrying, succeeded or failed.
    pub state: String,
}

/// The final report of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Number of the call.
    pub call: u32,
    /// What the client showed its caller.
    pub shown: Shown,
    /// What a client that knows more says about the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Of a stream, the ids of the events that its caller was given, in order, in
    /// the whole call; whatever is shown of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
}

/// What a client showed its caller: what was returned or thrown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// An answer that it considers whole.
    Response(ShownResponse),
    /// An error: the chain, outermost first.
    Error(Vec<ErrorLink>),
    /// Cancelled.
    Cancelled {},
    /// Parked for a person.
    Held {},
}

/// An answer as the client shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownResponse {
    /// Status code; none where the client shows none (a command judged by its
    /// exit code).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Length of the body; none where the client shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// SHA-256 of the body, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_sha256: Option<String>,
    /// Its first 256 bytes as text, invalid UTF-8 replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_start: Option<String>,
}

/// One error of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorLink {
    /// Type or class.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Code, a word: `ECONNRESET`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Number of the operating system, or exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i64>,
    /// Message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where in the caller's value this sits: `error`, `error.cause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// What a client says about the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// Done.
    Applied,
    /// Not done, and will not be.
    NotApplied,
    /// Not one byte of it was sent.
    NotSent,
    /// Cannot tell.
    Unknown,
}
