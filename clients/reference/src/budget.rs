//! The retries that all calls of a client share: each call earns a part of one, so
//! that an outage costs a share more and not a multiple.

use std::sync::atomic::{AtomicU64, Ordering};

/// What one retry costs; a call earns as many hundredths as its share.
const RETRY: u64 = 100;

/// The account of a client.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Retries per hundred calls; none: as many as the calls themselves allow.
    share: Option<u64>,
    /// Whether a retry earns as a call does.
    retries_earn: bool,
    balance: AtomicU64,
}

impl Budget {
    /// An empty account with this share.
    pub(crate) fn new(share: Option<u32>, retries_earn: bool) -> Self {
        Self {
            share: share.map(u64::from),
            retries_earn,
            balance: AtomicU64::new(0),
        }
    }

    /// A call begins.
    pub(crate) fn earn(&self) {
        let earned = self.share.unwrap_or_default();
        self.balance.fetch_add(earned, Ordering::SeqCst);
    }

    /// Pays for a retry; false: there is not enough.
    pub(crate) fn spend(&self) -> bool {
        if self.share.is_none() {
            return true;
        }
        let paid = |balance: u64| balance.checked_sub(RETRY);
        let spent = self
            .balance
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, paid)
            .is_ok();
        if spent && self.retries_earn {
            self.earn();
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls that fail for ever, each with two retries if it can pay for them.
    fn retries(budget: &Budget, calls: u32) -> usize {
        let call = |_| {
            budget.earn();
            (0..2).take_while(|_| budget.spend()).count()
        };
        (0..calls).map(call).sum()
    }

    #[test]
    fn a_hundred_calls_pay_for_a_tenth_of_retries() {
        assert_eq!(retries(&Budget::new(Some(10), false), 100), 10);
        assert_eq!(retries(&Budget::new(Some(10), false), 9), 0);
        assert_eq!(retries(&Budget::new(Some(0), false), 100), 0);
        assert_eq!(retries(&Budget::new(None, false), 100), 200);
    }

    #[test]
    fn where_retries_earn_there_are_more() {
        assert_eq!(retries(&Budget::new(Some(10), true), 100), 11);
    }
}
