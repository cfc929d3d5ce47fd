//! What the servers' application did, and when that is the same work twice.

use std::collections::{BTreeMap, HashSet};

use scripted_servers::event::StepId;

use super::case::Case;
use super::exchange::{Exchange, Place};
use super::facts::EffectFact;
use crate::plan::{Of, Plan, StepPlan};
use crate::target;

/// The effects with a name that an expectation is about.
pub(crate) fn named<'a>(case: &Case<'a>, name: &str, of: &Of) -> Vec<&'a EffectFact> {
    let places = case.facts.exchanges.iter().filter(|one| one.is_of(of));
    let whole_cell = *of == Of::default();
    let named = case.facts.effects.iter().filter(|one| *one.name == *name);
    if whole_cell {
        return named.collect();
    }
    let places: HashSet<&Place> = places.map(|one| &one.place).collect();
    named.filter(|one| places.contains(&one.place)).collect()
}

/// Effects in words: `2 (order for A-1 twice)`.
pub(crate) fn in_words(effects: &[&EffectFact]) -> String {
    let mut groups: BTreeMap<(Option<u32>, Option<&str>), u64> = BTreeMap::new();
    for effect in effects {
        *groups
            .entry((effect.call, effect.key.as_deref()))
            .or_default() += 1;
    }
    let shown = groups.iter().take(5).map(|((call, key), count)| {
        let call = call.map_or_else(|| "no call".to_owned(), |call| format!("call {call}"));
        let key = key.map_or_else(String::new, |key| format!(", key {key}"));
        format!("{call}{key}: {count}")
    });
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() {
        return "0".to_owned();
    }
    format!("{} ({})", effects.len(), shown.join("; "))
}

/// Groups of effects that are the same work done more than once: of one name
/// for one business key; where a step names no key, of one name for one call,
/// unless that call's method is idempotent (RFC 9110 section 9.2.2), for which
/// twice is as once.
pub(crate) fn duplicates<'a>(
    case: &Case<'_>,
    effects: &[&'a EffectFact],
) -> Vec<Vec<&'a EffectFact>> {
    let mut groups: BTreeMap<(&str, Work<'_>), Vec<&EffectFact>> = BTreeMap::new();
    for effect in effects {
        let work = match (&effect.key, effect.call) {
            (Some(key), _) => Work::Key(key),
            (None, Some(call)) if !is_idempotent(case, call) => Work::Call(call),
            (None, _) => continue,
        };
        groups
            .entry((&*effect.name, work))
            .or_default()
            .push(effect);
    }
    groups
        .into_values()
        .filter(|group| group.len() > 1)
        .collect()
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Work<'a> {
    Key(&'a str),
    Call(u32),
}

fn is_idempotent(case: &Case<'_>, call: u32) -> bool {
    let call = case.call(call);
    call.is_some_and(|call| target::is_idempotent(call.method()))
}

/// Whether any step or model of the case declares an effect.
pub(crate) fn declared(plan: &Plan) -> bool {
    let mut servers = plan.servers.iter();
    servers.any(|server| server.effects().next().is_some())
}

/// Whether the step that an exchange took declares an effect. What a model applies
/// it counts itself, and a success of it may be that of an earlier request.
pub(crate) fn applies(plan: &Plan, exchange: &Exchange) -> bool {
    step(plan, exchange).is_some_and(|step| step.applies.is_some())
}

/// The step that an exchange took.
pub(crate) fn step<'p>(plan: &'p Plan, exchange: &Exchange) -> Option<&'p StepPlan> {
    step_of(plan, &exchange.place.server, exchange.step()?)
}

/// The step with this place at a server.
pub(super) fn step_of<'p>(plan: &'p Plan, server: &str, id: StepId) -> Option<&'p StepPlan> {
    let mut servers = plan.servers.iter();
    let server = servers.find(|one| one.name == server)?;
    server.queues.get(id.queue)?.steps.get(id.step)
}
