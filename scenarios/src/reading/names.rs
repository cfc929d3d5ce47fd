//! `{names}` in text: where they are, and what they stand for.
//!
//! A brace is a name only when it is `{`, a lower-case word, perhaps `.host` or
//! `.port`, and `}`. `{{word}}` writes `{word}`; all other braces are text.

use crate::document::decode::{brief, listed, nearest};
use crate::document::{Diagnostics, Kind, Node, Span, ids};
use crate::template::{Piece, Template};

use super::Reading;

/// A part of a text, with what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    /// Text as it stands.
    Text(&'t str),
    /// `{{word}}`, with the word.
    Escaped(&'t str),
    /// `{word}` or `{word.field}`, with what is between the braces.
    Name(&'t str),
}

/// Splits a text at its names.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut begun, mut at) = (0, 0);
    while let Some(found) = text[at..].find('{') {
        let open = at + found;
        let (part, end) = if let Some(word) = word_before(&text[open..], "{{", "}}") {
            (Part::Escaped(word), open + word.len() + 4)
        } else if let Some(word) = word_before(&text[open..], "{", "}") {
            (Part::Name(word), open + word.len() + 2)
        } else {
            at = open + 1;
            continue;
        };
        if begun < open {
            parts.push(Part::Text(&text[begun..open]));
        }
        parts.push(part);
        (begun, at) = (end, end);
    }
    if begun < text.len() {
        parts.push(Part::Text(&text[begun..]));
    }
    parts
}

fn word_before<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    let rest = text.strip_prefix(open)?;
    // Looks no further than a name can reach, so that a text of nothing but
    // braces takes no longer than another.
    let word = &rest[..rest.find(|c| !is_name_character(c) && c != '.')?];
    let (name, field) = word.split_once('.').unwrap_or((word, "x"));
    (is_name(name) && is_name(field) && rest[word.len()..].starts_with(close)).then_some(word)
}

/// Whether a word can be the name of a server or a column.
pub(crate) fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.chars().all(is_name_character)
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

/// The name of a method.
pub(crate) fn method_kind() -> Kind {
    Kind::fits("[A-Z-]+")
}

/// The name of a method: a token, in capitals.
pub(crate) fn method(node: &Node, out: &mut Diagnostics) -> Option<String> {
    let text = node.text("a method", out)?;
    if !text.chars().all(|c| c.is_ascii_uppercase() || c == '-') {
        out.report(ids::BAD_METHOD, &node.span, "not a method")
            .label("a method is a word in capitals")
            .help("write GET, POST, PUT, DELETE or another method");
        return None;
    }
    Some(text.to_owned())
}

impl Reading<'_> {
    /// Text with names, as the wire will show it.
    pub(crate) fn template(&mut self, node: &Node, what: &str) -> Option<Template> {
        let text = node.any_text(what, self.out)?;
        self.names_in(text, &node.span)
    }

    /// The same for text that a value was made of; none when a name is unknown.
    pub(crate) fn names_in(&mut self, text: &str, span: &Span) -> Option<Template> {
        let mut pieces = Vec::new();
        let mut good = true;
        for part in parts(text) {
            match part {
                Part::Text(text) => push_text(&mut pieces, text),
                Part::Escaped(word) => push_text(&mut pieces, &format!("{{{word}}}")),
                Part::Name("n") if self.call.is_some() => {
                    let number = self.call.unwrap_or_default();
                    push_text(&mut pieces, &number.to_string());
                }
                Part::Name("job") if self.in_query => pieces.push(Piece::Job),
                Part::Name(name) => match self.piece(name, span) {
                    Some(piece) => pieces.push(piece),
                    None => good = false,
                },
            }
        }
        let template = Template(pieces);
        // Which address of `localhost` a client takes, nobody says.
        if !template.is_at_localhost() {
            let named = template.servers().map(str::to_owned);
            self.mentioned.extend(named);
        }
        good.then_some(template)
    }

    fn piece(&mut self, name: &str, span: &Span) -> Option<Piece> {
        let (server, field) = name.split_once('.').unwrap_or((name, ""));
        if self.servers.iter().any(|known| known == server) {
            let owned = server.to_owned();
            let piece = match field {
                "" => Some(Piece::Url(owned)),
                "host" => Some(Piece::Host(owned)),
                "port" => Some(Piece::Port(owned)),
                _ => None,
            };
            if piece.is_some() {
                return piece;
            }
        }
        self.unknown_name(name, span);
        None
    }

    fn unknown_name(&mut self, name: &str, span: &Span) {
        let at = self.place_of_name(name, span);
        if name == "n" {
            self.out
                .report(ids::UNKNOWN_NAME, &at, "`{n}` stands for no number here")
                .label("only a call has a number")
                .help("use `{n}` in url, headers and body of a call; `{{n}}` writes `{n}`");
            return;
        }
        if name == "job" {
            self.out
                .report(ids::UNKNOWN_NAME, &at, "`{job}` stands for no job here")
                .label("only who submitted a job knows its id")
                .help(
                    "use `{job}` in url and headers of a job's `query`; `{{job}}` writes `{job}`",
                );
            return;
        }
        let known: Vec<String> = self
            .servers
            .iter()
            .flat_map(|server| {
                [
                    server.clone(),
                    format!("{server}.host"),
                    format!("{server}.port"),
                ]
            })
            .chain(self.columns.iter().cloned())
            .collect();
        let instead = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{{{near}}}`"),
            None if known.is_empty() => "there are no names here".to_owned(),
            None => format!(
                "known names are {}",
                listed(known.iter().map(String::as_str))
            ),
        };
        self.out
            .report(
                ids::UNKNOWN_NAME,
                &at,
                format!("`{{{}}}` is no known name", brief(name)),
            )
            .label("no server and no column has this name")
            .help(format!(
                "{instead}; to write the braces themselves, double them"
            ));
    }

    /// Where a name stands inside a value; the whole value where escapes hide it.
    fn place_of_name(&self, name: &str, span: &Span) -> Span {
        let written = format!("{{{name}}}");
        let found = self.source.text.get(span.clone());
        match found.and_then(|text| text.find(&written)) {
            Some(at) => span.start + at..span.start + at + written.len(),
            None => span.clone(),
        }
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looking for the end of a name to the end of the text at every brace would
    /// take minutes here.
    #[test]
    fn a_megabyte_of_braces_is_read_in_one_pass() {
        for text in ["{".repeat(1 << 20), "{a".repeat(1 << 19)] {
            assert_eq!(parts(&text), [Part::Text(&text)]);
        }
    }

    #[test]
    fn only_a_lower_case_word_in_braces_is_a_name() {
        assert_eq!(
            parts(r#"{"a": {api}/x {{api}} {b.port} {A} {} {1} {api"#),
            [
                Part::Text(r#"{"a": "#),
                Part::Name("api"),
                Part::Text("/x "),
                Part::Escaped("api"),
                Part::Text(" "),
                Part::Name("b.port"),
                Part::Text(" {A} {} {1} {api"),
            ]
        );
    }
}
