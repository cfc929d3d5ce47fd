//! Stripe's charges, <https://docs.stripe.com/api/charges> and
//! <https://docs.stripe.com/api/errors>.

use super::{Format, Frame};
use crate::operation::OperationName::{Create, Fetch};

pub(super) const FORMAT: Format = Format {
    requests: &[
        (Create, "POST", "/v1/charges"),
        (Fetch, "GET", "/v1/charges/ch_1"),
    ],
    ok: |_| {
        let begin = r#"{"id":"ch_1","object":"charge","amount":100,"currency":"usd","paid":true,"status":"succeeded","description":"ok"#;
        Frame::json(begin, r#""}"#)
    },
    error: |code| {
        let begin = format!(r#"{{"error":{{"type":"api_error","code":{code},"message":""#);
        Frame::json(begin, r#""}}"#)
    },
};
