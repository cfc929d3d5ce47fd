//! The head of a request: found in the stream, then read by `httparse`.

use super::Malformed;

/// Heads longer than this are not understood.
const LONGEST: usize = 256 * 1024;
const FEW_FIELDS: usize = 64;
const MOST_FIELDS: usize = 4096;

/// A complete head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Method as sent.
    pub(crate) method: String,
    /// Request target as sent.
    pub(crate) target: String,
    /// Header fields as sent, in order; octets beyond ASCII as Latin-1.
    pub(crate) headers: Vec<(String, String)>,
    /// Minor version of HTTP/1.
    pub(crate) minor: u8,
}

impl Head {
    /// The values of the header fields with this name, in order.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Whether a list-valued field holds this word.
    pub(crate) fn lists(&self, name: &str, word: &str) -> bool {
        self.values(name)
            .flat_map(|value| value.split(','))
            .any(|member| member.trim().eq_ignore_ascii_case(word))
    }

    /// Whether the client wants the connection to end after the answer (RFC
    /// 9112 section 9.3).
    pub(crate) fn ends_connection(&self) -> bool {
        self.lists("connection", "close")
            || self.minor == 0 && !self.lists("connection", "keep-alive")
    }
}

/// A head that is still arriving.
#[derive(Default)]
pub(super) struct Partial {
    bytes: Vec<u8>,
    length: usize,
    /// Up to here no end was found.
    searched: usize,
    /// At this length a first look is taken whether this can be a head at all.
    look_at: usize,
}

impl Partial {
    /// Bytes of the head so far.
    pub(super) fn length(&self) -> u64 {
        self.length as u64
    }

    /// Takes bytes up to the end of the head: how many, and the head. None: all
    /// were taken and the head goes on.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Option<(usize, Head)>, Malformed> {
        let before = self.bytes.len();
        if before == 0
            && let Some(end) = end_of_head(bytes, 0)
        {
            self.length = end;
            return Ok(Some((end, parse(&bytes[..end])?)));
        }
        self.bytes.extend_from_slice(bytes);
        let from = self.searched.saturating_sub(3);
        if let Some(end) = end_of_head(&self.bytes, from) {
            let head = parse(&self.bytes[..end])?;
            self.bytes = Vec::new();
            self.length = end;
            return Ok(Some((end - before, head)));
        }
        self.length = self.bytes.len();
        self.searched = self.bytes.len();
        self.look_whether_it_can_be_one()?;
        Ok(None)
    }

    /// What can never become a head is refused early: at lengths that double,
    /// so that a head in many pieces is not read over and over.
    fn look_whether_it_can_be_one(&mut self) -> Result<(), Malformed> {
        if self.bytes.len() > LONGEST {
            return Err(Malformed(format!(
                "the head is longer than {LONGEST} bytes"
            )));
        }
        if self.bytes.len() >= self.look_at {
            self.look_at = self.bytes.len() * 2;
            parse_partial(&self.bytes)?;
        }
        Ok(())
    }
}

/// Where the head ends: behind the first empty line that follows a line.
fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        let line_end = at + found;
        let rest = &bytes[line_end + 1..];
        let started = bytes[..line_end]
            .iter()
            .any(|byte| !matches!(byte, b'\r' | b'\n'));
        if started {
            if rest.starts_with(b"\n") {
                return Some(line_end + 2);
            }
            if rest.starts_with(b"\r\n") {
                return Some(line_end + 3);
            }
        }
        at = line_end + 1;
    }
    None
}

fn parse_partial(bytes: &[u8]) -> Result<(), Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; FEW_FIELDS];
    match httparse::Request::new(&mut fields).parse(bytes) {
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Ok(()),
        Err(error) => Err(Malformed(error.to_string())),
    }
}

fn parse(bytes: &[u8]) -> Result<Head, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; FEW_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(bytes) {
        Err(httparse::Error::TooManyHeaders) => {}
        outcome => return built(outcome, &request),
    }
    let mut fields = vec![httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let outcome = request.parse(bytes);
    built(outcome, &request)
}

fn built(
    outcome: httparse::Result<usize>,
    request: &httparse::Request<'_, '_>,
) -> Result<Head, Malformed> {
    match outcome {
        Ok(httparse::Status::Complete(_)) => Ok(Head {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            headers: request
                .headers
                .iter()
                .map(|field| (field.name.to_owned(), latin1(field.value)))
                .collect(),
            minor: request.version.unwrap_or(1),
        }),
        Ok(httparse::Status::Partial) => {
            Err(Malformed("the head ends before its last line".into()))
        }
        Err(error) => Err(Malformed(error.to_string())),
    }
}

fn latin1(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) if text.is_ascii() => text.to_owned(),
        _ => value.iter().map(|byte| char::from(*byte)).collect(),
    }
}
