//! Whether requests can come where the scenario waits for them.

use std::collections::BTreeSet;

use scripted_servers::script::Route;
use scripted_servers::wire::{Position, RequestPoint};

use crate::document::ids;
use crate::plan::{Call, Request, ServerPlan};
use crate::target;
use crate::template::Piece;

use super::{QueueView, StepView, View};
use crate::reading::Reading;

/// Checks servers, routes and steps.
pub(super) fn check(view: &View<'_>, reading: &mut Reading<'_>) {
    unmentioned_servers(view, reading);
    if !urls(view, reading) {
        return;
    }
    view.each_step(|step| {
        request_points(view, &step, reading);
        slow_reads(view, &step, reading);
    });
    requests(view, reading);
}

/// Whether a call may come to a server by the name `localhost`.
pub(super) fn at_localhost(servers: &[ServerPlan], calls: &[Call], server: &str) -> bool {
    calls.iter().any(|call| match &call.request {
        Request::Literal { url, .. } if url.is_at_localhost() => {
            let mut targets = target::may_lead_to(servers, url, None).into_iter();
            targets.any(|to| to.server == server)
        }
        _ => false,
    })
}

/// URLs that lead elsewhere than they seem to: whoever has the same port at the
/// other address of `localhost` would be reached, and an address of IPv6 cannot
/// stand in a URL as it is. Whether all are good.
fn urls(view: &View<'_>, reading: &mut Reading<'_>) -> bool {
    let servers = &view.plan.servers;
    let is_v6 = |name: &str| {
        let mut named = servers.iter().filter(|server| server.name == name);
        named.any(|server| server.address.is_ipv6())
    };
    let work = view.document.entry("call").or(view.document.entry("calls"));
    let Some((key, _)) = work else { return true };
    for call in &view.plan.calls {
        let Request::Literal { url, .. } = &call.request else {
            continue;
        };
        let host = url.0.iter().find_map(|piece| match piece {
            Piece::Host(name) if is_v6(name) => Some(name),
            _ => None,
        });
        let reached = target::may_lead_to(servers, url, None).len();
        let (label, help) = if let Some(name) = host {
            (
                format!("`{{{name}.host}}` has colons, and stands in a URL only in brackets"),
                format!("write \"{{{name}}}/path\""),
            )
        } else if url.is_at_localhost() && reached < target::LOCALHOST.len() {
            (
                "`localhost` is 127.0.0.1 and ::1, and not both have this port here".to_owned(),
                "add a server at the other address with `port_of`, such as \
                 `dead: {address: \"::1\", port_of: api, listen: drop}`"
                    .to_owned(),
            )
        } else {
            continue;
        };
        reading
            .out
            .report(ids::BAD_URL, &key.span, "this is no URL of a server here")
            .label(label)
            .help(help)
            .beyond_schema();
        return false;
    }
    true
}

fn unmentioned_servers(view: &View<'_>, reading: &mut Reading<'_>) {
    for server in &view.plan.servers {
        if reading.mentioned.contains(&server.name)
            || at_localhost(&view.plan.servers, &view.plan.calls, &server.name)
        {
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

/// The most content that a call sends; none where that is not known here.
fn most_content(view: &View<'_>) -> Option<u64> {
    let jobs = view.plan.calls.iter().filter_map(|call| call.job.as_ref());
    let queries = jobs.map(|job| match &job.query.body {
        None => Some(0),
        Some(body) => body.length(),
    });
    let contents = view.plan.calls.iter().map(|call| match &call.request {
        Request::Literal { body: None, .. } => Some(0),
        Request::Literal {
            body: Some(body), ..
        } => body.length(),
        Request::Operation { size, .. } => *size,
    });
    let all = contents.chain(queries).collect::<Option<Vec<_>>>()?;
    Some(all.into_iter().max().unwrap_or(0))
}

/// Whether any request has content enough to be read slowly, and not so much that
/// the deadline comes first.
fn slow_reads(view: &View<'_>, step: &StepView<'_>, reading: &mut Reading<'_>) {
    let (Some(slow), Some(most)) = (step.plan.slow_read, most_content(view)) else {
        return;
    };
    let plan = view.plan;
    let patience = plan.limits.idle.into_iter().chain(plan.limits.total).min();
    if most <= slow.bytes {
        reading
            .out
            .report(
                ids::CANNOT_FIRE,
                &step.node.span,
                "nothing is read slowly here",
            )
            .label(match most {
                0 => "no call has a body".to_owned(),
                _ => format!("the largest body has {most} bytes, and is one piece"),
            })
            .help("give a call a larger `body`, or read smaller pieces");
    } else if slow.time_for(most) >= plan.deadline && patience.is_none() {
        reading
            .out
            .report(
                ids::DEADLINE,
                &step.node.span,
                "the deadline comes before this",
            )
            .label(format!(
                "to read {most} bytes so takes {:?}",
                slow.time_for(most)
            ))
            .help(format!(
                "raise `deadline` (now {:?}), or read faster",
                plan.deadline
            ));
    }
}

/// Whether a cut inside a request's content can be reached by any request.
fn request_points(view: &View<'_>, step: &StepView<'_>, reading: &mut Reading<'_>) {
    let RequestPoint::Body(position) = step.plan.request_point() else {
        return;
    };
    // One whose length is not known here may be long enough.
    let Some(most) = most_content(view) else {
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

/// Whether routes and methods can be reached by a call or by a Location that is
/// written.
fn requests(view: &View<'_>, reading: &mut Reading<'_>) {
    let plan = view.plan;
    // Exact bytes, for one, may redirect to anywhere.
    if view.may_lead_anywhere() {
        return;
    }
    for server in &plan.servers {
        let Some(reached) = target::reached(&plan.servers, &plan.calls, &server.name) else {
            continue;
        };
        // After a redirect the client may choose the method: none fits all.
        let methods: BTreeSet<Option<&str>> = reached
            .iter()
            .map(|(method, _)| method.as_deref())
            .collect();
        for queue in view.queues(server) {
            route(&queue, &reached, reading);
            if !methods.contains(&None) {
                methods_fit(&queue, &methods, reading);
            }
        }
    }
}

fn route(
    queue: &QueueView<'_>,
    reached: &BTreeSet<(Option<String>, String)>,
    reading: &mut Reading<'_>,
) {
    let route = Route {
        method: None,
        path: queue.plan.route.path.clone(),
    };
    let mut paths = reached.iter().map(|(_, path)| path);
    if paths.any(|path| route.takes("", path)) {
        return;
    }
    reading
        .in_every_case
        .report(
            ids::UNREACHABLE,
            &queue.key.span,
            format!("`{}` is never reached", queue.key.text),
        )
        .label("no call and no Location leads here")
        .help("write the path of a call or of a Location here, or remove it");
}

fn methods_fit(queue: &QueueView<'_>, methods: &BTreeSet<Option<&str>>, reading: &mut Reading<'_>) {
    let of_route = queue.plan.route.method.as_ref();
    for (step, node) in queue.steps() {
        let Some(wanted) = step.when.method.as_ref().or(of_route) else {
            continue;
        };
        if methods.contains(&Some(wanted.as_str())) {
            continue;
        }
        reading
            .in_every_case
            .report(ids::CANNOT_FIT, &node.span, "no request can fit this step")
            .label(format!("no request here has the method {wanted}"))
            .help("write a method of a call, or leave it out");
    }
}
