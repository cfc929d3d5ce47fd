//! The content codings gzip, deflate and br (RFC 9110 section 8.4.1).

use std::io::{self, Write};

use brotli::DecompressorWriter;
use flate2::write::{GzDecoder, ZlibDecoder};

use super::{Fields, Malformed};

/// Bytes that the brotli decoder holds back at most.
const PIECE: usize = 16 * 1024;

/// Takes the coding off content as it comes.
pub(crate) struct Coding {
    how: How,
    /// Whether anything came: no bytes at all are content without a coding.
    begun: bool,
    broken: Option<Malformed>,
}

enum How {
    None,
    Gzip(GzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
    Br(Box<DecompressorWriter<Vec<u8>>>),
}

impl Coding {
    /// The coding that an answer's fields tell of. One that is not known here,
    /// or several, leave the content as it comes.
    pub(crate) fn of(fields: &Fields) -> Self {
        let named: Vec<_> = fields.members("Content-Encoding").collect();
        let how = match named.as_slice() {
            [name] => How::named(name),
            _ => How::None,
        };
        Self {
            how,
            begun: false,
            broken: None,
        }
    }

    /// Hands out what can be decoded with these further bytes.
    pub(crate) fn take(&mut self, coded: &[u8], plain: &mut impl FnMut(&[u8])) {
        if self.broken.is_some() {
            return;
        }
        self.begun |= !coded.is_empty();
        // Pieces, so that what a few bytes unfold to is never held whole.
        for piece in coded.chunks(1024) {
            let taken = self.how.take(piece, plain);
            if let Err(error) = taken {
                self.broken = Some(broken(&error));
                return;
            }
        }
    }

    /// Hands out the rest, now that nothing more comes.
    pub(crate) fn end(mut self, plain: &mut impl FnMut(&[u8])) -> Result<(), Malformed> {
        if self.begun && self.broken.is_none() {
            self.broken = self.how.end(plain).err().map(|error| broken(&error));
        }
        self.broken.map_or(Ok(()), Err)
    }
}

impl How {
    fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Self::Gzip(GzDecoder::new(Vec::new())),
            "deflate" => Self::Deflate(ZlibDecoder::new(Vec::new())),
            "br" => Self::Br(Box::new(DecompressorWriter::new(Vec::new(), PIECE))),
            _ => Self::None,
        }
    }

    fn take(&mut self, coded: &[u8], plain: &mut impl FnMut(&[u8])) -> io::Result<()> {
        let (taken, decoded) = match self {
            Self::None => {
                plain(coded);
                return Ok(());
            }
            Self::Gzip(decoder) => (decoder.write_all(coded), decoder.get_mut()),
            Self::Deflate(decoder) => (decoder.write_all(coded), decoder.get_mut()),
            Self::Br(decoder) => (decoder.write_all(coded), decoder.get_mut()),
        };
        plain(decoded);
        decoded.clear();
        taken
    }

    fn end(&mut self, plain: &mut impl FnMut(&[u8])) -> io::Result<()> {
        let (ended, decoded) = match self {
            Self::None => return Ok(()),
            Self::Gzip(decoder) => (decoder.try_finish(), decoder.get_mut()),
            Self::Deflate(decoder) => (decoder.try_finish(), decoder.get_mut()),
            Self::Br(decoder) => (decoder.close(), decoder.get_mut()),
        };
        plain(decoded);
        decoded.clear();
        ended
    }
}

fn broken(error: &io::Error) -> Malformed {
    Malformed::new(format!("the content's coding is broken: {error}"))
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    const TEXT: &[u8] = b"a text that is long enough to be coded, and to be cut in its middle";

    fn fields(coding: &str) -> Fields {
        let mut fields = Fields::default();
        let line = format!("Content-Encoding: {coding}");
        fields.take(line.as_bytes()).unwrap();
        fields
    }

    fn coded(coding: &str) -> Vec<u8> {
        match coding {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(TEXT).unwrap();
                encoder.finish().unwrap()
            }
            "deflate" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(TEXT).unwrap();
                encoder.finish().unwrap()
            }
            _ => {
                let mut out = Vec::new();
                let mut encoder = brotli::CompressorWriter::new(&mut out, PIECE, 9, 20);
                encoder.write_all(TEXT).unwrap();
                drop(encoder);
                out
            }
        }
    }

    fn decode(coding: &str, bytes: &[u8], piece: usize) -> (Vec<u8>, bool) {
        let mut decoder = Coding::of(&fields(coding));
        let mut plain = Vec::new();
        for piece in bytes.chunks(piece) {
            decoder.take(piece, &mut |data| plain.extend_from_slice(data));
        }
        let ended = decoder.end(&mut |data| plain.extend_from_slice(data));
        (plain, ended.is_ok())
    }

    #[test]
    fn whole_content_is_decoded_in_any_pieces() {
        for coding in ["gzip", "deflate", "br"] {
            for piece in [1, 7, 4096] {
                let decoded = decode(coding, &coded(coding), piece);
                assert_eq!(decoded, (TEXT.to_vec(), true), "{coding} {piece}");
            }
        }
    }

    #[test]
    fn content_that_ends_anywhere_before_its_end_is_broken() {
        for coding in ["gzip", "deflate", "br"] {
            let whole = coded(coding);
            for end in 1..whole.len() {
                assert!(!decode(coding, &whole[..end], 4096).1, "{coding} {end}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_coding_are_broken() {
        for coding in ["gzip", "deflate", "br"] {
            assert!(!decode(coding, &[0xff; 40], 4096).1, "{coding}");
        }
    }

    #[test]
    fn no_bytes_at_all_are_empty_content() {
        assert_eq!(decode("gzip", b"", 1), (Vec::new(), true));
    }

    #[test]
    fn an_unknown_coding_is_left_as_it_is() {
        assert_eq!(decode("zstd", b"abc", 2), (b"abc".to_vec(), true));
    }
}
