//! The Plan: one case of a scenario, checked and ready to run.
//!
//! Made only by validation. Every default is filled in, columns and seed are
//! resolved, no YAML is left. It is written into the run folder, so that a
//! verdict can be judged again without the scenario's file.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use scripted_servers::models::events::Cursor;
use scripted_servers::script::{ConnectionAct, Listen, PortState, Route, Times, When};
use scripted_servers::wire::{Continue, Effect, IdleEnd, RequestPoint};
use serde::{Deserialize, Serialize};

pub use super::batch::Batch;
pub use super::job::{Codes, Job, Query};
pub use super::limits::{Jitter, Layer, Limits, Polls};
use crate::assertions::Assertion;
use crate::faults::Fault;
use crate::manifest::{Ability, OperationName};
use crate::models::{Declared, ModelPlan};
use crate::moment::Moment;
use crate::template::Template;
use crate::verdict::{Axis, FindingName, Level};

/// One case: a scenario with the values of its columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Which case this is.
    pub case: CaseName,
    /// The scenario's file, as it was given on the command line or found.
    pub file: String,
    /// What the scenario says, in one line.
    pub title: String,
    /// Why it matters.
    pub why: String,
    /// Where the right behaviour is written down.
    pub refs: Vec<String>,
    /// Words to select by.
    pub tags: BTreeSet<String>,
    /// Seed of all randomness in this case, derived from the run's seed and the
    /// case's name.
    pub seed: u64,
    /// The servers, in the order of the file.
    pub servers: Vec<ServerPlan>,
    /// The calls to make, in order, by one client object. Those of a fleet are the same
    /// for each of its processes, one process after the other.
    pub calls: Vec<Call>,
    /// How many processes of the client are at work, each with its part of the calls.
    #[serde(default = "one", skip_serializing_if = "is_single")]
    pub fleet: u32,
    /// What the client is told to keep to.
    pub limits: Limits,
    /// What a client must be able to do; those implied are in.
    pub needs: BTreeSet<Ability>,
    /// End of patience with the client.
    pub deadline: Duration,
    /// Silence that closes a cell.
    pub quiet: Duration,
    /// Requests or connections after which the client is stopped.
    pub cap: u64,
    /// Deliveries, by server, after which the client is stopped without a
    /// finding.
    pub enough: BTreeMap<String, u64>,
    /// The order to cancel a call; none: nothing is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Cancel>,
    /// The order to kill the client, which is then started again; none: it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<Crash>,
    /// What must, should or may be seen.
    pub expect: Vec<Expectation>,
    /// The defect of the reference client that this case catches, when it does.
    pub proves: Option<Proves>,
}

impl Plan {
    /// Whether so many deliveries, by server, are enough: as many as wanted at
    /// every server that `enough` names.
    pub fn has_enough(&self, delivered: impl Fn(&str) -> u64) -> bool {
        let mut wanted = self.enough.iter();
        !self.enough.is_empty() && wanted.all(|(server, count)| delivered(server) >= *count)
    }

    /// Whether several processes of the client are at work.
    pub fn is_fleet(&self) -> bool {
        self.fleet > 1
    }

    /// How many calls each process of the client makes.
    pub fn calls_each(&self) -> usize {
        self.calls.len() / usize::try_from(self.fleet.max(1)).unwrap_or(usize::MAX)
    }

    /// The process, from 1, that makes the call with this number.
    pub fn process_of(&self, call: u32) -> u32 {
        let each = u32::try_from(self.calls_each()).unwrap_or(u32::MAX).max(1);
        call.saturating_sub(1) / each + 1
    }

    /// Why this case can not run in virtual time, if so: what the kernel's own TCP
    /// timers do, no other clock can hurry. A SYN that a port has dropped is sent
    /// again after a real second, and a client may only wait for that.
    pub fn real_time(&self) -> Option<&'static str> {
        let drops = |listen: &Listen| match listen {
            Listen::Drop => true,
            Listen::Open | Listen::Refuse => false,
            Listen::Phases(phases) => phases.iter().any(|one| one.state == PortState::Drop),
        };
        let dropping = self.servers.iter().any(|server| drops(&server.listen));
        dropping.then_some("a port drops SYNs, which the kernel sends again in real time")
    }

    /// Whether so many requests or connections are more than the cap allows.
    pub fn is_over_cap(&self, requests: u64, connections: u64) -> bool {
        requests.max(connections) > self.cap
    }
}

/// The order to cancel a call. It must be given while the call is open, or the
/// cell proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Where it stands in the file.
    pub line: u32,
    /// Number of the call.
    pub call: u32,
    /// The moment that it waits for.
    pub when: Moment,
    /// How long after it the order is given.
    pub later: Duration,
    /// True where the order is switched off: it is never given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// The order to kill the client with all that it has started. A new process gets the
/// same folder and the same work. It must be killed while a call is open, or the cell
/// proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crash {
    /// Where it stands in the file.
    pub line: u32,
    /// The moment that it waits for.
    pub when: Moment,
    /// How long after its end it is started again.
    pub restart_after: Duration,
    /// True where the order is switched off: it is never given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// `area/name[column=value,...]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseName {
    /// `area/name`.
    pub scenario: String,
    /// Columns and their values, in the order of the file.
    pub columns: Vec<(String, String)>,
}

impl std::fmt::Display for CaseName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.scenario)?;
        if !self.columns.is_empty() {
            let columns: Vec<_> = self
                .columns
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            write!(out, "[{}]", columns.join(","))?;
        }
        Ok(())
    }
}

/// Where servers are unless a scenario says otherwise.
fn loopback() -> IpAddr {
    Ipv4Addr::LOCALHOST.into()
}

/// One server of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerPlan {
    /// Its name.
    pub name: String,
    /// Where it stands in the file.
    pub line: u32,
    /// Its loopback address.
    #[serde(default = "loopback")]
    pub address: IpAddr,
    /// The server whose port number it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_of: Option<String>,
    /// Whether its port can be reached, and when.
    pub listen: Listen,
    /// What happens to accepted connections; the last repeats.
    pub connections: Vec<ConnectionAct>,
    /// What its application remembers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelPlan>,
    /// Its queues; a `script` is one queue that takes any path.
    pub queues: Vec<QueuePlan>,
    /// Lanes whose first fault must fire, `listen` and `connections` here; the
    /// steps carry their own mark.
    pub required: LanesRequired,
}

/// Which lanes before the script must have fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanesRequired {
    /// The first state of the port is a fault, and must be proved.
    pub listen: bool,
    /// The first entry of `connections` that is not `serve`, from 0.
    pub connection: Option<usize>,
}

/// The steps of one route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuePlan {
    /// As written in the file: `script`, or the pattern.
    pub pattern: String,
    /// Which requests it takes.
    pub route: Route,
    /// Its steps.
    pub steps: Vec<StepPlan>,
}

/// One step, with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepPlan {
    /// Where it stands in the file.
    pub line: u32,
    /// Its name, for moments.
    pub name: Option<String>,
    /// Which requests it takes.
    pub when: When,
    /// How many.
    pub times: Times,
    /// The point in the request after which the answer begins; none: when all
    /// of it is there. What is left of it is read after the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<RequestPoint>,
    /// What is done when a request expects `100` before it sends its content.
    #[serde(default, skip_serializing_if = "is_sent")]
    pub continues: Continue,
    /// The effect that is counted when the step's point is reached.
    pub applies: Option<Effect>,
    /// How long the application works on the effect, which is counted at the end.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    pub takes: Duration,
    /// The models that its requests go through, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<String>,
    /// How slowly the content of the request is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_read: Option<SlowRead>,
    /// Between the point and the act.
    pub delay: Duration,
    /// What the wire shows.
    pub fault: Fault,
    /// What becomes of the connection when it stays idle after the answer.
    pub then: Option<Then>,
    /// Whether it must have fired for the cell to mean anything.
    pub required: bool,
}

/// How slowly the content of a request is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowRead {
    /// Bytes a piece.
    pub bytes: u64,
    /// Time from piece to piece.
    pub every: Duration,
}

impl SlowRead {
    /// How long it takes to read so much content.
    pub fn time_for(&self, content: u64) -> Duration {
        let pieces = content.div_ceil(self.bytes.max(1));
        let pauses = u32::try_from(pieces.saturating_sub(1)).unwrap_or(u32::MAX);
        self.every.saturating_mul(pauses)
    }
}

/// What becomes of a connection that stays idle after an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Then {
    /// For so long nothing happens.
    pub after: Duration,
    /// What is sent then, which no request asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends: Option<Content>,
    /// How the connection ends then; none: it stays open.
    pub end: Option<IdleEnd>,
}

impl Then {
    /// The idle connection ends so.
    pub fn ends(end: IdleEnd, after: Duration) -> Self {
        Self {
            after,
            sends: None,
            end: Some(end),
        }
    }
}

fn is_sent(continues: &Continue) -> bool {
    *continues == Continue::Sent
}

impl ServerPlan {
    /// The effects of its application, as its steps and models declare them.
    pub(crate) fn effects(&self) -> impl Iterator<Item = Declared<'_>> {
        let steps = self.queues.iter().flat_map(|queue| &queue.steps);
        let of_steps = steps.filter_map(|step| {
            let effect = step.applies.as_ref()?;
            Some(Declared {
                name: &effect.name,
                keyed: effect.key.is_some(),
                takes: step.takes,
            })
        });
        let models = self.models.iter();
        of_steps.chain(models.filter_map(|model| model.model.remembers().effect()))
    }
}

impl StepPlan {
    /// Whether a model decides about its requests.
    pub(crate) fn goes_through_models(&self) -> bool {
        !self.through.is_empty()
    }

    /// A step that takes one request and does nothing but show this.
    pub fn new(fault: Fault) -> Self {
        Self {
            line: 0,
            name: None,
            when: When::default(),
            times: Times::Count(1),
            reads: None,
            continues: Continue::Sent,
            applies: None,
            takes: Duration::ZERO,
            through: Vec::new(),
            slow_read: None,
            delay: Duration::ZERO,
            fault,
            then: None,
            required: false,
        }
    }
}

/// One call of the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// From 1; repeats are unrolled.
    pub id: u32,
    /// Where it stands in the file.
    pub line: u32,
    /// Wait before it.
    pub pause: Duration,
    /// Calls with the same number, which follow each other, are made beside each
    /// other; 0: this one is made alone.
    #[serde(default, skip_serializing_if = "is_alone")]
    pub group: u32,
    /// How many of its group are open at the same time.
    #[serde(default = "one", skip_serializing_if = "is_single")]
    pub at_once: u32,
    /// What is to be sent.
    pub request: Request,
    /// Where the truth can be asked for after an unknown outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_up: Option<Template>,
    /// Where its answer is a list of events, how that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// Where it submits work that is asked after, how that is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Job>,
    /// Where it is an item of a batch, how those are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
}

/// A list of events as the answer of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// The data of its last event; none: it has no event that is always last.
    pub ends_with: Option<String>,
    /// Where a request says the id of the last event that its client has; none: a
    /// list that broke off can only be begun anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_alone(group: &u32) -> bool {
    *group == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_single(number: &u32) -> bool {
    *number == 1
}

fn one() -> u32 {
    1
}

impl Call {
    /// Whether it is a list of events that goes on where it broke off.
    pub fn has_cursor(&self) -> bool {
        let stream = self.stream.as_ref();
        stream.is_some_and(|stream| stream.cursor.is_some())
    }

    /// Whether it may share a request with others.
    pub(crate) fn is_shared(&self) -> bool {
        self.batch
            .as_ref()
            .is_some_and(|batch| batch.per_request > 1)
    }

    /// Whether its client asks more of a server than its request, and how often nobody
    /// can tell.
    pub(crate) fn asks_more(&self) -> bool {
        self.look_up.is_some() || self.job.is_some() || self.is_shared()
    }

    /// Whether it is an upload that goes on where it broke off.
    pub fn is_resumable(&self) -> bool {
        matches!(
            self.request,
            Request::Operation {
                resumable: true,
                ..
            }
        )
    }
}

/// What a call sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Exactly this.
    Literal {
        /// Method.
        method: String,
        /// URL.
        url: Template,
        /// Header fields.
        headers: Vec<(String, Template)>,
        /// Content.
        body: Option<Content>,
        /// Whether the client shall hand it over whole or as a stream.
        body_as: BodyAs,
    },
    /// What the client's manifest binds to this operation.
    Operation {
        /// Which.
        operation: OperationName,
        /// At which server.
        at: String,
        /// Bytes of an upload.
        size: Option<u64>,
        /// Whether it goes on where it broke off: in a session that a first
        /// request begins, whose URL is in the Location of the answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumable: bool,
    },
}

/// How the client is handed a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BodyAs {
    /// Whole.
    #[default]
    Buffer,
    /// As a stream.
    Stream,
}

/// Content of a request or an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text with names.
    Text(Template),
    /// JSON, names filled in, as it goes on the wire.
    Json(Template),
    /// Bytes.
    Hex(Vec<u8>),
    /// So many bytes from the case's seed.
    Bytes(u64),
    /// Text that never ends.
    Endless(String),
    /// A list of server-sent events.
    Events(Vec<SentEvent>),
    /// Rendered in the format of the API that the client's manifest names.
    Shape(Shape),
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentEvent {
    /// Its id, by which a client tells that it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its type; none: `message`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// What it says; lines of its own become lines of data.
    pub data: String,
}

impl SentEvent {
    /// As it goes on the wire (WHATWG HTML, 9.2.6).
    pub fn text(&self) -> String {
        let line = |name: &str, value: &str| format!("{name}: {value}\n");
        let id = self.id.iter().map(|id| line("id", id));
        let event = self.event.iter().map(|event| line("event", event));
        let data = self.data.split('\n').map(|data| line("data", data));
        let lines = id.chain(event).chain(data);
        lines.chain(["\n".to_owned()]).collect()
    }
}

/// A body named by what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A good answer.
    Ok {
        /// At least so many bytes.
        size: Option<u64>,
    },
    /// An error with a code.
    Error {
        /// The code.
        code: String,
        /// At least so many bytes.
        size: Option<u64>,
    },
    /// A gateway's HTML page.
    Page {
        /// At least so many bytes.
        size: Option<u64>,
    },
}

/// One expectation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// How much it weighs.
    pub level: Level,
    /// Which question it belongs to.
    pub axis: Axis,
    /// Which call or server it is about; default all.
    pub of: Of,
    /// What is expected.
    pub assertion: Assertion,
    /// Where it stands in the file, from 1.
    pub line: u32,
    /// As written, in one line: `delivered: {api: 1}`.
    pub text: String,
}

/// The scope of an expectation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Of {
    /// Only this call.
    pub call: Option<u32>,
    /// Only this attempt of the only call.
    pub attempt: Option<u32>,
    /// Only this server.
    pub server: Option<String>,
}

/// What a scenario proves about the reference client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proves {
    /// Name of the defect.
    pub defect: String,
    /// The finding it is caught by.
    pub finding: FindingName,
}
