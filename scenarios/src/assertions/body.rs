//! `body`: the content that the client shows.

use serde::{Deserialize, Serialize};

use scripted_servers::digest::sha256;

use super::{Assertion, Entry, Parameters};
use crate::document::decode::Keys;
use crate::document::kind::Rule;
use crate::document::{Kind, Node, Value};
use crate::evidence::{Shown, ShownResponse};
use crate::expected::values;
use crate::judge::answers;
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

impl Parameters for BodyExpected {}

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "body",
    summary: "the content that the client shows its caller, by its digest",
    example: "body: { equals: \"ok\" }",
    findings: &[FindingName::FalseSuccess, FindingName::LostResult],
    kind: || Kind::Either(vec![Kind::words(WORDS), Kind::Map(&KEYS)]).expected(),
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

static KEYS: Keys = Keys::new(
    "`body`",
    &[("equals", "the text it must be", Kind::any_text)],
)
.rules(&[Rule::Needs(&["equals"])]);

const WORDS: &[(&str, bool)] = &[("whole", false), ("empty", true)];

/// `whole`, `empty` or `{equals: text}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
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
        _ => match node.word("`body`", WORDS, scope.out)? {
            true => BodyExpected::Empty,
            false => BodyExpected::Whole,
        },
    };
    Some(Assertion::Body(expected))
}

/// Each call by itself.
pub(super) fn judge(expected: &BodyExpected, of: &Of, case: &Case<'_>) -> Checked {
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
            bytes == text.len() as u64
                && digest.is_none_or(|digest| digest == sha256(text.as_bytes()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, plan, respond, server};

    const AT: (&str, u32, u32) = ("api", 1, 1);

    fn check(expected: BodyExpected, story: &Story) -> Checked {
        let plan = plan([server("api").step(respond(200))]).call("GET", "api", "/x");
        story.check(&plan, &Assertion::Body(expected))
    }

    fn shown(text: &str) -> Story {
        let story = Story::new().request(5, "api", 1, "GET /x");
        story.answer(6, AT, 200, "hello").shows(9, 1, 200, text)
    }

    fn equals(text: &str) -> BodyExpected {
        BodyExpected::Equals(text.to_owned())
    }

    #[test]
    fn the_expected_content_is_good() {
        check(BodyExpected::Whole, &shown("hello")).assert_good();
        check(BodyExpected::Empty, &shown("")).assert_good();
        check(equals("hello"), &shown("hello")).assert_good();
    }

    #[test]
    fn other_content_is_a_false_success() {
        for wrong in ["hell", "jello", ""] {
            let name = [FindingName::FalseSuccess];
            assert_eq!(
                check(BodyExpected::Whole, &shown(wrong)).names(),
                name,
                "{wrong}"
            );
            assert_eq!(
                check(equals("hello"), &shown(wrong)).names(),
                name,
                "{wrong}"
            );
        }
        let checked = check(BodyExpected::Empty, &shown("x"));
        assert_eq!(checked.names(), [FindingName::FalseSuccess]);
    }

    #[test]
    fn a_result_that_was_given_and_is_not_shown_is_lost() {
        let story = Story::new().request(5, "api", 1, "GET /x");
        let given = story.clone().answer(6, AT, 200, "hello").fails(9, 1, "X");
        assert_eq!(
            check(BodyExpected::Whole, &given).names(),
            [FindingName::LostResult]
        );
        let cut = story.answering(6, AT, 200, "hello", false).fails(9, 1, "X");
        check(BodyExpected::Whole, &cut).assert_nothing();
    }

    #[test]
    fn a_command_that_shows_no_content_can_not_be_judged_by_it() {
        let response = Shown::Response(ShownResponse {
            status: Some(200),
            ..ShownResponse::default()
        });
        let story = Story::new()
            .request(5, "api", 1, "GET /x")
            .report(9, 1, response);
        check(equals("hello"), &story).assert_nothing();
    }
}
