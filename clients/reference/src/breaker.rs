//! A circuit breaker: after so many failures in a row nothing is sent for a while;
//! then one request is a probe, and its end says whether others may follow.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When it opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Failures in a row.
    pub(crate) failures: u32,
    /// How long nothing is sent.
    pub(crate) open: Duration,
    /// Whether every request that comes while it is half open is a probe.
    pub(crate) probes_with_all: bool,
    /// Whether the end of a probe says nothing to it.
    pub(crate) never_closes: bool,
}

/// The breaker of a client.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// None: it never opens.
    terms: Option<Terms>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// A probe is on its way.
    HalfOpen,
}

/// How a request ended, as a breaker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The server is well.
    Good,
    /// It is not.
    Bad,
    /// Nobody knows.
    Unknown,
}

/// A request may be sent; its end must be told.
#[derive(Debug)]
#[must_use]
pub(crate) struct Pass {
    probe: bool,
}

impl Breaker {
    /// A closed one.
    pub(crate) fn new(terms: Option<Terms>) -> Self {
        Self {
            terms,
            state: Mutex::new(State::Closed { failures: 0 }),
        }
    }

    /// Whether a request may be sent now.
    pub(crate) fn admit(&self, now: Instant) -> Option<Pass> {
        let Some(terms) = self.terms else {
            return Some(Pass { probe: false });
        };
        let mut state = self.state();
        match *state {
            State::Closed { .. } => Some(Pass { probe: false }),
            State::Open { until } if now < until => None,
            State::Open { .. } => {
                *state = State::HalfOpen;
                Some(Pass { probe: true })
            }
            State::HalfOpen => terms.probes_with_all.then_some(Pass { probe: true }),
        }
    }

    /// A request has ended.
    pub(crate) fn ended(&self, pass: &Pass, end: End, now: Instant) {
        let Some(terms) = self.terms else { return };
        let open = State::Open {
            until: now + terms.open,
        };
        let mut state = self.state();
        *state = match (*state, end) {
            (State::Closed { .. }, End::Good) => State::Closed { failures: 0 },
            (State::Closed { failures }, End::Bad) if failures + 1 >= terms.failures => open,
            (State::Closed { failures }, End::Bad) => State::Closed {
                failures: failures + 1,
            },
            (State::HalfOpen, End::Good) if pass.probe && !terms.never_closes => {
                State::Closed { failures: 0 }
            }
            (State::HalfOpen, End::Good | End::Bad) if pass.probe => open,
            // The next one is the probe in its place.
            (State::HalfOpen, End::Unknown) if pass.probe => State::Open { until: now },
            // What was sent before it opened says nothing of the server now.
            (before, _) => before,
        };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const TERMS: Terms = Terms {
        failures: 2,
        open: Duration::from_secs(1),
        probes_with_all: false,
        never_closes: false,
    };

    /// Sends at a time, and says whether that was allowed.
    fn send(breaker: &Breaker, at: Instant, end: End) -> bool {
        let pass = breaker.admit(at);
        if let Some(pass) = &pass {
            breaker.ended(pass, end, at);
        }
        pass.is_some()
    }

    fn opened(terms: Terms) -> (Breaker, Instant) {
        let (breaker, now) = (Breaker::new(Some(terms)), clock::now());
        assert!(send(&breaker, now, End::Bad) && send(&breaker, now, End::Bad));
        (breaker, now)
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_a_success_between_them_begins_anew() {
        let (breaker, now) = (Breaker::new(Some(TERMS)), clock::now());
        for end in [End::Bad, End::Good, End::Bad, End::Unknown] {
            assert!(send(&breaker, now, end));
        }
        assert!(send(&breaker, now, End::Bad));
        assert!(!send(&breaker, now, End::Good));
    }

    #[test]
    fn while_it_is_open_nothing_is_sent_and_then_one_probe() {
        let (breaker, now) = opened(TERMS);
        let (soon, later) = (now + TERMS.open / 2, now + TERMS.open);
        assert!(breaker.admit(soon).is_none());
        let probe = breaker.admit(later).unwrap();
        assert!(breaker.admit(later).is_none());
        breaker.ended(&probe, End::Bad, later);
        assert!(breaker.admit(later + TERMS.open / 2).is_none());
        assert!(send(&breaker, later + TERMS.open, End::Good));
        assert!(send(&breaker, later + TERMS.open, End::Good));
    }

    #[test]
    fn a_probe_of_which_nobody_knows_leaves_its_place_to_the_next() {
        let (breaker, now) = opened(TERMS);
        let later = now + TERMS.open;
        assert!(send(&breaker, later, End::Unknown));
        assert!(send(&breaker, later, End::Good));
    }

    #[test]
    fn what_was_sent_before_it_opened_does_not_close_it() {
        let (breaker, now) = (Breaker::new(Some(TERMS)), clock::now());
        let early = breaker.admit(now).unwrap();
        assert!(send(&breaker, now, End::Bad) && send(&breaker, now, End::Bad));
        breaker.ended(&early, End::Good, now);
        assert!(breaker.admit(now).is_none());
    }

    #[test]
    fn without_terms_it_never_opens() {
        let (breaker, now) = (Breaker::new(None), clock::now());
        assert!((0..9).all(|_| send(&breaker, now, End::Bad)));
    }

    #[test]
    fn its_defects_probe_with_all_or_never_close() {
        let (breaker, now) = opened(Terms {
            probes_with_all: true,
            ..TERMS
        });
        let later = now + TERMS.open;
        assert!(breaker.admit(later).is_some() && breaker.admit(later).is_some());
        let (breaker, now) = opened(Terms {
            never_closes: true,
            ..TERMS
        });
        assert!(send(&breaker, now + TERMS.open, End::Good));
        assert!(!send(&breaker, now + TERMS.open, End::Good));
    }
}
