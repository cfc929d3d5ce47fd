//! Expectations that the script can not fulfil, or that have nothing to judge.

use std::collections::BTreeSet;
use std::time::Duration;

use scripted_servers::script::{ConnectionAct, Listen, When};
use scripted_servers::wire::{Position, RequestPoint};

use crate::assertions::Assertion;
use crate::assertions::header::Field;
use crate::assertions::sent_body::SentBody;
use crate::document::{Node, Value, ids};
use crate::expected::Expected;
use crate::faults::shown::{TOO_MUCH_FOR_KERNEL, WHOLE_IN_KERNEL};
use crate::matcher::Matcher;
use crate::plan::{Call, Expectation, Request, ServerPlan};
use crate::target;
use crate::template::Bindings;
use crate::verdict::{Level, Outcome};

use super::bounds::{applied, delivered, out_of_bounds};
use super::times::own_time;
use super::{View, entries, findings};
use crate::reading::Reading;

/// Checks all expectations against the script.
pub(super) fn check(view: &View<'_>, reading: &mut Reading<'_>) {
    for (expectation, node) in expectations(view) {
        if let Some((title, why)) = contradiction(view, expectation) {
            reading
                .out
                .report(ids::CONTRADICTION, &node.span, title)
                .label(why)
                .help("change the expectation, or the script that it is about");
        }
        if let Some((why, help)) = nothing_to_compare(view, expectation) {
            reading
                .out
                .report(
                    ids::NOTHING_TO_COMPARE,
                    &node.span,
                    "there is nothing to compare",
                )
                .label(why)
                .help(help);
        }
        above_cap(view, expectation, node, reading);
        inexact(view, expectation, node, reading);
    }
    findings::check(view, reading);
    alike_calls(view, reading);
    lonely_honest(view, reading);
}

/// The expectations beside the nodes that they were read from.
pub(super) fn expectations<'a>(view: &View<'a>) -> Vec<(&'a Expectation, &'a Node)> {
    let expect = view.document.get("expect");
    let levels = ["must", "should", "info"].map(|level| {
        let mut lists = expect.into_iter().flat_map(entries);
        lists
            .find(|(key, _)| key.text == level)
            .map(|(_, list)| &list.value)
    });
    let items = levels.into_iter().flatten().flat_map(|list| match list {
        Value::List(items) => items.as_slice(),
        _ => &[],
    });
    view.plan.expect.iter().zip(items).collect()
}

/// What is wrong with an expectation, and why, if it can never be met.
fn contradiction(view: &View<'_>, expectation: &Expectation) -> Option<(&'static str, String)> {
    match &expectation.assertion {
        Assertion::Delivered(counts) => counts.iter().find_map(|count| {
            // A pattern may leave out requests, and a scope as well.
            if count.counter.route.is_some() || expectation.of != Default::default() {
                return None;
            }
            let server = view
                .plan
                .servers
                .iter()
                .find(|one| one.name == count.counter.server)?;
            out_of_bounds(&count.expected, delivered(view, server))
        }),
        Assertion::Applied(counts) if expectation.of == Default::default() => {
            let mut counts = counts.iter();
            counts.find_map(|count| out_of_bounds(&count.expected, applied(view, &count.effect)))
        }
        Assertion::Running(counts) if expectation.of == Default::default() => {
            let mut counts = counts.iter();
            counts.find_map(|count| {
                let (_, most) = applied(view, &count.effect);
                out_of_bounds(&count.expected, (0, most))
            })
        }
        Assertion::Outcome(Expected::Fits(Matcher::OneOf(words))) => {
            let success = words.iter().all(|word| *word == Outcome::Success);
            let mut steps = view.plan.steps();
            let can_succeed = steps.any(|step| step.fault.behaviour().may_succeed());
            (success && !can_succeed).then(|| {
                let why = "no step answers with a whole 2xx".to_owned();
                ("no call can succeed here", why)
            })
        }
        Assertion::Elapsed(Expected::Fits(Matcher::Range { at_most, .. })) => {
            let wait = first_wait(view)?;
            let most = (*at_most)?;
            (wait >= most).then(|| {
                let why = format!("the first step alone takes {wait:?}");
                ("this time is over before the first answer", why)
            })
        }
        _ => None,
    }
}

/// How long the first step keeps the only call waiting, where that is certain.
fn first_wait(view: &View<'_>) -> Option<Duration> {
    let plan = view.plan;
    let [call] = &plan.calls[..] else { return None };
    let Request::Literal { url, .. } = &call.request else {
        return None;
    };
    let to = target::leads_to(&plan.servers, url, None)?;
    let server = plan
        .servers
        .iter()
        .find(|server| server.name == to.server)?;
    let served =
        server.listen == Listen::Open && server.connections.first() == Some(&ConnectionAct::Serve);
    let [queue] = &server.queues[..] else {
        return None;
    };
    let step = queue.steps.first()?;
    let impatient = plan.limits.may_end_an_answer();
    let certain = served && !impatient && step.when == When::default() && step.then.is_none();
    certain.then(|| own_time(step))
}

/// Why what is compared between requests can not differ, and what helps.
fn nothing_to_compare(
    view: &View<'_>,
    expectation: &Expectation,
) -> Option<(&'static str, &'static str)> {
    const ALONE: &str =
        "expect something of each request alone, or let the client send more than once";
    let limits = &view.plan.limits;
    let alone = limits.sends() == Some(1) && limits.hedge_after.is_none();
    let asks_more = view.plan.calls.iter().any(Call::asks_more);
    let once = alone && !asks_more && !view.plan.may_redirect();
    match &expectation.assertion {
        Assertion::Running(counts) => {
            let lasts = |name: &str| {
                let mut effects = view.plan.servers.iter().flat_map(ServerPlan::effects);
                effects.any(|effect| effect.name == name && !effect.takes.is_zero())
            };
            let all = counts.iter().all(|count| lasts(&count.effect));
            (!all).then_some((
                "no step and no model says with `takes` that this effect takes time",
                "add `takes` to a step or model that applies it, or count with `applied`",
            ))
        }
        Assertion::Header(header) => match &header.is {
            Some(Field::Same) if once => Some(("each call sends one request only", ALONE)),
            Some(Field::Distinct) if view.plan.calls.len() == 1 => {
                Some(("there is one call only", ALONE))
            }
            _ => None,
        },
        Assertion::Events(_) if view.plan.calls.iter().all(|call| call.stream.is_none()) => Some((
            "the work is no `stream`, so no client tells of events",
            "write the work as `stream`, or expect something of the `body`",
        )),
        Assertion::SentBody(all) => {
            let compares = all.iter().any(|one| one.is == Some(SentBody::Same));
            (once && compares).then_some(("each call sends one request only", ALONE))
        }
        _ => None,
    }
}

/// Whether a large request may or may not have arrived when it is cut, so that
/// an exact count would be one of chance.
fn inexact(view: &View<'_>, expectation: &Expectation, node: &Node, reading: &mut Reading<'_>) {
    let Assertion::Delivered(counts) = &expectation.assertion else {
        return;
    };
    for count in counts {
        let exact = match &count.expected {
            Expected::Fits(Matcher::OneOf(values)) => values.len() == 1,
            _ => false,
        };
        let servers = &view.plan.servers;
        let server = servers.iter().find(|one| one.name == count.counter.server);
        if exact && server.is_some_and(|server| is_chance(view, server)) {
            reading
                .out
                .report(
                    ids::INEXACT,
                    &node.span,
                    "this count would be one of chance",
                )
                .label("how much of a large request has arrived at the cut is not certain")
                .help(
                    "write a range; or cut after `request`, with 1MiB still to come, \
                     or a request of at most 16KiB",
                );
        }
    }
}

fn is_chance(view: &View<'_>, server: &ServerPlan) -> bool {
    let bodies = view
        .plan
        .calls
        .iter()
        .filter_map(|call| match &call.request {
            Request::Literal { body, .. } => body.as_ref()?.length(),
            Request::Operation { size, .. } => *size,
        });
    let large: Vec<u64> = bodies.filter(|length| *length > WHOLE_IN_KERNEL).collect();
    let at_accept = server
        .connections
        .iter()
        .any(|act| matches!(act, ConnectionAct::Reset | ConnectionAct::Close));
    let steps = server.queues.iter().flat_map(|queue| &queue.steps);
    let read: Vec<(RequestPoint, bool)> = steps
        .map(|step| (step.request_point(), step.reads_on()))
        .collect();
    large.iter().any(|length| {
        at_accept
            || read.iter().any(|(point, reads_on)| {
                let left = still_to_come(*point, *length);
                left < TOO_MUCH_FOR_KERNEL || *reads_on && *point != RequestPoint::Request
            })
    })
}

/// How much of a body of this length is left at a point; a whole request leaves
/// nothing to chance.
fn still_to_come(point: RequestPoint, length: u64) -> u64 {
    match point {
        RequestPoint::Request => u64::MAX,
        RequestPoint::Head(_) => length,
        RequestPoint::Body(Position::Bytes(bytes)) => length.saturating_sub(bytes),
        RequestPoint::Body(Position::Half) => length - length / 2,
        RequestPoint::Body(Position::Last) => 1,
        RequestPoint::Body(Position::All) => 0,
    }
}

fn above_cap(view: &View<'_>, expectation: &Expectation, node: &Node, reading: &mut Reading<'_>) {
    let (Assertion::Delivered(counts)
    | Assertion::Started(counts)
    | Assertion::Connections(counts)) = &expectation.assertion
    else {
        return;
    };
    let cap = view.plan.cap;
    let above = counts.iter().any(|count| match &count.expected {
        Expected::Fits(Matcher::OneOf(values)) => values.iter().any(|value| *value > cap),
        Expected::Fits(Matcher::Range { at_least, .. }) => at_least.is_some_and(|low| low > cap),
        Expected::ByPolicy | Expected::Shown => false,
    });
    if above {
        reading
            .out
            .report(ids::ABOVE_CAP, &node.span, "this count is above `cap`")
            .label(format!("the client is stopped after {cap}"))
            .help("raise `cap` or lower the count");
    }
}

/// Calls that are judged one by one must be told apart by what they send.
fn alike_calls(view: &View<'_>, reading: &mut Reading<'_>) {
    let plan = view.plan;
    // The processes of a fleet mark their calls, which are the same for each of them.
    let calls = &plan.calls[..plan.calls_each()];
    let beside = calls.iter().any(|call| call.at_once > 1);
    let about = |one: &Expectation| one.of.call.is_some();
    // The items of a batch are told apart by their clients.
    let of_items = plan.calls.iter().any(|call| call.batch.is_some());
    if of_items || !beside && !plan.expect.iter().any(about) {
        return;
    }
    let mut seen = BTreeSet::new();
    for call in calls {
        let Request::Literal { method, url, .. } = &call.request else {
            continue;
        };
        let url = url.render(&Bindings::default());
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
                .label(if beside {
                    "the same method and URL, and calls are made `at_once`"
                } else {
                    "the same method and URL, and an expectation is about one of them"
                })
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
        .filter(|one| one.level == Level::Must)
        .collect();
    let only_honest = musts
        .iter()
        .all(|one| matches!(one.assertion, Assertion::Honest));
    let mut effects = view.plan.servers.iter().flat_map(ServerPlan::effects);
    let applies = effects.next().is_some();
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
