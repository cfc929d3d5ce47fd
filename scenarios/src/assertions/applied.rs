//! `applied`: how often the servers' application did something.

use std::cmp::Ordering;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::{Expected, Words, counts};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{EffectCount, compare, shown};
use crate::judge::effects;
use crate::judge::facts::EffectFact;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "applied",
    summary: "effects of the servers' application, by name",
    example: "applied: { order: 1 }",
    decode,
};

/// `{order: 1}`.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode_effects(node, "`applied`", false, scope).map(Assertion::Applied)
}

/// More than expected is a duplicate effect, fewer is a lost result.
pub fn judge(counts: &[EffectCount], of: &Of, case: &Case<'_>) -> Checked {
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
