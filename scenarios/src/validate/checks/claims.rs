//! Expectations that the script can not fulfil, or that have nothing to judge.

use std::collections::BTreeSet;
use std::time::Duration;

use scripted_servers::script::{ConnectionAct, Listen, Times, When};
use scripted_servers::wire::{End, RequestPoint};

use crate::assertions::Assertion;
use crate::assertions::header::Field;
use crate::document::{Node, Value, ids};
use crate::expected::Expected;
use crate::faults::Fault;
use crate::matcher::Matcher;
use crate::plan::{Expectation, QueuePlan, Request, ServerPlan, StepPlan};
use crate::target;
use crate::template::Bindings;
use crate::verdict::{FindingName, Level, Outcome};

use super::times::own_time;
use super::{View, entries};
use crate::validate::reading::Reading;

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
        if let Some(why) = nothing_to_compare(view, expectation) {
            reading
                .out
                .report(
                    ids::NOTHING_TO_COMPARE,
                    &node.span,
                    "there is nothing to compare",
                )
                .label(why)
                .help("write `is: present`, or let the client send more than once");
        }
        above_cap(view, expectation, node, reading);
    }
    impossible_finding(view, reading);
    alike_calls(view, reading);
    lonely_honest(view, reading);
}

/// The expectations beside the nodes that they were read from.
fn expectations<'a>(view: &View<'a>) -> Vec<(&'a Expectation, &'a Node)> {
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
        Assertion::Outcome(Expected::Fits(Matcher::OneOf(words))) => {
            let success = words.iter().all(|word| *word == Outcome::Success);
            (success && !view.steps().any(can_succeed)).then(|| {
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

/// The least and the most that can be counted; none: no bound is certain.
type Bounds = (u64, Option<u64>);

fn out_of_bounds(
    expected: &Expected<u64>,
    (least, most): Bounds,
) -> Option<(&'static str, String)> {
    let Expected::Fits(matcher) = expected else {
        return None;
    };
    let possible = |value: u64| least <= value && most.is_none_or(|most| value <= most);
    let fits = match matcher {
        Matcher::OneOf(values) => values.iter().copied().any(possible),
        Matcher::Range { at_least, at_most } => {
            at_most.is_none_or(|high| high >= least)
                && at_least.is_none_or(|low| most.is_none_or(|most| low <= most))
        }
    };
    if fits {
        return None;
    }
    let why = match most {
        Some(most) if most == least => format!("it is always {least}"),
        Some(most) => format!("it is from {least} to {most}"),
        None => format!("it is {least} at least"),
    };
    Some(("the script does not allow this count", why))
}

/// Requests that a server certainly gets, and the most that it may get.
fn delivered(view: &View<'_>, server: &ServerPlan) -> Bounds {
    if server.listen == Listen::Refuse {
        return (0, Some(0));
    }
    let literal = view.plan.calls.iter().filter(|call| match &call.request {
        Request::Literal { url, .. } => {
            let to = target::leads_to(&view.plan.servers, url, None);
            to.is_some_and(|to| to.server == server.name)
        }
        Request::Operation { .. } => false,
    });
    let direct = u64::try_from(literal.count()).unwrap_or(u64::MAX);
    let operations = view
        .plan
        .calls
        .iter()
        .any(|call| matches!(call.request, Request::Operation { .. }));
    let most = match view.plan.limits.attempts {
        Some(attempts) if !operations && !view.may_redirect() && !view.has_stale_connections() => {
            Some(direct.saturating_mul(u64::from(attempts)))
        }
        _ => None,
    };
    let served = server
        .connections
        .iter()
        .all(|act| *act == ConnectionAct::Serve);
    let steps = || server.queues.iter().flat_map(|queue| &queue.steps);
    let read_whole = steps().all(|step| step.fault.request_point() == RequestPoint::Request);
    let least = match (served && read_whole, view.steps().any(may_hang)) {
        (false, _) => 0,
        // After a call that never ends the next is never made.
        (true, true) => direct.min(1),
        (true, false) => direct,
    };
    let enough = view.plan.enough.values().copied().min();
    (least.min(enough.unwrap_or(u64::MAX)), most)
}

fn may_hang(step: &StepPlan) -> bool {
    match &step.fault {
        Fault::Respond(respond) => {
            respond.is_endless() || matches!(respond.cut, Some((_, End::Hang)))
        }
        Fault::Cut(cut) => cut.with == End::Hang,
        Fault::Raw(_) => true,
    }
}

/// The most that an effect can be counted.
fn applied(view: &View<'_>, effect: &str) -> Bounds {
    let queues = view.plan.servers.iter().flat_map(|server| &server.queues);
    let most = queues
        .map(|queue| applied_in(queue, effect))
        .sum::<Option<u64>>();
    (0, most)
}

fn applied_in(queue: &QueuePlan, effect: &str) -> Option<u64> {
    let applies = |step: &&StepPlan| {
        let applied = step.applies.as_ref();
        applied.is_some_and(|applied| applied.name == effect)
    };
    let turns = queue
        .steps
        .iter()
        .filter(applies)
        .map(|step| match step.times {
            Times::Count(count) => Some(u64::from(count)),
            Times::Always => None,
        });
    let sum = turns.sum::<Option<u64>>()?;
    // The last fitting step repeats: only the last one where it fits all.
    let last = queue.steps.last()?;
    let only_last = last.when == When::default() && !applies(&last);
    (sum == 0 || only_last).then_some(sum)
}

fn can_succeed(step: &StepPlan) -> bool {
    match &step.fault {
        Fault::Respond(respond) => {
            (200..300).contains(&respond.status)
                && respond.cut.is_none()
                && respond.says_length.is_none()
                && !respond.is_endless()
        }
        Fault::Cut(_) => false,
        Fault::Raw(_) => true,
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
    let impatient = plan.limits.idle.is_some() || plan.limits.total.is_some();
    let certain = served && !impatient && step.when == When::default() && step.then.is_none();
    certain.then(|| own_time(step, plan))
}

/// Why a field that is compared between requests can not differ.
fn nothing_to_compare(view: &View<'_>, expectation: &Expectation) -> Option<&'static str> {
    let Assertion::Header(header) = &expectation.assertion else {
        return None;
    };
    let once = view.plan.limits.attempts == Some(1) && !view.may_redirect();
    match &header.is {
        Some(Field::Same) if once => Some("each call sends one request only"),
        Some(Field::Distinct) if view.plan.calls.len() == 1 => Some("there is one call only"),
        _ => None,
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

/// Whether any expectation can give the finding that `proves` names.
fn impossible_finding(view: &View<'_>, reading: &mut Reading<'_>) {
    let Some(proves) = &view.plan.proves else {
        return;
    };
    let levels = view
        .plan
        .expect
        .iter()
        .filter(|one| one.level != Level::Info);
    let possible: BTreeSet<_> = levels
        .flat_map(|one| findings(&one.assertion))
        .chain(WITHOUT_ASSERTION)
        .copied()
        .collect();
    if possible.contains(&proves.finding) {
        return;
    }
    let node = view.document.get("proves");
    let finding = node.and_then(|node| entries(node).iter().find(|(key, _)| key.text == "finding"));
    if let Some((_, node)) = finding {
        let words: Vec<_> = possible.iter().map(|name| name.word()).collect();
        let words = crate::document::decode::listed(words.iter().map(String::as_str));
        reading
            .out
            .report(
                ids::IMPOSSIBLE_FINDING,
                &node.span,
                "no expectation here gives this finding",
            )
            .label("it would never be seen")
            .help(format!(
                "add an expectation that gives it, or name one of {words}"
            ));
    }
}

/// Findings that need no expectation.
const WITHOUT_ASSERTION: &[FindingName] = &[
    FindingName::UnexpectedRequest,
    FindingName::DeliveredAfterClaim,
    FindingName::OverBudget,
    FindingName::Hung,
    FindingName::Crashed,
];

/// The findings that an assertion can give.
fn findings(assertion: &Assertion) -> &'static [FindingName] {
    use FindingName as F;
    match assertion {
        Assertion::Delivered(_) => &[F::DuplicateDelivery, F::OverBudget, F::GaveUpEarly],
        Assertion::Started(_) | Assertion::Connections(_) => &[F::OverBudget, F::GaveUpEarly],
        Assertion::Applied(_) | Assertion::PerKey(_) => &[F::DuplicateEffect, F::LostResult],
        Assertion::Outcome(_) => &[
            F::FalseSuccess,
            F::FalseFailure,
            F::Masquerade,
            F::Hung,
            F::Crashed,
            F::WrongOutcome,
        ],
        Assertion::Honest => &[
            F::Masquerade,
            F::FalseSuccess,
            F::FabricatedAnswer,
            F::FalseFailure,
            F::DuplicateEffect,
        ],
        Assertion::Error(_) => &[F::Masquerade, F::FalseSuccess, F::CauseLost],
        Assertion::Status(_) => &[F::FalseSuccess, F::FabricatedAnswer, F::WrongOutcome],
        Assertion::Body(_) => &[F::FalseSuccess, F::LostResult],
        Assertion::Elapsed(_) => &[F::Hung, F::GaveUpEarly],
        Assertion::Gap(_) => &[F::EarlyRetry, F::LateRetry],
        Assertion::Header(_) => &[F::KeyChanged, F::SecretLeaked, F::WrongRequest],
        Assertion::Order(_) => &[F::WrongOrder],
    }
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
        .filter(|one| one.level == Level::Must)
        .collect();
    let only_honest = musts
        .iter()
        .all(|one| matches!(one.assertion, Assertion::Honest));
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
