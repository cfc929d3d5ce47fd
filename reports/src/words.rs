//! The words of enumerations, as records and scenarios write them.

use scenarios::verdict::Verdict;
use serde::Serialize;

/// The word of a value that is written as one.
pub fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        // Nothing but enumerations of words is passed here.
        _ => String::new(),
    }
}

/// The word of a verdict.
pub const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Skipped => "skipped",
        Verdict::Unsupported => "unsupported",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Fail => "fail",
        Verdict::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_a_word_agree() {
        for one in [
            Verdict::Pass,
            Verdict::Skipped,
            Verdict::Unsupported,
            Verdict::Inconclusive,
            Verdict::Fail,
            Verdict::Error,
        ] {
            assert_eq!(word(&one), verdict(one));
        }
    }
}
