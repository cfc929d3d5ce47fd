//! Documents: YAML as a tree of values with positions, and what can be said
//! about a mistake in one.

pub mod decode;
pub mod diagnostic;
pub mod ids;
mod keys;
pub mod kind;
mod met;
mod render;
mod scalar;
mod source;
pub(crate) mod values;
mod yaml;

use std::ops::Range;

pub use diagnostic::Diagnostics;
pub use kind::Kind;
pub use met::Met;
pub use render::{harmless, render};
pub use source::{MAX_BYTES, Unreadable, open};
pub use yaml::parse;

/// A document's text and where it came from.
#[derive(Clone, Debug)]
pub struct Source {
    /// As given on the command line or found.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// A range of bytes in the source.
pub type Span = Range<usize>;

/// A value with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where.
    pub span: Span,
    /// What.
    pub value: Value,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A scalar.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the file; keys are unique.
    Map(Vec<(Key, Node)>),
}

/// A key with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A scalar as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Its text, quotes and escapes resolved.
    pub text: String,
    /// What YAML takes it for.
    pub kind: ScalarKind,
}

/// What YAML takes a scalar for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// Quoted, or plain text that nothing else could be.
    Text,
    /// A plain number.
    Number,
    /// Plain `true` or `false`.
    Truth,
    /// Plain `null`, `~` or nothing.
    Null,
}

/// A mistake in a document, ready to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Stable id: `unknown-key`.
    pub id: &'static str,
    /// The file.
    pub path: String,
    /// Where.
    pub span: Span,
    /// What is wrong, in one line.
    pub title: String,
    /// What stands under the caret.
    pub label: String,
    /// What to write instead.
    pub help: Option<String>,
    /// A second place that explains it: `first defined here`.
    pub other: Option<(Span, String)>,
    /// Whether no schema can know it, where one knows others of its id.
    pub beyond_schema: bool,
}
