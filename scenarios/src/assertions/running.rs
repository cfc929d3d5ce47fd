//! `running`: how many runs of an effect went on at the same time.
//!
//! A run begins when the application begins to work on the effect, and ends when
//! it is through, whatever became of the request. One that takes no time is over
//! in the moment in which it begins.

use std::cmp::Ordering;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::counts::EffectCount;
use crate::expected::{Expected, Words, counts};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{compare, shown};
use crate::judge::effects;
use crate::judge::facts::EffectFact;
use crate::judge::overlap;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "running",
    summary: "the most runs of an effect that went on at the same time",
    example: "running: { order: 1 }",
    findings: &[FindingName::DuplicateEffect, FindingName::LostResult],
    kind: counts::of_effects,
    decode,
};

/// `{order: 1}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode_effects(node, "`running`", false, scope).map(Assertion::Running)
}

/// More than expected is a duplicate effect; where nothing ran there is nothing to
/// judge.
pub(super) fn judge(counts: &[EffectCount], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let seen = effects::named(case, &count.effect, of);
        if !seen.is_empty() {
            one(count, &peak(&seen), case, &mut out);
        }
    }
    out
}

fn one(count: &EffectCount, peak: &[&EffectFact], case: &Case<'_>, out: &mut Checked) {
    let name = &count.effect;
    let observed = peak.len() as u64;
    let Expected::Fits(matcher) = &count.expected else {
        return out.note(shown("running", name, observed));
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
            format!("{} of {name} at the same time", matcher.words()),
            effects::in_words(peak),
            peak.iter().map(|effect| effect.mark.n),
        )
        .in_any_case(more && !effects::duplicates(case, peak).is_empty()),
    );
}

/// The most runs at once.
fn peak<'a>(seen: &[&'a EffectFact]) -> Vec<&'a EffectFact> {
    overlap::peak(seen, |one| (one.began_us, one.mark.at_us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, effect, exactly, of_call, plan, respond, server};

    fn check(runs: &[(u64, u64)], expected: u64, of: &Of) -> Checked {
        let plan = plan([server("api").step(respond(200).applies("order"))])
            .call("POST", "api", "/x")
            .call("POST", "api", "/y");
        let mut story = Story::new();
        for (connection, (began, ends)) in (1..).zip(runs) {
            story = story.request(*began, "api", connection, "POST /x").run(
                (*began, *ends),
                ("api", connection, 1),
                "order",
                None,
            );
        }
        let story = story.shows(60, 1, 200, "").shows(61, 2, 200, "");
        let assertion = Assertion::Running(vec![effect("order", exactly(expected))]);
        story.check_of(&plan, &assertion, of)
    }

    #[test]
    fn it_is_the_most_runs_that_went_on_at_once() {
        let all = Of::default();
        check(&[(5, 20), (20, 30), (30, 40)], 1, &all).assert_good();
        check(&[(5, 20), (10, 30), (25, 40)], 2, &all).assert_good();
        check(&[(5, 40), (10, 10), (20, 20)], 2, &all).assert_good();
        check(&[(5, 50), (10, 50), (20, 50)], 3, &all).assert_good();
    }

    #[test]
    fn more_is_a_duplicate_effect_and_fewer_is_a_lost_result() {
        let twice = check(&[(5, 20), (10, 30)], 1, &Of::default());
        assert_eq!(twice.names(), [FindingName::DuplicateEffect]);
        assert!(twice.raised[0].in_any_case, "the same work twice");
        let once = check(&[(5, 20), (20, 30)], 2, &Of::default());
        assert_eq!(once.names(), [FindingName::LostResult]);
    }

    #[test]
    fn without_a_run_there_is_nothing_to_judge() {
        check(&[], 1, &Of::default()).assert_nothing();
        check(&[(5, 20)], 1, &of_call(2)).assert_nothing();
    }
}
