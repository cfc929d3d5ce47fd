//! The assertions, a file each: form, decoding, and judging.

use serde::{Deserialize, Serialize};

/// What is expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assertion {
    /// What the client claims agrees with what the servers know.
    Honest,
}
