//! OpenAI's chat completions, <https://platform.openai.com/docs/api-reference/chat>
//! and <https://platform.openai.com/docs/guides/error-codes>.

use super::{Format, Frame};
use crate::operation::OperationName::{Create, Fetch};

pub(super) const FORMAT: Format = Format {
    requests: &[
        (Create, "POST", "/v1/chat/completions"),
        (Fetch, "GET", "/v1/chat/completions/chatcmpl-1"),
    ],
    ok: |_| {
        let begin = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1767225600,"model":"gpt-5","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"ok"#;
        Frame::json(begin, r#""}}]}"#)
    },
    error: |code| {
        let begin =
            format!(r#"{{"error":{{"type":"server_error","param":null,"code":{code},"message":""#);
        Frame::json(begin, r#""}}"#)
    },
};
