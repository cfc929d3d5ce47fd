//! The assertions, a file each: form, decoding, and judging.

use serde::{Deserialize, Serialize};

use crate::document::{Key, Node, decode};
use crate::scope::Scope;
use crate::verdict::Axis;

/// What is expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assertion {
    /// What the client claims agrees with what the servers know.
    Honest,
}

/// The words that name an assertion.
pub const WORDS: &[&str] = &["honest"];

/// Decodes one assertion: its word, and the value that stands behind it.
pub fn decode(key: &Key, value: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    if key.text == "honest" {
        value.truth("`honest`", scope.out)?;
        return Some(Assertion::Honest);
    }
    decode::unknown_word(
        &key.span,
        &key.text,
        "an assertion",
        WORDS.iter().copied(),
        scope.out,
    );
    None
}

impl Assertion {
    /// The axis it belongs to unless the scenario says otherwise.
    pub fn axis(&self) -> Axis {
        Axis::Safety
    }
}
