//! Google's Gemini, <https://ai.google.dev/api/generate-content> and
//! <https://ai.google.dev/gemini-api/docs/troubleshooting>.

use super::{Format, Frame};
use crate::operation::OperationName::{self, Create, Fetch};

pub(super) const FORMAT: Format = Format {
    requests: &[
        (
            Create,
            "POST",
            "/v1beta/models/gemini-2.5-flash:generateContent",
        ),
        (Fetch, "GET", "/v1beta/models/gemini-2.5-flash"),
    ],
    ok: |to| match to {
        OperationName::Fetch => Frame::json(
            r#"{"name":"models/gemini-2.5-flash","version":"001","displayName":"ok"#,
            r#""}"#,
        ),
        _ => Frame::json(
            r#"{"modelVersion":"gemini-2.5-flash","candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"text":"ok"#,
            r#""}]}}]}"#,
        ),
    },
    error: |code| {
        let begin = format!(r#"{{"error":{{"status":{code},"message":""#);
        Frame::json(begin, r#""}}"#)
    },
};
