//! The walk: call by call, attempt by attempt, hop by hop.

use std::collections::BTreeMap;
use std::time::Duration;

use scripted_servers::script::{ConnectionAct, Listen};

use super::client;
use super::decide::{self, Came, What};
use super::shows;
use super::span::{MARGIN, Span};
use super::timeout::{self, NO_END, TOTAL_MAY_END_IT};
use super::wire::{Asked, Servers};
use super::{
    CallPrediction, PredictedEnd, PredictedRequest, PredictedWait, Prediction, SEVERAL_ADDRESSES,
};
use crate::expected::Words;
use crate::faults::shown::{Arrives, Comes, Idle, Met, Period};
use crate::manifest::{Ability, ErrorKind, Manifest, PolicyRule};
use crate::matcher::Matcher;
use crate::plan::{Call, Plan, ServerPlan};
use crate::target::{self, Sent, Target};

/// What is missing where a redirect may change the method.
pub(super) const UNKNOWN_METHOD: &str =
    "undocumented: with which method the client follows a 301 or 302 after POST";

/// Why a walk ends where the waits of a call may be too long together.
const WAIT_MAY_END_IT: &str = "not computable: `limits.wait` may end the call at this point";

/// Attempts that the walk makes at most: those at a port that refuses count
/// towards no cap.
const MOST_ATTEMPTS: u32 = 10_000;

/// Walks all calls.
pub(super) fn walk(plan: &Plan, manifest: &Manifest) -> Prediction {
    let mut walk = Walk {
        plan,
        manifest,
        servers: Servers::new(plan),
        kept: BTreeMap::new(),
        delivered: BTreeMap::new(),
        since_start: Span::NONE,
    };
    let mut calls = Vec::new();
    let mut stopped: Option<PredictedEnd> = None;
    for call in &plan.calls {
        let mut prediction = CallPrediction {
            call: call.id,
            requests: Vec::new(),
            waits: Vec::new(),
            end: PredictedEnd::Open,
            reasoning: Vec::new(),
        };
        prediction.end = match &stopped {
            Some(end) => end.clone(),
            None => walk
                .call(call, &mut prediction)
                .unwrap_or_else(PredictedEnd::Undocumented),
        };
        // What the servers have left for later calls is then not known.
        if !matches!(prediction.end, PredictedEnd::Outcomes(_)) {
            stopped = Some(prediction.end.clone());
        }
        calls.push(prediction);
    }
    Prediction { calls }
}

struct Walk<'a> {
    plan: &'a Plan,
    manifest: &'a Manifest,
    servers: Servers<'a>,
    /// The connection that the client keeps to each server.
    kept: BTreeMap<String, Kept>,
    /// Requests that surely arrived, by server.
    delivered: BTreeMap<String, u64>,
    since_start: Span,
}

/// A kept connection: what becomes of it when it stays idle, and for how long it
/// has been.
#[derive(Clone, Copy)]
struct Kept {
    then: Option<Idle>,
    idle: Span,
}

/// The call that is walked.
struct Current<'c> {
    sent: &'c Sent,
    attempt: u32,
    /// Since the call began.
    elapsed: Span,
    /// All waits between its attempts.
    waited: Span,
    to: &'c mut CallPrediction,
}

impl Current<'_> {
    fn say(&mut self, what: &str) {
        let (call, attempt) = (self.to.call, self.attempt);
        let line = format!("call {call}, attempt {attempt}: {what}");
        self.to.reasoning.push(line);
    }
}

/// One request on its way.
struct Hop {
    target: Target,
    method: Option<String>,
    content: u64,
    reused: bool,
}

impl<'a> Walk<'a> {
    fn call(&mut self, call: &Call, to: &mut CallPrediction) -> Result<PredictedEnd, String> {
        let sent = target::of_call(self.plan, self.manifest, call)
            .ok_or("undocumented: where this call goes")?;
        if !sent.others.is_empty() {
            return Err(format!("not computable: {SEVERAL_ADDRESSES}"));
        }
        self.pass(Span {
            least: call.pause,
            most: Some(call.pause.saturating_add(MARGIN)),
        });
        let mut current = Current {
            sent: &sent,
            attempt: 0,
            elapsed: Span::NONE,
            waited: Span::NONE,
            to,
        };
        loop {
            current.attempt += 1;
            let came = self.attempt(&mut current)?;
            if self.is_stopped() {
                current.say("here the scenario stops the client");
                return Ok(PredictedEnd::Open);
            }
            if current.attempt >= MOST_ATTEMPTS {
                return Ok(PredictedEnd::Open);
            }
            let (again, why) =
                decide::decide(self.manifest, &self.plan.limits, &came, current.attempt)?;
            current.say(&why);
            let again = match again {
                Some(rule) => self.wait(rule, &came, &mut current)?,
                None => false,
            };
            if !again {
                return Ok(PredictedEnd::Outcomes(decide::outcomes(&came)));
            }
        }
    }

    /// One attempt with the redirects it follows.
    fn attempt(&mut self, current: &mut Current<'_>) -> Result<Came, String> {
        let mut hop = Hop {
            target: current.sent.target.clone(),
            method: Some(current.sent.method.clone()),
            content: current.sent.content,
            reused: false,
        };
        let mut hops = 0;
        let mut after_first = Span::NONE;
        loop {
            let before = current.elapsed;
            let comes = self.exchange(&mut hop, current)?;
            if hops > 0 {
                after_first = after_first.plus(current.elapsed.since(before));
            }
            let came = |what| Came {
                what,
                reused: hop.reused,
                method: hop.method.clone(),
                redirected: hops > 0,
                headers: current.sent.headers.clone(),
                after_first,
            };
            let (status, location, retry_after) = match comes {
                Comes::Fails(kinds) => return Ok(came(What::Fails(kinds))),
                Comes::Nothing => return Err(NO_END.to_owned()),
                Comes::Answer {
                    status,
                    location,
                    retry_after,
                    ..
                } => (status, location, retry_after),
            };
            let answer = |unfollowed| What::Answer {
                status,
                retry_after: retry_after.clone(),
                unfollowed,
            };
            let redirect = matches!(status, 301 | 302 | 303 | 307 | 308);
            let Some(location) = location.filter(|_| redirect) else {
                return Ok(came(answer(false)));
            };
            let limit = self
                .plan
                .limits
                .redirects
                .or(self.manifest.policy.redirects);
            let limit = limit.ok_or("undocumented: `policy.redirects`")?;
            if limit == 0 {
                return Ok(came(answer(true)));
            }
            if hops >= limit {
                return Ok(came(What::Fails(vec![ErrorKind::TooManyRedirects])));
            }
            if self.is_stopped() {
                return Ok(came(answer(true)));
            }
            let next = target::leads_to(&self.plan.servers, &location, Some(&hop.target));
            let next = next.ok_or("not computable: a redirect leads out of the scenario")?;
            hop = follow(hop, status, next);
            hops += 1;
        }
    }

    /// One request and what comes of it, timeouts included.
    fn exchange(&mut self, hop: &mut Hop, current: &mut Current<'_>) -> Result<Comes, String> {
        let name = hop.target.server.clone();
        let servers = &self.plan.servers;
        let server = servers.iter().find(|server| server.name == name);
        let server = server.ok_or("undocumented: where this call goes")?;
        let method = hop.method.as_deref().unwrap_or("(GET or POST)");
        let request = format!("{method} {name} {}", hop.target.path);
        let kept = self.kept.remove(&name);
        hop.reused = kept.map_or(Ok(false), still_open)?;
        match server.listen {
            Listen::Open => {}
            Listen::Refuse => {
                current.say(&format!("{request}: refused"));
                return Ok(Comes::Fails(vec![ErrorKind::Refused]));
            }
            Listen::Drop => {
                let passed = timeout::connecting(&self.plan.limits, current.elapsed)?;
                current.elapsed = current.elapsed.plus(Span::exactly(passed));
                self.pass(Span::exactly(passed));
                current.say(&format!("{request}: no connection within {passed:?}"));
                return Ok(Comes::Fails(vec![ErrorKind::ConnectTimeout]));
            }
            Listen::Phases(_) => {
                return Err("not computable: a port has phases by time".to_owned());
            }
        }
        let met = self.meet(server, hop, current.sent)?;
        if met.routed && met.arrives != Arrives::No {
            let sure = met.arrives == Arrives::Yes;
            current.to.requests.push(PredictedRequest {
                target: hop.target.clone(),
                method: hop.method.clone(),
                sure,
            });
            *self.delivered.entry(name.clone()).or_default() += u64::from(sure);
        }
        let comes = self.pass_periods(&met.periods, current)?;
        let comes = comes.map_or(met.comes, Comes::Fails);
        if let Comes::Answer {
            kept: Some(then), ..
        } = &comes
            && self
                .manifest
                .abilities
                .contains(&Ability::ReusesConnections)
        {
            let idle = Span::NONE;
            self.kept.insert(name, Kept { then: *then, idle });
        }
        let connection = if hop.reused {
            " on a kept connection"
        } else {
            ""
        };
        current.say(&format!(
            "{request}{connection}: {}",
            decide::in_words(&comes)
        ));
        Ok(comes)
    }

    fn meet(&mut self, server: &'a ServerPlan, hop: &Hop, sent: &Sent) -> Result<Met, String> {
        if !hop.reused {
            match self.servers.accept(server) {
                ConnectionAct::Serve => {}
                act => return Ok(shows::unserved(act, hop.content)),
            }
        }
        let asked = Asked {
            target: &hop.target,
            method: hop.method.as_deref(),
            headers: &sent.headers,
            content: hop.content,
            reused: hop.reused,
        };
        self.servers.ask(server, &asked)
    }

    /// Lets the time of an answer pass; what the client dies of when one of its
    /// limits ends it.
    fn pass_periods(
        &mut self,
        periods: &[Period],
        current: &mut Current<'_>,
    ) -> Result<Option<Vec<ErrorKind>>, String> {
        for period in periods {
            let (kinds, passed) = timeout::during(*period, &self.plan.limits, current.elapsed)?;
            current.elapsed = current.elapsed.plus(Span::exactly(passed));
            self.pass(Span::exactly(passed));
            if kinds.is_some() {
                return Ok(kinds);
            }
        }
        Ok(None)
    }

    /// The wait before the next attempt; false: the client gives up in its place.
    fn wait(
        &mut self,
        rule: &PolicyRule,
        came: &Came,
        current: &mut Current<'_>,
    ) -> Result<bool, String> {
        let limits = &self.plan.limits;
        let said = came.retry_after();
        if client::is_asked_too_much(&rule.wait, limits, said)? {
            current.say("that Retry-After is beyond `limits.retry_after_cap`");
            return Ok(false);
        }
        let number = limits.number_of_wait(current.attempt);
        let range = client::wait(&rule.wait, limits, number, said);
        let time = client::span(&range);
        current.waited = current.waited.plus(time);
        if let Some(most) = limits.wait
            && !current.waited.surely_within(most)
        {
            if current.waited.least <= most {
                return Err(WAIT_MAY_END_IT.to_owned());
            }
            current.say("all waits together are beyond `limits.wait`");
            return Ok(false);
        }
        let undocumented = range.clone().err();
        let server = current.sent.target.server.clone();
        let visible = self.plan.servers.iter();
        let visible = visible.filter(|one| one.listen == Listen::Open);
        if visible.clone().any(|one| one.name == server) {
            let range = range.map(|range| longer(range, came.after_first));
            if let Ok(range) = &range {
                current.say(&format!("waits {}", range.words()));
            }
            current.to.waits.push(PredictedWait { server, range });
        }
        current.elapsed = current.elapsed.plus(time);
        let total = self.plan.limits.total;
        if total.is_some_and(|total| !current.elapsed.surely_before(total)) {
            return Err(match undocumented {
                Some(missing) => format!("{missing}; {TOTAL_MAY_END_IT}"),
                None => TOTAL_MAY_END_IT.to_owned(),
            });
        }
        self.pass(time);
        if self.since_start.least > self.plan.deadline {
            return Err("not computable: the waits it promises exceed the deadline".to_owned());
        }
        Ok(true)
    }

    /// Time goes by, for the walk and for all connections that are idle.
    fn pass(&mut self, time: Span) {
        self.since_start = self.since_start.plus(time);
        for kept in self.kept.values_mut() {
            kept.idle = kept.idle.plus(time);
        }
    }

    /// Whether the scenario stops the client here.
    fn is_stopped(&self) -> bool {
        let all: u64 = self.delivered.values().sum();
        let delivered = |server: &str| self.delivered.get(server).copied().unwrap_or(0);
        // The client is stopped as it begins the request beyond the cap.
        self.plan.is_over_cap(all.saturating_add(1), 0) || self.plan.has_enough(delivered)
    }
}

/// Whether a kept connection can still be used; the client knows when it was
/// closed long enough ago.
fn still_open(kept: Kept) -> Result<bool, String> {
    match kept.then {
        None => Ok(true),
        Some(then) if kept.idle.surely_before(then.after) => Ok(true),
        Some(then) if then.speaks => Err(
            "undocumented: whether the client looks for bytes that it never asked for before it \
             uses a kept connection"
                .to_owned(),
        ),
        Some(then) if kept.idle.surely_after(then.after) => Ok(false),
        Some(_) => Err(
            "not computable: the kept connection ends about when the next request is due"
                .to_owned(),
        ),
    }
}

/// The next request of a redirect (RFC 9110 section 15.4).
fn follow(hop: Hop, status: u16, target: Target) -> Hop {
    let post = hop.method.as_deref().is_none_or(|method| method == "POST");
    let (method, content) = match status {
        303 if hop.method.as_deref() == Some("HEAD") => (hop.method, 0),
        303 => (Some("GET".to_owned()), 0),
        301 | 302 if post => (None, hop.content),
        _ => (hop.method, hop.content),
    };
    Hop {
        target,
        method,
        content,
        reused: false,
    }
}

/// A wait as it is seen at the first server, where the time of the other hops
/// comes on top.
fn longer(range: Matcher<Duration>, more: Span) -> Matcher<Duration> {
    let (at_least, at_most) = crate::matcher::bounds(&range);
    let most = at_most.zip(more.most);
    Matcher::Range {
        at_least: at_least.map(|low| low.saturating_add(more.least)),
        at_most: most.map(|(high, more)| high.saturating_add(more)),
    }
}
