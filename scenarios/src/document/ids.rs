//! Every diagnostic's stable id with its meaning, in one list.
//!
//! An id is the name that people search for and that tests count on; it never
//! changes its meaning. Each one has a file that causes it in `tests/rejects`.

macro_rules! ids {
    ($($name:ident = $id:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: &str = $id;)*

        /// All ids with their meaning, in the order of this file.
        pub const ALL: &[(&str, &str)] = &[$(($id, $meaning)),*];
    };
}

ids! {
    // The text.
    NOT_UTF8 = "not-utf8", "The file is not UTF-8 text.";
    TOO_LARGE = "too-large", "The file is larger than any document may be.";
    EMPTY_FILE = "empty-file", "The file holds nothing but white space and comments.";
    SYNTAX = "syntax", "The file is not valid YAML.";
    TOO_DEEP = "too-deep", "Lists and maps are nested deeper than any document may be.";
    SEVERAL_DOCUMENTS = "several-documents", "A file holds more than one YAML document.";
    ANCHOR = "anchor", "An anchor (`&x`), which documents do not use.";
    ALIAS = "alias", "An alias (`*x`), which documents do not use.";
    TAG = "tag", "A YAML tag (`!x`), which documents do not use.";
    MERGE_KEY = "merge-key", "A merge key (`<<`), which documents do not use.";
    DUPLICATE_KEY = "duplicate-key", "A key that stands twice in the same map.";
    KEY_NOT_TEXT = "key-not-text", "A key that is a list or a map.";
    EMPTY_VALUE = "empty-value", "A key or a list entry without a value.";
    AMBIGUOUS_WORD = "ambiguous-word", "An unquoted word that some YAML readers take for a truth value or for nothing.";
    ODD_NUMBER = "odd-number", "A number that YAML readers understand in different ways.";
    // What every document has in common.
    UNKNOWN_KEY = "unknown-key", "A key that nobody reads.";
    NOT_YET = "not-yet", "A word of the language that this version does not know yet.";
    MISSING_KEY = "missing-key", "A key that must be there.";
    ONE_OF = "one-of", "None, or more than one, of several keys of which exactly one is needed.";
    WRONG_KIND = "wrong-kind", "A value of another kind than the one that is needed.";
    QUOTE_IT = "quote-it", "A number or a truth value where text is needed.";
    UNKNOWN_WORD = "unknown-word", "A word that is not in the list of possible words.";
    BAD_NUMBER = "bad-number", "Not a whole number, or one outside its bounds.";
    BAD_DURATION = "bad-duration", "Not a duration such as `200ms`, or one outside its bounds.";
    BAD_SIZE = "bad-size", "Not a number of bytes such as `512` or `64KiB`.";
    BAD_POSITION = "bad-position", "Not a place such as `512`, `half`, `last` or `all`.";
    BAD_RANGE = "bad-range", "A range that is empty, upside down or without bounds.";
    EMPTY_LIST = "empty-list", "A list or a map without entries where some are needed.";
    EMPTY_TEXT = "empty-text", "Text that is needed but empty.";
    TOO_LONG = "too-long", "Text that is longer than its place allows.";
}
