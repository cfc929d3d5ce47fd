//! The chunked transfer coding (RFC 9112 section 7.1).

use super::{Fields, Malformed};

/// Bytes of framing, extensions and trailers that are taken in a row.
const LONGEST: usize = 16 * 1024;

/// Where in the coding the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In the digits of a size; how many there were.
    Size(u32),
    /// After blanks behind a size, where only an extension may follow.
    BeforeExtension,
    /// In a chunk extension.
    Extension,
    /// Before the LF that ends a size line.
    SizeEnd,
    /// In the data of a chunk.
    Data,
    /// Before the CR behind the data.
    DataCr,
    /// Before the LF behind the data.
    DataLf,
    /// In a line of the trailer section.
    Trailer,
    /// Behind the last byte.
    Done,
}

/// Takes the coding apart.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    at: At,
    /// The size being read, or the bytes of data still to come.
    left: u64,
    /// Bytes since the last byte of data.
    overhead: usize,
    /// The trailer line being read.
    line: Vec<u8>,
    trailers: Fields,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            at: At::Size(0),
            left: 0,
            overhead: 0,
            line: Vec::new(),
            trailers: Fields::default(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Whether every chunk that has begun is whole, so that nothing but the
    /// last chunk or its end is missing.
    pub(super) fn is_between_chunks(&self) -> bool {
        matches!(self.at, At::Size(0) | At::Trailer | At::Done)
            || (self.left == 0 && matches!(self.at, At::Size(_) | At::SizeEnd))
    }

    /// Takes what has arrived and hands out the data in it; says how many bytes
    /// it took, which is less than all only behind the end.
    pub(super) fn take(
        &mut self,
        input: &[u8],
        data: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Malformed> {
        let mut used = 0;
        while let Some(&byte) = input.get(used).filter(|_| !self.is_done()) {
            if self.at == At::Data {
                let rest = input.get(used..).unwrap_or_default();
                let size = usize::try_from(self.left).map_or(rest.len(), |n| n.min(rest.len()));
                data(rest.get(..size).unwrap_or_default());
                used += size;
                self.left -= size as u64;
                self.overhead = 0;
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                continue;
            }
            self.at = self.step(byte)?;
            used += 1;
            self.overhead += 1;
            if self.overhead > LONGEST {
                return Err(Malformed::new("more than 16 KiB between two chunks"));
            }
        }
        Ok(used)
    }

    fn step(&mut self, byte: u8) -> Result<At, Malformed> {
        match (self.at, byte) {
            (At::Size(digits), _) if byte.is_ascii_hexdigit() => self.digit(digits, byte),
            (At::Size(1..), b'\r') => Ok(At::SizeEnd),
            (At::Size(1..) | At::BeforeExtension, b';') => Ok(At::Extension),
            (At::Size(1..) | At::BeforeExtension, b' ' | b'\t') => Ok(At::BeforeExtension),
            (At::Extension, b'\r') => Ok(At::SizeEnd),
            (At::Extension, b' '..=b'~' | b'\t' | 0x80..) => Ok(At::Extension),
            (At::SizeEnd, b'\n') if self.left == 0 => Ok(At::Trailer),
            (At::SizeEnd, b'\n') => Ok(At::Data),
            (At::DataCr, b'\r') => Ok(At::DataLf),
            (At::DataLf, b'\n') => Ok(At::Size(0)),
            (At::Trailer, b'\n') => self.trailer(),
            (At::Trailer, _) => {
                self.line.push(byte);
                Ok(At::Trailer)
            }
            (At::DataCr | At::DataLf, _) => Err(Malformed::new("a chunk is longer than its size")),
            _ => Err(Malformed::new(format!(
                "a chunk size cannot hold {:?}",
                char::from(byte)
            ))),
        }
    }

    fn digit(&mut self, digits: u32, byte: u8) -> Result<At, Malformed> {
        let value = char::from(byte).to_digit(16).unwrap_or_default();
        let so_far = if digits == 0 { 0 } else { self.left };
        self.left = so_far
            .checked_mul(16)
            .and_then(|size| size.checked_add(u64::from(value)))
            .ok_or_else(|| Malformed::new("a chunk size beyond all bounds"))?;
        Ok(At::Size(digits + 1))
    }

    fn trailer(&mut self) -> Result<At, Malformed> {
        let line = std::mem::take(&mut self.line);
        let line = line
            .strip_suffix(b"\r")
            .ok_or_else(|| Malformed::new("a trailer line ends without CR"))?;
        if line.is_empty() {
            return Ok(At::Done);
        }
        self.trailers.take(line)?;
        Ok(At::Trailer)
    }
}

/// Appends content in chunks of at most `size` bytes, and the last chunk.
pub(super) fn encode(content: &[u8], size: usize, out: &mut Vec<u8>) {
    for chunk in content.chunks(size.max(1)) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(text: &[u8], piece: usize) -> Result<(Vec<u8>, Decoder, usize), Malformed> {
        let mut decoder = Decoder::new();
        let mut content = Vec::new();
        let mut used = 0;
        for piece in text.chunks(piece) {
            used += decoder.take(piece, &mut |data| content.extend_from_slice(data))?;
        }
        Ok((content, decoder, used))
    }

    #[test]
    fn sizes_extensions_and_trailers_are_taken() {
        let text = b"5;a=b\r\nhello\r\n06 ; x=\"y\"\r\n world\r\n0\r\nX-Sum: 5\r\n\r\nmore";
        let (content, decoder, used) = decode(text, text.len()).unwrap();
        assert_eq!(content, b"hello world");
        assert!(decoder.is_done());
        assert_eq!(&text[used..], b"more");
    }

    #[test]
    fn wrong_framing_is_refused() {
        for text in [
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "0x5\r\n",
            "5\nhello",
            "5 5\r\n",
            "5\r\nhello!\r\n",
            "5\r\nhello\n",
            "11111111111111111\r\n",
            "0\r\nno colon\r\n\r\n",
            "0\r\nX: 1\n\r\n",
        ] {
            assert!(decode(text.as_bytes(), 64).is_err(), "{text:?}");
        }
    }

    #[test]
    fn only_a_missing_last_chunk_counts_as_between_chunks() {
        let state = |text: &str| decode(text.as_bytes(), 64).unwrap().1.is_between_chunks();
        for text in [
            "",
            "5\r\nhello\r\n",
            "5\r\nhello\r\n0",
            "5\r\nhello\r\n0\r\n",
            "0\r\n\r",
        ] {
            assert!(state(text), "{text:?}");
        }
        for text in ["5", "5\r\n", "5\r\nhell", "5\r\nhello", "5\r\nhello\r"] {
            assert!(!state(text), "{text:?}");
        }
    }

    #[test]
    fn endless_framing_is_refused() {
        let text = format!("5;{}", "x".repeat(LONGEST));
        assert!(decode(text.as_bytes(), 999).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, piece in 1_usize..9) {
            let _ = decode(&bytes, piece);
        }

        #[test]
        fn what_was_encoded_is_decoded_in_any_pieces(
            content: Vec<u8>, chunk in 1_usize..70, piece in 1_usize..9
        ) {
            let mut wire = Vec::new();
            encode(&content, chunk, &mut wire);
            let (decoded, decoder, used) = decode(&wire, piece).unwrap();
            prop_assert_eq!(decoded, content);
            prop_assert!(decoder.is_done());
            prop_assert_eq!(used, wire.len());
        }

        #[test]
        fn no_beginning_of_a_coding_is_whole(content: Vec<u8>, chunk in 1_usize..70) {
            let mut wire = Vec::new();
            encode(&content, chunk, &mut wire);
            for end in 0..wire.len() {
                prop_assert!(!decode(&wire[..end], wire.len()).unwrap().1.is_done());
            }
        }
    }
}
