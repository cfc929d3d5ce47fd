//! Which mistakes the schema refuses as the checker does, by their ids, and
//! which only the checker knows. Tests hold this in both directions.
//!
//! What is not listed here is known to the checker alone: it takes the rest of
//! the document, or what the script makes of it.

use crate::document::{Diagnostic, ids};

/// Mistakes in the text, which YAML readers see in ways of their own: `yes` that
/// means truth to some, anchors and tags, a key that stands twice. A schema gets
/// what the reader made of them.
pub const OF_THE_TEXT: &[&str] = &[
    ids::NOT_UTF8,
    ids::TOO_LARGE,
    ids::EMPTY_FILE,
    ids::SYNTAX,
    ids::TOO_DEEP,
    ids::SEVERAL_DOCUMENTS,
    ids::ANCHOR,
    ids::ALIAS,
    ids::TAG,
    ids::MERGE_KEY,
    ids::DUPLICATE_KEY,
    ids::KEY_NOT_TEXT,
    ids::AMBIGUOUS_WORD,
    ids::ODD_NUMBER,
    ids::ODD_CHARACTER,
];

/// Mistakes that the schema refuses, too.
pub const REFUSED: &[&str] = &[
    ids::EMPTY_VALUE,
    ids::UNKNOWN_KEY,
    ids::NOT_YET,
    ids::MISSING_KEY,
    ids::ONE_OF,
    ids::QUOTE_IT,
    ids::BAD_DURATION,
    ids::BAD_SIZE,
    ids::BAD_POSITION,
    ids::EMPTY_LIST,
    ids::EMPTY_TEXT,
    ids::BAD_METHOD,
    ids::BAD_FIELD,
    ids::BAD_HEX,
    ids::BAD_POINTER,
    ids::BAD_ROUTE,
    ids::BAD_ADDRESS,
    ids::BAD_COUNTER,
    ids::ONE_VALUE,
    ids::TOO_MUCH_SCRIPT,
];

/// Mistakes that the schema refuses in most places, with the places where it
/// cannot.
pub const REFUSED_IN_PART: &[(&str, &str)] = &[
    (ids::WRONG_KIND, "`raw` that only pauses"),
    (
        ids::UNKNOWN_WORD,
        "an effect or a name that no step has, a column that is not there",
    ),
    (
        ids::BAD_NUMBER,
        "the number of a call that is not made, `3.0` for `3`",
    ),
    (
        ids::BAD_RANGE,
        "bounds that are upside down or too close to each other",
    ),
    (
        ids::TOO_LONG,
        "text that is longer in bytes than in characters",
    ),
    (ids::BAD_URL, "an address that the server does not have"),
    (ids::KEY_WITHOUT, "`at_once` above `repeat`"),
    (ids::HEADER_BY_KEY, "Content-Encoding beside a coding"),
    (ids::BAD_NAME, "a server with the name of a column"),
    (
        ids::IMPLIED_NEED,
        "a need that stands there twice or that a limit implies",
    ),
];

/// Whether the schema refuses a document with this mistake.
pub fn is_refused(mistake: &Diagnostic) -> bool {
    REFUSED.contains(&mistake.id)
        || (!mistake.beyond_schema && REFUSED_IN_PART.iter().any(|(id, _)| *id == mistake.id))
}

/// The ids of the mistakes that only the checker knows.
pub fn only_checked() -> impl Iterator<Item = &'static str> {
    let ids = ids::ALL.iter().map(|(id, _)| *id);
    ids.filter(|id| {
        !OF_THE_TEXT.contains(id)
            && !REFUSED.contains(id)
            && !REFUSED_IN_PART.iter().any(|(part, _)| part == id)
    })
}

/// What a schema cannot say, for those who read it.
pub(super) fn comment() -> String {
    let only: Vec<&str> = only_checked().collect();
    let part = REFUSED_IN_PART
        .iter()
        .map(|(id, what)| format!("{id} ({what})"));
    let part: Vec<String> = part.collect();
    format!(
        "Made by `wirefault schema`. A document that `wirefault check` accepts fits. Only `wirefault \
         check` knows these mistakes: {}. These it knows in more places: {}. Where a name in braces \
         stands for a value, only `wirefault check` knows the value.",
        only.join(", "),
        part.join("; ")
    )
}
