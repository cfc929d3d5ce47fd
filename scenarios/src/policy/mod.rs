//! What a client promises to do with a case: its declared policy walks the
//! script as a perfect server would answer it.
//!
//! The walk needs no client and no server. What the manifest does not say is
//! never guessed: the prediction then names what is missing.

mod client;
mod decide;
mod models;
mod shows;
mod span;
mod timeout;
mod walk;
mod wire;

#[cfg(test)]
mod tests;

use std::time::Duration;

use scripted_servers::script::Listen;
use serde::{Deserialize, Serialize};

use crate::counter::Counter;
use crate::manifest::Manifest;
use crate::matcher::Matcher;
use crate::plan::{Call, Limits, Of, Plan, Request, ServerPlan};
use crate::scope::Treatment;
use crate::target::Target;
use crate::verdict::Outcome;

/// What a client promises to do with a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Call by call.
    pub calls: Vec<CallPrediction>,
}

/// What it promises for one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallPrediction {
    /// Number of the call.
    pub call: u32,
    /// The requests that are delivered, in order.
    pub requests: Vec<PredictedRequest>,
    /// The waits between attempts, in order.
    pub waits: Vec<PredictedWait>,
    /// How it ends.
    pub end: PredictedEnd,
    /// Each step of the walk, in words.
    pub reasoning: Vec<String>,
}

/// A request that is delivered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictedRequest {
    /// Where to.
    pub target: Target,
    /// How; none where the client may choose after a redirect.
    pub method: Option<String>,
    /// False where a large body may or may not have arrived whole.
    pub sure: bool,
}

/// A wait between two attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PredictedWait {
    /// At which server.
    pub server: String,
    /// How long, or what the manifest does not say.
    pub range: Result<Matcher<Duration>, String>,
}

/// How a call ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictedEnd {
    /// In one of these outcomes.
    Outcomes(Vec<Outcome>),
    /// Not before the scenario stops the client.
    Open,
    /// The manifest does not say; what is missing.
    Undocumented(String),
}

/// How many deliveries a counter sees.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedCount {
    /// The number, or a range.
    pub matcher: Matcher<u64>,
    /// How it came about.
    pub reasoning: Vec<String>,
}

/// Computes what a client promises to do with a case.
pub fn predict(plan: &Plan, manifest: &Manifest) -> Prediction {
    walk::walk(plan, manifest)
}

const SEVERAL_ADDRESSES: &str =
    "`localhost` is several addresses, and no policy says which one the client takes";

/// Why no policy can be computed from a case, whatever the client; none when it
/// can.
pub fn not_computable(
    servers: &[ServerPlan],
    calls: &[Call],
    limits: &Limits,
    treatment: Treatment,
) -> Option<&'static str> {
    if let Some(why) = limits.not_computable() {
        return Some(why);
    }
    if treatment.cancels {
        return Some("a call is cancelled, and no policy says how far it has come by then");
    }
    if treatment.crashes {
        return Some("the client is killed, and no policy says how far it has come by then");
    }
    if treatment.fleet {
        return Some("a fleet of processes shares the script, and the walk is of one process");
    }
    if calls.iter().any(|call| call.stream.is_some()) {
        return Some("the answer is a list of events, which no policy says when to ask for again");
    }
    if calls.iter().any(|call| call.job.is_some()) {
        return Some("the work is a job, and no policy says how often to ask after it");
    }
    if calls.iter().any(Call::is_shared) {
        return Some("items share a request, and no policy says which of them are sent again");
    }
    let at_localhost = |call: &Call| match &call.request {
        Request::Literal { url, .. } => url.is_at_localhost(),
        Request::Operation { .. } => false,
    };
    if calls.iter().any(at_localhost) {
        return Some(SEVERAL_ADDRESSES);
    }
    if calls.iter().any(|call| call.at_once > 1) {
        return Some("calls are made `at_once`, and the walk makes one after the other");
    }
    let mut ports = servers.iter();
    if ports.any(|server| matches!(server.listen, Listen::Phases(_))) {
        return Some("a port has phases by time, and the walk has no clock");
    }
    if calls.iter().any(Call::is_resumable) {
        return Some("a resumable upload is no request that is sent again as it is");
    }
    if let Some(why) = models::not_computable(servers, calls) {
        return Some(why);
    }
    let queues = servers.iter().flat_map(|server| &server.queues);
    queues.flat_map(|queue| &queue.steps).find_map(|step| {
        let when = &step.when;
        if when.since.is_some() || when.until.is_some() {
            return Some("a step has `since` or `until`, and the walk has no clock");
        }
        let json = when.json.is_some();
        json.then_some("a step asks for a `json` value, and the walk sees no contents")
    })
}

impl Prediction {
    /// How many deliveries a counter sees, in the calls that `of` names; or what
    /// the manifest does not say.
    pub fn delivered(&self, counter: &Counter, of: &Of) -> Result<PredictedCount, String> {
        let (mut least, mut most, mut open) = (0, 0, false);
        let mut reasoning = Vec::new();
        for call in self.calls_of(of) {
            for request in &call.requests {
                if counts(counter, request)? {
                    least += u64::from(request.sure);
                    most += 1;
                }
            }
            match &call.end {
                PredictedEnd::Undocumented(missing) => return Err(missing.clone()),
                PredictedEnd::Open => open = true,
                PredictedEnd::Outcomes(_) => {}
            }
            reasoning.extend(call.reasoning.iter().cloned());
        }
        let matcher = if open {
            Matcher::Range {
                at_least: Some(least),
                at_most: None,
            }
        } else if least == most {
            Matcher::OneOf(vec![most])
        } else {
            Matcher::Range {
                at_least: Some(least),
                at_most: Some(most),
            }
        };
        Ok(PredictedCount { matcher, reasoning })
    }

    /// How a call ends; or what the manifest does not say.
    pub fn outcome(&self, id: u32) -> Result<Vec<Outcome>, String> {
        let call = self.calls.iter().find(|call| call.call == id);
        match call.map(|call| &call.end) {
            Some(PredictedEnd::Outcomes(outcomes)) => Ok(outcomes.clone()),
            Some(PredictedEnd::Undocumented(missing)) => Err(missing.clone()),
            Some(PredictedEnd::Open) => {
                Err("undocumented: the policy does not end before it is stopped".to_owned())
            }
            None => Err(format!("undocumented: there is no call {id}")),
        }
    }

    /// A wait of a call at a server, by its number from 0; none when the policy
    /// promises none there.
    pub fn wait(
        &self,
        id: u32,
        server: &str,
        number: usize,
    ) -> Result<Option<Matcher<Duration>>, String> {
        let Some(call) = self.calls.iter().find(|call| call.call == id) else {
            return Ok(None);
        };
        let mut waits = call.waits.iter().filter(|wait| wait.server == server);
        match (waits.nth(number), &call.end) {
            (Some(wait), _) => wait.range.clone().map(Some),
            (None, PredictedEnd::Undocumented(missing)) => Err(missing.clone()),
            (None, _) => Ok(None),
        }
    }

    /// Whether the policy promises another attempt, so that a wait must be there
    /// to be judged.
    pub fn promises_a_wait(&self, id: u32, of: &Of) -> bool {
        let call = self.calls.iter().find(|call| call.call == id);
        call.is_some_and(|call| {
            let server = of.server.as_ref();
            let mut waits = call.waits.iter();
            waits.any(|wait| server.is_none_or(|server| *server == wait.server))
        })
    }

    fn calls_of(&self, of: &Of) -> impl Iterator<Item = &CallPrediction> {
        let wanted = of.call;
        self.calls
            .iter()
            .filter(move |call| wanted.is_none_or(|wanted| wanted == call.call))
    }
}

/// Whether a counter counts a request. Where its method is not known that can be
/// undocumented.
fn counts(counter: &Counter, request: &PredictedRequest) -> Result<bool, String> {
    if counter.server != request.target.server {
        return Ok(false);
    }
    let Some(route) = &counter.route else {
        return Ok(true);
    };
    let path = &request.target.path;
    match (&request.method, &route.method) {
        (Some(method), _) => Ok(route.takes(method, path)),
        (None, None) => Ok(route.takes("GET", path)),
        (None, Some(method)) if !route.takes(method, path) => Ok(false),
        (None, Some(_)) => Err(walk::UNKNOWN_METHOD.to_owned()),
    }
}
