//! What raw bytes are to a client, as far as that is beyond doubt.

/// What the bytes are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A whole answer.
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        /// Whether nothing follows it.
        clean: bool,
    },
    /// The begin of an answer; more must come.
    Unfinished,
    /// No HTTP.
    Malformed,
    /// Something that clients read differently.
    Unclear,
}

/// Reads an answer the strict way; interim answers before it are passed over.
/// `closed`: the server closes the connection behind the bytes.
pub(super) fn read(bytes: &[u8], closed: bool) -> Read {
    const START: &[u8] = b"HTTP/1.";
    let compared = START.len().min(bytes.len());
    if bytes[..compared] != START[..compared] {
        return Read::Malformed;
    }
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return Read::Unfinished;
    };
    let rest = &bytes[end + 4..];
    let Some((status, headers)) = head(&bytes[..end]) else {
        return Read::Unclear;
    };
    match status {
        101 => return Read::Unclear,
        100..=199 if rest.is_empty() => return Read::Unfinished,
        100..=199 => return read(rest, closed),
        _ => {}
    }
    let field = |name: &str| {
        let found = headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    };
    let used = match (status, field("transfer-encoding"), field("content-length")) {
        (204 | 304, _, _) => Some(0),
        (_, Some("chunked"), None) => match chunked(rest) {
            Ok(used) => used,
            Err(()) => return Read::Unclear,
        },
        (_, None, Some(length)) => match length.parse::<usize>() {
            Ok(length) => (rest.len() >= length).then_some(length),
            Err(_) => return Read::Unclear,
        },
        // Only the end of the connection ends it.
        (_, None, None) => closed.then_some(rest.len()),
        (_, Some(_), _) => return Read::Unclear,
    };
    match used {
        None => Read::Unfinished,
        Some(used) => Read::Answer {
            status,
            headers,
            clean: used == rest.len(),
        },
    }
}

fn head(bytes: &[u8]) -> Option<(u16, Vec<(String, String)>)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?;
    let status = status
        .parse()
        .ok()
        .filter(|status| (100..=599).contains(status))?;
    let fields = lines.map(|line| {
        let (name, value) = line.split_once(':')?;
        let good = !name.is_empty() && !name.contains([' ', '\t']);
        good.then(|| (name.to_owned(), value.trim().to_owned()))
    });
    Some((status, fields.collect::<Option<_>>()?))
}

/// Bytes of a chunked content with its end; none while it has none.
fn chunked(bytes: &[u8]) -> Result<Option<usize>, ()> {
    let mut at = 0;
    loop {
        let Some(line) = find(&bytes[at..], b"\r\n") else {
            return Ok(None);
        };
        let size = std::str::from_utf8(&bytes[at..at + line]).map_err(|_| ())?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| ())?;
        at += line + 2;
        if size == 0 {
            // Trailers, then an empty line.
            let rest = &bytes[at..];
            if rest.starts_with(b"\r\n") {
                return Ok(Some(at + 2));
            }
            return Ok(find(rest, b"\r\n\r\n").map(|end| at + end + 4));
        }
        let end = at
            .checked_add(size)
            .and_then(|end| end.checked_add(2))
            .ok_or(())?;
        if bytes.len() < end {
            return Ok(None);
        }
        if &bytes[end - 2..end] != b"\r\n" {
            return Err(());
        }
        at = end;
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> Option<(u16, bool)> {
        match read(text.as_bytes(), false) {
            Read::Answer { status, clean, .. } => Some((status, clean)),
            _ => None,
        }
    }

    #[test]
    fn a_whole_answer_is_read_in_each_framing() {
        let length = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        assert_eq!(status(length), Some((200, true)));
        let surplus = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nok";
        assert_eq!(status(surplus), Some((200, false)));
        let chunks = "HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
        assert_eq!(status(chunks), Some((500, true)));
        let trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n";
        assert_eq!(status(trailers), Some((200, true)));
        assert_eq!(status("HTTP/1.1 204 No\r\n\r\n"), Some((204, true)));
    }

    #[test]
    fn interim_answers_are_passed_over() {
        let text = "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(status(text), Some((404, true)));
    }

    #[test]
    fn what_stops_early_is_unfinished() {
        for text in [
            "",
            "HTTP/1",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r",
            "HTTP/1.1 200 OK\r\n\r\nto the end",
            "HTTP/1.1 103 Early\r\n\r\n",
        ] {
            assert_eq!(read(text.as_bytes(), false), Read::Unfinished, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_answer_is_malformed_and_what_is_odd_is_unclear() {
        assert_eq!(read(b"hello", false), Read::Malformed);
        assert_eq!(read(b"<html>", false), Read::Malformed);
        assert_eq!(read(b"HTTP/1.1 abc\r\n\r\n", false), Read::Unclear);
        assert_eq!(
            read(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", false),
            Read::Unclear
        );
        let chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
        assert_eq!(read(chunk, false), Read::Unclear);
    }
}
