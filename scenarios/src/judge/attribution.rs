//! Which call a request belongs to.
//!
//! By its header field `Wirefault-Call`; else it is the only call's; else the
//! call whose method and target it names, when that is the only one; else the call in
//! whose time it began, from the report of the call before to its own. The processes of
//! a fleet have no times that tell them apart.
//!
//! The field names several where items of a batch share a request: it is told as the
//! first one's, and belongs to each.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::client::ClientFacts;
use super::exchange::Exchange;
use super::packed::ServerName;
use crate::manifest::Manifest;
use crate::plan::Plan;
use crate::target;

/// The header field by which clients mark their requests.
pub const CALL_HEADER: &str = "Wirefault-Call";

/// The calls of a case, as requests are told to be of one.
pub(super) struct Calls {
    ids: HashSet<u32>,
    only: Option<u32>,
    /// By server and target: the methods and calls that go there.
    targets: HashMap<String, HashMap<String, Vec<(String, u32)>>>,
    /// In the order of the case, with the time of the last report up to there.
    by_time: Vec<(u32, u64)>,
}

impl Calls {
    pub(super) fn new(plan: &Plan, manifest: &Manifest, client: &ClientFacts) -> Self {
        let mut calls = Self {
            ids: plan.calls.iter().map(|call| call.id).collect(),
            only: match plan.calls.as_slice() {
                [call] => Some(call.id),
                _ => None,
            },
            targets: HashMap::new(),
            by_time: Vec::new(),
        };
        let one_by_one = !plan.is_fleet();
        let mut last = 0;
        for call in &plan.calls {
            let report = client.reports.get(&call.id);
            last = last.max(report.map_or(u64::MAX, |(mark, _)| mark.at_us));
            calls.by_time.extend(one_by_one.then_some((call.id, last)));
            let Some(sent) = target::of_call(plan, manifest, call) else {
                continue;
            };
            for to in sent.targets() {
                let server = calls.targets.entry(to.server.clone()).or_default();
                let there = server.entry(to.path.clone()).or_default();
                let own = (sent.method.clone(), call.id);
                if !there.contains(&own) {
                    there.push(own);
                }
            }
            let look_up = call.look_up.iter();
            for to in look_up.flat_map(|url| target::may_lead_to(&plan.servers, url, None)) {
                let there = calls.targets.entry(to.server).or_default();
                let own = ("GET".to_owned(), call.id);
                there.entry(to.path).or_default().push(own);
            }
        }
        calls
    }

    /// The call that a request belongs to.
    pub(super) fn of(&self, exchange: &Exchange) -> Option<u32> {
        self.marked(exchange)
            .or(self.only)
            .or_else(|| self.by_target(exchange))
            .or_else(|| self.in_time(exchange.began().at_us))
    }

    fn marked(&self, exchange: &Exchange) -> Option<u32> {
        let id = marked(exchange).next()?;
        self.ids.contains(&id).then_some(id)
    }

    fn by_target(&self, exchange: &Exchange) -> Option<u32> {
        let head = exchange.head()?;
        let there = self
            .targets
            .get(&*exchange.place.server)?
            .get(head.target)?;
        let mut fitting = there.iter().filter(|(method, _)| method == head.method);
        match (fitting.next(), fitting.next()) {
            (Some((_, id)), None) => Some(*id),
            _ => None,
        }
    }

    /// The first call that had not reported when this began; after the last report
    /// it is the last call's.
    fn in_time(&self, at_us: u64) -> Option<u32> {
        let open = self.by_time.partition_point(|(_, last)| *last < at_us);
        let open = self.by_time.get(open).or(self.by_time.last());
        open.map(|(id, _)| *id)
    }
}

/// The calls that a request says it is of.
fn marked(exchange: &Exchange) -> impl Iterator<Item = u32> {
    let named = exchange.header(CALL_HEADER).unwrap_or_default();
    named.split(',').map_while(|id| id.trim().parse().ok())
}

/// All calls that a request is of: the one that it is told as, and those that share it.
pub(super) fn calls_of(exchange: &Exchange) -> impl Iterator<Item = u32> {
    let first = exchange.call;
    let shared = marked(exchange).filter(move |id| Some(*id) != first);
    first.into_iter().chain(shared)
}

/// Numbers the attempts of each call at each server.
pub(super) fn number(exchanges: &mut [Exchange]) {
    let mut attempts: BTreeMap<(u32, ServerName), u32> = BTreeMap::new();
    for exchange in exchanges {
        let Some(call) = exchange.call.filter(|_| !exchange.is_other()) else {
            continue;
        };
        let number = attempts
            .entry((call, exchange.place.server.clone()))
            .or_default();
        *number += 1;
        exchange.attempt = *number;
    }
}
