//! `sent_method`: the method of the requests that arrived.

use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::counter::Counter;
use crate::document::Node;
use crate::expected::{counts, values};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::listed;
use crate::judge::exchange::{Exchange, Head};
use crate::plan::Of;
use crate::reading::names;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "sent_method",
    summary: "the method of the requests that arrived",
    example: "sent_method: { \"api /end\": GET }",
    findings: &[FindingName::WrongRequest],
    kind: || counts::of_counters(names::method_kind()),
    decode,
};

/// Requests and the method that they must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodExpected {
    /// The requests.
    pub counter: Counter,
    /// Their method; none: it is shown.
    pub method: Option<String>,
}

impl Parameters for Vec<MethodExpected> {}

/// `{"api /end": GET}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    let all = counts::each_counter(node, "`sent_method`", scope, &|value, scope| {
        if values::is_shown(value, scope) {
            return Some(None);
        }
        values::must_expect(value, "`sent_method`", scope)?;
        names::method(value, scope.out).map(Some)
    })?;
    let all = all
        .into_iter()
        .map(|(counter, method)| MethodExpected { counter, method });
    Some(Assertion::SentMethod(all.collect()))
}

/// All heads that arrived, of incomplete requests too.
pub(super) fn judge(all: &[MethodExpected], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for expected in all {
        let exchanges = case.facts.exchanges.iter();
        let heads = exchanges
            .filter(|one| !one.is_other() && one.is_counted_by(&expected.counter) && one.is_of(of))
            .filter_map(Exchange::head);
        let counter = &expected.counter.text;
        match &expected.method {
            None => {
                let seen = listed(heads.map(|head| head.method.to_owned()));
                out.note(format!("methods at {counter}: {seen}"));
            }
            Some(method) => heads.for_each(|head| one(method, counter, &head, &mut out)),
        }
    }
    out
}

/// Methods are told apart by case (RFC 9110 section 9.1).
fn one(expected: &str, counter: &str, head: &Head<'_>, out: &mut Checked) {
    if head.method == expected {
        return out.good();
    }
    out.wrong(Raised::new(
        FindingName::WrongRequest,
        format!("{expected} at {counter}"),
        format!("{} {}", head.method, head.target),
        [head.mark.n],
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, of_call, plan, respond, server};

    fn expecting(counter: &str, method: &str) -> Assertion {
        Assertion::SentMethod(vec![MethodExpected {
            counter: Counter::parse(counter).unwrap(),
            method: Some(method.to_owned()),
        }])
    }

    fn check(counter: &str, method: &str, of: &Of) -> Checked {
        let plan = plan([server("api").step(respond(200))])
            .call("POST", "api", "/in")
            .call("PUT", "api", "/other");
        let story = Story::new()
            .request(5, "api", 1, "POST /in")
            .on(6, ("api", 1, 2), "GET /end", &[])
            .head(7, ("api", 1, 3), "PUT /other", &[], Some(0))
            .shows(10, 1, 200, "");
        story.check_of(&plan, &expecting(counter, method), of)
    }

    #[test]
    fn every_head_that_arrived_has_this_method() {
        check("api /in", "POST", &Of::default()).assert_good();
        check("api /other", "PUT", &Of::default()).assert_good();
        let wrong = check("api /end", "POST", &Of::default());
        assert_eq!(wrong.names(), [FindingName::WrongRequest]);
        assert_eq!(wrong.raised[0].observed, "GET /end");
        let all = check("api", "POST", &Of::default());
        assert_eq!(all.names().len(), 2);
        assert_eq!(check("api", "PUT", &of_call(2)).names(), []);
    }

    #[test]
    fn a_method_in_small_letters_is_another_method() {
        let plan = plan([server("api").step(respond(200))]).call("PATCH", "api", "/x");
        let story = Story::new().request(5, "api", 1, "patch /x");
        let checked = story.check(&plan, &expecting("api", "PATCH"));
        assert_eq!(checked.names(), [FindingName::WrongRequest]);
    }

    #[test]
    fn without_a_request_there_is_no_method_and_at_info_it_is_shown() {
        check("api /none", "GET", &Of::default()).assert_nothing();
        let plan = plan([server("api").step(respond(200))]).call("PATCH", "api", "/x");
        let shown = Assertion::SentMethod(vec![MethodExpected {
            counter: Counter::server("api"),
            method: None,
        }]);
        let checked = Story::new()
            .request(5, "api", 1, "PUT /x")
            .check(&plan, &shown);
        checked.assert_nothing();
        assert_eq!(checked.notes, ["methods at api: PUT"]);
    }
}
