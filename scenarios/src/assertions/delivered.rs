//! `delivered`: how many complete requests arrived while the client lived.

use std::cmp::Ordering;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::{Expected, Words, counts};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{Count, compare, in_words, repeats, shown};
use crate::judge::facts::Exchange;
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "delivered",
    summary: "complete requests that arrived while the client lived, read or unread",
    example: "delivered: { api: 1 }",
    decode,
};

/// `{api: 1}`, `{"api POST /jobs": by-policy}`.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode(node, "`delivered`", true, scope).map(Assertion::Delivered)
}

/// Too many is a duplicate where a request of an unsafe method came twice for
/// one call, else over the budget; too few is giving up early.
pub fn judge(counts: &[Count], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let delivered = |one: &&Exchange| {
            one.delivery().is_some() && count.counter.counts(one) && one.is_of(of)
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
    let repeats = repeats(seen);
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
