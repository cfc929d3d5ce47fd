//! Secrets taken out of text before it is kept.
//!
//! Used once, where a record is put together, so that every report made from it
//! is free of them. It knows the header fields that carry credentials and the
//! schemes that precede them; a secret in a place of its own choosing it cannot
//! know.

use scenarios::secrets::FIELDS;
pub use scenarios::secrets::REDACTED;

/// Words that a secret follows.
const SCHEMES: [&str; 2] = ["bearer", "basic"];

/// The text without the values of fields that carry credentials and without
/// what follows a scheme's name.
pub fn redact(text: &str) -> String {
    // ASCII only, so that both texts have the same length and boundaries.
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if let Some(secret) = secret_at(&lower, at) {
            out.push_str(&text[at..secret.start]);
            out.push_str(REDACTED);
            at = secret.end;
        } else {
            let next = next_boundary(text, at);
            out.push_str(&text[at..next]);
            at = next;
        }
    }
    out
}

fn next_boundary(text: &str, at: usize) -> usize {
    text[at..]
        .chars()
        .next()
        .map_or(text.len(), |symbol| at + symbol.len_utf8())
}

/// Where the secret lies that a word at `at` announces.
fn secret_at(lower: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let before = lower[..at].chars().next_back();
    if before.is_some_and(|symbol| symbol.is_ascii_alphanumeric() || symbol == '-') {
        return None;
    }
    let rest = &lower[at..];
    field(rest)
        .or_else(|| scheme(rest))
        .map(|secret| at + secret.start..at + secret.end)
}

/// `authorization: secret` up to the end of the line or of the quotation.
fn field(rest: &str) -> Option<std::ops::Range<usize>> {
    let name = FIELDS.into_iter().find(|name| rest.starts_with(name))?;
    let after = &rest[name.len()..];
    let mark = after.trim_start_matches(['"', '\'', ' ']);
    let value = mark
        .strip_prefix([':', '=', ','])?
        .trim_start_matches([' ', '\t']);
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    // A comma separates name and value only in a list of quoted texts.
    if mark.starts_with(',') && quote.is_none() {
        return None;
    }
    let value = quote.map_or(value, |_| &value[1..]);
    let end = value
        .find(|c| match quote {
            Some(quote) => c == quote,
            None => matches!(c, '\n' | '\r' | '"' | '\''),
        })
        .unwrap_or(value.len());
    let start = rest.len() - value.len();
    (end > 0).then_some(start..start + end)
}

/// `bearer secret`: the one word after the scheme.
fn scheme(rest: &str) -> Option<std::ops::Range<usize>> {
    let name = SCHEMES.into_iter().find(|name| rest.starts_with(name))?;
    let value = rest[name.len()..].strip_prefix(' ')?;
    let end = value
        .find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ')'))
        .unwrap_or(value.len());
    let start = rest.len() - value.len();
    // Shorter words are prose ("basic idea"), not credentials.
    (end >= 8).then_some(start..start + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_value_of_a_field_goes_up_to_the_end_of_its_line() {
        assert_eq!(
            redact("Authorization: Bearer abc def\nAccept: */*"),
            "Authorization: [redacted]\nAccept: */*"
        );
        assert_eq!(
            redact("{\"x-api-key\":\"k1\",\"a\":1}"),
            "{\"x-api-key\":\"[redacted]\",\"a\":1}"
        );
        assert_eq!(redact("cookie=a; b"), "cookie=[redacted]");
        assert_eq!(
            redact("[\"Cookie\", \"a\"]"),
            "[\"Cookie\", \"[redacted]\"]"
        );
    }

    #[test]
    fn a_token_after_its_scheme_goes_wherever_it_stands() {
        assert_eq!(
            redact("sent bearer sk-12345678, twice"),
            "sent bearer [redacted], twice"
        );
    }

    #[test]
    fn prose_stays() {
        for text in [
            "a basic idea",
            "the authorization header",
            "no cookies",
            "header: {name: Cookie, is: absent}",
            "über",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_secret_after_a_field_survives(before in "[^\"']{0,20}", secret in "[a-z0-9]{12,20}") {
            let text = format!("{before}\nauthorization: {secret}\nend");
            let out = redact(&text);
            prop_assert!(!out.contains(&secret) || before.contains(&secret), "{}", out);
            prop_assert!(out.ends_with("\nend"));
        }
    }
}
