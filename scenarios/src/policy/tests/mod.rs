//! The walk over small scripts, one rule of the language each.

mod answers;
mod attempts;
mod connections;
mod hops;
mod models;
mod waits;

use std::time::Duration;

use crate::counter::Counter;
use crate::manifest::{ErrorKind, Manifest, PolicyRule, StatusRange};
use crate::matcher::Matcher;
use crate::plan::{Limits, Of, Plan, StepPlan};
use crate::policy::{Prediction, predict};
use crate::testing::{manifest, plan, server};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn on_errors(kinds: &[ErrorKind], attempts: u32) -> PolicyRule {
    PolicyRule {
        error: kinds.to_vec(),
        attempts,
        ..PolicyRule::default()
    }
}

fn on_statuses(from: u16, to: u16, attempts: u32) -> PolicyRule {
    PolicyRule {
        status: vec![StatusRange { from, to }],
        attempts,
        ..PolicyRule::default()
    }
}

const ALL: &[ErrorKind] = &[
    ErrorKind::Refused,
    ErrorKind::ConnectTimeout,
    ErrorKind::Reset,
    ErrorKind::Closed,
    ErrorKind::Truncated,
    ErrorKind::IdleTimeout,
    ErrorKind::TotalTimeout,
    ErrorKind::Malformed,
    ErrorKind::TooManyRedirects,
];

/// Follows ten redirects, and has these rules before it gives up on all else.
fn client(rules: impl IntoIterator<Item = PolicyRule>) -> Manifest {
    let mut manifest = manifest();
    manifest.policy.redirects = Some(10);
    manifest.policy.rules = rules.into_iter().collect();
    manifest.policy.rules.push(on_errors(ALL, 1));
    manifest.policy.rules.push(on_statuses(100, 599, 1));
    manifest
}

fn one(steps: impl IntoIterator<Item = StepPlan>) -> Plan {
    let api = steps
        .into_iter()
        .fold(server("api"), |api, step| api.step(step));
    plan([api]).call("GET", "api", "/x")
}

fn exact(prediction: &Prediction, counter: &str) -> u64 {
    let counter = Counter::parse(counter).expect("a counter");
    match prediction.delivered(&counter, &Of::default()) {
        Ok(predicted) => match predicted.matcher {
            Matcher::OneOf(values) => values[0],
            range => panic!("a range: {range:?}, {:?}", predicted.reasoning),
        },
        Err(missing) => panic!("{missing}"),
    }
}

fn range(prediction: &Prediction, counter: &str) -> (Option<u64>, Option<u64>) {
    let counter = Counter::parse(counter).expect("a counter");
    match prediction
        .delivered(&counter, &Of::default())
        .expect("a range")
        .matcher
    {
        Matcher::Range { at_least, at_most } => (at_least, at_most),
        exact => panic!("{exact:?}"),
    }
}

fn missing(plan: &Plan, manifest: &Manifest) -> String {
    let prediction = predict(plan, manifest);
    let missing = prediction.delivered(&Counter::server("api"), &Of::default());
    match missing {
        Ok(predicted) => panic!("computed {predicted:?}"),
        Err(missing) => missing,
    }
}

fn limits(idle: Option<u64>, total: Option<u64>) -> Limits {
    Limits {
        idle: idle.map(ms),
        total: total.map(ms),
        ..Limits::default()
    }
}
