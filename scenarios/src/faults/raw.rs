//! `raw`: exact bytes instead of an answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::template::Template;

/// `raw: [{text: "HTTP/1.1 200 OK\r\n\r\n"}, {pause: 5ms}, {hex: "00ff"}]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// Each written on its own.
    pub parts: Vec<RawPart>,
}

/// One write, or a pause between two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RawPart {
    /// This text.
    Text(Template),
    /// These bytes.
    Hex(Vec<u8>),
    /// Nothing for so long.
    Pause(Duration),
}
