//! `error`: what the client's error says, and whether it keeps the cause.
//!
//! A definite answer that is no success counts as an error here.

mod numbers;

use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::document::decode::Keys;
use crate::document::kind::Rule;
use crate::document::{Kind, Node};
use crate::evidence::{ErrorLink, Shown, ShownResponse};
use crate::expected::values;
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::judge::errors;
use crate::judge::{answers, content};
use crate::manifest::Phase;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::{FindingName, Outcome};

impl Parameters for ErrorExpected {}

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "error",
    summary: "when the client's error arose, its code, and what it keeps of the cause",
    example: "error: { phase: after, keeps: [code] }",
    findings: &[
        FindingName::Masquerade,
        FindingName::FalseSuccess,
        FindingName::CauseLost,
    ],
    kind: || Kind::Map(&KEYS).expected(),
    decode,
};

/// What is expected of an error; at least one, or all are only shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorExpected {
    /// When it arose.
    pub phase: Option<Phase>,
    /// Any of these codes is in the chain.
    pub code: Vec<String>,
    /// What of the cause is still there.
    pub keeps: Vec<Kept>,
    /// This text is somewhere in the chain.
    pub says: Option<String>,
}

/// A part of the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// A code.
    Code,
    /// The status that a server gave.
    Status,
    /// The begin of the body that a server gave.
    BodyStart,
    /// A message for people.
    Reason,
}

static KEYS: Keys = Keys::new(
    "`error`",
    &[
        ("phase", "`before` or `after` sending", || {
            Kind::words(PHASES)
        }),
        (
            "code",
            "a list of codes, any of which is in the chain",
            || Kind::list(Kind::text()),
        ),
        (
            "keeps",
            "a list of `code`, `status`, `body-start`, `reason`",
            || Kind::list(Kind::words(KEPT)),
        ),
        ("says", "text that is somewhere in the chain", Kind::text),
    ],
)
.rules(&[Rule::AnyOf(&["phase", "code", "keeps", "says"])]);

const PHASES: &[(&str, Phase)] = &[("before", Phase::Before), ("after", Phase::After)];

const KEPT: &[(&str, Kept)] = &[
    ("code", Kept::Code),
    ("status", Kept::Status),
    ("body-start", Kept::BodyStart),
    ("reason", Kept::Reason),
];

/// `{phase: after, code: [ECONNRESET], keeps: [status], says: text}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    if values::is_shown(node, scope) {
        return Some(Assertion::Error(ErrorExpected::default()));
    }
    values::must_expect(node, "`error`", scope)?;
    let fields = node.fields(&KEYS, scope.out)?;
    let named: Vec<&'static str> = KEYS.known.iter().map(|(name, ..)| *name).collect();
    if named.iter().all(|name| fields.get(name).is_none()) {
        fields.one_of(&named, scope.out)?;
    }
    let phase = fields
        .get("phase")
        .map(|node| node.word("`phase`", PHASES, scope.out));
    let code = fields.get("code").map(|node| {
        values::list(node, "`code`", scope.out, &|node, out| {
            node.text("a code", out).map(str::to_owned)
        })
    });
    let keeps = fields.get("keeps").map(|node| {
        values::list(node, "`keeps`", scope.out, &|node, out| {
            node.word("a part of the cause", KEPT, out)
        })
    });
    let says = fields
        .get("says")
        .map(|node| node.text("`says`", scope.out));
    Some(Assertion::Error(ErrorExpected {
        phase: phase.map_or(Some(None), |phase| phase.map(Some))?,
        code: code.unwrap_or_else(|| Some(Vec::new()))?,
        keeps: keeps.unwrap_or_else(|| Some(Vec::new()))?,
        says: says.map_or(Some(None), |says| says.map(|says| Some(says.to_owned())))?,
    }))
}

/// Each call by itself. A rightful success has no error to judge.
pub(super) fn judge(expected: &ErrorExpected, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for call in case.calls_of(of) {
        if *expected == ErrorExpected::default() {
            out.note(format!("error of call {}: {}", call.id, call.meaning.shown));
            continue;
        }
        match call.shown() {
            Some(Shown::Response(_)) if call.meaning.outcome == Outcome::Success => {
                if !call.was_answered_whole() {
                    out.wrong(Raised::new(
                        FindingName::FalseSuccess,
                        format!("an error of call {}", call.id),
                        call.meaning.shown.clone(),
                        call.report_n(),
                    ));
                }
            }
            Some(Shown::Response(response)) => {
                one(expected, &Said::answer(response), call, case, &mut out);
            }
            Some(Shown::Error(chain)) => {
                let said = Said::error(errors::named(chain, case.manifest));
                one(expected, &said, call, case, &mut out);
            }
            Some(Shown::Cancelled {} | Shown::Held {}) | None => {}
        }
    }
    out
}

/// What a client said of a failure.
struct Said<'a> {
    chain: Vec<ErrorLink>,
    response: Option<&'a ShownResponse>,
}

impl<'a> Said<'a> {
    fn answer(response: &'a ShownResponse) -> Self {
        Self {
            chain: Vec::new(),
            response: Some(response),
        }
    }

    fn error(chain: Vec<ErrorLink>) -> Self {
        Self {
            chain,
            response: None,
        }
    }

    fn parts(&self) -> impl Iterator<Item = &String> {
        let links = self.chain.iter();
        let parts = links.flat_map(|link| [&link.kind, &link.code, &link.message]);
        let body = self.response.map(|response| &response.body_start);
        parts.chain(body).flatten()
    }

    /// Whether a text is anywhere in it.
    fn has(&self, text: &str) -> bool {
        self.parts().any(|part| part.contains(text))
    }

    /// Whether a status is anywhere in it.
    fn has_status(&self, status: u16) -> bool {
        self.parts().any(|part| numbers::names(part, status))
    }

    fn keeps(&self, kept: Kept, call: &CallView<'_>, case: &Case<'_>) -> bool {
        match kept {
            Kept::Code => self.chain.iter().any(|link| link.code.is_some()),
            Kept::Status => {
                let shown = self.response.and_then(|response| response.status);
                let given = answers::given(call).map(|given| given.statuses);
                shown.is_some()
                    || given
                        .is_some_and(|given| given.iter().any(|status| self.has_status(*status)))
            }
            Kept::BodyStart => {
                let starts = content::starts(case, call);
                let nothing_to_see = starts.texts.is_empty() && starts.not_text;
                nothing_to_see || starts.texts.iter().any(|start| self.has(start))
            }
            Kept::Reason => {
                let message = |link: &ErrorLink| {
                    let text = link.message.as_deref().unwrap_or_default();
                    !text.trim().is_empty()
                };
                self.response.is_some() || self.chain.iter().any(message)
            }
        }
    }
}

fn one(
    expected: &ErrorExpected,
    said: &Said<'_>,
    call: &CallView<'_>,
    case: &Case<'_>,
    out: &mut Checked,
) {
    let before = out.raised.len();
    let mut lost = |name: FindingName, what: String| {
        out.wrong(Raised::new(
            name,
            format!("{what} of call {}", call.id),
            call.meaning.shown.clone(),
            call.report_n(),
        ));
    };
    match (expected.phase, call.meaning.phase) {
        (Some(Phase::After), Some(Phase::Before)) => {
            lost(FindingName::Masquerade, "an error after sending".to_owned());
        }
        (Some(Phase::Before), phase) if phase != Some(Phase::Before) => {
            lost(FindingName::CauseLost, "an error before sending".to_owned());
        }
        _ => {}
    }
    let codes = &expected.code;
    let has_code = |link: &ErrorLink| link.code.as_ref().is_some_and(|code| codes.contains(code));
    if !codes.is_empty() && !said.chain.iter().any(has_code) {
        lost(
            FindingName::CauseLost,
            format!("code {}", codes.join(" or ")),
        );
    }
    for kept in &expected.keeps {
        if !said.keeps(*kept, call, case) {
            let word = KEPT.iter().find(|(_, one)| one == kept);
            let word = word.map_or("", |(word, _)| word);
            lost(FindingName::CauseLost, format!("the {word} in the error"));
        }
    }
    if let Some(text) = expected.says.as_ref().filter(|text| !said.has(text)) {
        lost(
            FindingName::CauseLost,
            format!("the text {text:?} in the error"),
        );
    }
    if out.raised.len() == before {
        out.good();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Content, Plan};
    use crate::template::Template;
    use crate::testing::{Story, plan, respond, server};

    const AT: (&str, u32, u32) = ("api", 1, 1);

    fn case() -> Plan {
        let page = Content::Text(Template::text("<html>bad gateway, says the proxy</html>"));
        let step = respond(502).with(|respond| respond.body = Some(page));
        plan([server("api").step(step)]).call("POST", "api", "/x")
    }

    fn sent() -> Story {
        Story::new().request(5, "api", 1, "POST /x").took(5, AT, 0)
    }

    fn phase(phase: Phase) -> ErrorExpected {
        ErrorExpected {
            phase: Some(phase),
            ..ErrorExpected::default()
        }
    }

    fn keeps(kept: Kept) -> ErrorExpected {
        ErrorExpected {
            keeps: vec![kept],
            ..ErrorExpected::default()
        }
    }

    fn names(expected: ErrorExpected, story: &Story) -> Vec<FindingName> {
        let checked = story.check(&case(), &Assertion::Error(expected));
        if checked.raised.is_empty() {
            checked.assert_good();
        }
        checked.names()
    }

    fn fails(message: &str) -> Story {
        let link = ErrorLink {
            message: Some(message.to_owned()),
            ..ErrorLink::default()
        };
        sent()
            .answer(6, AT, 502, "<html>bad gateway, says the proxy</html>")
            .report(9, 1, Shown::Error(vec![link]))
    }

    #[test]
    fn the_phase_is_the_table_s() {
        let before = sent().fails(9, 1, "ECONNREFUSED");
        let after = sent().fails(9, 1, "ECONNRESET");
        let unmapped = sent().fails(9, 1, "X");
        assert_eq!(names(phase(Phase::Before), &before), []);
        assert_eq!(
            names(phase(Phase::After), &before),
            [FindingName::Masquerade]
        );
        assert_eq!(names(phase(Phase::After), &after), []);
        assert_eq!(
            names(phase(Phase::Before), &after),
            [FindingName::CauseLost]
        );
        assert_eq!(names(phase(Phase::After), &unmapped), []);
        assert_eq!(
            names(phase(Phase::Before), &unmapped),
            [FindingName::CauseLost]
        );
    }

    #[test]
    fn any_of_the_codes_is_in_the_chain() {
        let codes = |codes: &[&str]| ErrorExpected {
            code: codes.iter().map(|code| (*code).to_owned()).collect(),
            ..ErrorExpected::default()
        };
        let story = sent().fails(9, 1, "ECONNRESET");
        assert_eq!(names(codes(&["EPIPE", "ECONNRESET"]), &story), []);
        assert_eq!(names(codes(&["EPIPE"]), &story), [FindingName::CauseLost]);
    }

    #[test]
    fn what_is_kept_of_the_cause_is_looked_for_everywhere() {
        let bare = fails("it failed");
        let full = fails("status 502: <html>bad gateway, says");
        let lost = [FindingName::CauseLost];
        assert_eq!(names(keeps(Kept::Status), &full), []);
        assert_eq!(names(keeps(Kept::Status), &bare), lost);
        assert_eq!(names(keeps(Kept::BodyStart), &full), []);
        assert_eq!(names(keeps(Kept::BodyStart), &bare), lost);
        assert_eq!(names(keeps(Kept::Code), &bare), lost);
        assert_eq!(names(keeps(Kept::Code), &sent().fails(9, 1, "X")), []);
        assert_eq!(names(keeps(Kept::Reason), &bare), []);
        assert_eq!(names(keeps(Kept::Reason), &fails(" ")), lost);
    }

    #[test]
    fn digits_of_an_address_are_no_status() {
        let lost = [FindingName::CauseLost];
        for message in [
            "connect to 127.0.0.1:45502 failed",
            "127.0.0.1:502 (os error 502)",
        ] {
            assert_eq!(
                names(keeps(Kept::Status), &fails(message)),
                lost,
                "{message}"
            );
        }
        assert_eq!(
            names(keeps(Kept::Status), &fails("HTTP 502 from 127.0.0.1:502")),
            []
        );
    }

    fn names_of(content: Content, message: &str) -> Vec<FindingName> {
        let step = respond(502).with(|respond| respond.body = Some(content));
        let plan = plan([server("api").step(step)]).call("POST", "api", "/x");
        let link = ErrorLink {
            message: Some(message.to_owned()),
            ..ErrorLink::default()
        };
        let story = sent()
            .answer(6, AT, 502, "")
            .report(9, 1, Shown::Error(vec![link]));
        let checked = story.check(&plan, &Assertion::Error(keeps(Kept::BodyStart)));
        checked.names()
    }

    #[test]
    fn the_begin_of_a_page_by_its_shape_is_recognized() {
        let page = || Content::Shape(crate::plan::Shape::Page { size: None });
        let kept = names_of(page(), "502: <html><head><title>502 Bad Gateway");
        assert_eq!(kept, []);
        assert_eq!(names_of(page(), "it failed"), [FindingName::CauseLost]);
        let bytes = Content::Hex(vec![0xff, 0xfe]);
        assert_eq!(names_of(bytes, "it failed"), [], "no text to keep");
    }

    #[test]
    fn a_definite_answer_counts_as_an_error() {
        let page = "<html>bad gateway, says the proxy</html>";
        let story = sent().answer(6, AT, 502, page).shows(9, 1, 502, page);
        assert_eq!(names(keeps(Kept::Status), &story), []);
        assert_eq!(names(keeps(Kept::BodyStart), &story), []);
        let without = sent().answer(6, AT, 502, page).shows(9, 1, 502, "");
        assert_eq!(
            names(keeps(Kept::BodyStart), &without),
            [FindingName::CauseLost]
        );
    }

    #[test]
    fn what_it_says_is_found_in_any_link() {
        let says = |text: &str| ErrorExpected {
            says: Some(text.to_owned()),
            ..ErrorExpected::default()
        };
        assert_eq!(names(says("overloaded"), &fails("it is overloaded")), []);
        assert_eq!(
            names(says("overloaded"), &fails("it failed")),
            [FindingName::CauseLost]
        );
    }

    #[test]
    fn a_rightful_success_has_no_error_and_another_is_false() {
        let expected = Assertion::Error(phase(Phase::After));
        let right = sent().answer(6, AT, 200, "").shows(9, 1, 200, "");
        right.check(&case(), &expected).assert_nothing();
        let wrong = sent().shows(9, 1, 200, "");
        let checked = wrong.check(&case(), &expected);
        assert_eq!(checked.names(), [FindingName::FalseSuccess]);
    }
}
