//! Why a server says "not now": some causes end by waiting, others do not. The status is
//! the same, and the content tells.

use serde_json::Value;

use crate::exchange::Answer;

/// Codes of causes that no wait of a client ends: money that is spent, a trial that is
/// over, an account that is closed. Words of OpenAI's and Anthropic's API and of those
/// that speak as they do.
const HOPELESS: &[&str] = &[
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_quota",
    "spend_limit_reached",
    "trial_expired",
];

/// What stands in the name of a quota of Gemini's API that is one for a day.
const A_DAY: &str = "PerDay";

/// Whether waiting does not help against what an answer says.
pub(crate) fn is_hopeless(answer: &Answer) -> bool {
    let content: Option<Value> = serde_json::from_slice(&answer.kept).ok();
    // Gemini's API gives a list with one error in it where it streams.
    let content = content
        .as_ref()
        .map(|content| content.get(0).unwrap_or(content));
    content
        .and_then(|content| content.get("error"))
        .is_some_and(|error| is_of_a_code(error) || is_of_a_day(error))
}

fn is_of_a_code(error: &Value) -> bool {
    let words = ["code", "type"].into_iter();
    let mut words = words.filter_map(|key| error.get(key)?.as_str());
    words.any(|word| HOPELESS.contains(&word))
}

fn is_of_a_day(error: &Value) -> bool {
    let details = error.get("details").and_then(Value::as_array);
    let violations = details
        .into_iter()
        .flatten()
        .filter_map(|detail| detail.get("violations").and_then(Value::as_array));
    violations.flatten().any(|violation| {
        let quota = violation.get("quotaId").and_then(Value::as_str);
        quota.is_some_and(|quota| quota.contains(A_DAY))
    })
}

#[cfg(test)]
mod tests {
    use client_kit::digest::BodyDigest;

    use super::*;
    use crate::codec::Fields;

    fn hopeless(content: &str) -> bool {
        is_hopeless(&Answer {
            status: 429,
            fields: Fields::default(),
            content: BodyDigest::new(),
            kept: content.as_bytes().to_vec(),
            whole: true,
            reusable: true,
        })
    }

    #[test]
    fn the_content_tells_causes_apart() {
        for content in [
            r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}"#,
            r#"{"type":"error","error":{"type":"billing_error"}}"#,
            r#"{"error":{"details":[{},{"violations":[{"quotaId":"RequestsPerDayPerModel"}]}]}}"#,
            r#"[{"error":{"details":[{"violations":[{"quotaId":"TokensPerDay"}]}]}}]"#,
        ] {
            assert!(hopeless(content), "{content}");
        }
        for content in [
            r#"{"error":{"code":"rate_limit_exceeded","type":"requests"}}"#,
            r#"{"type":"error","error":{"type":"rate_limit_error"}}"#,
            r#"{"error":{"details":[{"violations":[{"quotaId":"RequestsPerMinute"}]}]}}"#,
            r#"{"error":"insufficient_quota"}"#,
            "insufficient_quota",
            "",
        ] {
            assert!(!hopeless(content), "{content}");
        }
    }
}
