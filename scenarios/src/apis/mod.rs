//! The formats of APIs: what a client's operations request, and how a server
//! says "done", "no" and "bad gateway" there. One file for each.
//!
//! A client of an API takes no answer in another format, so what a scenario calls
//! by name (an operation, a shape) is put into words here. Nothing here depends on
//! a case.

mod anthropic;
mod gemini;
mod openai;
mod plain_json;
mod s3;
mod stripe;

use serde::{Deserialize, Serialize};

use crate::operation::OperationName;
use crate::plan::Shape;
use crate::rendering::Rendered;

/// The API that a client speaks. The word of the language is its kebab-case name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// JSON without any conventions.
    #[default]
    PlainJson,
    /// OpenAI's chat completions.
    OpenaiChat,
    /// Anthropic's messages.
    AnthropicMessages,
    /// Google's Gemini.
    Gemini,
    /// Stripe's charges.
    Stripe,
    /// Objects of Amazon's S3, addressed by path.
    S3,
}

/// The words of the APIs.
pub(crate) const APIS: &[(&str, Api)] = &[
    ("plain-json", Api::PlainJson),
    ("openai-chat", Api::OpenaiChat),
    ("anthropic-messages", Api::AnthropicMessages),
    ("gemini", Api::Gemini),
    ("stripe", Api::Stripe),
    ("s3", Api::S3),
];

/// The request of an operation: its method and its path.
type Request = (OperationName, &'static str, &'static str);

/// An API in words.
struct Format {
    requests: &'static [Request],
    /// A good answer to an operation.
    ok: fn(OperationName) -> Frame,
    /// An error with a code, which is JSON text already.
    error: fn(&str) -> Frame,
}

/// A text that can be made longer without changing what it is.
struct Frame {
    media: &'static str,
    begin: String,
    end: &'static str,
    /// What stands around the padding, and then instead of `end`.
    padding: [&'static str; 2],
}

impl Frame {
    /// Padded at the end of the text with which it begins.
    fn json(begin: impl Into<String>, end: &'static str) -> Self {
        Self {
            media: "application/json",
            begin: begin.into(),
            end,
            padding: ["", end],
        }
    }

    /// Of at least so many bytes.
    fn filled(self, size: Option<u64>) -> Rendered {
        let plain = format!("{}{}", self.begin, self.end);
        let size = size.map_or(0, |size| usize::try_from(size).unwrap_or(0));
        let [open, close] = self.padding;
        let bytes = if size <= plain.len() {
            plain
        } else {
            let fixed = self.begin.len() + open.len() + close.len();
            let padding = "x".repeat(size.saturating_sub(fixed));
            format!("{}{open}{padding}{close}", self.begin)
        };
        Rendered {
            bytes: bytes.into_bytes(),
            media: Some(self.media),
        }
    }
}

impl Api {
    fn format(self) -> &'static Format {
        match self {
            Self::PlainJson => &plain_json::FORMAT,
            Self::OpenaiChat => &openai::FORMAT,
            Self::AnthropicMessages => &anthropic::FORMAT,
            Self::Gemini => &gemini::FORMAT,
            Self::Stripe => &stripe::FORMAT,
            Self::S3 => &s3::FORMAT,
        }
    }

    /// The method and the path of an operation's request; none: it has no such
    /// operation.
    pub(crate) fn request(self, operation: OperationName) -> Option<(&'static str, &'static str)> {
        let mut requests = self.format().requests.iter();
        requests
            .find(|(name, ..)| *name == operation)
            .map(|(_, method, path)| (*method, *path))
    }

    /// A shape, as an answer to an operation.
    pub(crate) fn render(self, shape: &Shape, to: OperationName) -> Rendered {
        let format = self.format();
        match shape {
            Shape::Ok { size } => (format.ok)(to).filled(*size),
            Shape::Error { code, size } => {
                let code = serde_json::Value::from(code.as_str()).to_string();
                (format.error)(&code).filled(*size)
            }
            Shape::Page { size } => page().filled(*size),
        }
    }
}

/// A gateway knows nothing of the API behind it.
fn page() -> Frame {
    Frame {
        media: "text/html",
        begin: "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1>"
            .to_owned(),
        end: "</body></html>",
        padding: ["<!-- ", " --></body></html>"],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn json(rendered: &Rendered) -> Value {
        serde_json::from_slice(&rendered.bytes).expect("JSON")
    }

    #[test]
    fn every_answer_of_every_api_has_its_size_and_stays_what_it_is() {
        for (word, api) in APIS {
            for (operation, ..) in api.format().requests {
                for size in [0, 10, 30, 500, 5000] {
                    let ok = api.render(&Shape::Ok { size: Some(size) }, *operation);
                    assert!(ok.bytes.len() as u64 >= size, "{word} {operation:?}");
                    if size >= 500 {
                        assert_eq!(ok.bytes.len() as u64, size, "{word} {operation:?}");
                    }
                    if ok.media == Some("application/json") {
                        let said = json(&ok).to_string();
                        assert!(said.contains("\"ok"), "{word}: {said}");
                    }
                }
            }
        }
        let page = Api::PlainJson.render(&Shape::Page { size: Some(999) }, OperationName::Fetch);
        assert_eq!((page.bytes.len(), page.media), (999, Some("text/html")));
    }

    #[test]
    fn every_error_has_its_code_whatever_that_is() {
        let code = "a\"<b>".to_owned();
        for (word, api) in APIS {
            let shape = Shape::Error {
                code: code.clone(),
                size: Some(600),
            };
            let error = api.render(&shape, OperationName::Create);
            assert_eq!(error.bytes.len(), 600, "{word}");
            let text = String::from_utf8(error.bytes.clone()).unwrap();
            if error.media == Some("application/xml") {
                assert!(text.contains("<Code>a\"&lt;b&gt;</Code>"), "{text}");
            } else {
                let found = json(&error)["error"].to_string();
                assert!(found.contains(r#"a\"<b>"#), "{word}: {text}");
            }
        }
    }

    #[test]
    fn a_small_answer_fits_what_is_said_of_small_answers() {
        for (word, api) in APIS {
            for (operation, ..) in api.format().requests {
                let ok = api.render(&Shape::Ok { size: None }, *operation);
                let small = crate::rendering::SMALL;
                assert!(ok.bytes.len() as u64 <= small, "{word}: {}", ok.bytes.len());
            }
        }
    }
}
