//! The operations that work can name: what a client is asked to do, whatever API it
//! speaks.

use serde::{Deserialize, Serialize};

/// Work by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationName {
    /// Not idempotent, small JSON.
    Create,
    /// Reads.
    Fetch,
    /// Idempotent, small JSON.
    Replace,
    /// Idempotent, no content.
    Remove,
    /// Idempotent, large content.
    Upload,
}
