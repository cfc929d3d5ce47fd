//! Which faults had to happen and did not.

use scripted_servers::event::{Lane, StepId};
use scripted_servers::script::{Listen, PortState};

use super::case::Case;
use super::exchange::Exchange;
use super::{cancel, crash, effects};
use crate::faults::Fault;
use crate::plan::{QueuePlan, Request, ServerPlan, StepPlan};
use crate::template::Template;

/// For each required fault that did not happen, why that is known.
pub(super) fn missing(case: &Case<'_>) -> Vec<String> {
    let servers = case.plan.servers.iter();
    let missing = servers.flat_map(|server| of_server(case, server));
    let orders = cancel::not_given(case).into_iter();
    missing.chain(orders).chain(crash::not_made(case)).collect()
}

fn of_server(case: &Case<'_>, server: &ServerPlan) -> Vec<String> {
    let mut missing = Vec::new();
    let (name, line) = (&server.name, server.line);
    if server.required.listen
        && let Some(why) = not_met(case, server)
    {
        missing.push(format!("line {line}: `listen` of {name}: {why}"));
    }
    if let Some(place) = server.required.connection
        && !fired(case, name, Lane::Connections(place))
    {
        let accepted = accepted(case, name);
        let mut reason = format!(
            "line {line}: connection {} of {name} was not faulted; {accepted} were accepted",
            place + 1
        );
        if let Some(why) = unproven(case, name, Lane::Connections(place)) {
            reason.push_str("; ");
            reason.push_str(why);
        }
        missing.push(reason);
    }
    // Nothing behind a port that never opens can happen.
    if !server.listen.ever_opens() {
        return missing;
    }
    for (queue, steps) in server.queues.iter().enumerate() {
        for (step, plan) in steps.steps.iter().enumerate() {
            let id = StepId { queue, step };
            if plan.required && !fired(case, name, Lane::Step(id)) {
                missing.push(step_in_words(case, server, steps, plan, id));
            }
        }
    }
    missing
}

fn fired(case: &Case<'_>, server: &str, lane: Lane) -> bool {
    case.facts.fired.contains_key(&(server.to_owned(), lane))
}

/// Why it can not be known whether a fault happened.
fn unproven<'c>(case: &'c Case<'_>, server: &str, lane: Lane) -> Option<&'c str> {
    let why = case.facts.unproven.get(&(server.to_owned(), lane));
    why.map(String::as_str)
}

fn accepted(case: &Case<'_>, server: &str) -> usize {
    let facts = case.facts.servers.get(server);
    facts.map_or(0, |facts| facts.accepted.len())
}

fn step_in_words(
    case: &Case<'_>,
    server: &ServerPlan,
    queue: &QueuePlan,
    step: &StepPlan,
    id: StepId,
) -> String {
    let name = &server.name;
    let taken = case
        .facts
        .exchanges
        .iter()
        .any(|one| one.place.server == *name && one.step() == Some(id));
    let why = if accepted(case, name) == 0 {
        format!("the client never connected to {name}")
    } else if let Some(why) = unproven(case, name, Lane::Step(id)) {
        format!("a request took it, but that it was carried out is not proved: {why}")
    } else if taken && step.goes_through_models() && !step.is_fault() {
        "requests took it, and its models refused nothing that was answered".to_owned()
    } else if taken {
        "a request took it, but it was not carried out".to_owned()
    } else {
        "no request took it".to_owned()
    };
    let fault = step.words();
    let pattern = &queue.pattern;
    format!("line {}: `{fault}` of {name}, {pattern}: {why}", step.line)
}

/// Why it is not proved that the client met the first state of a port.
fn not_met(case: &Case<'_>, server: &ServerPlan) -> Option<String> {
    match server.listen.first() {
        PortState::Open => Some("the port was open from the start".to_owned()),
        // Nothing counts what a port refuses, so a client that came in time cannot
        // be told from one that came when the port had changed.
        PortState::Refuse if matches!(server.listen, Listen::Phases(_)) => Some(
            "nobody knows whether the client came while the port refused: refusals leave no count"
                .to_owned(),
        ),
        PortState::Refuse => not_refused(case, &server.name).map(str::to_owned),
        PortState::Drop => not_dropped(case, &server.name),
    }
}

/// A port has dropped when the kernel counted a SYN that it dropped while the
/// client ran.
fn not_dropped(case: &Case<'_>, server: &str) -> Option<String> {
    let facts = case.facts.servers.get(server);
    let probes = facts.map_or(&[][..], |facts| &facts.drop_probes);
    if probes.is_empty() || probes.contains(&false) {
        return Some("the harness's own probe before the client was not dropped".to_owned());
    }
    if fired(case, server, Lane::Listen) {
        return None;
    }
    let why = unproven(case, server, Lane::Listen);
    Some(why.unwrap_or("no SYN was dropped").to_owned())
}

/// A port has refused when the harness's own probes before and after the client
/// were refused, and the client had its URL: in its work, or in an answer that
/// was sent to the end.
fn not_refused(case: &Case<'_>, server: &str) -> Option<&'static str> {
    let probes = case.facts.servers.get(server);
    let probes = probes.map_or(&[][..], |facts| &facts.probes);
    let refused = |wanted: bool| {
        let mut there = probes
            .iter()
            .filter(|(after, _, _)| *after == wanted)
            .peekable();
        there.peek().is_some() && there.all(|(_, refused, _)| *refused)
    };
    if !refused(false) || !refused(true) {
        return Some("the harness's own probes before and after the client were not both refused");
    }
    let in_work = case.facts.client.work.is_some()
        && case.plan.calls.iter().any(|call| match &call.request {
            Request::Literal { url, .. } => names(url, server),
            Request::Operation { at, .. } => at == server,
        });
    let in_answer = case.facts.exchanges.iter().any(|one| {
        let step = effects::step(case.plan, one);
        step.is_some_and(|step| mentions(&step.fault, server) && went_out(case, one, step))
    });
    let reached = in_work || in_answer;
    (!reached).then_some("its URL never reached the client")
}

/// Whether all of an answer went out, so that an address in it did too. A step
/// that is itself a fault must have been carried out.
fn went_out(case: &Case<'_>, exchange: &Exchange, step: &StepPlan) -> bool {
    let answer = exchange.answer().map(|(_, answer)| answer);
    let whole = step.fault.behaviour().is_all_sent(answer);
    let lane = exchange.step().map(Lane::Step);
    let carried_out = lane.is_some_and(|lane| fired(case, &exchange.place.server, lane));
    exchange.answered().is_some() && whole && (!step.required || carried_out)
}

/// Whether an answer holds the address of a server.
fn mentions(fault: &Fault, server: &str) -> bool {
    let texts = fault.behaviour().texts();
    texts.into_iter().any(|text| names(text, server))
}

/// Whether a text leads to a server, and not perhaps to another one: which
/// address of `localhost` a client tries, nobody knows.
fn names(text: &Template, server: &str) -> bool {
    !text.is_at_localhost() && text.servers().any(|name| name == server)
}
