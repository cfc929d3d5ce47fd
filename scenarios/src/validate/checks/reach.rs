//! Whether requests can come where the scenario waits for them.

use scripted_servers::wire::{Position, RequestPoint};

use crate::counter;
use crate::document::ids;
use crate::plan::Request;
use crate::target;

use super::{StepView, View};
use crate::validate::reading::Reading;

/// Checks servers, routes and steps.
pub(super) fn check(view: &View<'_>, reading: &mut Reading<'_>) {
    unmentioned_servers(view, reading);
    view.each_step(|step| request_points(view, &step, reading));
    view.each_step(|step| methods(view, &step, reading));
    unreachable_routes(view, reading);
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
    let route = &step.queue.route;
    let Some(wanted) = step.plan.when.method.as_ref().or(route.method.as_ref()) else {
        return;
    };
    let plan = view.plan;
    let Some(reached) = target::reached(&plan.servers, &plan.calls, &step.server.name) else {
        return;
    };
    // After a redirect the client may choose the method.
    let fits = |method: &Option<String>| method.as_ref().is_none_or(|method| method == wanted);
    if !view.has_raw() && !reached.iter().any(|(method, _)| fits(method)) {
        reading
            .in_every_case
            .report(
                ids::CANNOT_FIT,
                &step.node.span,
                "no request can fit this step",
            )
            .label(format!("no request here has the method {wanted}"))
            .help("write a method of a call, or leave it out");
    }
}

/// Whether a route can be reached by a call or by a Location that is written.
fn unreachable_routes(view: &View<'_>, reading: &mut Reading<'_>) {
    let plan = view.plan;
    // Exact bytes may redirect to anywhere.
    if view.has_raw() {
        return;
    }
    for server in &plan.servers {
        let Some(reached) = target::reached(&plan.servers, &plan.calls, &server.name) else {
            continue;
        };
        for queue in &server.queues {
            let Some((key, _)) = view.queue_node(server, queue) else {
                continue;
            };
            let route = scripted_servers::script::Route {
                method: None,
                path: queue.route.path.clone(),
            };
            if !reached
                .iter()
                .any(|(_, path)| counter::fits(&route, "", path))
            {
                reading
                    .in_every_case
                    .report(
                        ids::UNREACHABLE,
                        &key.span,
                        format!("`{}` is never reached", key.text),
                    )
                    .label("no call and no Location leads here")
                    .help("write the path of a call or of a Location here, or remove it");
            }
        }
    }
}
