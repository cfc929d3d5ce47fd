//! Spans of time of which only bounds are known.

use std::time::Duration;

/// Two times that are closer than this can not be told apart.
pub(super) const MARGIN: Duration = Duration::from_millis(50);

/// At least and at most; no upper bound where nobody promises one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub least: Duration,
    pub most: Option<Duration>,
}

impl Span {
    pub(super) const NONE: Self = Self::exactly(Duration::ZERO);

    pub(super) const fn exactly(time: Duration) -> Self {
        Self {
            least: time,
            most: Some(time),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let most = self.most.zip(other.most);
        Self {
            least: self.least.saturating_add(other.least),
            most: most.map(|(one, two)| one.saturating_add(two)),
        }
    }

    /// How much longer this is than an earlier state of the same span.
    pub(super) fn since(self, before: Self) -> Self {
        let most = self.most.zip(before.most);
        Self {
            least: self.least.saturating_sub(before.least),
            most: most.map(|(now, then)| now.saturating_sub(then)),
        }
    }

    /// Surely over by then.
    pub(super) fn surely_before(self, time: Duration) -> bool {
        self.most
            .is_some_and(|most| most.saturating_add(MARGIN) <= time)
    }

    /// Surely no longer than this.
    pub(super) fn surely_within(self, time: Duration) -> bool {
        self.most.is_some_and(|most| most <= time)
    }

    /// Surely not over by then.
    pub(super) fn surely_after(self, time: Duration) -> bool {
        self.least >= time.saturating_add(MARGIN)
    }
}
