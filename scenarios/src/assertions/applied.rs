//! `applied`: how often the servers' application did something.

use std::cmp::Ordering;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::counts::EffectCount;
use crate::expected::{Expected, Words, counts, side};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{compare, shown};
use crate::judge::effects;
use crate::judge::facts::EffectFact;
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "applied",
    summary: "effects of the servers' application, by name",
    example: "applied: { order: 1 }",
    findings: &[FindingName::DuplicateEffect, FindingName::LostResult],
    kind: counts::of_effects,
    decode,
};

/// `{order: 1}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode_effects(node, "`applied`", false, scope).map(Assertion::Applied)
}

/// More than expected is a duplicate effect, fewer is a lost result.
pub(super) fn judge(counts: &[EffectCount], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let name = &count.effect;
        let seen: Vec<&EffectFact> = effects::named(case, name, of);
        let observed = seen.len() as u64;
        let Expected::Fits(matcher) = &count.expected else {
            out.note(shown("applied", name, observed));
            continue;
        };
        let Some(side) = compare(matcher, observed, case.cut_short(), &mut out) else {
            continue;
        };
        let more = side == Ordering::Greater;
        let late = case.facts.late_effects.iter();
        let late = late.filter(|effect| *effect.name == **name).count() as u64;
        if !more && late > 0 && !is_too_little(matcher, observed + late) {
            out.doubt(format!(
                "{name} was applied {} only after the client was gone",
                late.words()
            ));
            continue;
        }
        let finding = if more {
            FindingName::DuplicateEffect
        } else {
            FindingName::LostResult
        };
        out.wrong(
            Raised::new(
                finding,
                format!("{name} applied {}", matcher.words()),
                effects::in_words(&seen),
                seen.iter().map(|effect| effect.mark.n),
            )
            .in_any_case(more && !effects::duplicates(case, &seen).is_empty()),
        );
    }
    out
}

fn is_too_little(matcher: &Matcher<u64>, observed: u64) -> bool {
    side(matcher, &observed) == Some(Ordering::Less)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, effect, exactly, of_call, plan, respond, server};

    fn check(method: &str, expected: u64, of: &Of) -> Checked {
        let plan = plan([server("api").step(respond(200).applies("order"))])
            .call(method, "api", "/x")
            .call(method, "api", "/y");
        let story = Story::new()
            .request(5, "api", 1, &format!("{method} /x"))
            .effect(5, ("api", 1, 1), "order", None)
            .request(6, "api", 2, &format!("{method} /x"))
            .effect(6, ("api", 2, 1), "order", None)
            .effect(6, ("api", 2, 1), "other", None)
            .shows(10, 1, 200, "")
            .shows(12, 2, 200, "");
        let assertion = Assertion::Applied(vec![effect("order", exactly(expected))]);
        story.check_of(&plan, &assertion, of)
    }

    #[test]
    fn effects_are_counted_by_name() {
        check("POST", 2, &Of::default()).assert_good();
    }

    #[test]
    fn more_is_a_duplicate_effect_and_fewer_is_a_lost_result() {
        let more = check("POST", 1, &Of::default());
        assert_eq!(more.names(), [FindingName::DuplicateEffect]);
        assert!(more.raised[0].in_any_case);
        assert_eq!(
            check("POST", 3, &Of::default()).names(),
            [FindingName::LostResult]
        );
    }

    #[test]
    fn one_effect_where_none_was_to_be_needs_the_fault_to_be_wrong() {
        let checked = check("PUT", 1, &Of::default());
        assert_eq!(checked.names(), [FindingName::DuplicateEffect]);
        assert!(!checked.raised[0].in_any_case, "PUT twice is as once");
    }

    #[test]
    fn an_effect_is_of_the_call_whose_request_brought_it() {
        check("POST", 2, &of_call(1)).assert_good();
        assert_eq!(
            check("POST", 1, &of_call(2)).names(),
            [FindingName::LostResult]
        );
    }
}
