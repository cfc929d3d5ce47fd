//! What exact bytes answer, as the judge may hold it against a client.

use scripted_servers::digest::sha256;
use scripted_servers::wire::{Answer, SentEvents};

/// What exact bytes answer: a whole message only where nothing about them is in
/// doubt (RFC 9112 sections 4 to 7). Interim answers before it are passed over.
/// `closed`: the connection is closed behind them, which ends a content that
/// nothing else frames.
pub(super) fn answer(bytes: &[u8], closed: bool) -> Answer {
    let mut rest = bytes;
    loop {
        let Some((status, headers, content)) = head(rest) else {
            return unframed(status_of(rest), rest);
        };
        if !(100..200).contains(&status) {
            return framed(status, &headers, content, closed);
        }
        rest = content;
    }
}

/// Where the interim answers end with which exact bytes begin.
pub(super) fn interim_end(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some((status, _, behind)) = head(rest)
        && (100..200).contains(&status)
        && status != 101
    {
        rest = behind;
    }
    bytes.len() - rest.len()
}

fn framed(status: u16, headers: &[(String, String)], rest: &[u8], closed: bool) -> Answer {
    let values = |name: &str| -> Vec<&str> {
        headers
            .iter()
            .filter(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
            .collect()
    };
    let content = match (
        &values("transfer-encoding")[..],
        &values("content-length")[..],
    ) {
        _ if matches!(status, 204 | 304) => rest.is_empty().then(Vec::new),
        ([coding], []) if coding.eq_ignore_ascii_case("chunked") => chunked(rest),
        ([], [length]) => {
            let digits = length.bytes().all(|byte| byte.is_ascii_digit());
            let whole = digits && length.parse() == Ok(rest.len());
            whole.then(|| rest.to_vec())
        }
        ([], []) if closed => Some(rest.to_vec()),
        _ => None,
    };
    match content {
        Some(content) => Answer {
            whole: true,
            ..unframed(Some(status), &content)
        },
        None => unframed(Some(status), rest),
    }
}

fn unframed(status: Option<u16>, content: &[u8]) -> Answer {
    Answer {
        status,
        body_bytes: u64::try_from(content.len()).unwrap_or(u64::MAX),
        body_sha256: Some(sha256(content)),
        whole: false,
        events: SentEvents::default(),
    }
}

type Head<'b> = (u16, Vec<(String, String)>, &'b [u8]);

/// Status, fields in lower case, and what stands behind the head.
fn head(bytes: &[u8]) -> Option<Head<'_>> {
    let mut headers: Vec<(String, String)> = Vec::new();
    let (_, mut rest) = line(bytes)?;
    loop {
        let (line, behind) = line(rest)?;
        rest = behind;
        if line.is_empty() {
            return Some((status_of(bytes)?, headers, rest));
        }
        // A folded line goes on with the value before it (RFC 9112 section 5.2).
        if line.starts_with([' ', '\t']) {
            let (_, value) = headers.last_mut()?;
            *value = format!("{value} {}", line.trim()).trim().to_owned();
            continue;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// The next line, and what stands behind it. A single LF ends a line as well
/// (RFC 9112 section 2.2): a client that reads it so has read it rightly.
fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(&bytes[..end]).ok()?;
    Some((line.strip_suffix('\r').unwrap_or(line), &bytes[end + 1..]))
}

fn status_of(bytes: &[u8]) -> Option<u16> {
    let line = bytes.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let line = std::str::from_utf8(line).ok()?;
    let rest = line
        .strip_prefix("HTTP/1.1 ")
        .or(line.strip_prefix("HTTP/1.0 "))?;
    let digits = rest.split(' ').next()?;
    let status = digits.parse().ok().filter(|_| digits.len() == 3)?;
    (100..600).contains(&status).then_some(status)
}

/// The content of a whole chunked body with nothing behind it.
fn chunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let line_end = rest.windows(2).position(|two| two == b"\r\n")?;
        let line = std::str::from_utf8(&rest[..line_end]).ok()?;
        let digits = line.split(';').next()?.trim_end();
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let size = usize::from_str_radix(digits, 16).ok().filter(|_| hex)?;
        rest = &rest[line_end + 2..];
        if size == 0 {
            return trailers_end(rest).then_some(content);
        }
        content.extend_from_slice(rest.get(..size)?);
        rest = rest[size..].strip_prefix(b"\r\n")?;
    }
}

fn trailers_end(rest: &[u8]) -> bool {
    rest == b"\r\n"
        || rest
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .is_some_and(|at| at + 4 == rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_bytes_are_whole_only_when_nothing_is_in_doubt() {
        let whole = |text: &str| {
            let answer = answer(text.as_bytes(), false);
            (answer.status, answer.body_bytes, answer.whole)
        };
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(
            whole(&format!("{chunked}2\r\nok\r\n0\r\n\r\n")),
            (Some(200), 2, true)
        );
        assert_eq!(
            whole("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
            (Some(200), 2, true)
        );
        assert_eq!(
            whole("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"),
            (Some(200), 2, false)
        );
        assert_eq!(whole("HTTP/1.1 200 OK\r\n\r\nok"), (Some(200), 2, false));
        assert!(!whole(&format!("{chunked}2\r\nok\r\n")).2);
        assert!(!whole(&format!("{chunked}ffffffffffffffff\r\nok\r\n")).2);
        assert_eq!(whole("SSH-2.0-x\r\n"), (None, 11, false));
        assert_eq!(
            whole("HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nok"),
            (Some(200), 2, true)
        );
        let bare = "HTTP/1.1 200 OK\nContent-Length: 2\n\nok";
        assert_eq!(whole(bare), (Some(200), 2, true));
        let two = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n 2\r\n\r\nok";
        assert_eq!(whole(two), (Some(200), 2, false));
    }

    #[test]
    fn closing_ends_content_that_has_no_other_end() {
        let whole = |text: &str| answer(text.as_bytes(), true).whole;
        assert!(whole("HTTP/1.0 200 OK\r\n\r\nok"));
        assert!(!whole("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"));
        assert!(!whole(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
        ));
        assert!(!whole("<html>of HTTP/0.9</html>"));
    }
}
