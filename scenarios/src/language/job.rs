//! Work that is submitted and asked after.

use serde::{Deserialize, Serialize};

use super::plan::Content;
use super::template::Template;

/// How a job is asked after, and what the answers mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// What asks after it.
    pub query: Query,
    /// What the codes in the answers mean.
    pub codes: Codes,
}

/// A request that asks after a job. URL and header fields may hold `{job}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Method.
    pub method: String,
    /// URL.
    pub url: Template,
    /// Header fields.
    pub headers: Vec<(String, Template)>,
    /// Content.
    pub body: Option<Content>,
}

/// What the codes of a job mean. Whoever meets one in no list, or none, asks again. An
/// entry that ends with `*` stands for all codes that begin so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codes {
    /// The header field of an answer that tells the code.
    pub header: String,
    /// The job is done, and the answer holds what came of it.
    pub done: Vec<String>,
    /// The job goes on.
    pub working: Vec<String>,
    /// The job will never be done.
    pub refused: Vec<String>,
}
