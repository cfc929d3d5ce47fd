//! Points in requests, and how a connection ends there.

use scripted_servers::wire::{End, Position, RequestPoint};

use crate::document::decode::unknown_word;
use crate::document::{Node, Value, ids};

use super::Reading;

const ENDS: &[(&str, End)] = &[
    ("reset", End::Reset),
    ("close", End::Close),
    ("half-close", End::HalfClose),
    ("hang", End::Hang),
];

impl Reading<'_> {
    /// How a connection ends.
    pub(crate) fn end(&mut self, node: &Node) -> Option<End> {
        if self.later(node, &["bare-close"]) {
            return None;
        }
        node.word("an end of a connection", ENDS, self.out)
    }

    /// A point in a request.
    pub(crate) fn request_point(&mut self, node: &Node) -> Option<RequestPoint> {
        const FORMS: &str = "`request`, `{head: N}` or `{body: N}`";
        if node.is_word("request") {
            return Some(RequestPoint::Request);
        }
        if !matches!(node.value, Value::Map(_)) {
            return node.wrong("a point in a request", FORMS, self.out);
        }
        let (key, value) = node.tagged("a point in a request", self.out)?;
        match key.text.as_str() {
            "head" => self.request_head(value),
            "body" => self.request_body_point(value),
            word => {
                let words = ["head", "body"].into_iter();
                unknown_word(&key.span, word, "a part of a request", words, self.out);
                None
            }
        }
    }

    fn request_head(&mut self, value: &Node) -> Option<RequestPoint> {
        let position = value.position("a place in the head", self.out)?;
        if position == Position::Bytes(0) {
            self.out
                .report(ids::BAD_POSITION, &value.span, "no byte of the request")
                .label("a step is taken at the first byte of a request")
                .help("to end a connection before one, write `connections: [reset, serve]`");
            return None;
        }
        Some(RequestPoint::Head(position))
    }

    fn request_body_point(&mut self, value: &Node) -> Option<RequestPoint> {
        let position = value.position("a place in the body", self.out)?;
        if position == Position::All {
            self.out
                .report(
                    ids::BAD_POSITION,
                    &value.span,
                    "`{body: all}` is the whole request",
                )
                .label("nothing of the request is left after this")
                .help("write `request`");
            return None;
        }
        Some(RequestPoint::Body(position))
    }
}
