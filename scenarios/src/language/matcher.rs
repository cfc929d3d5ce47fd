//! Matchers: which values fit.

use serde::{Deserialize, Serialize};

/// An exact value or any of several, or a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matcher<T> {
    /// Any of these; never empty.
    OneOf(Vec<T>),
    /// Within bounds, of which one may be missing.
    Range {
        /// The lowest that fits.
        at_least: Option<T>,
        /// The highest that fits.
        at_most: Option<T>,
    },
}

impl<T: PartialOrd> Matcher<T> {
    /// Whether a value fits.
    pub fn fits(&self, value: &T) -> bool {
        match self {
            Self::OneOf(values) => values.contains(value),
            Self::Range { at_least, at_most } => {
                at_least.as_ref().is_none_or(|low| low <= value)
                    && at_most.as_ref().is_none_or(|high| value <= high)
            }
        }
    }
}

/// The lowest and the highest value that fit; none: there is no such bound.
pub fn bounds<T: Ord + Copy>(matcher: &Matcher<T>) -> (Option<T>, Option<T>) {
    match matcher {
        Matcher::OneOf(values) => (values.iter().min().copied(), values.iter().max().copied()),
        Matcher::Range { at_least, at_most } => (*at_least, *at_most),
    }
}
