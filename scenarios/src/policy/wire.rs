//! The servers' side of the walk: what a perfect server shows to a request.

use std::collections::BTreeMap;

use scripted_servers::route::Closeness;
use scripted_servers::script::{ConnectionAct, ConnectionUse, FieldTest, Times, When};

use super::shows;
use crate::faults::shown::{Arrives, Comes, Met};
use crate::plan::{Plan, QueuePlan, ServerPlan};
use crate::target::Target;

/// A request of the walk.
pub(super) struct Asked<'r> {
    pub target: &'r Target,
    /// None where the client may choose it.
    pub method: Option<&'r str>,
    pub headers: &'r [(String, String)],
    pub content: u64,
    pub reused: bool,
}

/// The servers of a case, as far as the walk has used them up.
pub(super) struct Servers<'a> {
    plan: &'a Plan,
    accepted: BTreeMap<&'a str, usize>,
    taken: BTreeMap<(&'a str, usize, usize), u32>,
}

impl<'a> Servers<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            accepted: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    /// What is done with one more connection.
    pub(super) fn accept(&mut self, server: &'a ServerPlan) -> ConnectionAct {
        let accepted = self.accepted.entry(&server.name).or_default();
        let acts = &server.connections;
        let act = acts.get(*accepted).or(acts.last());
        *accepted += 1;
        act.copied().unwrap_or(ConnectionAct::Serve)
    }

    /// What a request meets on a connection that is served.
    pub(super) fn ask(&mut self, server: &'a ServerPlan, asked: &Asked<'_>) -> Result<Met, String> {
        let Some((place, queue)) = route(server, asked)? else {
            let comes = Comes::Answer {
                status: 404,
                location: None,
                retry_after: None,
                kept: Some(None),
            };
            return Ok(Met {
                routed: false,
                ..Met::new(Arrives::Yes, comes)
            });
        };
        let mut last = None;
        let mut found = None;
        for (number, step) in queue.steps.iter().enumerate() {
            if !when_fits(&step.when, asked)? {
                continue;
            }
            last = Some((number, step));
            let taken = self.taken.get(&(server.name.as_str(), place, number));
            let left = match step.times {
                Times::Always => true,
                Times::Count(count) => taken.copied().unwrap_or(0) < count,
            };
            if left {
                found = last;
                break;
            }
        }
        let Some((number, step)) = found.or(last) else {
            return Err("undocumented: no step fits, and nobody says what then".to_owned());
        };
        *self
            .taken
            .entry((server.name.as_str(), place, number))
            .or_default() += 1;
        shows::step(self.plan, step, asked.content)
    }
}

/// The queue that takes a request: the longest path, then one with a method.
fn route<'a>(
    server: &'a ServerPlan,
    asked: &Asked<'_>,
) -> Result<Option<(usize, &'a QueuePlan)>, String> {
    let path = asked.target.path.as_str();
    let mut best: Option<(Closeness, usize, &QueuePlan)> = None;
    for (place, queue) in server.queues.iter().enumerate() {
        let method = asked.method.or(queue.route.method.as_deref());
        let closeness = queue.route.closeness(method.unwrap_or("GET"), path);
        let Some(closeness) = closeness else {
            continue;
        };
        if asked.method.is_none() && queue.route.method.is_some() {
            return Err(super::walk::UNKNOWN_METHOD.to_owned());
        }
        if best.as_ref().is_none_or(|(other, _, _)| closeness > *other) {
            best = Some((closeness, place, queue));
        }
    }
    Ok(best.map(|(_, place, queue)| (place, queue)))
}

fn when_fits(when: &When, asked: &Asked<'_>) -> Result<bool, String> {
    if when.since.is_some() || when.until.is_some() || when.json.is_some() {
        return Err("undocumented: a step's `when` that the walk can not follow".to_owned());
    }
    let connection = when.connection.is_none_or(|wanted| {
        let reused = wanted == ConnectionUse::Reused;
        reused == asked.reused
    });
    let method = match (&when.method, asked.method) {
        (None, _) => true,
        (Some(wanted), Some(method)) => wanted == method,
        (Some(_), None) => return Err(super::walk::UNKNOWN_METHOD.to_owned()),
    };
    let header = match &when.header {
        None => true,
        Some((name, test)) => {
            let mut sent = asked.headers.iter();
            let sent = sent.find(|(key, _)| key.eq_ignore_ascii_case(name));
            match (test, sent) {
                // A client may add fields of its own.
                (_, None) => {
                    return Err(format!(
                        "undocumented: whether the client sends the header field {name}"
                    ));
                }
                (FieldTest::Present, Some(_)) => true,
                (FieldTest::Absent, Some(_)) => false,
                (FieldTest::Equals(value), Some((_, sent))) => sent == value,
            }
        }
    };
    Ok(connection && method && header)
}
