//! Contents to bytes: text with addresses in it, bytes from the seed, shapes in
//! the format of an API.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::plan::{Content, SentEvent, Shape};
use crate::template::Bindings;

/// A small body in the format of an API: whatever it is, it fits into one packet.
pub(crate) const SMALL: u64 = 256;

/// What is known when the bytes of a cell are made.
#[derive(Clone, Copy, Debug)]
pub struct Rendering<'a> {
    /// Where the servers listen.
    pub bindings: &'a Bindings,
    /// The format in which shapes are rendered.
    pub format: Format,
    /// The seed of the case.
    pub seed: u64,
}

/// The format of an API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// JSON without any conventions.
    #[default]
    PlainJson,
}

/// Bytes with what they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The media type, where the content says so itself.
    pub media: Option<&'static str>,
}

impl Content {
    /// The bytes; of an endless one its unit.
    pub fn render(&self, with: &Rendering<'_>) -> Rendered {
        let bytes = match self {
            Self::Text(text) | Self::Json(text) => text.render(with.bindings).into_bytes(),
            Self::Hex(bytes) => bytes.clone(),
            Self::Bytes(count) => seeded(*count, with.seed),
            Self::Endless(text) => text.clone().into_bytes(),
            Self::Events(events) => {
                return Rendered {
                    bytes: list(events).into_bytes(),
                    media: Some("text/event-stream"),
                };
            }
            Self::Shape(shape) => match with.format {
                Format::PlainJson => return plain_json(shape),
            },
        };
        Rendered { bytes, media: None }
    }

    /// Bytes as it goes on the wire, with addresses that stand for the servers;
    /// endless is more than any number.
    pub fn likely_length(&self, names: &Bindings) -> u64 {
        match self {
            Self::Text(text) | Self::Json(text) => text.render(names).len() as u64,
            Self::Hex(bytes) => bytes.len() as u64,
            Self::Bytes(bytes) => *bytes,
            Self::Endless(_) => u64::MAX,
            Self::Events(events) => list(events).len() as u64,
            Self::Shape(shape) => {
                let (Shape::Ok { size } | Shape::Error { size, .. } | Shape::Page { size }) = shape;
                size.unwrap_or(SMALL).max(SMALL)
            }
        }
    }

    /// How many bytes it has, where that does not depend on addresses.
    pub fn length(&self) -> Option<u64> {
        let bytes = match self {
            Self::Text(text) | Self::Json(text) if text.servers().next().is_none() => {
                text.render(&Bindings::default()).len()
            }
            Self::Hex(bytes) => bytes.len(),
            Self::Bytes(count) => return Some(*count),
            Self::Events(events) => list(events).len(),
            _ => return None,
        };
        u64::try_from(bytes).ok()
    }
}

fn list(events: &[SentEvent]) -> String {
    events.iter().map(SentEvent::text).collect()
}

/// The same bytes for the same seed; a longer one begins with a shorter one.
fn seeded(count: u64, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

fn plain_json(shape: &Shape) -> Rendered {
    let (text, media) = match shape {
        Shape::Ok { size } => (
            padded(r#"{"ok":true"#, r#","padding":""#, r#""}"#, "}", *size),
            "application/json",
        ),
        Shape::Error { code, size } => {
            let code = serde_json::Value::from(code.as_str());
            let begin = format!(r#"{{"error":{{"code":{code},"message":{code}}}"#);
            (
                padded(&begin, r#","padding":""#, r#""}"#, "}", *size),
                "application/json",
            )
        }
        Shape::Page { size } => (
            padded(
                "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1>",
                "<!-- ",
                " --></body></html>",
                "</body></html>",
                *size,
            ),
            "text/html",
        ),
    };
    Rendered {
        bytes: text.into_bytes(),
        media: Some(media),
    }
}

/// `begin` and `end`, with padding between where that is needed for the size.
fn padded(begin: &str, open: &str, close: &str, end: &str, size: Option<u64>) -> String {
    let plain = format!("{begin}{end}");
    let size = size.map_or(0, |size| usize::try_from(size).unwrap_or(0));
    if size <= plain.len() {
        return plain;
    }
    let fixed = begin.len() + open.len() + close.len();
    let padding = "x".repeat(size.saturating_sub(fixed));
    format!("{begin}{open}{padding}{close}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_its_size_and_stays_what_it_is() {
        for size in [0, 10, 11, 30, 500] {
            let ok = plain_json(&Shape::Ok { size: Some(size) });
            let json: serde_json::Value = serde_json::from_slice(&ok.bytes).expect("JSON");
            assert_eq!(json["ok"], true);
            assert!(ok.bytes.len() as u64 >= size);
        }
        let code = "a\"b".to_owned();
        let error = plain_json(&Shape::Error { code, size: None });
        let json: serde_json::Value = serde_json::from_slice(&error.bytes).expect("JSON");
        assert_eq!(json["error"]["code"], "a\"b");
        assert!(plain_json(&Shape::Page { size: Some(999) }).bytes.len() == 999);
    }

    #[test]
    fn seeded_bytes_are_the_same_for_the_same_seed_only() {
        assert_eq!(seeded(64, 1)[..8], seeded(8, 1));
        assert_ne!(seeded(64, 1), seeded(64, 2));
    }
}
