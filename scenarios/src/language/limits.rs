//! What a client is told to keep to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::manifest::Ability;

/// What the client is told to keep to. None: its own default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Sends a call, the first included.
    pub attempts: Option<u32>,
    /// Layers that send again, each what the one below it gives up; outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Timeout of connecting.
    pub connect: Option<Duration>,
    /// Timeout without a byte.
    pub idle: Option<Duration>,
    /// Timeout of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_attempt: Option<Duration>,
    /// Timeout of a call, all attempts together.
    pub total: Option<Duration>,
    /// Redirect hops followed; 0: none.
    pub redirects: Option<u32>,
    /// The first wait between two attempts; each further one is twice as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Duration>,
    /// The longest such wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_cap: Option<Duration>,
    /// How much of such a wait is left to chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// The longest Retry-After that is waited for; beyond it the client gives up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_cap: Option<Duration>,
    /// All waits of a call together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Duration>,
    /// Retries per hundred calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_share: Option<u32>,
    /// Calls that are open at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
    /// Calls that wait for that; one more is given up at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// Failures in a row after which nothing is sent for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker_failures: Option<u32>,
    /// For how long; then one request is sent as a probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker_open: Option<Duration>,
    /// How long an answer is waited for before a second copy is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedge_after: Option<Duration>,
    /// Bytes of the content of an answer that are read when it is no success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_body: Option<u64>,
    /// How long is waited before each query of a job, phase by phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub poll_every: Vec<Polls>,
}

/// A phase of asking after a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Polls {
    /// The wait before each query.
    pub every: Duration,
    /// The phase is over when its waits together are as long as this; none: it stays.
    pub lasts: Option<Duration>,
}

/// A layer that sends again what the one below it gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// How often it sends again.
    pub retries: u32,
}

/// How much of a wait is left to chance, so that clients do not return in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Jitter {
    /// All of it: from nothing to the whole wait.
    Full,
    /// The second half: from half of the wait to all of it.
    Equal,
    /// Nothing: the whole wait.
    None,
}

impl Limits {
    /// The most sends of a call, copies and redirects left out; none: the client
    /// is not told.
    pub fn sends(&self) -> Option<u64> {
        if self.layers.is_empty() {
            return self.attempts.map(u64::from);
        }
        let tries = self.layers.iter().map(Layer::tries);
        Some(tries.fold(1, u64::saturating_mul))
    }

    /// Which wait of its layer is the one after so many sends, from 0: the innermost
    /// layer that has a try left makes the next send, and those within it begin anew.
    pub fn number_of_wait(&self, sends: u32) -> u32 {
        let mut sends = sends;
        for layer in self.layers.iter().rev() {
            let tries = layer.retries.saturating_add(1);
            if !sends.is_multiple_of(tries) {
                return sends % tries - 1;
            }
            sends /= tries;
        }
        sends.saturating_sub(1)
    }

    /// Whether a call may end without having been sent at all.
    pub fn may_withhold(&self) -> bool {
        self.breaker_failures.is_some() || self.queue.is_some()
    }

    /// Whether one of them may end an answer that the server still gives.
    pub fn may_end_an_answer(&self) -> bool {
        let times = [self.idle, self.per_attempt, self.total, self.hedge_after];
        times.iter().any(Option::is_some) || self.error_body.is_some()
    }

    /// Why no policy says how often a call is sent under these limits; none: they do
    /// not keep it from being computed.
    pub(crate) fn not_computable(&self) -> Option<&'static str> {
        let reasons = [
            (
                self.per_attempt.is_some(),
                "an attempt has a time of its own, and no policy names the error of its end",
            ),
            (
                self.retry_share.is_some(),
                "retries are shared by all calls, and the walk makes each by itself",
            ),
            (
                self.in_flight.is_some(),
                "calls wait for each other, and the walk makes one after the other",
            ),
            (
                self.breaker_failures.is_some(),
                "what is sent while a breaker is open depends on time, and the walk has no clock",
            ),
            (
                self.hedge_after.is_some(),
                "a second copy is sent by time, and the walk has no clock",
            ),
        ];
        let mut reasons = reasons.into_iter();
        reasons.find_map(|(set, why)| set.then_some(why))
    }

    /// What a client must be able to be told.
    pub fn abilities(&self) -> impl Iterator<Item = Ability> {
        [
            (self.attempts.is_some(), Ability::Attempts),
            (!self.layers.is_empty(), Ability::Layers),
            (self.connect.is_some(), Ability::Connect),
            (self.idle.is_some(), Ability::Idle),
            (self.per_attempt.is_some(), Ability::PerAttempt),
            (self.total.is_some(), Ability::Total),
            (self.redirects.is_some(), Ability::Redirects),
            (self.backoff.is_some(), Ability::Backoff),
            (self.backoff_cap.is_some(), Ability::BackoffCap),
            (self.jitter.is_some(), Ability::Jitter),
            (self.retry_after_cap.is_some(), Ability::RetryAfterCap),
            (self.wait.is_some(), Ability::Wait),
            (self.retry_share.is_some(), Ability::RetryShare),
            (self.in_flight.is_some(), Ability::InFlight),
            (self.queue.is_some(), Ability::Queue),
            (self.breaker_failures.is_some(), Ability::BreakerFailures),
            (self.breaker_open.is_some(), Ability::BreakerOpen),
            (self.hedge_after.is_some(), Ability::HedgeAfter),
            (self.error_body.is_some(), Ability::ErrorBody),
            (!self.poll_every.is_empty(), Ability::PollEvery),
        ]
        .into_iter()
        .filter_map(|(set, ability)| set.then_some(ability))
    }
}

impl Layer {
    /// Tries of the layer below, the first included.
    pub fn tries(&self) -> u64 {
        u64::from(self.retries).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacked(retries: &[u32]) -> Limits {
        let layer = |retries: &u32| Layer {
            name: "one".to_owned(),
            retries: *retries,
        };
        Limits {
            layers: retries.iter().map(layer).collect(),
            ..Limits::default()
        }
    }

    #[test]
    fn layers_multiply() {
        assert_eq!(stacked(&[1, 3, 2]).sends(), Some(24));
        assert_eq!(stacked(&[0]).sends(), Some(1));
        assert_eq!(stacked(&[]).sends(), None);
    }

    #[test]
    fn each_layer_counts_its_own_waits_and_those_within_it_begin_anew() {
        let layers = stacked(&[1, 2]);
        let numbers: Vec<u32> = (1..6).map(|sends| layers.number_of_wait(sends)).collect();
        assert_eq!(numbers, [0, 1, 0, 0, 1]);
        let alone = stacked(&[]);
        let numbers: Vec<u32> = (1..4).map(|sends| alone.number_of_wait(sends)).collect();
        assert_eq!(numbers, [0, 1, 2]);
    }
}
