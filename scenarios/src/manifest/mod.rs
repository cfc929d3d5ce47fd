//! A client's manifest, decoded: how to start it, what it can do, what its
//! documentation promises, and what its errors mean.

mod decode;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::apis::Api;
use crate::plan::{Plan, Request};

pub(crate) use decode::OPERATIONS;
pub(crate) use decode::kind;
pub use decode::{decode, keys, read};

pub use crate::operation::OperationName;

/// One client under test: `clients/ECOSYSTEM/NAME.yaml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Name of the client, unique over all manifests; the matrix column.
    pub name: String,
    /// One line of what it is.
    pub title: String,
    /// The manifest's file.
    pub file: String,
    /// What is fetched once from its ecosystem's registry; none: it needs nothing
    /// but its programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<Build>,
    /// What is done once before it can be started; none: it is ready as it lies there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// How it is started.
    pub start: Start,
    /// Programs that must be found in PATH.
    pub programs: Vec<String>,
    /// Arguments of a command that prints its version on one line.
    pub version: Vec<String>,
    /// What it can do.
    pub abilities: BTreeSet<Ability>,
    /// The API it speaks: what its operations request, and the format of answers.
    #[serde(default)]
    pub api: Api,
    /// The operations it can do, with the request each one makes.
    pub operations: BTreeMap<OperationName, Operation>,
    /// What it promises.
    pub policy: Policy,
    /// What its errors mean; the first rule that matches any link of the chain
    /// decides.
    pub errors: Vec<ErrorRule>,
    /// Defects that can be switched on, for the reference client.
    pub defects: BTreeSet<String>,
    /// Names of threads that keep house for the runtime, such as a virtual
    /// machine's: in virtual time their waits do not hold the clock. As the kernel
    /// has them, cut to 15 bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub soft_threads: Vec<String>,
}

/// What a client lacks for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// An ability.
    Ability(Ability),
    /// An operation.
    Operation(OperationName),
    /// The case gives successes in bytes of its own, and the client takes its API's
    /// format only.
    OtherAnswers,
}

impl std::fmt::Display for Lack {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ability(ability) => out.write_str(decode::ability_word(*ability)),
            Self::Operation(operation) => {
                write!(out, "operation {}", decode::operation_word(*operation))
            }
            Self::OtherAnswers => out.write_str("answers but those of its API"),
        }
    }
}

impl Manifest {
    /// What this client lacks for a case; the first of several.
    pub fn lacks(&self, plan: &Plan) -> Option<Lack> {
        let mut needs = plan.needs.clone();
        let mut operations = BTreeSet::new();
        for call in &plan.calls {
            match &call.request {
                Request::Literal { .. } => {
                    needs.insert(Ability::Literal);
                }
                Request::Operation { operation, .. } => {
                    operations.insert(*operation);
                }
            }
        }
        let ability = needs.difference(&self.abilities).next();
        let operation = operations
            .iter()
            .find(|name| !self.operations.contains_key(name));
        ability
            .map(|ability| Lack::Ability(*ability))
            .or(operation.map(|name| Lack::Operation(*name)))
            .or(self.lacks_answers(plan))
    }

    /// A client of an API fails at a good answer in another format, and rightly so.
    fn lacks_answers(&self, plan: &Plan) -> Option<Lack> {
        let in_bytes = plan
            .steps()
            .any(|step| step.fault.behaviour().succeeds_in_bytes());
        (self.api != Api::PlainJson && in_bytes).then_some(Lack::OtherAnswers)
    }

    /// A manifest of no client: nothing can be started, nothing is promised.
    pub fn none() -> Self {
        Self {
            name: String::new(),
            title: String::new(),
            file: String::new(),
            install: None,
            build: None,
            start: Start::Adapter(Vec::new()),
            programs: Vec::new(),
            version: Vec::new(),
            abilities: BTreeSet::new(),
            api: Api::default(),
            operations: BTreeMap::new(),
            policy: Policy::default(),
            errors: Vec::new(),
            defects: BTreeSet::new(),
            soft_threads: Vec::new(),
        }
    }
}

/// How a client is installed or compiled: once for its sources and the version of its
/// tools, not for each cell. Clients that are installed alike share what is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Files beside the manifest. They are copied into an empty folder, so nothing
    /// else takes part.
    pub sources: Vec<String>,
    /// Program and arguments, run in that folder; afterwards it is `{installed}` or
    /// `{built}`. To build, `{installed}` is there already.
    pub run: Vec<String>,
}

/// How a client is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// A program that speaks the client protocol. `{wirefault}` stands for this
    /// binary, `{here}` for the manifest's folder, `{installed}` and `{built}` for those
    /// of installing and building.
    Adapter(Vec<String>),
    /// A program that knows nothing of wirefault.
    Command(CommandLine),
}

/// A command that makes one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandLine {
    /// Program and arguments. Placeholders: `{method}`, `{url}`, `{body_file}`
    /// (the request's content), `{output}` (a file the answer's content goes to),
    /// and those of an adapter.
    pub args: Vec<String>,
    /// Added once for each header field, with `{name}` and `{value}`.
    pub header: Vec<String>,
    /// Added when the call has content, with `{body_file}`.
    pub body: Vec<String>,
    /// Added for a limit that the scenario sets, by the limit's name, with
    /// `{value}`, `{value_minus_one}` or `{seconds}`.
    pub limits: BTreeMap<String, Vec<String>>,
    /// Where the status is shown.
    pub status: StatusFrom,
    /// Where the answer's content is shown.
    pub content: ContentFrom,
    /// What exit codes mean; 0 means an answer was shown. A code that is not
    /// here is an error that no entry matches.
    pub exits: BTreeMap<i32, String>,
}

/// Where a command shows the status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatusFrom {
    /// Nowhere.
    #[default]
    Nowhere,
    /// The last word of stdout is the status; 000 means none.
    StdoutLastWord,
}

/// Where a command shows the content of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentFrom {
    /// Nowhere.
    #[default]
    Nowhere,
    /// In the file `{output}`.
    Output,
    /// On stdout, whole.
    Stdout,
}

/// What a client can do. The word of the language is its kebab-case name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ability {
    /// Literal requests (method, URL, headers, body as given).
    Literal,
    /// Several calls by one client object.
    Calls,
    /// Several calls at the same time by one client object.
    AtOnce,
    /// Gives up a call when its caller wants it no more.
    Cancels,
    /// Says of a call how it goes, by itself and not by its kit.
    TellsProgress,
    /// Reads a list of events, and tells which of them its caller was given.
    Streams,
    /// A body handed over as a stream.
    StreamsBody,
    /// Follows redirects.
    FollowsRedirects,
    /// Sends again by itself.
    Retries,
    /// Keeps connections and uses them again.
    ReusesConnections,
    /// Takes `localhost` for 127.0.0.1 and ::1, whatever the machine's files say
    /// (RFC 6761 section 6.3), and tries the other when one cannot be reached.
    TriesEveryAddress,
    /// Goes on with an upload where it broke off.
    Resumes,
    /// Knows, when it is started again in the same folder, what it had done before it
    /// was killed.
    ResumesAfterCrash,
    /// Asks where the truth is known after an unknown outcome.
    LooksUp,
    /// Submits a job and asks after it until it ends.
    Job,
    /// Sends many items, several in a request where it is told so, and reports each.
    Batch,
    /// Tells causes of a refusal apart by what its content says, where the status is the
    /// same.
    TellsCauses,
    /// Decodes gzip, and shows what it decoded.
    DecodesGzip,
    /// Decodes deflate (the zlib format), and shows what it decoded.
    DecodesDeflate,
    /// Decodes brotli, and shows what it decoded.
    DecodesBr,
    /// Can be told the limit `attempts`.
    Attempts,
    /// Can be told the limit `connect`.
    Connect,
    /// Can be told the limit `idle`.
    Idle,
    /// Can be told the limit `total`.
    Total,
    /// Can be told the limit `redirects`.
    Redirects,
    /// Can be told the limit `layers`.
    Layers,
    /// Can be told the limit `per_attempt`.
    PerAttempt,
    /// Can be told the limit `backoff`.
    Backoff,
    /// Can be told the limit `backoff_cap`.
    BackoffCap,
    /// Can be told the limit `jitter`.
    Jitter,
    /// Can be told the limit `retry_after_cap`.
    RetryAfterCap,
    /// Can be told the limit `wait`.
    Wait,
    /// Can be told the limit `retry_share`.
    RetryShare,
    /// Can be told the limit `in_flight`.
    InFlight,
    /// Can be told the limit `queue`.
    Queue,
    /// Can be told the limit `breaker_failures`.
    BreakerFailures,
    /// Can be told the limit `breaker_open`.
    BreakerOpen,
    /// Can be told the limit `hedge_after`.
    HedgeAfter,
    /// Can be told the limit `error_body`.
    ErrorBody,
    /// Can be told the limit `poll_every`.
    PollEvery,
}

/// The requests of these operations of an API, as far as it has them.
pub fn operations_of(
    api: Api,
    names: impl IntoIterator<Item = OperationName>,
) -> BTreeMap<OperationName, Operation> {
    let binding = |name| {
        let (method, path) = api.request(name)?;
        let operation = Operation {
            method: method.to_owned(),
            path: path.to_owned(),
            content: matches!(method, "POST" | "PUT"),
        };
        Some((name, operation))
    };
    names.into_iter().filter_map(binding).collect()
}

/// The request that an operation makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Method.
    pub method: String,
    /// Path, exact.
    pub path: String,
    /// Whether it carries content.
    pub content: bool,
}

/// What a client's documentation promises about sending again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Where it is written down.
    pub source: String,
    /// Redirect hops it follows unless told; 0: none; no value: undocumented.
    pub redirects: Option<u32>,
    /// The first rule that fits decides. What none fits is undocumented.
    pub rules: Vec<PolicyRule>,
}

/// What is done after an attempt that ended like this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyRule {
    /// Statuses; empty: the rule is not about statuses.
    pub status: Vec<StatusRange>,
    /// Kinds of error; empty: the rule is not about errors.
    pub error: Vec<ErrorKind>,
    /// Methods; empty: any.
    pub method: Vec<String>,
    /// Only on a connection used before, or only on a fresh one.
    pub reused: Option<bool>,
    /// Only when the answer says (or does not say) Retry-After.
    pub retry_after: Option<bool>,
    /// Only when a redirect was followed in the attempt, or only when none was:
    /// a refused target proves nothing about the request before it.
    #[serde(default)]
    pub redirected: Option<bool>,
    /// Only when the call gives one of these fields, such as a precondition or a
    /// key that makes it safe to send twice; empty: whatever it gives.
    #[serde(default)]
    pub header: Vec<String>,
    /// Sends of the call in all, this rule being met each time; 1: not again.
    /// A limit `attempts` of the scenario takes its place where it is above 1.
    pub attempts: u32,
    /// How long it waits before the next one.
    pub wait: WaitRule,
    /// Where this is written down, if not at the policy's source.
    pub source: Option<String>,
}

/// One status or a range of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusRange {
    /// First.
    pub from: u16,
    /// Last.
    pub to: u16,
}

/// How long a client waits before it sends again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitRule {
    /// At least, for the n-th wait (the last repeats).
    pub at_least: Vec<Duration>,
    /// At most, for the n-th wait (the last repeats).
    pub at_most: Vec<Duration>,
    /// Whether Retry-After is kept to: at least its value, at most its value
    /// and `at_most`.
    pub retry_after: bool,
}

/// What an attempt died of, as seen from the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The port refused.
    Refused,
    /// No connection within the limit.
    ConnectTimeout,
    /// RST before any byte of the answer.
    Reset,
    /// FIN before any byte of the answer.
    Closed,
    /// RST or FIN inside the answer.
    Truncated,
    /// No byte within the limit.
    IdleTimeout,
    /// The call took longer than its limit.
    TotalTimeout,
    /// The answer cannot be understood.
    Malformed,
    /// More redirects than allowed.
    TooManyRedirects,
}

/// When, seen from sending, an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before a byte was sent.
    Before,
    /// After sending may have begun.
    After,
    /// In an answer: the API said no, and means it.
    Refused,
}

/// What an error of the client means. All given parts must match the same link
/// of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    /// Type or class, exactly.
    pub kind: Option<String>,
    /// Code, exactly.
    pub code: Option<String>,
    /// Number, exactly.
    pub errno: Option<i64>,
    /// A part of the message.
    pub message: Option<String>,
    /// When it arises.
    pub phase: Phase,
}
