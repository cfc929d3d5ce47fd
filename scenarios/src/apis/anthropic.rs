//! Anthropic's messages, <https://docs.anthropic.com/en/api/messages> and
//! <https://docs.anthropic.com/en/api/errors>.

use super::{Format, Frame};
use crate::operation::OperationName::{self, Create, Fetch};

pub(super) const FORMAT: Format = Format {
    requests: &[
        (Create, "POST", "/v1/messages"),
        (Fetch, "GET", "/v1/models/claude-sonnet-4-5"),
    ],
    ok: |to| match to {
        OperationName::Fetch => Frame::json(
            r#"{"type":"model","id":"claude-sonnet-4-5","created_at":"2026-01-01T00:00:00Z","display_name":"ok"#,
            r#""}"#,
        ),
        _ => Frame::json(
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"content":[{"type":"text","text":"ok"#,
            r#""}]}"#,
        ),
    },
    error: |code| {
        let begin = format!(r#"{{"type":"error","error":{{"type":{code},"message":""#);
        Frame::json(begin, r#""}}"#)
    },
};
