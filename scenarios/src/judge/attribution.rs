//! Which call a request belongs to.
//!
//! By its header field `Wirefault-Call`; else it is the only call's; else the
//! call whose method and target it names, when that is the only one; else the call in
//! whose time it began, from the report of the call before to its own.

use std::collections::BTreeMap;

use super::facts::{Exchange, Facts, Place};
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::target::{self, Sent};

/// The header field by which clients mark their requests.
pub const CALL_HEADER: &str = "Wirefault-Call";

/// Gives each exchange and each effect its call, and numbers the attempts.
pub(super) fn attribute(plan: &Plan, manifest: &Manifest, facts: &mut Facts) {
    let ids: Vec<u32> = plan.calls.iter().map(|call| call.id).collect();
    let mut targets: Vec<(Sent, u32)> = Vec::new();
    for call in &plan.calls {
        if let Some(sent) = target::of_call(plan, manifest, call) {
            targets.push((sent, call.id));
        }
    }
    let by_time: Vec<(u32, Option<u64>)> = ids
        .iter()
        .map(|id| {
            let report = facts.client.reports.get(id);
            (*id, report.map(|(mark, _)| mark.at_us))
        })
        .collect();
    let mut attempts: BTreeMap<(u32, String), u32> = BTreeMap::new();
    let mut calls: BTreeMap<Place, u32> = BTreeMap::new();
    for exchange in &mut facts.exchanges {
        let call = marked(exchange, &ids)
            .or_else(|| only(&ids))
            .or_else(|| by_target(exchange, &targets))
            .or_else(|| in_time(exchange.began().at_us, &by_time));
        let Some(call) = call else { continue };
        exchange.call = Some(call);
        calls.insert(exchange.place.clone(), call);
        if !exchange.is_other() {
            let number = attempts
                .entry((call, exchange.place.server.clone()))
                .or_default();
            *number += 1;
            exchange.attempt = *number;
        }
    }
    for effect in &mut facts.effects {
        effect.call = calls.get(&effect.place).copied();
    }
}

fn marked(exchange: &Exchange, ids: &[u32]) -> Option<u32> {
    let id = exchange.header(CALL_HEADER)?.trim().parse().ok()?;
    ids.contains(&id).then_some(id)
}

fn only(ids: &[u32]) -> Option<u32> {
    match ids {
        [id] => Some(*id),
        _ => None,
    }
}

fn by_target(exchange: &Exchange, targets: &[(Sent, u32)]) -> Option<u32> {
    let head = exchange.head.as_ref()?;
    let mut fitting = targets.iter().filter(|(call, _)| {
        let mut targets = call.targets();
        call.method == head.method
            && targets.any(|to| to.server == exchange.place.server && to.path == head.target)
    });
    match (fitting.next(), fitting.next()) {
        (Some((_, id)), None) => Some(*id),
        _ => None,
    }
}

/// The first call that had not reported when this began; after the last report
/// it is the last call's.
fn in_time(at_us: u64, calls: &[(u32, Option<u64>)]) -> Option<u32> {
    let open = calls
        .iter()
        .find(|(_, report)| report.is_none_or(|report| at_us <= report));
    open.or(calls.last()).map(|(id, _)| *id)
}
