//! JSON without any conventions, for clients that are given a method and a URL.

use super::{Format, Frame};
use crate::operation::OperationName::{Create, Fetch, Remove, Replace, Upload};

pub(super) const FORMAT: Format = Format {
    requests: &[
        (Create, "POST", "/items"),
        (Fetch, "GET", "/items/1"),
        (Replace, "PUT", "/items/1"),
        (Remove, "DELETE", "/items/1"),
        (Upload, "PUT", "/files/1"),
    ],
    ok: |_| padded(r#"{"ok":true"#.to_owned()),
    error: |code| padded(format!(r#"{{"error":{{"code":{code},"message":{code}}}"#)),
};

fn padded(begin: String) -> Frame {
    Frame {
        padding: [r#","padding":""#, r#""}"#],
        ..Frame::json(begin, "}")
    }
}
