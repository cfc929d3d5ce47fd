//! The numbers that the client keeps to, each in one place.
//!
//! The manifest repeats them; change both together.

use std::time::{Duration, Instant};

use client_kit::protocol::Limits;

use crate::cancel::Token;
use crate::clock;
use crate::defects::{Defect, Defects};

/// What the client keeps to. A limit of none is no limit.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// Sends of a call from its start, the first included.
    pub(crate) attempts: u32,
    /// Redirect hops that are followed; 0: a redirect is shown as it is.
    pub(crate) redirects: u32,
    /// For one connection.
    connect: Option<Duration>,
    /// Without a byte in either direction.
    idle: Option<Duration>,
    /// Whether the idle limit counts from the start of the call.
    idle_runs_through: bool,
    /// For a call, all attempts and waits together.
    total: Option<Duration>,
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

/// The first wait before sending again; each further one is twice as long.
pub(crate) const BACKOFF: Duration = Duration::from_millis(50);
/// The longest such wait.
pub(crate) const LONGEST_BACKOFF: Duration = Duration::from_secs(1);
/// The longest Retry-After that is waited for; the client gives up at once when
/// it is asked for more.
pub(crate) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(90);
/// What may be added to a Retry-After, so that clients do not return in step.
pub(crate) const JITTER: Duration = Duration::from_millis(100);

impl Policy {
    /// The policy under the limits of a scenario.
    pub(crate) fn new(limits: &Limits, defects: &Defects) -> Self {
        let or = |limit: Option<u64>, default| Some(limit.map_or(default, Duration::from_millis));
        let mut policy = Self {
            attempts: limits.attempts.unwrap_or(3).max(1),
            redirects: limits.redirects.unwrap_or(5),
            connect: or(limits.connect_ms, Duration::from_secs(2)),
            idle: or(limits.idle_ms, Duration::from_secs(5)),
            idle_runs_through: defects.has(Defect::IdleTimerRunsThrough),
            total: or(limits.total_ms, Duration::from_secs(20)),
            error_body: Some(ErrorBody {
                bytes: 2048,
                time: Duration::from_secs(2),
            }),
        };
        if defects.has(Defect::NeverRetries) {
            policy.attempts = 1;
        }
        if defects.has(Defect::CountsAttemptsAsRetries) {
            policy.attempts = policy.attempts.saturating_add(1);
        }
        if defects.has(Defect::CountsRetriesAsAttempts) {
            policy.attempts = policy.attempts.saturating_sub(1).max(1);
        }
        if defects.has(Defect::RetriesWithoutLimit) {
            policy.attempts = u32::MAX;
        }
        if defects.has(Defect::RedirectsWithoutLimit) {
            policy.redirects = u32::MAX;
        }
        if defects.has(Defect::NeverTimesOut) {
            (policy.connect, policy.idle, policy.total) = (None, None, None);
        }
        if defects.has(Defect::WaitsHoweverLong) {
            policy.total = None;
        }
        if defects.has(Defect::ReadsEndlessErrorBody) {
            policy.error_body = None;
        }
        policy
    }

    /// The limits of time of a call that begins now.
    pub(crate) fn patience(&self, token: &Token) -> Patience {
        Patience {
            token: token.clone(),
            connect: self.connect,
            idle: self.idle,
            idle_from: self.idle_runs_through.then(clock::now),
            deadline: self.total.map(|total| clock::now() + total),
        }
    }
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
        assert_eq!((policy.attempts, policy.redirects), (1, 0));
        assert_eq!(policy.idle, Some(Duration::from_millis(7)));
        assert_eq!(policy.connect, Some(Duration::from_secs(2)));
    }

    #[test]
    fn three_attempts_that_all_go_idle_fit_into_the_total() {
        let policy = Policy::new(&Limits::default(), &Defects::default());
        let worst = policy.idle.unwrap() * 3 + LONGEST_BACKOFF;
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
}
