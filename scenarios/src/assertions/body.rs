//! `body`: the content that the client shows.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Assertion, Entry};
use crate::document::decode::Keys;
use crate::document::{Node, Value};
use crate::evidence::{Shown, ShownResponse};
use crate::expected::values;
use crate::judge::answers;
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "body",
    summary: "the content that the client shows its caller, by its digest",
    example: "body: { equals: \"ok\" }",
    decode,
};

/// Which content is expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyExpected {
    /// The content of an answer that a server gave with this status.
    Whole,
    /// None.
    Empty,
    /// This text.
    Equals(String),
    /// Any: it is shown.
    Shown,
}

static KEYS: Keys = Keys::new("`body`", &[("equals", "the text it must be")]);

/// `whole`, `empty` or `{equals: text}`.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    if values::is_shown(node, scope) {
        return Some(Assertion::Body(BodyExpected::Shown));
    }
    values::must_expect(node, "`body`", scope)?;
    let expected = match &node.value {
        Value::Map(_) => {
            let fields = node.fields(&KEYS, scope.out)?;
            let text = fields.need("equals", scope.out)?;
            BodyExpected::Equals(text.any_text("`equals`", scope.out)?.to_owned())
        }
        _ => {
            let words = [("whole", false), ("empty", true)];
            match node.word("`body`", &words, scope.out)? {
                true => BodyExpected::Empty,
                false => BodyExpected::Whole,
            }
        }
    };
    Some(Assertion::Body(expected))
}

/// Each call by itself.
pub fn judge(expected: &BodyExpected, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for call in case.calls_of(of) {
        match (call.shown(), expected) {
            (Some(Shown::Response(response)), BodyExpected::Shown) => {
                if let Some(bytes) = response.body_bytes {
                    out.note(format!("body of call {}: {bytes} bytes", call.id));
                }
            }
            (_, BodyExpected::Shown) => {}
            (Some(Shown::Response(response)), _) => shown(expected, response, call, &mut out),
            (Some(_), _) if call.was_answered_whole() => out.wrong(Raised::new(
                FindingName::LostResult,
                format!("{} of call {}", words(expected), call.id),
                format!("no content ({})", call.meaning.shown),
                call.report_n(),
            )),
            _ => {}
        }
    }
    out
}

/// A command that shows no content can not be judged by it.
fn shown(
    expected: &BodyExpected,
    response: &ShownResponse,
    call: &CallView<'_>,
    out: &mut Checked,
) {
    let Some(bytes) = response.body_bytes else {
        return;
    };
    let digest = response.body_sha256.as_deref();
    let good = match expected {
        BodyExpected::Shown => true,
        BodyExpected::Empty => bytes == 0,
        BodyExpected::Equals(text) => {
            bytes == text.len() as u64 && digest.is_none_or(|digest| digest == sha256(text))
        }
        BodyExpected::Whole => {
            let Some(given) = answers::given(call) else {
                return;
            };
            given.with_status(response.status).any(|answer| {
                answer.body_bytes == bytes
                    && digest.is_none_or(|digest| answers::same_content(answer, digest))
            })
        }
    };
    if good {
        out.good();
        return;
    }
    let start = response.body_start.as_deref().unwrap_or_default();
    let start: String = start.chars().take(40).collect();
    out.wrong(Raised::new(
        FindingName::FalseSuccess,
        format!("{} of call {}", words(expected), call.id),
        format!("{bytes} bytes: {start:?}"),
        call.report_n(),
    ));
}

fn words(expected: &BodyExpected) -> String {
    match expected {
        BodyExpected::Whole => "a whole body".to_owned(),
        BodyExpected::Empty => "an empty body".to_owned(),
        BodyExpected::Equals(text) => {
            let start: String = text.chars().take(40).collect();
            format!("the body {start:?} ({} bytes)", text.len())
        }
        BodyExpected::Shown => "a body".to_owned(),
    }
}

fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
