//! `limiter`: so many requests pass, others are denied. It never answers itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Asked, Decided, Decision, Says};

/// What the limiter keeps to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Which requests pass.
    pub rule: Rule,
    /// What it tells with every answer.
    pub tells: Tells,
}

/// Which requests pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Each takes a token.
    TokenBucket {
        /// Tokens in a full bucket, as it is at the beginning.
        burst: u32,
        /// So often one more comes.
        refill: Duration,
    },
    /// So many in each window; the first one begins with the first request.
    FixedWindow {
        /// How many.
        requests: u32,
        /// How long.
        window: Duration,
    },
    /// So many that are not answered yet.
    Concurrency {
        /// How many.
        max: u32,
    },
}

impl Rule {
    fn most(&self) -> u32 {
        match *self {
            Self::TokenBucket { burst, .. } => burst,
            Self::FixedWindow { requests, .. } => requests,
            Self::Concurrency { max } => max,
        }
    }
}

/// The header fields in which it tells of the limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tells {
    /// How many may pass at most.
    pub limit: Option<String>,
    /// How many may pass now.
    pub left: Option<String>,
    /// In how many seconds all of them may pass again, rounded up.
    pub reset: Option<String>,
}

pub(super) struct Machine {
    rules: Rules,
    /// How many may pass now.
    left: u32,
    /// Of a bucket, when its last token came; of a window, when it began.
    since: Option<Duration>,
}

impl Machine {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            left: rules.rule.most(),
            rules,
            since: None,
        }
    }

    /// What time has brought.
    fn catch_up(&mut self, at: Duration) {
        let since = *self.since.get_or_insert(at);
        let passed = at.saturating_sub(since);
        match self.rules.rule {
            Rule::TokenBucket { burst, refill } => {
                let tokens = whole(passed, refill);
                self.left = self.left.saturating_add(tokens).min(burst);
                // A full bucket gains nothing.
                self.since = Some(match self.left == burst {
                    true => at,
                    false => since + refill * tokens,
                });
            }
            Rule::FixedWindow { requests, window } => {
                let windows = whole(passed, window);
                if windows > 0 {
                    self.left = requests;
                    self.since = Some(since + window * windows);
                }
            }
            Rule::Concurrency { .. } => {}
        }
    }

    /// Time until all may pass again.
    fn reset(&self, at: Duration) -> Duration {
        let passed = at.saturating_sub(self.since.unwrap_or(at));
        let whole = match self.rules.rule {
            Rule::TokenBucket { burst, refill } => refill * (burst - self.left),
            Rule::FixedWindow { window, .. } => window,
            Rule::Concurrency { .. } => Duration::ZERO,
        };
        whole.saturating_sub(passed)
    }

    fn told(&self, at: Duration) -> Vec<(String, String)> {
        let seconds = self.reset(at).as_millis().div_ceil(1000);
        let Tells { limit, left, reset } = &self.rules.tells;
        let fields = [
            (limit, self.rules.rule.most().to_string()),
            (left, self.left.to_string()),
            (reset, seconds.to_string()),
        ];
        let told = fields.into_iter();
        told.filter_map(|(name, value)| Some((name.clone()?, value)))
            .collect()
    }
}

/// How often a span fits into a time.
fn whole(time: Duration, span: Duration) -> u32 {
    let times = time.as_nanos() / span.as_nanos().max(1);
    u32::try_from(times).unwrap_or(u32::MAX)
}

impl super::Machine for Machine {
    fn ask(&mut self, asked: &Asked<'_>) -> Decision {
        self.catch_up(asked.at);
        let passes = self.left > 0;
        self.left = self.left.saturating_sub(1);
        let decision = match passes {
            true => Decision::passed(),
            false => Decision::new(Decided::Denied, Says::Denies),
        };
        Decision {
            fields: self.told(asked.at),
            ..decision
        }
    }

    fn release(&mut self) {
        if let Rule::Concurrency { max } = self.rules.rule {
            self.left = (self.left + 1).min(max);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::models::Machine as _;
    use crate::models::testing::request;

    fn limiter(rule: Rule) -> Machine {
        Machine::new(Rules {
            rule,
            tells: Tells {
                limit: Some("X-Limit".to_owned()),
                left: Some("X-Left".to_owned()),
                reset: Some("X-Reset".to_owned()),
            },
        })
    }

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn passes(limiter: &mut Machine, at: u64) -> bool {
        request(at, "GET /").decided(limiter) == Decided::Passed
    }

    #[test]
    fn a_bucket_lets_a_burst_pass_and_then_one_for_each_token() {
        let mut bucket = limiter(Rule::TokenBucket {
            burst: 2,
            refill: millis(100),
        });
        let times = [5, 6, 7, 104, 105, 106, 204, 205, 405, 405, 405];
        let passed: Vec<_> = times.map(|at| passes(&mut bucket, at)).into();
        let expected = [
            true, true, false, false, true, false, false, true, true, true, false,
        ];
        assert_eq!(passed, expected);
    }

    #[test]
    fn a_window_lets_so_many_pass_until_the_next_begins() {
        let mut window = limiter(Rule::FixedWindow {
            requests: 1,
            window: millis(100),
        });
        let times = [50, 149, 150, 151, 349, 350];
        let passed: Vec<_> = times.map(|at| passes(&mut window, at)).into();
        assert_eq!(passed, [true, false, true, false, true, true]);
    }

    #[test]
    fn so_many_are_open_at_once() {
        let mut limiter = limiter(Rule::Concurrency { max: 1 });
        assert!(passes(&mut limiter, 1));
        assert!(!passes(&mut limiter, 1000));
        limiter.release();
        assert!(passes(&mut limiter, 1000));
    }

    #[test]
    fn it_tells_the_limit_what_is_left_and_when_all_is_there_again() {
        let mut bucket = limiter(Rule::TokenBucket {
            burst: 2,
            refill: millis(1500),
        });
        let told = |at, bucket: &mut Machine| {
            let decision = request(at, "GET /").ask(bucket);
            let values = decision.fields.into_iter().map(|(_, value)| value);
            values.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told(0, &mut bucket), "2 1 2");
        assert_eq!(told(0, &mut bucket), "2 0 3");
        assert_eq!(told(1000, &mut bucket), "2 0 2");
    }

    proptest! {
        #[test]
        fn in_no_span_more_pass_than_the_burst_and_what_came_in_it(
            burst in 1_u32..5,
            refill in 1_u64..50,
            steps in proptest::collection::vec(0_u64..60, 1..60),
        ) {
            let refill_time = millis(refill);
            let mut bucket = limiter(Rule::TokenBucket { burst, refill: refill_time });
            let mut passed = Vec::new();
            let mut at = 0;
            for step in steps {
                at += step;
                if passes(&mut bucket, at) {
                    passed.push(at);
                }
            }
            for (from, first) in passed.iter().enumerate() {
                for (to, last) in passed.iter().enumerate().skip(from) {
                    let most = u64::from(burst) + (last - first) / refill;
                    prop_assert!((to - from + 1) as u64 <= most + 1);
                }
            }
        }
    }
}
