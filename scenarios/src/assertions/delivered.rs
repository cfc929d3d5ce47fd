//! `delivered`: how many complete requests arrived while the client lived.

use std::cmp::Ordering;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::counts::Count;
use crate::expected::{Expected, Words, counts};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{compare, in_words, repeats, shown};
use crate::judge::exchange::Exchange;
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "delivered",
    summary: "complete requests that arrived while the client lived, read or unread",
    example: "delivered: { api: 1 }",
    findings: &[
        FindingName::DuplicateDelivery,
        FindingName::OverBudget,
        FindingName::GaveUpEarly,
    ],
    kind: || counts::of_requests(true),
    decode,
};

/// `{api: 1}`, `{"api POST /jobs": by-policy}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode(node, "`delivered`", true, scope).map(Assertion::Delivered)
}

/// Too many is a duplicate where a request of an unsafe method came twice for
/// one call, else over the budget; too few is giving up early.
pub(super) fn judge(counts: &[Count], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let delivered = |one: &&Exchange| {
            one.delivery().is_some() && one.is_counted_by(&count.counter) && one.is_of(of)
        };
        let seen: Vec<&Exchange> = case.facts.exchanges.iter().filter(delivered).collect();
        let name = &count.counter.text;
        match &count.expected {
            Expected::Shown => out.note(shown("delivered", name, seen.len() as u64)),
            Expected::Fits(matcher) => one(matcher, name, "", &seen, case, &mut out),
            Expected::ByPolicy => match case.prediction.delivered(&count.counter, of) {
                Ok(predicted) => {
                    let words = predicted.matcher.words();
                    out.note(format!("by-policy, delivered {name}: {words}"));
                    predicted
                        .reasoning
                        .into_iter()
                        .for_each(|step| out.note(step));
                    let by = ", by the client's declared policy";
                    one(&predicted.matcher, name, by, &seen, case, &mut out);
                }
                Err(missing) => out.doubt(missing),
            },
        }
    }
    out
}

fn one(
    matcher: &Matcher<u64>,
    name: &str,
    by: &str,
    seen: &[&Exchange],
    case: &Case<'_>,
    out: &mut Checked,
) {
    let observed = seen.len() as u64;
    let Some(side) = compare(matcher, observed, case.cut_short(), out) else {
        return;
    };
    let repeats = repeats(seen, case);
    let finding = match side {
        Ordering::Greater if repeats.of_an_unsafe_method => FindingName::DuplicateDelivery,
        Ordering::Greater => FindingName::OverBudget,
        _ => FindingName::GaveUpEarly,
    };
    let marks = seen.iter().filter_map(|one| one.delivery());
    out.wrong(
        Raised::new(
            finding,
            format!("{} delivered at {name}{by}", matcher.words()),
            in_words(seen),
            marks.map(|mark| mark.n),
        )
        // More than expected needs no fault to be wrong when it is a repeat;
        // a first delivery may be there only because the fault was not.
        .in_any_case(side == Ordering::Greater && repeats.any),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{ErrorKind, Manifest, PolicyRule};
    use crate::plan::Plan;
    use crate::testing::{
        Story, between, count, cut, delivered, exactly, job, manifest, of_call, plan, respond,
        server,
    };
    use scripted_servers::wire::End;

    fn case(method: &str) -> Plan {
        plan([server("api").step(respond(503))]).call(method, "api", "/x")
    }

    fn twice(method: &str) -> Story {
        Story::new()
            .request(5, "api", 1, &format!("{method} /x"))
            .request(6, "api", 2, &format!("{method} /x"))
            .shows(10, 1, 503, "")
    }

    #[test]
    fn the_exact_number_is_good() {
        let two = delivered("api", 2);
        twice("POST").check(&case("POST"), &two).assert_good();
    }

    #[test]
    fn too_many_of_an_unsafe_method_is_a_duplicate() {
        let checked = twice("POST").check(&case("POST"), &delivered("api", 1));
        assert_eq!(checked.names(), [FindingName::DuplicateDelivery]);
        let raised = &checked.raised[0];
        assert_eq!(raised.expected, "1 delivered at api");
        assert_eq!(raised.observed, "2 (call 1: POST /x 2 times)");
        assert_eq!(raised.events.len(), 2);
        assert!(raised.in_any_case);
    }

    #[test]
    fn too_many_of_a_safe_method_is_over_the_budget() {
        let checked = twice("GET").check(&case("GET"), &delivered("api", 1));
        assert_eq!(checked.names(), [FindingName::OverBudget]);
    }

    #[test]
    fn a_query_of_a_job_is_no_repeat_of_the_one_before() {
        let mut case = case("POST");
        case.calls[0].job = Some(job("api", "/x/"));
        let story = Story::new()
            .request(5, "api", 1, "POST /x")
            .request(6, "api", 2, "GET /x/7")
            .request(7, "api", 3, "GET /x/7");
        let checked = story.check(&case, &delivered("api", 2));
        assert_eq!(checked.names(), [FindingName::OverBudget]);
        assert!(!checked.raised[0].in_any_case);
        let again = story.request(8, "api", 4, "POST /x");
        let checked = again.check(&case, &delivered("api", 3));
        assert_eq!(checked.names(), [FindingName::DuplicateDelivery]);
    }

    #[test]
    fn hops_of_a_redirect_are_not_duplicates_of_each_other() {
        let story = Story::new()
            .request(5, "api", 1, "POST /a")
            .request(6, "api", 2, "POST /b")
            .shows(10, 1, 200, "");
        let checked = story.check(&case("POST"), &delivered("api", 1));
        assert_eq!(checked.names(), [FindingName::OverBudget]);
        assert!(!checked.raised[0].in_any_case);
    }

    #[test]
    fn too_few_is_giving_up_early() {
        let checked = twice("GET").check(&case("GET"), &delivered("api", 3));
        assert_eq!(checked.names(), [FindingName::GaveUpEarly]);
    }

    #[test]
    fn a_pattern_counts_only_what_fits_it() {
        let story = Story::new()
            .request(5, "api", 1, "POST /jobs")
            .request(6, "api", 2, "GET /jobs/1")
            .shows(10, 1, 200, "");
        let case = case("POST");
        let submits = delivered("api POST /jobs", 1);
        story.check(&case, &submits).assert_good();
        let queries = delivered("api GET /jobs/*", 2);
        let checked = story.check(&case, &queries);
        assert_eq!(checked.names(), [FindingName::GaveUpEarly]);
    }

    #[test]
    fn ranges_and_calls_narrow_what_fits() {
        let case = case("GET").call("GET", "api", "/y");
        let story = Story::new()
            .request(5, "api", 1, "GET /x")
            .shows(6, 1, 200, "")
            .request(7, "api", 2, "GET /y")
            .request(8, "api", 3, "GET /y")
            .shows(9, 2, 200, "");
        let at_most = Assertion::Delivered(vec![count("api", between(None, Some(2)))]);
        let checked = story.check(&case, &at_most);
        assert_eq!(checked.names(), [FindingName::OverBudget]);
        story.check_of(&case, &at_most, &of_call(2)).assert_good();
        let one = Assertion::Delivered(vec![count("api", exactly(1))]);
        story.check_of(&case, &one, &of_call(1)).assert_good();
        let checked = story.check_of(&case, &one, &of_call(2));
        assert_eq!(checked.names(), [FindingName::OverBudget]);
    }

    fn promises(attempts: u32) -> Manifest {
        let mut manifest = manifest();
        manifest.policy.rules = vec![PolicyRule {
            error: vec![ErrorKind::Reset],
            attempts,
            ..PolicyRule::default()
        }];
        manifest
    }

    #[test]
    fn by_policy_is_what_the_client_promises_and_its_reasoning_is_shown() {
        let case = plan([server("api").step(cut(End::Reset))]).call("POST", "api", "/x");
        let by_policy = Assertion::Delivered(vec![count("api", Expected::ByPolicy)]);
        let story = twice("POST");
        let of = Of::default();
        let checked = story.check_with(&case, &promises(2), &by_policy, &of);
        checked.assert_good();
        assert!(
            checked
                .notes
                .iter()
                .any(|note| note.contains("`reset` is sent again"))
        );
        let checked = story.check_with(&case, &promises(1), &by_policy, &of);
        assert_eq!(checked.names(), [FindingName::DuplicateDelivery]);
        let checked = story.check_with(&case, &promises(3), &by_policy, &of);
        assert_eq!(checked.names(), [FindingName::GaveUpEarly]);
        let checked = story.check_with(&case, &manifest(), &by_policy, &of);
        checked.assert_nothing();
        assert_eq!(checked.doubts.len(), 1);
    }
}
