//! What requests and answers say, where equal ones are kept once.

use std::sync::Arc;

use scripted_servers::wire::Answer;

use super::packed::Shared;

/// SHA-256 of nothing, which stands for an empty content.
pub(crate) const EMPTY_SHA256: &str =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Stands between the parts of a head. A server tells octets as Latin-1, so no
/// part has it.
const BETWEEN: char = '\u{100}';

/// What a complete head says: method, target, and the fields that are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeadText(Arc<str>);

impl HeadText {
    /// Method and target.
    pub(super) fn line(&self) -> (&str, &str) {
        let mut parts = self.0.split(BETWEEN);
        let method = parts.next().unwrap_or_default();
        (method, parts.next().unwrap_or_default())
    }

    /// The first value of a field that is kept.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut parts = self.0.split(BETWEEN).skip(2);
        while let (Some(field), Some(value)) = (parts.next(), parts.next()) {
            if field.eq_ignore_ascii_case(name) {
                return Some(value);
            }
        }
        None
    }
}

/// The content of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Content {
    bytes: u64,
    digest: Digest,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Digest {
    Octets([u8; 32]),
    /// As a record tells it that no server wrote.
    Text(Box<str>),
}

impl Content {
    /// Its length.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn has_digest_of(&self, other: &Self) -> bool {
        self.digest == other.digest
    }

    /// Its digest in lower-case hex; without content, that of nothing.
    pub(super) fn sha256(content: Option<&Self>) -> String {
        match content.map(|content| &content.digest) {
            None => EMPTY_SHA256.to_owned(),
            Some(Digest::Octets(octets)) => {
                octets.iter().map(|octet| format!("{octet:02x}")).collect()
            }
            Some(Digest::Text(text)) => text.as_ref().to_owned(),
        }
    }
}

impl Digest {
    fn of(text: &str) -> Self {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut octets = [0; 32];
        let pairs = text.as_bytes().chunks(2);
        let good = text.len() == 64
            && octets.iter_mut().zip(pairs).all(|(octet, pair)| {
                let both = pair.first().copied().and_then(digit);
                let both = both.zip(pair.get(1).copied().and_then(digit));
                *octet = both.map_or(0, |(high, low)| high << 4 | low);
                both.is_some()
            });
        if good {
            Self::Octets(octets)
        } else {
            Self::Text(text.into())
        }
    }
}

/// Heads, contents and answers that were told.
#[derive(Debug)]
pub(super) struct Pool {
    /// Names of the fields that are kept of heads.
    fields: Vec<String>,
    heads: Shared<str>,
    contents: Shared<Content>,
    answers: Shared<Answer>,
    text: String,
}

impl Pool {
    /// One that keeps these fields of heads and no other.
    pub(super) fn keeping(fields: Vec<String>) -> Self {
        Self {
            fields,
            heads: Shared::default(),
            contents: Shared::default(),
            answers: Shared::default(),
            text: String::new(),
        }
    }

    /// A complete head.
    pub(super) fn head(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(String, String)],
    ) -> HeadText {
        let is_kept = |name: &str| {
            let mut fields = self.fields.iter();
            fields.any(|kept| kept.eq_ignore_ascii_case(name))
        };
        let kept = headers.iter().filter(|(name, _)| is_kept(name));
        let kept = kept.flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        self.text.clear();
        for (place, part) in [method, target].into_iter().chain(kept).enumerate() {
            if place > 0 {
                self.text.push(BETWEEN);
            }
            if part.contains(BETWEEN) {
                // No server wrote this record.
                self.text.push_str(&part.replace(BETWEEN, "\u{fffd}"));
            } else {
                self.text.push_str(part);
            }
        }
        HeadText(self.heads.share(&self.text, |text| text.into()))
    }

    /// A content; none where there is none.
    pub(super) fn content(&mut self, bytes: u64, sha256: Option<&str>) -> Option<Arc<Content>> {
        if bytes == 0 && sha256.is_none() {
            return None;
        }
        let digest = Digest::of(sha256.unwrap_or(EMPTY_SHA256));
        let content = Content { bytes, digest };
        let make = |content: &Content| Arc::new(content.clone());
        Some(self.contents.share(&content, make))
    }

    /// An answer.
    pub(super) fn answer(&mut self, answer: &Answer) -> Arc<Answer> {
        let make = |answer: &Answer| Arc::new(answer.clone());
        self.answers.share(answer, make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool::keeping(vec!["idempotency-key".to_owned()])
    }

    fn head(pool: &mut Pool, target: &str, headers: &[(&str, &str)]) -> HeadText {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers: Vec<_> = headers.iter().map(own).collect();
        pool.head("GET", target, &headers)
    }

    #[test]
    fn a_head_is_kept_with_the_fields_that_somebody_asks_for() {
        let fields = [("Date", "today"), ("Idempotency-Key", "a b"), ("x", "")];
        let head = head(&mut pool(), "/x?y z", &fields);
        assert_eq!(head.line(), ("GET", "/x?y z"));
        assert_eq!(head.header("IDEMPOTENCY-key"), Some("a b"));
        assert_eq!((head.header("Date"), head.header("x")), (None, None));
    }

    #[test]
    fn heads_that_differ_in_nothing_that_is_kept_are_one() {
        let mut pool = pool();
        let one = head(&mut pool, "/x", &[("Date", "today")]);
        let same = head(&mut pool, "/x", &[("Date", "tomorrow")]);
        assert!(Arc::ptr_eq(&one.0, &same.0));
        let other = head(&mut pool, "/x", &[("Idempotency-Key", "")]);
        assert_eq!(other.header("idempotency-key"), Some(""));
        assert_ne!(one, other);
    }

    #[test]
    fn parts_cannot_be_made_to_run_into_each_other() {
        let fields = [("Idempotency-Key", "\u{100}a\u{100}b")];
        let head = head(&mut pool(), "/x\u{100}y", &fields);
        assert_eq!(head.line(), ("GET", "/x\u{fffd}y"));
        let value = head.header("idempotency-key");
        assert_eq!(value, Some("\u{fffd}a\u{fffd}b"));
    }

    #[test]
    fn a_digest_is_told_as_it_was_written() {
        let mut pool = pool();
        let mixed = EMPTY_SHA256.to_uppercase();
        for text in [EMPTY_SHA256, mixed.as_str(), "", "no digest", "é"] {
            let content = pool.content(7, Some(text)).unwrap();
            assert_eq!(
                (content.bytes(), Content::sha256(Some(&content))),
                (7, text.to_owned())
            );
        }
        assert_eq!(pool.content(0, None), None);
        assert_eq!(Content::sha256(None), EMPTY_SHA256);
    }
}
