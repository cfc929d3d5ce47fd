//! A request as bytes (RFC 9112 sections 3 and 6).

use super::chunked;

/// Bytes of a chunk when content is sent as a stream.
const CHUNK: usize = 16 * 1024;
/// Fields that say how content is framed; the codec alone sets them.
const FRAMING: [&str; 2] = ["Content-Length", "Transfer-Encoding"];

/// What is sent.
pub(crate) struct Outgoing<'a> {
    /// Method.
    pub(crate) method: &'a str,
    /// Request target.
    pub(crate) target: &'a str,
    /// Host and port, for a Host field where none is given.
    pub(crate) authority: &'a str,
    /// Fields in order.
    pub(crate) fields: &'a [(String, String)],
    /// Content.
    pub(crate) content: Content<'a>,
}

/// Content of a request.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    /// None.
    None,
    /// Of a known length.
    Whole(&'a [u8]),
    /// Handed over as a stream, so in chunks.
    Stream(&'a [u8]),
}

/// The whole request.
pub(crate) fn encode(request: &Outgoing<'_>) -> Vec<u8> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    let given = |name: &str| {
        request
            .fields
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    let mut field = |name: &str, value: &str| {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    };
    if !given("Host") {
        field("Host", request.authority);
    }
    for (name, value) in request.fields {
        if !FRAMING.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            field(name, value);
        }
    }
    match request.content {
        Content::Whole(content) => field("Content-Length", &content.len().to_string()),
        Content::Stream(_) => field("Transfer-Encoding", "chunked"),
        Content::None if matches!(request.method, "POST" | "PUT" | "PATCH") => {
            field("Content-Length", "0");
        }
        Content::None => {}
    }
    head.push_str("\r\n");
    let mut wire = head.into_bytes();
    match request.content {
        Content::None => {}
        Content::Whole(content) => wire.extend_from_slice(content),
        Content::Stream(content) => chunked::encode(content, CHUNK, &mut wire),
    }
    wire
}

/// Whether this can be a method or a field name (RFC 9110 section 5.6.2).
pub(crate) fn is_token(text: &str) -> bool {
    let special = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || special(byte))
}

/// Whether this can be a field value without ending its line.
pub(crate) fn is_value(text: &str) -> bool {
    !text.contains(['\r', '\n', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(method: &str, fields: &[(&str, &str)], content: Content<'_>) -> String {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let wire = encode(&Outgoing {
            method,
            target: "/x?y",
            authority: "h:1",
            fields: &fields,
            content,
        });
        String::from_utf8(wire).unwrap()
    }

    #[test]
    fn a_get_has_no_framing_and_a_post_always() {
        assert_eq!(
            text("GET", &[], Content::None),
            "GET /x?y HTTP/1.1\r\nHost: h:1\r\n\r\n"
        );
        assert!(text("POST", &[], Content::None).contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn framing_is_the_codecs_own_and_host_may_be_given() {
        let fields = [("content-length", "99"), ("host", "other"), ("X", "1")];
        assert_eq!(
            text("PUT", &fields, Content::Whole(b"ab")),
            "PUT /x?y HTTP/1.1\r\nhost: other\r\nX: 1\r\nContent-Length: 2\r\n\r\nab"
        );
    }

    #[test]
    fn a_stream_goes_in_chunks() {
        let text = text("PUT", &[], Content::Stream(b"ab"));
        assert!(text.ends_with("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"));
    }

    #[test]
    fn tokens_and_values_cannot_break_out_of_their_line() {
        assert!(is_token("X-Api_Key!") && !is_token("") && !is_token("a b") && !is_token("a:b"));
        assert!(is_value("a\tb") && !is_value("a\r\nb") && !is_value("a\0"));
    }
}
