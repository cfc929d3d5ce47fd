//! `started`: how many requests were begun.

use std::cmp::Ordering;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::counts::Count;
use crate::expected::{Expected, Words, counts};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{compare, in_words, repeats, shown};
use crate::judge::exchange::Exchange;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "started",
    summary: "requests of which at least one byte arrived",
    example: "started: { api: { at_most: 2 } }",
    findings: &[FindingName::OverBudget, FindingName::GaveUpEarly],
    kind: || counts::of_requests(false),
    decode,
};

/// `{api: 1}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode(node, "`started`", false, scope).map(Assertion::Started)
}

/// Too many is over the budget, too few is giving up early.
pub(super) fn judge(counts: &[Count], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let begun = |one: &&Exchange| {
            one.started().is_some() && one.is_counted_by(&count.counter) && one.is_of(of)
        };
        let seen: Vec<&Exchange> = case.facts.exchanges.iter().filter(begun).collect();
        let name = &count.counter.text;
        let Expected::Fits(matcher) = &count.expected else {
            out.note(shown("started", name, seen.len() as u64));
            continue;
        };
        let Some(side) = compare(matcher, seen.len() as u64, case.cut_short(), &mut out) else {
            continue;
        };
        let more = side == Ordering::Greater;
        let finding = if more {
            FindingName::OverBudget
        } else {
            FindingName::GaveUpEarly
        };
        out.wrong(
            Raised::new(
                finding,
                format!("{} started at {name}", matcher.words()),
                in_words(&seen),
                seen.iter()
                    .filter_map(|one| one.started())
                    .map(|mark| mark.n),
            )
            .in_any_case(more && repeats(&seen, case).any),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, count, exactly, plan, respond, server};

    fn check(expected: u64) -> Checked {
        let plan = plan([server("api").step(respond(200))]).call("PUT", "api", "/x");
        let story = Story::new()
            .request(5, "api", 1, "PUT /x")
            .head(6, ("api", 2, 1), "PUT /x", &[], Some(0))
            .fails(10, 1, "ECONNRESET");
        story.check(
            &plan,
            &Assertion::Started(vec![count("api", exactly(expected))]),
        )
    }

    #[test]
    fn a_request_counts_from_its_first_byte() {
        check(2).assert_good();
    }

    #[test]
    fn more_is_over_the_budget_and_fewer_is_giving_up_early() {
        assert_eq!(check(1).names(), [FindingName::OverBudget]);
        assert_eq!(check(3).names(), [FindingName::GaveUpEarly]);
    }
}
