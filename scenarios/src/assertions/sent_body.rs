//! `sent_body`: the content of the requests that arrived, by its digest.

use std::collections::BTreeMap;

use scripted_servers::digest::sha256;
use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::counter::Counter;
use crate::document::{Kind, Node};
use crate::expected::{counts, values};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::content;
use crate::judge::counts::listed;
use crate::judge::exchange::{Delivered, Exchange};
use crate::plan::Of;
use crate::resolve;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "sent_body",
    summary: "the content of the requests that arrived whole: as the call gave it, the same in \
              all attempts of a call, or none",
    example: "sent_body: { api: as-given }",
    findings: &[FindingName::BodyChanged],
    kind: || counts::of_counters(Kind::words(IS)),
    decode,
};

/// Requests and the content that they must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentBodyExpected {
    /// The requests.
    pub counter: Counter,
    /// Their content; none: its length is shown.
    pub is: Option<SentBody>,
}

/// What is expected of a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SentBody {
    /// What the call was given.
    AsGiven,
    /// The same over all attempts of a call.
    Same,
    /// None.
    Empty,
}

const IS: &[(&str, SentBody)] = &[
    ("as-given", SentBody::AsGiven),
    ("same", SentBody::Same),
    ("empty", SentBody::Empty),
];

impl Parameters for Vec<SentBodyExpected> {}

/// `{api: as-given}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    let all = counts::each_counter(node, "`sent_body`", scope, &|value, scope| {
        if values::is_shown(value, scope) {
            return Some(None);
        }
        values::must_expect(value, "`sent_body`", scope)?;
        value.word("what a content is", IS, scope.out).map(Some)
    })?;
    let all = all
        .into_iter()
        .map(|(counter, is)| SentBodyExpected { counter, is });
    Some(Assertion::SentBody(all.collect()))
}

/// A whole request.
type Sent<'a> = (&'a Exchange, Delivered<'a>);

/// Of a request that is not whole, nothing is said.
pub(super) fn judge(all: &[SentBodyExpected], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for expected in all {
        let exchanges = case.facts.exchanges.iter();
        let whole: Vec<Sent<'_>> = exchanges
            .filter(|one| !one.is_other() && one.is_counted_by(&expected.counter) && one.is_of(of))
            .filter_map(|one| Some((one, one.delivered()?)))
            .collect();
        let counter = &expected.counter.text;
        match expected.is {
            None => {
                let bytes = whole.iter().map(|(_, body)| body.body_bytes.to_string());
                out.note(format!("bytes of content at {counter}: {}", listed(bytes)));
            }
            Some(SentBody::Empty) => {
                let good = |body: &Delivered<'_>| body.body_bytes == 0;
                let what = format!("no content at {counter}");
                whole
                    .iter()
                    .for_each(|one| held(one, &what, good(&one.1), &mut out));
            }
            Some(SentBody::AsGiven) => as_given(&whole, counter, case, &mut out),
            Some(SentBody::Same) => same(&whole, counter, &mut out),
        }
    }
    out
}

fn held((one, body): &Sent<'_>, what: &str, good: bool, out: &mut Checked) {
    if good {
        return out.good();
    }
    out.wrong(Raised::new(
        FindingName::BodyChanged,
        what,
        in_words(one, body),
        [body.mark.n],
    ));
}

/// Digests stand for contents, which may be secrets.
fn in_words(one: &Exchange, body: &Delivered<'_>) -> String {
    let head = one.head();
    let request = head.map_or_else(String::new, |head| {
        format!("{} {} with ", head.method, head.target)
    });
    let digest = body.body_sha256();
    let digest = digest.get(..8).unwrap_or_default();
    match body.body_bytes {
        0 => format!("{request}no content"),
        bytes => format!("{request}{bytes} bytes ({digest})"),
    }
}

/// A request that belongs to no call was given nothing.
fn as_given(whole: &[Sent<'_>], counter: &str, case: &Case<'_>, out: &mut Checked) {
    let bindings = content::bindings(case);
    let given: BTreeMap<u32, (usize, String)> = resolve::calls(case.plan, case.manifest, &bindings)
        .into_iter()
        .map(|call| {
            let body = call.body.unwrap_or_default();
            (call.id, (body.len(), sha256(&body)))
        })
        .collect();
    for sent in whole {
        let (one, body) = sent;
        let Some((bytes, digest)) = one.call.and_then(|call| given.get(&call)) else {
            continue;
        };
        let what = format!("the {bytes} bytes that the call gave, at {counter}");
        held(sent, &what, body.body_sha256() == *digest, out);
    }
}

/// Each attempt against the first of its call; one alone is compared with
/// nothing.
fn same(whole: &[Sent<'_>], counter: &str, out: &mut Checked) {
    let mut first: BTreeMap<Option<u32>, &Sent<'_>> = BTreeMap::new();
    for now in whole {
        let Some(before) = first.get(&now.0.call) else {
            first.insert(now.0.call, now);
            continue;
        };
        if before.1.has_content_of(&now.1) {
            out.good();
            continue;
        }
        out.wrong(Raised::new(
            FindingName::BodyChanged,
            format!("the same content in all attempts of a call at {counter}"),
            format!(
                "{}, then {}",
                in_words(before.0, &before.1),
                in_words(now.0, &now.1)
            ),
            [before.1.mark.n, now.1.mark.n],
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::testing::{Story, of_call, plan, respond, server};

    fn case() -> Plan {
        plan([server("api").step(respond(503)).step(respond(200))])
            .call("POST", "api", "/a")
            .giving("one")
            .call("POST", "api", "/b")
            .giving("two")
    }

    /// Both calls once whole, and the first again with this content.
    fn story(again: &str) -> Story {
        Story::new()
            .carrying(5, "api", 1, "POST /a", "one")
            .carrying(7, "api", 2, "POST /a", again)
            .shows(10, 1, 200, "")
            .carrying(12, "api", 3, "POST /b", "two")
            .shows(20, 2, 200, "")
    }

    fn expecting(counter: &str, is: SentBody) -> Assertion {
        Assertion::SentBody(vec![SentBodyExpected {
            counter: Counter::parse(counter).unwrap(),
            is: Some(is),
        }])
    }

    #[test]
    fn each_request_carries_what_its_own_call_gave() {
        let as_given = expecting("api", SentBody::AsGiven);
        story("one").check(&case(), &as_given).assert_good();
        let wrong = story("two").check(&case(), &as_given);
        assert_eq!(wrong.names(), [FindingName::BodyChanged]);
        let lost = story("").check(&case(), &as_given);
        assert_eq!(lost.raised[0].observed, "POST /a with no content");
        let second = story("").check_of(&case(), &as_given, &of_call(2));
        second.assert_good();
    }

    #[test]
    fn the_same_is_looked_for_among_the_attempts_of_a_call_only() {
        let same = expecting("api", SentBody::Same);
        story("one").check(&case(), &same).assert_good();
        let wrong = story("on").check(&case(), &same);
        assert_eq!(wrong.names(), [FindingName::BodyChanged]);
        assert_eq!(wrong.raised[0].events.len(), 2);
        let alone = story("on").check_of(&case(), &same, &of_call(2));
        alone.assert_nothing();
    }

    #[test]
    fn empty_is_no_content_at_all() {
        let empty = expecting("api /end", SentBody::Empty);
        let end = |content: &str| {
            let story = Story::new().carrying(5, "api", 1, "POST /a", "one");
            let story = story.carrying(6, "api", 2, "GET /end", content);
            story.shows(10, 1, 200, "").check(&case(), &empty)
        };
        end("").assert_good();
        assert_eq!(end("one").names(), [FindingName::BodyChanged]);
    }

    #[test]
    fn a_request_that_did_not_arrive_whole_says_nothing_of_its_content() {
        let story = Story::new().head(5, ("api", 1, 1), "POST /a", &[], Some(0));
        let story = story.fails(10, 1, "ECONNRESET");
        for is in [SentBody::AsGiven, SentBody::Same, SentBody::Empty] {
            story.check(&case(), &expecting("api", is)).assert_nothing();
        }
    }
}
