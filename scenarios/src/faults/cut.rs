//! `cut`: read the request up to a point, answer nothing, end the connection.

use scripted_servers::wire::{End, RequestPoint};
use serde::{Deserialize, Serialize};

/// `cut: {after: request, with: reset}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// How far the request is read.
    pub after: RequestPoint,
    /// How the connection ends.
    pub with: End,
}
