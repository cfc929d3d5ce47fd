//! The numbers that the client keeps to, each in one place.
//!
//! The manifest repeats them; change both together.

use std::time::{Duration, Instant};

use client_kit::protocol::{Jitter, Limits, Polls};

use crate::backoff::Backoff;
use crate::breaker;
use crate::cancel::Token;
use crate::clock;
use crate::defects::{Defect, Defects};
use crate::layers::Layers;

/// What the client keeps to. A limit of none is no limit.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// Who sends a call again, and how often.
    pub(crate) layers: Layers,
    /// Redirect hops that are followed; 0: a redirect is shown as it is.
    pub(crate) redirects: u32,
    /// For one connection.
    connect: Option<Duration>,
    /// Without a byte in either direction.
    idle: Option<Duration>,
    /// Whether the idle limit counts from the start of the call.
    idle_runs_through: bool,
    /// For one attempt, its redirects together.
    per_attempt: Option<Duration>,
    /// For a call, all attempts and waits together.
    total: Option<Duration>,
    /// The wait between attempts, where the server names none.
    pub(crate) backoff: Backoff,
    /// The longest Retry-After that is waited for; the client gives up at once when
    /// it is asked for more.
    pub(crate) retry_after_cap: Duration,
    /// All waits of a call together.
    pub(crate) wait: Option<Duration>,
    /// Retries per hundred calls.
    pub(crate) retry_share: Option<u32>,
    /// Calls that are open at the same time.
    pub(crate) in_flight: Option<u32>,
    /// Calls that wait for that.
    pub(crate) queue: Option<u32>,
    /// When nothing is sent since the server fails.
    pub(crate) breaker: Option<breaker::Terms>,
    /// How long an answer is waited for before a second copy is sent.
    pub(crate) hedge_after: Option<Duration>,
    /// How long is waited before each query of a job.
    pub(crate) polls: Vec<Polls>,
    /// How much of an answer that is no success is read.
    pub(crate) error_body: Option<ErrorBody>,
}

/// How much of an answer that is no success is read; what is beyond is not
/// worth the wait, and an endless one must not hold the caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorBody {
    /// Bytes of content.
    pub(crate) bytes: u64,
    /// Time from the end of the head.
    pub(crate) time: Duration,
}

/// What may be added to a Retry-After, so that clients do not return in step.
pub(crate) const JITTER: Duration = Duration::from_millis(100);

/// For how long a breaker stays open.
const BREAKER_OPEN: Duration = Duration::from_secs(10);

impl Policy {
    /// The policy under the limits of a scenario.
    pub(crate) fn new(limits: &Limits, defects: &Defects) -> Self {
        let time = |limit: Option<u64>| limit.map(Duration::from_millis);
        let or = |limit, default: u64| Some(time(limit).unwrap_or(Duration::from_millis(default)));
        let mut policy = Self {
            layers: layers(limits, defects),
            redirects: limits.redirects.unwrap_or(5),
            connect: or(limits.connect_ms, 2_000),
            idle: or(limits.idle_ms, 5_000),
            idle_runs_through: defects.has(Defect::IdleTimerRunsThrough),
            per_attempt: time(limits.per_attempt_ms),
            total: or(limits.total_ms, 20_000),
            backoff: backoff(limits, defects),
            retry_after_cap: time(limits.retry_after_cap_ms).unwrap_or(Duration::from_secs(90)),
            wait: time(limits.wait_ms),
            retry_share: limits.retry_share,
            in_flight: limits.in_flight,
            queue: limits.queue,
            breaker: breaker(limits, defects),
            hedge_after: time(limits.hedge_after_ms),
            polls: limits.poll_every.clone(),
            error_body: Some(ErrorBody {
                bytes: limits.error_body.unwrap_or(2048),
                time: Duration::from_secs(2),
            }),
        };
        policy.spoil(defects);
        policy
    }

    fn spoil(&mut self, defects: &Defects) {
        if defects.has(Defect::RedirectsWithoutLimit) {
            self.redirects = u32::MAX;
        }
        if defects.has(Defect::NeverTimesOut) {
            (self.connect, self.idle, self.total) = (None, None, None);
        }
        if defects.has(Defect::WaitsHoweverLong) {
            (self.total, self.retry_after_cap) = (None, Duration::MAX);
        }
        if defects.has(Defect::IgnoresRetryShare) {
            self.retry_share = None;
        }
        if defects.has(Defect::IgnoresPollSchedule) {
            self.polls.truncate(1);
        }
        if defects.has(Defect::IgnoresInFlight) {
            self.in_flight = None;
        }
        if defects.has(Defect::QueuesWithoutLimit) {
            self.queue = None;
        }
        if defects.has(Defect::HedgesAtOnce) {
            self.hedge_after = self.hedge_after.map(|_| Duration::ZERO);
        }
        if defects.has(Defect::ReadsErrorBytesAsKibibytes)
            && let Some(body) = &mut self.error_body
        {
            body.bytes = body.bytes.saturating_mul(1024);
        }
        if defects.has(Defect::ReadsEndlessErrorBody) {
            self.error_body = None;
        }
    }

    /// The limits of time of a call that begins now.
    pub(crate) fn patience(&self, token: &Token) -> Patience {
        let now = clock::now();
        Patience {
            token: token.clone(),
            connect: self.connect,
            idle: self.idle,
            idle_from: self.idle_runs_through.then_some(now),
            attempt_ends: self.per_attempt.map(|limit| now + limit),
            deadline: self.total.map(|total| now + total),
        }
    }

    /// The same limits for an attempt that begins now.
    pub(crate) fn of_attempt(&self, patience: &Patience) -> Patience {
        Patience {
            attempt_ends: self.per_attempt.map(|limit| clock::now() + limit),
            ..patience.clone()
        }
    }
}

/// Who sends a call again: the layers that the client is told, or itself.
fn layers(limits: &Limits, defects: &Defects) -> Layers {
    let mut layers = if limits.layers.is_empty() {
        Layers::one(limits.attempts.unwrap_or(3).max(1))
    } else {
        Layers::stacked(limits.layers.iter().map(|layer| layer.retries))
    };
    if defects.has(Defect::NeverRetries) {
        layers = Layers::one(1);
    }
    if defects.has(Defect::CountsAttemptsAsRetries) {
        layers = layers.each(|tries| tries.saturating_add(1));
    }
    if defects.has(Defect::CountsRetriesAsAttempts) {
        layers = layers.each(|tries| tries.saturating_sub(1).max(1));
    }
    if defects.has(Defect::AddsLayersUp) {
        layers = layers.added_up();
    }
    if defects.has(Defect::RetriesInTwoLayers) {
        layers = layers.doubled();
    }
    if defects.has(Defect::RetriesWithoutLimit) {
        layers = Layers::one(u32::MAX);
    }
    layers
}

/// The wait between attempts: unless told, between half and all of 50 ms, which
/// doubles up to a second. So clients do not return in step, and nobody too soon.
fn backoff(limits: &Limits, defects: &Defects) -> Backoff {
    let base = Duration::from_millis(limits.backoff_ms.unwrap_or(50));
    let cap = limits.backoff_cap_ms.map(Duration::from_millis);
    let mut backoff = Backoff {
        base,
        cap: cap.unwrap_or(base.max(Duration::from_secs(1))),
        jitter: limits.jitter.unwrap_or(Jitter::Equal),
        grows: !defects.has(Defect::RetriesWithoutLimit)
            && !defects.has(Defect::WaitsTheSameEachTime),
    };
    if defects.has(Defect::DoublesWithoutCap) {
        backoff.cap = Duration::MAX;
    }
    if defects.has(Defect::ReturnsInStep) {
        backoff.jitter = Jitter::None;
    }
    backoff
}

/// Unless told, no breaker ever opens.
fn breaker(limits: &Limits, defects: &Defects) -> Option<breaker::Terms> {
    let failures = limits.breaker_failures?;
    let open = limits.breaker_open_ms.map(Duration::from_millis);
    let terms = breaker::Terms {
        failures,
        open: open.unwrap_or(BREAKER_OPEN),
        probes_with_all: defects.has(Defect::BreakerProbesWithAll),
        never_closes: defects.has(Defect::BreakerNeverCloses),
    };
    (!defects.has(Defect::BreakerNeverOpens)).then_some(terms)
}

/// How long one call may take: its limits of time, and its caller's will.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    /// Whether the caller still wants it.
    pub(crate) token: Token,
    /// For one connection.
    pub(crate) connect: Option<Duration>,
    /// Without a byte in either direction.
    pub(crate) idle: Option<Duration>,
    /// Since when that counts; none: since the last byte.
    idle_from: Option<Instant>,
    /// When this attempt must be over.
    pub(crate) attempt_ends: Option<Instant>,
    /// When the call must be over.
    pub(crate) deadline: Option<Instant>,
}

impl Patience {
    /// When a wait that begins now has been idle for too long.
    pub(crate) fn idle_ends(&self) -> Option<Instant> {
        let idle = self.idle?;
        Some(self.idle_from.unwrap_or_else(clock::now) + idle)
    }

    /// Time left for the call; none: no limit.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(clock::now()))
    }

    /// Time left for this attempt; none: no limit.
    pub(crate) fn left_of_attempt(&self) -> Option<Duration> {
        let ends = self.deadline.into_iter().chain(self.attempt_ends).min()?;
        Some(ends.saturating_duration_since(clock::now()))
    }

    /// The same for a part of the call with a token of its own.
    pub(crate) fn with(&self, token: &Token) -> Self {
        Self {
            token: token.clone(),
            ..self.clone()
        }
    }

    /// Whether a wait leaves time to send afterwards.
    pub(crate) fn allows(&self, wait: Duration) -> bool {
        self.left().is_none_or(|left| wait < left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_the_scenario_takes_the_defaults_place() {
        let limits = Limits {
            attempts: Some(1),
            idle_ms: Some(7),
            redirects: Some(0),
            ..Limits::default()
        };
        let policy = Policy::new(&limits, &Defects::default());
        assert_eq!((policy.layers, policy.redirects), (Layers::one(1), 0));
        assert_eq!(policy.idle, Some(Duration::from_millis(7)));
        assert_eq!(policy.connect, Some(Duration::from_secs(2)));
    }

    #[test]
    fn three_attempts_that_all_go_idle_fit_into_the_total() {
        let policy = Policy::new(&Limits::default(), &Defects::default());
        let worst = policy.idle.unwrap() * 3 + policy.backoff.cap;
        assert!(worst < policy.total.unwrap());
    }

    #[test]
    fn a_wait_must_leave_time_to_send() {
        let limits = Limits {
            total_ms: Some(60_000),
            ..Limits::default()
        };
        let patience = Policy::new(&limits, &Defects::default()).patience(&Token::default());
        assert!(patience.allows(Duration::from_secs(30)));
        assert!(!patience.allows(Duration::from_secs(60)));
    }

    #[test]
    fn an_attempt_has_its_time_anew_and_the_call_has_not() {
        let limits = Limits {
            per_attempt_ms: Some(60_000),
            total_ms: Some(600_000),
            ..Limits::default()
        };
        let policy = Policy::new(&limits, &Defects::default());
        let mut call = policy.patience(&Token::default());
        call.attempt_ends = Some(clock::now());
        assert_eq!(call.left_of_attempt(), Some(Duration::ZERO));
        let attempt = policy.of_attempt(&call);
        assert!(attempt.left_of_attempt().unwrap() > Duration::from_secs(30));
        assert_eq!(attempt.deadline, call.deadline);
    }

    #[test]
    fn a_wait_that_is_told_may_be_longer_than_the_clients_own_cap() {
        let limits = Limits {
            backoff_ms: Some(5000),
            ..Limits::default()
        };
        let policy = Policy::new(&limits, &Defects::default());
        assert_eq!(policy.backoff.cap, Duration::from_secs(5));
    }

    #[test]
    fn some_defects_are_another_number() {
        let limits = Limits {
            error_body: Some(10),
            ..Limits::default()
        };
        let bad = |defect| Policy::new(&limits, &Defects::default().with(defect));
        assert_eq!(bad(Defect::DoublesWithoutCap).backoff.cap, Duration::MAX);
        assert_eq!(bad(Defect::ReturnsInStep).backoff.jitter, Jitter::None);
        assert!(!bad(Defect::WaitsTheSameEachTime).backoff.grows);
        let read = bad(Defect::ReadsErrorBytesAsKibibytes).error_body;
        assert_eq!(read.unwrap().bytes, 10 * 1024);
    }
}
