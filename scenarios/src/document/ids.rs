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
    ODD_CHARACTER = "odd-character", "A character that some YAML readers take for the end of a line.";
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
    // Names and text.
    BAD_NAME = "bad-name", "Something that can not be a name, or whose name is taken.";
    UNKNOWN_NAME = "unknown-name", "A `{name}` in text that is no server and no column.";
    UNKNOWN_SERVER = "unknown-server", "A server that is not under `servers`.";
    BAD_URL = "bad-url", "A URL that does not lead to a server of the scenario.";
    BAD_METHOD = "bad-method", "Something that can not be a method.";
    BAD_FIELD = "bad-field", "A name or value that can not stand in a header.";
    BAD_HEX = "bad-hex", "Bytes in hexadecimal that are none.";
    BAD_POINTER = "bad-pointer", "Something that is not a JSON pointer.";
    BAD_ROUTE = "bad-route", "A route that is not a method and a path.";
    KEY_WITHOUT = "key-without", "A key that needs another one that is not there.";
    // Columns.
    TOO_MANY_CASES = "too-many-cases", "Columns that make too many cases.";
    ONE_VALUE = "one-value", "A column of a sweep with one value.";
    RAGGED_TABLE = "ragged-table", "A row of a table with other columns than the first.";
    EQUAL_CASES = "equal-cases", "Two cases with the same values.";
    UNUSED_COLUMN = "unused-column", "A column that is used nowhere.";
    COLUMN_IN_TEXT = "column-in-text", "A list or a map as a part of text.";
    // Servers and steps.
    NO_SCRIPT = "no-script", "A server that can be reached and has no steps.";
    BAD_ADDRESS = "bad-address", "Not a loopback address that a server can have.";
    PORT_OF = "port-of", "A server that can not have the port of that other one.";
    BAD_PHASES = "bad-phases", "States that a port can not go through.";
    UNREACHABLE = "unreachable", "A step, route or lane that no request can reach.";
    CANNOT_FIT = "cannot-fit", "A `when` that no request can fit.";
    INSIDE_HEAD = "inside-head", "A step inside the head that depends on the head.";
    APPLIES_IN_HEAD = "applies-in-head", "An effect before the head is complete.";
    READS_WITHOUT = "reads-without", "`reads` beside a behaviour that answers nothing.";
    CHOSEN_LATE = "chosen-late", "A step that acts before the whole request, by which it would be chosen.";
    THEN_AFTER_END = "then-after-end", "`then` behind an end of the connection.";
    REQUIRED_PLAIN = "required-plain", "`required` on a step without a fault.";
    UNKNOWN_MODEL = "unknown-model", "A model that is not under `models` of the server.";
    UNUSED_MODEL = "unused-model", "A model that no step goes through.";
    ASKED_LATE = "asked-late", "A step that acts before all of a request is there, which its models need.";
    EFFECT_TWICE = "effect-twice", "An effect that a model of the step has already.";
    NO_ANSWER = "no-answer", "A step whose models answer nothing, and that says nothing itself.";
    UNUSED_NAME = "unused-name", "A step's name that nothing refers to.";
    // Answers.
    NO_STATUS = "no-status", "An answer without a status in a step whose models do not answer.";
    HEADER_BY_KEY = "header-by-key", "A header that has a key of its own.";
    NO_CONTENT = "no-content", "Content where the status allows none.";
    FRAMING = "framing", "Keys of an answer that do not go with its framing.";
    TRUE_LENGTH = "true-length", "A length that is said to lie and does not.";
    BEYOND_END = "beyond-end", "A point beyond the end.";
    CUT_OF_NOTHING = "cut-of-nothing", "A cut of an answer before its first byte.";
    CUT_OF_WHOLE = "cut-of-whole", "A cut that leaves a complete message.";
    CANNOT_FIRE = "cannot-fire", "A fault that can never happen.";
    TOO_MUCH_CONTENT = "too-much-content", "More content than a case may hold.";
    TOO_MUCH_SCRIPT = "too-much-script", "More servers, routes or steps than a scenario may have.";
    // Work and the scenario as a whole.
    TOO_MANY_CALLS = "too-many-calls", "More calls than a case may make.";
    CALLS_ALIKE = "calls-alike", "Calls that are judged apart and can not be told apart.";
    ATTEMPT_OF_MANY = "attempt-of-many", "An attempt where there are several calls.";
    IMPLIED_NEED = "implied-need", "A need that follows from the rest of the scenario.";
    UNUSED_LIMIT = "unused-limit", "A limit to which the rest of the scenario never brings a client.";
    ABOVE_CAP = "above-cap", "A count above `cap`.";
    DEADLINE = "deadline", "A wait that the deadline does not leave room for.";
    NOTHING_REQUIRED = "nothing-required", "A scenario in which no fault must fire.";
    UNMENTIONED_SERVER = "unmentioned-server", "A server that no URL and no header mentions.";
    UNKNOWN_DEFECT = "unknown-defect", "A defect that the reference client does not have.";
    SAME_TWICE = "same-twice", "The same expectation, or the same model of a step, twice.";
    LONELY_HONEST = "lonely-honest", "`honest` as the only must where nothing applies.";
    NO_CANCEL = "no-cancel", "The moment `cancel` in a scenario that cancels nothing.";
    NO_CRASH = "no-crash", "The moment `crash` in a scenario that kills nobody.";
    CRASH_OF_NOTHING = "crash-of-nothing", "An order to kill the client that can never be given in time.";
    CANCEL_OF_NOTHING = "cancel-of-nothing", "An order to cancel that can never be given.";
    // Expectations.
    BAD_COUNTER = "bad-counter", "Not a counter such as `api` or `api POST /jobs`.";
    NO_SUCH_REQUEST = "no-such-request", "A pattern that no request of the scenario can fit.";
    NOT_COMPUTABLE = "not-computable", "`by-policy` where no client's policy can be computed.";
    NO_BUSINESS_KEY = "no-business-key", "A count by business key of an effect that has none.";
    CONTRADICTION = "contradiction", "An expectation that the script can not fulfil.";
    INEXACT = "inexact", "An exact count where chance decides what has arrived.";
    NOTHING_TO_COMPARE = "nothing-to-compare", "A field that is compared where only one request can come.";
    BEYOND_QUIET = "beyond-quiet", "A time behind the report for which nobody would watch.";
    IMPOSSIBLE_FINDING = "impossible-finding", "A finding that no expectation of the scenario can give.";
    // Manifests.
    NO_SUCH_PLACEHOLDER = "no-such-placeholder", "A `{name}` that a command line does not know.";
    ABILITY_MISMATCH = "ability-mismatch", "A limit that a command can be told but is no ability, or the other way round.";
    NO_SUCH_OPERATION = "no-such-operation", "An operation that the client's API does not have.";
}
