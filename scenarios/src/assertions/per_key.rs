//! `per_key`: how often the application did something for each business key.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::counts::EffectCount;
use crate::expected::{Expected, Words, counts};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{compare, shown};
use crate::judge::effects;
use crate::judge::facts::EffectFact;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "per_key",
    summary: "effects of the servers' application, for each business key",
    example: "per_key: { order: 1 }",
    findings: &[FindingName::DuplicateEffect, FindingName::LostResult],
    kind: counts::of_effects,
    decode,
};

/// `{order: 1}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode_effects(node, "`per_key`", true, scope).map(Assertion::PerKey)
}

/// Each key by itself; requests without a key are one more. Without any effect
/// there is no key to judge.
pub(super) fn judge(counts: &[EffectCount], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let mut by_key: BTreeMap<Option<&str>, Vec<&EffectFact>> = BTreeMap::new();
        for effect in effects::named(case, &count.effect, of) {
            by_key
                .entry(effect.key.as_deref())
                .or_default()
                .push(effect);
        }
        for (key, seen) in by_key {
            let key = key.map_or_else(|| "no key".to_owned(), |key| format!("key {key}"));
            one(count, &key, &seen, case, &mut out);
        }
    }
    out
}

fn one(count: &EffectCount, key: &str, seen: &[&EffectFact], case: &Case<'_>, out: &mut Checked) {
    let name = &count.effect;
    let observed = seen.len() as u64;
    let Expected::Fits(matcher) = &count.expected else {
        out.note(shown("per_key", &format!("{name}, {key}"), observed));
        return;
    };
    let Some(side) = compare(matcher, observed, case.cut_short(), out) else {
        return;
    };
    let more = side == Ordering::Greater;
    let finding = if more {
        FindingName::DuplicateEffect
    } else {
        FindingName::LostResult
    };
    out.wrong(
        Raised::new(
            finding,
            format!("{name} applied {} for each key", matcher.words()),
            format!("{observed} for {key}"),
            seen.iter().map(|effect| effect.mark.n),
        )
        .in_any_case(more && observed > 1),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, effect, exactly, plan, respond, server};

    fn check(keys: &[Option<&str>], expected: u64) -> Checked {
        let plan =
            plan([server("api").step(respond(200).applies("order"))]).call("POST", "api", "/x");
        let mut story = Story::new().request(5, "api", 1, "POST /x");
        for key in keys {
            story = story.effect(6, ("api", 1, 1), "order", *key);
        }
        let story = story.shows(10, 1, 200, "");
        story.check(
            &plan,
            &Assertion::PerKey(vec![effect("order", exactly(expected))]),
        )
    }

    #[test]
    fn every_key_is_judged_by_itself() {
        check(&[Some("A"), Some("B")], 1).assert_good();
        let checked = check(&[Some("A"), Some("B"), Some("A")], 1);
        assert_eq!(checked.names(), [FindingName::DuplicateEffect]);
        assert_eq!(checked.raised[0].observed, "2 for key A");
        assert!(checked.raised[0].in_any_case);
    }

    #[test]
    fn fewer_than_expected_is_a_lost_result() {
        assert_eq!(check(&[Some("A")], 2).names(), [FindingName::LostResult]);
    }

    #[test]
    fn requests_without_a_key_are_one_more_key() {
        let checked = check(&[None, None, Some("A")], 1);
        assert_eq!(checked.raised[0].observed, "2 for no key");
    }

    #[test]
    fn without_an_effect_there_is_no_key_to_judge() {
        check(&[], 1).assert_nothing();
    }
}
