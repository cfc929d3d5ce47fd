//! The head of an answer: status line and fields (RFC 9112 sections 4 and 5).

use super::{Body, Fields, Framing, Malformed};

/// Bytes of a head that are taken.
const LONGEST: usize = 64 * 1024;
/// What every head begins with, up to the minor version.
const BEGINNING: &[u8] = b"HTTP/1.";

/// What is let pass although RFC 9112 section 6.3 makes it an error.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lenience {
    /// Of several lengths that differ, the first is taken.
    pub(crate) conflicting: bool,
    /// A length that is no number is taken for absent.
    pub(crate) unreadable: bool,
}

/// A complete head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Whether it speaks HTTP/1.0.
    pub(crate) old: bool,
    /// Status code.
    pub(crate) status: u16,
    /// Fields.
    pub(crate) fields: Fields,
}

impl Head {
    /// Reads a head from the beginning of `bytes`; also says how many bytes it
    /// took. None: it is not complete yet, and nothing is wrong so far.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let begun = bytes.len().min(BEGINNING.len());
        if bytes.get(..begun) != BEGINNING.get(..begun) {
            return Err(Malformed::new("the answer does not begin with HTTP/1."));
        }
        let Some((line, mut at)) = next_line(bytes, 0)? else {
            return Ok(None);
        };
        let mut head = status_line(line)?;
        loop {
            let Some((line, next)) = next_line(bytes, at)? else {
                return Ok(None);
            };
            at = next;
            if line.is_empty() {
                return Ok(Some((head, at)));
            }
            head.fields.take(line)?;
        }
    }

    /// Whether another head follows this one (RFC 9110 section 15.2).
    pub(crate) const fn is_interim(&self) -> bool {
        self.status >= 100 && self.status < 200
    }

    /// Whether the connection may serve another request after this answer.
    pub(crate) fn keeps_connection(&self) -> bool {
        let says = |word: &str| {
            self.fields
                .members("Connection")
                .any(|member| member.eq_ignore_ascii_case(word))
        };
        !says("close") && (!self.old || says("keep-alive"))
    }

    /// How the content ends (RFC 9112 section 6.3).
    pub(crate) fn body(&self, method: &str, lenience: Lenience) -> Result<Body, Malformed> {
        if method == "HEAD" || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Body::new(Framing::Length(0)));
        }
        let codings: Vec<_> = self.fields.members("Transfer-Encoding").collect();
        let length = self.length(lenience)?;
        match (codings.as_slice(), length) {
            ([], Some(length)) => Ok(Body::new(Framing::Length(length))),
            ([], None) => Ok(Body::new(Framing::Close)),
            (_, Some(_)) => Err(Malformed::new(
                "both Transfer-Encoding and Content-Length are given",
            )),
            _ if self.old => Err(Malformed::new("Transfer-Encoding in an HTTP/1.0 answer")),
            ([coding], None) if coding.eq_ignore_ascii_case("chunked") => {
                Ok(Body::new(Framing::Chunked))
            }
            (codings, None) => Err(Malformed::new(format!(
                "transfer coding {codings:?} is not understood"
            ))),
        }
    }

    fn length(&self, lenience: Lenience) -> Result<Option<u64>, Malformed> {
        let mut length = None;
        for member in self.fields.members("Content-Length") {
            let digits = !member.is_empty() && member.bytes().all(|byte| byte.is_ascii_digit());
            let this = match member.parse::<u64>() {
                Ok(this) if digits => this,
                _ if lenience.unreadable => continue,
                _ => return Err(Malformed::new(format!("not a Content-Length: {member:?}"))),
            };
            match length {
                None => length = Some(this),
                Some(first) if first == this || lenience.conflicting => {}
                Some(first) => {
                    return Err(Malformed::new(format!(
                        "two Content-Lengths, {first} and {this}"
                    )));
                }
            }
        }
        Ok(length)
    }
}

/// The line from `at` without its CRLF, and where the next one begins.
fn next_line(bytes: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, Malformed> {
    let rest = bytes.get(at..).unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b'\n');
    if at + end.unwrap_or(rest.len()) > LONGEST {
        return Err(Malformed::new("the head is longer than 64 KiB"));
    }
    let Some(end) = end else {
        return Ok(None);
    };
    match rest.get(..end).and_then(|line| line.strip_suffix(b"\r")) {
        Some(line) => Ok(Some((line, at + end + 1))),
        None => Err(Malformed::new("a line of the head ends without CR")),
    }
}

fn status_line(line: &[u8]) -> Result<Head, Malformed> {
    let bad = || {
        Malformed::new(format!(
            "not a status line: {:?}",
            String::from_utf8_lossy(line.get(..line.len().min(60)).unwrap_or_default())
        ))
    };
    let rest = line.strip_prefix(BEGINNING).ok_or_else(bad)?;
    let (old, rest) = match rest {
        [b'0', b' ', rest @ ..] => (true, rest),
        [b'1', b' ', rest @ ..] => (false, rest),
        _ => return Err(bad()),
    };
    // The blank before an empty reason is often forgotten; nothing hangs on it.
    let digits = match rest {
        [a, b, c] | [a, b, c, b' ', ..] => [*a, *b, *c],
        _ => return Err(bad()),
    };
    if !digits.iter().all(u8::is_ascii_digit) || digits[0] < b'1' || digits[0] > b'5' {
        return Err(bad());
    }
    let status = digits
        .iter()
        .fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    Ok(Head {
        old,
        status,
        fields: Fields::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<(Head, usize)>, Malformed> {
        Head::parse(text.as_bytes())
    }

    fn whole(text: &str) -> Head {
        head(text).unwrap().unwrap().0
    }

    #[test]
    fn a_head_says_where_it_ends() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let (head, used) = head(text).unwrap().unwrap();
        assert_eq!((head.status, head.old), (200, false));
        assert_eq!(&text[used..], "ok");
    }

    #[test]
    fn every_beginning_of_a_head_is_unfinished_and_not_wrong() {
        let text = "HTTP/1.1 200 OK\r\nX: 1\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(head(&text[..end]), Ok(None), "{:?}", &text[..end]);
        }
    }

    #[test]
    fn what_is_no_head_is_refused_as_soon_as_it_shows() {
        for text in [
            "SSH-2.0-x",
            "HTTP/2",
            "HTTP/1.1 20 OK\r\n",
            "HTTP/1.1 2000 OK\r\n",
            "HTTP/1.1 +20 OK\r\n",
            "HTTP/1.1 999 OK\r\n",
            "HTTP/1.1  200 OK\r\n",
            "HTTP/1.2 200 OK\r\n",
            "HTTP/1.1 200 OK\n",
            "HTTP/1.1 200 OK\r\nX: 1\nY: 2\r\n\r\n",
        ] {
            assert!(head(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_reason_may_be_missing() {
        assert_eq!(whole("HTTP/1.1 204\r\n\r\n").status, 204);
        assert_eq!(whole("HTTP/1.0 404 \r\n\r\n").status, 404);
    }

    #[test]
    fn a_head_without_end_is_refused() {
        let text = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(LONGEST));
        assert!(head(&text).is_err());
    }

    #[test]
    fn lengths_must_be_digits_and_agree() {
        let body = |fields: &str| {
            whole(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n")).body("GET", Lenience::default())
        };
        assert!(body("Content-Length: 5, 5").is_ok());
        for bad in [
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: +5",
            "Content-Length: 5x",
            "Content-Length:",
            "Content-Length: 99999999999999999999",
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip",
            "Transfer-Encoding: chunked, chunked",
        ] {
            assert!(body(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn some_answers_never_have_content() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        assert!(
            whole(text)
                .body("HEAD", Lenience::default())
                .unwrap()
                .is_complete()
        );
        let text = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n";
        assert!(
            whole(text)
                .body("GET", Lenience::default())
                .unwrap()
                .is_complete()
        );
    }

    #[test]
    fn a_connection_is_kept_unless_the_answer_says_close() {
        assert!(whole("HTTP/1.1 200 OK\r\n\r\n").keeps_connection());
        assert!(!whole("HTTP/1.1 200 OK\r\nConnection: Close\r\n\r\n").keeps_connection());
        assert!(!whole("HTTP/1.0 200 OK\r\n\r\n").keeps_connection());
        assert!(whole("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n").keeps_connection());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Head::parse(&bytes);
        }

        #[test]
        fn no_bytes_after_a_good_beginning_make_it_panic(bytes: Vec<u8>) {
            let mut text = b"HTTP/1.1 200 OK\r\n".to_vec();
            text.extend(bytes);
            if let Ok(Some((head, used))) = Head::parse(&text) {
                proptest::prop_assert!(used <= text.len());
                let _ = head.body("GET", Lenience::default());
                let _ = head.keeps_connection();
            }
        }
    }
}
