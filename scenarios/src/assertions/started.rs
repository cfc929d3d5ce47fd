//! `started`: how many requests were begun.

use std::cmp::Ordering;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::{Expected, Words, counts};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{Count, compare, in_words, repeats, shown};
use crate::judge::facts::Exchange;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "started",
    summary: "requests of which at least one byte arrived",
    example: "started: { api: { at_most: 2 } }",
    decode,
};

/// `{api: 1}`.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode(node, "`started`", false, scope).map(Assertion::Started)
}

/// Too many is over the budget, too few is giving up early.
pub fn judge(counts: &[Count], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let begun =
            |one: &&Exchange| one.started.is_some() && count.counter.counts(one) && one.is_of(of);
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
                seen.iter().filter_map(|one| one.started).map(|mark| mark.n),
            )
            .in_any_case(more && repeats(&seen).any),
        );
    }
    out
}
