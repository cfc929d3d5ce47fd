//! The words of enumerations, as records and scenarios write them.

use scenarios::verdict::{EndedBy, Verdict};
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

/// How the harness made the end of a cell, which bounds what was seen; none
/// when the client ended by itself.
pub const fn bounded(ended_by: EndedBy) -> Option<&'static str> {
    match ended_by {
        EndedBy::Exit => None,
        EndedBy::Finish => Some("told to finish"),
        EndedBy::Enough => Some("stopped at enough requests"),
        EndedBy::Cap => Some("stopped at the cap"),
        EndedBy::Deadline => Some("stopped at the deadline"),
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
