//! From a Plan to what runs: scripts for the servers, requests for the client.
//!
//! Everything that depends on the client's manifest (operations, the format of
//! an API) and on the servers' addresses is filled in here, and nothing else.

pub mod rendering;
pub mod target;
mod through;

use std::collections::BTreeSet;
use std::time::Duration;

use scripted_servers::script::{
    ConnectionAct, Listen, PathPattern, Queue, Route, ServerScript, Step, Times,
};

use crate::faults::Fault;
use crate::manifest::{Manifest, Operation, OperationName};
use crate::plan::{
    Batch, BodyAs, Call, Codes, Content, Job, Plan, QueuePlan, Request, ServerPlan, StepPlan,
    Stream,
};
use crate::rendering::Rendering;
use crate::template::Bindings;

/// Bytes of an upload whose scenario does not say how many.
const UPLOAD: u64 = 1 << 20;

/// A call, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedCall {
    /// Its number, from 1.
    pub id: u32,
    /// The operation, where the scenario names one.
    pub operation: Option<OperationName>,
    /// Method.
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// Header fields in order.
    pub headers: Vec<(String, String)>,
    /// Content.
    pub body: Option<Vec<u8>>,
    /// Whether the client shall hand it over as a stream.
    pub stream_body: bool,
    /// Where its answer is a list of events, how that ends.
    pub stream: Option<Stream>,
    /// Where the truth can be asked for after an unknown outcome.
    pub look_up: Option<String>,
    /// Where it submits work that is asked after, how.
    pub job: Option<ResolvedJob>,
    /// Where it is an item of a batch, how those are sent.
    pub batch: Option<Batch>,
    /// Whether it is an upload that goes on where it broke off.
    pub resumable: bool,
    /// Wait before it.
    pub pause: Duration,
    /// Which calls it is made beside; 0: none.
    pub group: u32,
    /// How many of them are open at the same time.
    pub at_once: u32,
}

/// How a job is asked after. `{job}` is left for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedJob {
    /// Method of a query.
    pub method: String,
    /// URL.
    pub url: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// Content.
    pub body: Option<Vec<u8>>,
    /// What the codes in the answers mean.
    pub codes: Codes,
}

/// The scripts of a case's servers, in the order of the file.
pub fn server_scripts(plan: &Plan, manifest: &Manifest, bindings: &Bindings) -> Vec<ServerScript> {
    let script = |server: &ServerPlan| {
        let with = rendering(plan, manifest, &server.name, bindings);
        let queue = |queue: &QueuePlan| Queue {
            route: route(plan, server, queue, manifest),
            steps: queue
                .steps
                .iter()
                .map(|step| step_of(step, server, &with))
                .collect(),
        };
        ServerScript {
            name: server.name.clone(),
            listen: server.listen.clone(),
            connections: server.connections.clone(),
            models: server.models.iter().map(through::rules).collect(),
            queues: server.queues.iter().map(queue).collect(),
        }
    };
    plan.servers.iter().map(script).collect()
}

/// How contents of a server are made for this client.
pub(crate) fn rendering<'a>(
    plan: &Plan,
    manifest: &Manifest,
    server: &str,
    bindings: &'a Bindings,
) -> Rendering<'a> {
    Rendering {
        bindings,
        api: manifest.api,
        to: plan.operation_at(server),
        seed: plan.seed,
    }
}

fn step_of(step: &StepPlan, server: &ServerPlan, with: &Rendering<'_>) -> Step {
    Step {
        when: step.when.clone(),
        times: step.times,
        inside_head: step.is_inside_head(),
        program: step.fault.program(step, with),
        through: through::through(step, server, with),
    }
}

/// Which requests a queue takes. Where all work at a server is one operation,
/// its script takes that operation's request only, so that what else an SDK
/// sends (probes, preflights) is counted apart. A redirect may lead to any
/// path, and a step inside the head is taken before the path is known.
fn route(plan: &Plan, server: &ServerPlan, queue: &QueuePlan, manifest: &Manifest) -> Route {
    let open = matches!(queue.route.path, PathPattern::Any)
        && !plan.may_redirect()
        && !queue.steps.iter().any(|step| step.is_inside_head());
    let requests: Option<BTreeSet<(&str, &str)>> = plan
        .calls
        .iter()
        .filter_map(|call| match &call.request {
            // Its session's URL is the scenario's.
            Request::Operation {
                at,
                resumable: true,
                ..
            } => (*at == server.name).then_some(None),
            Request::Operation { operation, at, .. } if *at == server.name => Some(
                manifest
                    .operations
                    .get(operation)
                    .map(|bound| (bound.method.as_str(), bound.path.as_str())),
            ),
            Request::Operation { .. } => None,
            Request::Literal { url, .. } => {
                let mut may_come = target::may_lead_to(&plan.servers, url, None).into_iter();
                let named = url.servers().any(|name| name == server.name);
                (named || may_come.any(|to| to.server == server.name)).then_some(None)
            }
        })
        .collect();
    match requests.as_ref().map(|all| (all.len(), all.first())) {
        Some((1, Some((method, path)))) if open => Route {
            method: Some((*method).to_owned()),
            path: PathPattern::Exact((*path).to_owned()),
        },
        _ => queue.route.clone(),
    }
}

/// The calls of a case. Whoever asks has made sure that the client has the
/// operations; one that it lacks is left out.
pub fn calls(plan: &Plan, manifest: &Manifest, bindings: &Bindings) -> Vec<ResolvedCall> {
    plan.calls
        .iter()
        .filter_map(|call| {
            let with = rendering(plan, manifest, "", bindings);
            let mut resolved = match &call.request {
                Request::Literal {
                    method,
                    url,
                    headers,
                    body,
                    body_as,
                } => ResolvedCall {
                    id: call.id,
                    operation: None,
                    method: method.clone(),
                    url: url.render(bindings),
                    headers: headers
                        .iter()
                        .map(|(name, value)| (name.clone(), value.render(bindings)))
                        .collect(),
                    body: body.as_ref().map(|body| body.render(&with).bytes),
                    stream_body: *body_as == BodyAs::Stream,
                    resumable: false,
                    stream: None,
                    look_up: None,
                    job: None,
                    batch: None,
                    pause: Duration::ZERO,
                    group: 0,
                    at_once: 1,
                },
                Request::Operation {
                    operation,
                    at,
                    size,
                    resumable,
                } => {
                    let bound = manifest.operations.get(operation)?;
                    let call = operation_call(call.id, (*operation, bound), (at, *size), &with);
                    ResolvedCall {
                        resumable: *resumable,
                        ..call
                    }
                }
            };
            resolved.pause = call.pause;
            resolved.stream = call.stream.clone();
            let look_up = call.look_up.as_ref();
            resolved.look_up = look_up.map(|url| url.render(bindings));
            let job = call.job.as_ref();
            resolved.batch = call.batch.clone();
            resolved.job = job.map(|job| job_of(job, &with));
            (resolved.group, resolved.at_once) = (call.group, call.at_once);
            Some(resolved)
        })
        .collect()
}

fn job_of(job: &Job, with: &Rendering<'_>) -> ResolvedJob {
    let Job { query, codes } = job;
    let headers = query.headers.iter();
    ResolvedJob {
        method: query.method.clone(),
        url: query.url.render(with.bindings),
        headers: headers
            .map(|(name, value)| (name.clone(), value.render(with.bindings)))
            .collect(),
        body: query.body.as_ref().map(|body| body.render(with).bytes),
        codes: codes.clone(),
    }
}

fn operation_call(
    id: u32,
    (name, bound): (OperationName, &Operation),
    (at, size): (&str, Option<u64>),
    with: &Rendering<'_>,
) -> ResolvedCall {
    let base = crate::template::Template(vec![crate::template::Piece::Url(at.to_owned())]);
    let (media, body) = match (bound.content, name) {
        (false, _) => (None, None),
        (true, OperationName::Upload) => {
            let bytes = Content::Bytes(size.unwrap_or(UPLOAD)).render(with).bytes;
            (Some("application/octet-stream"), Some(bytes))
        }
        (true, _) => {
            let json = format!(r#"{{"call":{id}}}"#);
            (Some("application/json"), Some(json.into_bytes()))
        }
    };
    ResolvedCall {
        id,
        operation: Some(name),
        method: bound.method.clone(),
        url: format!("{}{}", base.render(with.bindings), bound.path),
        headers: media
            .map(|media| ("Content-Type".to_owned(), media.to_owned()))
            .into_iter()
            .collect(),
        body,
        stream_body: false,
        resumable: false,
        stream: None,
        look_up: None,
        job: None,
        batch: None,
        pause: Duration::ZERO,
        group: 0,
        at_once: 1,
    }
}

impl Plan {
    /// What the contents of a server answer: the operation that is asked of it, else
    /// the first of the case, as a redirect leads it to any server.
    fn operation_at(&self, server: &str) -> OperationName {
        let asked = |call: &Call| match &call.request {
            Request::Operation { operation, at, .. } => Some((*operation, at.as_str() == server)),
            Request::Literal { .. } => None,
        };
        let all: Vec<_> = self.calls.iter().filter_map(asked).collect();
        let here = all.iter().find(|(_, is_here)| *is_here);
        here.or(all.first())
            .map_or(OperationName::Create, |(operation, _)| *operation)
    }

    /// Whether an answer may send a client somewhere else.
    pub(crate) fn may_redirect(&self) -> bool {
        self.steps().any(|step| step.fault.may_redirect())
    }

    /// The steps of all servers.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &StepPlan> {
        let queues = self.servers.iter().flat_map(|server| &server.queues);
        queues.flat_map(|queue| &queue.steps)
    }

    /// The same case with everything that is required switched off: plain empty
    /// answers, open ports, served connections, no order to cancel or to kill. What was required stays so;
    /// it can not fire any more, and a judge that sees that says inconclusive.
    #[must_use]
    pub fn without_faults(&self) -> Self {
        let mut plan = self.clone();
        if let Some(cancel) = &mut plan.cancel {
            cancel.withheld = true;
        }
        if let Some(crash) = &mut plan.crash {
            crash.withheld = true;
        }
        for server in &mut plan.servers {
            if server.required.listen {
                server.listen = Listen::Open;
            }
            if let Some(act) = server
                .required
                .connection
                .and_then(|at| server.connections.get_mut(at))
            {
                *act = ConnectionAct::Serve;
            }
            let steps = server.queues.iter_mut().flat_map(|queue| &mut queue.steps);
            for step in steps.filter(|step| step.required) {
                *step = StepPlan {
                    line: step.line,
                    name: step.name.take(),
                    when: std::mem::take(&mut step.when),
                    times: step.times,
                    applies: step.applies.take(),
                    required: true,
                    ..StepPlan::new(step.fault.switched_off())
                };
            }
            if server.queues.is_empty() {
                server.queues.push(plain_queue(server.line));
            }
        }
        plan
    }
}

/// A queue for a server that had none, since nobody could reach it.
fn plain_queue(line: u32) -> QueuePlan {
    QueuePlan {
        pattern: "script".to_owned(),
        route: Route {
            method: None,
            path: PathPattern::Any,
        },
        steps: vec![StepPlan {
            line,
            times: Times::Always,
            ..StepPlan::new(Fault::plain())
        }],
    }
}
