//! What an assertion expects of one value: a matcher, the client's own policy,
//! or nothing, when the value is only shown. And how these are decoded.

pub mod counts;
pub mod values;

use std::cmp::Ordering;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::matcher::Matcher;
use crate::verdict::Outcome;

/// What is expected of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected<T> {
    /// A value that fits.
    Fits(Matcher<T>),
    /// What the client's declared policy makes of the script.
    ByPolicy,
    /// Nothing: the value is shown.
    Shown,
}

/// On which side of a matcher a value lies; none when it fits.
pub fn side<T: PartialOrd>(matcher: &Matcher<T>, value: &T) -> Option<Ordering> {
    if matcher.fits(value) {
        return None;
    }
    let above = match matcher {
        Matcher::OneOf(values) => values.iter().all(|one| one < value),
        Matcher::Range { at_most, .. } => at_most.as_ref().is_some_and(|high| high < value),
    };
    Some(if above {
        Ordering::Greater
    } else {
        Ordering::Less
    })
}

/// A value as people read it.
pub trait Words {
    /// In words.
    fn words(&self) -> String;
}

impl Words for u64 {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl Words for u16 {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl Words for Duration {
    fn words(&self) -> String {
        let micros = self.as_micros();
        match micros {
            0 => "0ms".to_owned(),
            _ if micros.is_multiple_of(1_000_000) => format!("{}s", micros / 1_000_000),
            _ if micros.is_multiple_of(1_000) => format!("{}ms", micros / 1_000),
            _ => format!("{}.{:03}ms", micros / 1_000, micros % 1_000),
        }
    }
}

impl Words for Outcome {
    fn words(&self) -> String {
        match self {
            Self::Success => "success",
            Self::Rejected => "rejected",
            Self::NotSent => "not-sent",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Held => "held",
            Self::Hung => "hung",
            Self::Crashed => "crashed",
            Self::Mixed => "mixed",
        }
        .to_owned()
    }
}

impl<T: Words> Words for Matcher<T> {
    fn words(&self) -> String {
        match self {
            Self::OneOf(values) => {
                let values: Vec<_> = values.iter().map(Words::words).collect();
                values.join(" or ")
            }
            Self::Range { at_least, at_most } => match (at_least.as_ref(), at_most.as_ref()) {
                (Some(low), Some(high)) => {
                    format!("from {} to {}", low.words(), high.words())
                }
                (Some(low), None) => format!("at least {}", low.words()),
                (None, Some(high)) => format!("at most {}", high.words()),
                (None, None) => "anything".to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_above_or_below_what_fits() {
        let range = Matcher::Range {
            at_least: Some(1),
            at_most: Some(3),
        };
        assert_eq!(side(&range, &2), None);
        assert_eq!(side(&range, &4), Some(Ordering::Greater));
        assert_eq!(side(&range, &0), Some(Ordering::Less));
        let list = Matcher::OneOf(vec![0, 2]);
        assert_eq!(side(&list, &1), Some(Ordering::Less));
        assert_eq!(side(&list, &3), Some(Ordering::Greater));
    }

    #[test]
    fn durations_read_as_they_are_written() {
        assert_eq!(Duration::from_millis(1500).words(), "1500ms");
        assert_eq!(Duration::from_secs(2).words(), "2s");
        assert_eq!(Duration::from_micros(1_234_056).words(), "1234.056ms");
        assert_eq!(Duration::ZERO.words(), "0ms");
    }
}
