//! Objects of Amazon's S3 with the bucket in the path,
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html>
//! and <https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>.
//! What is put is put again by the same request, so nothing here creates.

use super::{Format, Frame};
use crate::operation::OperationName::{Fetch, Remove, Replace, Upload};

pub(super) const FORMAT: Format = Format {
    requests: &[
        (Fetch, "GET", "/bucket/item"),
        (Replace, "PUT", "/bucket/item"),
        (Remove, "DELETE", "/bucket/item"),
        (Upload, "PUT", "/bucket/file"),
    ],
    // Of an object any content will do. S3 itself gives the others none; one is needed
    // for what is cut in it, and it has to be XML: boto3 takes a 200 with anything else
    // in it for a 500. So it is the same for all, as a server has one for all its calls.
    ok: |_| xml("<Result><Padding>ok".to_owned(), "</Padding></Result>"),
    error: |code| {
        let code: String = serde_json::from_str(code).unwrap_or_default();
        let code = code
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        xml(
            format!("<Error><Code>{code}</Code><Message>"),
            "</Message></Error>",
        )
    },
};

fn xml(begin: String, end: &'static str) -> Frame {
    Frame {
        media: "application/xml",
        begin: format!(r#"<?xml version="1.0" encoding="UTF-8"?>{begin}"#),
        end,
        padding: ["", end],
    }
}
