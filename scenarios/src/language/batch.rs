//! Work of many items.

use serde::{Deserialize, Serialize};

/// How the items of a batch are sent. Each is a call, with its number and its report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Items of one request.
    pub per_request: u32,
    /// The key under which the contents of several items stand as a list in the content
    /// of their request; none: each is sent alone.
    pub into: Option<String>,
}
