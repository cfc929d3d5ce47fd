//! Contents to bytes: text with addresses in it, bytes from the seed, shapes in
//! the format of the client's API.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::apis::Api;
use crate::manifest::OperationName;
use crate::plan::{Content, SentEvent, Shape};
use crate::template::Bindings;

/// A small body in the format of an API: whatever it is, it fits into one packet.
pub(crate) const SMALL: u64 = 256;

/// What is known when the bytes of a cell are made.
#[derive(Clone, Copy, Debug)]
pub struct Rendering<'a> {
    /// Where the servers listen.
    pub bindings: &'a Bindings,
    /// The API in whose format shapes are rendered.
    pub api: Api,
    /// What they answer.
    pub to: OperationName,
    /// The seed of the case.
    pub seed: u64,
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
            Self::Shape(shape) => return with.api.render(shape, with.to),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_bytes_are_the_same_for_the_same_seed_only() {
        assert_eq!(seeded(64, 1)[..8], seeded(8, 1));
        assert_ne!(seeded(64, 1), seeded(64, 2));
    }
}
