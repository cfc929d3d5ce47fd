//! Content codings of an answer (RFC 9110 section 8.4.1), whole or broken. The
//! framing around them stays intact.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::manifest::Ability;

/// `gzip: whole`, and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coding {
    /// Which coding.
    pub scheme: Scheme,
    /// What becomes of it.
    pub state: CodingState,
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// RFC 1952.
    Gzip,
    /// The zlib format (RFC 1950), as RFC 9110 section 8.4.1.2 has it.
    Deflate,
    /// RFC 7932.
    Br,
}

/// What becomes of coded content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodingState {
    /// It is sent as it must be.
    Whole,
    /// Only its first half is sent.
    Half,
    /// None of it is sent: the content has no bytes.
    Empty,
    /// It holds something that no decoder takes, from its start on.
    Corrupt,
}

impl Scheme {
    /// Its name in Content-Encoding.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Br => "br",
        }
    }

    /// What a client must be able to do to be judged by it.
    pub(super) fn ability(self) -> Ability {
        match self {
            Self::Gzip => Ability::DecodesGzip,
            Self::Deflate => Ability::DecodesDeflate,
            Self::Br => Ability::DecodesBr,
        }
    }

    fn encode(self, content: &[u8]) -> Vec<u8> {
        let level = flate2::Compression::default();
        // A vector takes every byte, so none of these can fail.
        match self {
            Self::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                let written = encoder.write_all(content);
                written.and_then(|()| encoder.finish()).unwrap_or_default()
            }
            Self::Deflate => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                let written = encoder.write_all(content);
                written.and_then(|()| encoder.finish()).unwrap_or_default()
            }
            Self::Br => {
                let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 20);
                let _ = encoder.write_all(content);
                encoder.into_inner()
            }
        }
    }

    /// Where a byte makes every decoder stop, and which: a block of the reserved
    /// type behind the header of gzip or zlib, a reserved window in brotli.
    fn poison(self) -> (usize, u8) {
        match self {
            Self::Gzip => (10, 0xff),
            Self::Deflate => (2, 0xff),
            Self::Br => (0, 0x11),
        }
    }
}

impl Coding {
    /// The content as it is sent.
    pub(super) fn encode(self, content: &[u8]) -> Vec<u8> {
        if self.state == CodingState::Empty {
            return Vec::new();
        }
        let mut coded = self.scheme.encode(content);
        match self.state {
            CodingState::Half => coded.truncate(coded.len() / 2),
            CodingState::Corrupt => {
                let (at, byte) = self.scheme.poison();
                if let Some(place) = coded.get_mut(at) {
                    *place = byte;
                }
            }
            CodingState::Whole | CodingState::Empty => {}
        }
        coded
    }

    /// Whether no client can decode it to its end.
    pub(super) fn is_broken(self) -> bool {
        matches!(self.state, CodingState::Half | CodingState::Corrupt)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn decode(scheme: Scheme, coded: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut content = Vec::new();
        match scheme {
            Scheme::Gzip => flate2::read::GzDecoder::new(coded).read_to_end(&mut content),
            Scheme::Deflate => flate2::read::ZlibDecoder::new(coded).read_to_end(&mut content),
            Scheme::Br => brotli::Decompressor::new(coded, 4096).read_to_end(&mut content),
        }?;
        Ok(content)
    }

    #[test]
    fn whole_content_is_what_it_was_and_broken_content_is_refused() {
        let long: Vec<u8> = (0..100_000_u32).map(|n| (n * 7 % 251) as u8).collect();
        for content in [&b"x"[..], b"hello, hello, hello", &long] {
            for scheme in [Scheme::Gzip, Scheme::Deflate, Scheme::Br] {
                let coded = |state| Coding { scheme, state }.encode(content);
                let whole = coded(CodingState::Whole);
                assert_eq!(decode(scheme, &whole).unwrap(), content, "{scheme:?}");
                assert_eq!(whole, coded(CodingState::Whole), "always the same bytes");
                assert!(
                    decode(scheme, &coded(CodingState::Half)).is_err(),
                    "{scheme:?}"
                );
                let corrupt = coded(CodingState::Corrupt);
                assert_eq!(corrupt.len(), whole.len());
                assert!(decode(scheme, &corrupt).is_err(), "{scheme:?}");
                assert!(coded(CodingState::Empty).is_empty());
            }
        }
    }
}
