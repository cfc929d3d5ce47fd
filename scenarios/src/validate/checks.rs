//! What a whole case can not be: nothing required, a server that nobody
//! mentions, a fault that can not fire, a deadline that is too short.
//!
//! Only what is certain is refused; where a redirect or exact bytes may lead
//! anywhere, nothing is said.

use std::collections::BTreeSet;
use std::time::Duration;

use scripted_servers::script::{PathPattern, Route};
use scripted_servers::wire::{Position, RequestPoint};

use crate::document::decode::Fields;
use crate::document::{Key, Node, ids};
use crate::faults::Fault;
use crate::plan::{Content, Plan, QueuePlan, Request, ServerPlan, StepPlan};
use crate::template::Piece;

use super::reading::Reading;

/// Checks a case. `document` is its tree with the columns replaced.
pub(super) fn check(plan: &Plan, document: &Fields<'_>, reading: &mut Reading<'_>) {
    let view = View::new(plan, document);
    nothing_required(plan, document, reading);
    unmentioned_servers(&view, reading);
    times(&view, reading);
    view.each_step(|step| request_points(&view, &step, reading));
    view.each_step(|step| methods(&view, &step, reading));
    unreachable_routes(&view, reading);
    alike_calls(&view, reading);
    lonely_honest(&view, reading);
}

/// A plan beside the tree that it was read from.
struct View<'a> {
    plan: &'a Plan,
    document: &'a Fields<'a>,
    servers: &'a [(Key, Node)],
}

struct StepView<'a> {
    queue: &'a QueuePlan,
    plan: &'a StepPlan,
    node: &'a Node,
}

impl<'a> View<'a> {
    fn new(plan: &'a Plan, document: &'a Fields<'a>) -> Self {
        let servers = document.get("servers").map_or(&[][..], entries);
        Self {
            plan,
            document,
            servers,
        }
    }

    fn server_key(&self, name: &str) -> Option<&'a Key> {
        self.servers
            .iter()
            .map(|(key, _)| key)
            .find(|key| key.text == name)
    }

    fn queue_node(&self, server: &ServerPlan, queue: &QueuePlan) -> Option<(&'a Key, &'a Node)> {
        let (_, node) = self
            .servers
            .iter()
            .find(|(key, _)| key.text == server.name)?;
        let (key, lane) = entries(node)
            .iter()
            .find(|(key, _)| matches!(key.text.as_str(), "script" | "routes"))?;
        if key.text == "script" {
            return Some((key, lane));
        }
        let found = entries(lane)
            .iter()
            .find(|(key, _)| key.text == queue.pattern)?;
        Some((&found.0, &found.1))
    }

    fn each_step(&self, mut look: impl FnMut(StepView<'a>)) {
        for server in &self.plan.servers {
            for queue in &server.queues {
                let Some((_, node)) = self.queue_node(server, queue) else {
                    continue;
                };
                let crate::document::Value::List(items) = &node.value else {
                    continue;
                };
                for (plan, node) in queue.steps.iter().zip(items) {
                    look(StepView { queue, plan, node });
                }
            }
        }
    }

    fn steps(&self) -> impl Iterator<Item = &'a StepPlan> {
        let queues = self.plan.servers.iter().flat_map(|server| &server.queues);
        queues.flat_map(|queue| &queue.steps)
    }

    /// Whether an answer may send a client somewhere else, or is exact bytes
    /// that may do so.
    fn may_redirect(&self) -> bool {
        self.steps().any(|step| match &step.fault {
            Fault::Respond(respond) => (300..400).contains(&respond.status),
            Fault::Raw(_) => true,
            Fault::Cut(_) => false,
        })
    }
}

fn entries(node: &Node) -> &[(Key, Node)] {
    match &node.value {
        crate::document::Value::Map(entries) => entries,
        _ => &[],
    }
}

fn nothing_required(plan: &Plan, document: &Fields<'_>, reading: &mut Reading<'_>) {
    let required = plan.servers.iter().any(|server| {
        let steps = server.queues.iter().flat_map(|queue| &queue.steps);
        server.required.listen
            || server.required.connection.is_some()
            || steps.into_iter().any(|step| step.required)
    });
    if !required && let Some((key, _)) = document.entry("servers") {
        reading
            .out
            .report(
                ids::NOTHING_REQUIRED,
                &key.span,
                "nothing goes wrong in this scenario",
            )
            .label("no fault must fire")
            .help("add a fault, or take `required: false` away from the one there is");
    }
}

fn unmentioned_servers(view: &View<'_>, reading: &mut Reading<'_>) {
    for server in &view.plan.servers {
        if reading.mentioned.contains(&server.name) {
            continue;
        }
        let Some(key) = view.server_key(&server.name) else {
            continue;
        };
        reading
            .in_every_case
            .report(
                ids::UNMENTIONED_SERVER,
                &key.span,
                format!("nobody mentions the server `{}`", server.name),
            )
            .label("no request can come here")
            .help(format!(
                "use \"{{{}}}\" in a URL or a header, or remove it",
                server.name
            ));
    }
}

/// How long a step itself takes, when nobody cuts it short.
fn own_time(step: &StepPlan, case: &Plan) -> Duration {
    let mut time = step.delay;
    if let Some((_, idle)) = step.then {
        time += idle;
    }
    match &step.fault {
        Fault::Respond(respond) => {
            time += respond.stall.map_or(Duration::ZERO, |(_, pause)| pause);
            if let Some((bytes, every)) = respond.drip {
                let length = respond.body.as_ref().and_then(Content::length);
                let pieces = length.unwrap_or(0) / bytes.max(1);
                let most = case.deadline.saturating_mul(2);
                let pieces = u32::try_from(pieces).unwrap_or(u32::MAX);
                time += every.saturating_mul(pieces).min(most);
            }
        }
        Fault::Raw(raw) => {
            for part in &raw.parts {
                if let crate::faults::raw::RawPart::Pause(pause) = part {
                    time += *pause;
                }
            }
        }
        Fault::Cut(_) => {}
    }
    time
}

/// Whether the deadline leaves room for what the scenario itself waits.
fn times(view: &View<'_>, reading: &mut Reading<'_>) {
    let plan = view.plan;
    let say = |span: &crate::document::Span, label: String, reading: &mut Reading<'_>| {
        let out = &mut *reading.out;
        out.report(ids::DEADLINE, span, "the deadline comes before this")
            .label(label)
            .help(format!(
                "raise `deadline` (now {:?}), or wait less here",
                plan.deadline
            ));
    };
    let patience = plan.limits.idle.into_iter().chain(plan.limits.total).min();
    view.each_step(|step| {
        let time = own_time(step.plan, plan);
        // A client with less patience than that ends the step itself.
        if time >= plan.deadline && patience.is_none_or(|patience| patience >= plan.deadline) {
            say(
                &step.node.span,
                format!("this step takes {time:?}"),
                reading,
            );
        }
        if step
            .plan
            .when
            .since
            .is_some_and(|since| since >= plan.deadline)
        {
            say(
                &step.node.span,
                "`since` is never reached".to_owned(),
                reading,
            );
        }
    });
    let pauses: Duration = plan.calls.iter().map(|call| call.pause).sum();
    if pauses >= plan.deadline
        && let Some((key, _)) = view.document.entry("calls")
    {
        say(&key.span, format!("the pauses take {pauses:?}"), reading);
    }
    if let Some(total) = plan.limits.total
        && total >= plan.deadline
        && let Some((key, _)) = view.document.entry("limits")
    {
        say(&key.span, format!("a call may take {total:?}"), reading);
    }
    if plan.quiet > plan.deadline
        && let Some((key, _)) = view.document.entry("quiet")
    {
        say(&key.span, "this silence is longer".to_owned(), reading);
    }
}

/// Whether a cut inside a request's content can be reached by any request.
fn request_points(view: &View<'_>, step: &StepView<'_>, reading: &mut Reading<'_>) {
    let RequestPoint::Body(position) = step.plan.fault.request_point() else {
        return;
    };
    let contents = view.plan.calls.iter().map(|call| match &call.request {
        Request::Literal { body: None, .. } => Some(0),
        Request::Literal {
            body: Some(body), ..
        } => body.length(),
        Request::Operation { size, .. } => *size,
    });
    // One whose length is not known here may be long enough.
    let Some(most) = contents
        .collect::<Option<Vec<_>>>()
        .map(|all| all.into_iter().max().unwrap_or(0))
    else {
        return;
    };
    let (title, label, help) = match position {
        _ if most == 0 => (
            "this point is never reached",
            "no call has a body".to_owned(),
            "give the call a `body`, or cut after `request`",
        ),
        Position::Bytes(bytes) if bytes > most => (
            "this point lies beyond the end of the request",
            format!("the largest body has {most} bytes"),
            "write a smaller number, or `half` or `last`",
        ),
        Position::Bytes(bytes) if bytes == most => (
            "this point is the end of the request",
            format!("the largest body has {most} bytes"),
            "write `request`",
        ),
        _ => return,
    };
    reading
        .out
        .report(ids::BEYOND_END, &step.node.span, title)
        .label(label)
        .help(help);
}

/// Whether any request can have the method that a step or its route asks for.
fn methods(view: &View<'_>, step: &StepView<'_>, reading: &mut Reading<'_>) {
    let Some(wanted) = step
        .plan
        .when
        .method
        .as_ref()
        .or(step.queue.route.method.as_ref())
    else {
        return;
    };
    if view.may_redirect() {
        return;
    }
    let mut all = view.plan.calls.iter().map(|call| &call.request);
    let fits = all.any(|request| match request {
        Request::Literal { method, .. } => method == wanted,
        // The client's manifest says which.
        Request::Operation { .. } => true,
    });
    if !fits {
        reading
            .in_every_case
            .report(
                ids::CANNOT_FIT,
                &step.node.span,
                "no request can fit this step",
            )
            .label(format!("no call has the method {wanted}"))
            .help("write a method of a call, or leave it out");
    }
}

/// Whether a route can be reached by a call or by a Location that is written.
fn unreachable_routes(view: &View<'_>, reading: &mut Reading<'_>) {
    let raw = view.steps().any(|step| matches!(step.fault, Fault::Raw(_)));
    let by_operation = |server: &ServerPlan| {
        view.plan.calls.iter().any(
            |call| matches!(&call.request, Request::Operation { at, .. } if *at == server.name),
        )
    };
    for server in &view.plan.servers {
        if raw || by_operation(server) {
            continue;
        }
        let paths = known_paths(view, &server.name);
        for queue in &server.queues {
            let Some((key, _)) = view.queue_node(server, queue) else {
                continue;
            };
            let Some(paths) = &paths else { continue };
            if !paths.iter().any(|path| route_takes(&queue.route, path)) {
                reading
                    .in_every_case
                    .report(ids::UNREACHABLE, &key.span, "this route is never reached")
                    .label("no call and no Location leads here")
                    .help("write the path of a call or of a Location, or remove the route");
            }
        }
    }
}

fn route_takes(route: &Route, path: &str) -> bool {
    match &route.path {
        PathPattern::Any => true,
        PathPattern::Exact(exact) => exact == path,
        PathPattern::Prefix(prefix) => path.starts_with(prefix.as_str()),
    }
}

/// All paths at a server that the scenario writes down; none where one of them
/// can not be told.
fn known_paths(view: &View<'_>, server: &str) -> Option<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    for call in &view.plan.calls {
        if let Request::Literal { url, .. } = &call.request {
            paths.extend(path_at(&url.0, server)?);
        }
    }
    for step in view.steps() {
        let Fault::Respond(respond) = &step.fault else {
            continue;
        };
        let locations = respond
            .headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("location"));
        for (_, location) in locations {
            paths.extend(path_at(&location.0, server)?);
        }
    }
    Some(paths)
}

/// The path of a URL if it is at this server. None on the outside where that
/// can not be told.
fn path_at(url: &[Piece], server: &str) -> Option<Option<String>> {
    let (at, path) = match url {
        [Piece::Url(at)] => (Some(at), "/"),
        [Piece::Url(at), Piece::Text(path)] => (Some(at), path.as_str()),
        [Piece::Text(path)] if path.starts_with('/') && !path.starts_with("//") => {
            (None, path.as_str())
        }
        _ => return None,
    };
    if at.is_some_and(|at| at != server) {
        return Some(None);
    }
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let path = if path.is_empty() { "/" } else { path };
    Some(Some(path.to_owned()))
}

/// Calls that are judged one by one must be told apart by what they send.
fn alike_calls(view: &View<'_>, reading: &mut Reading<'_>) {
    let plan = view.plan;
    if plan
        .expect
        .iter()
        .all(|expectation| expectation.of.call.is_none())
    {
        return;
    }
    let mut seen = BTreeSet::new();
    for call in &plan.calls {
        let Request::Literal { method, url, .. } = &call.request else {
            continue;
        };
        let url = url.render(&crate::template::Bindings::default());
        if !seen.insert((method, url)) {
            let Some((key, _)) = view.document.entry("calls") else {
                return;
            };
            reading
                .out
                .report(
                    ids::CALLS_ALIKE,
                    &key.span,
                    "two calls cannot be told apart",
                )
                .label("the same method and URL, and an expectation is about one of them")
                .help("put `{n}` into the URL, or give each call a URL of its own");
            return;
        }
    }
}

/// `honest` judges claims against effects and answers; alone it says little
/// where nothing is applied and no answer could be claimed.
fn lonely_honest(view: &View<'_>, reading: &mut Reading<'_>) {
    let musts: Vec<_> = view
        .plan
        .expect
        .iter()
        .filter(|one| one.level == crate::verdict::Level::Must)
        .collect();
    let only_honest = musts
        .iter()
        .all(|one| matches!(one.assertion, crate::assertions::Assertion::Honest));
    let applies = view.steps().any(|step| step.applies.is_some());
    if !only_honest || applies || musts.is_empty() {
        return;
    }
    let node = view.document.get("expect");
    let must = node.and_then(|node| entries(node).iter().find(|(key, _)| key.text == "must"));
    if let Some((key, _)) = must {
        reading
            .out
            .report(
                ids::LONELY_HONEST,
                &key.span,
                "`honest` alone says too little here",
            )
            .label("nothing is applied, so a second effect is never seen")
            .help("add what must be delivered, or `applies` to a step");
    }
}
