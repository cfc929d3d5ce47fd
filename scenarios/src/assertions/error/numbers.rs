//! Numbers in what a client says: which of them can be a status.

/// Whether a text names this status. The port of an address, the number of an
/// operating system's error and the middle of a longer number do not count.
pub(super) fn names(text: &str, status: u16) -> bool {
    let status = status.to_string();
    text.match_indices(&status).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + status.len()..]);
        is_alone(before, after) && !is_port(before) && !is_os_error(before)
    })
}

/// Neither inside a longer number nor part of an address or a fraction.
fn is_alone(before: &str, after: &str) -> bool {
    let digit = |text: Option<char>| text.is_some_and(|symbol| symbol.is_ascii_digit());
    let mut back = before.chars().rev();
    let mut ahead = after.chars();
    let (left, beyond_left) = (back.next(), back.next());
    let (right, beyond_right) = (ahead.next(), ahead.next());
    let joined = |next: Option<char>, beyond| next == Some('.') && digit(beyond);
    !digit(left) && !digit(right) && !joined(left, beyond_left) && !joined(right, beyond_right)
}

/// `127.0.0.1:`, `localhost:`, `[::1]:`, `http://name:`.
fn is_port(before: &str) -> bool {
    let Some(host) = before.strip_suffix(':') else {
        return false;
    };
    let start = host.rfind(|symbol: char| {
        symbol.is_whitespace() || matches!(symbol, '"' | '\'' | '(' | '<' | '=' | ',' | '@')
    });
    let host = &host[start.map_or(0, |at| at + 1)..];
    host.contains('.') || host.contains("//") || host.ends_with(']') || host == "localhost"
}

/// `os error `, `errno: `, `[Errno `.
fn is_os_error(before: &str) -> bool {
    let word = before
        .trim_end_matches([' ', ':', '=', '(', '-', '#'])
        .to_ascii_lowercase();
    word.ends_with("errno") || word.ends_with("os error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_stands_for_itself() {
        for text in [
            "503",
            "HTTP 503.",
            "status:503",
            "status=503, retry",
            "HTTP_503",
            "Error: 503 Service Unavailable",
            "127.0.0.1:503 answered 503",
        ] {
            assert!(names(text, 503), "{text}");
        }
    }

    #[test]
    fn ports_errnos_and_longer_numbers_are_no_status() {
        for text in [
            "connect 127.0.0.1:50312",
            "connect 127.0.0.1:503",
            "connect [::1]:503",
            "http://localhost:503/x",
            "localhost:503",
            "10.0.503.1",
            "took 1.503 s",
            "5030 bytes",
            "refused (os error 503)",
            "[Errno 503]",
            "errno: -503",
        ] {
            assert!(!names(text, 503), "{text}");
        }
    }
}
