//! Which findings the expectations of a scenario can give.

use std::collections::BTreeSet;

use crate::document::decode::listed;
use crate::document::ids;
use crate::verdict::{FindingName, Level};

use super::{View, entries};
use crate::reading::Reading;

/// Whether any expectation can give the finding that `proves` names.
pub(super) fn check(view: &View<'_>, reading: &mut Reading<'_>) {
    let Some(proves) = &view.plan.proves else {
        return;
    };
    let levels = view
        .plan
        .expect
        .iter()
        .filter(|one| one.level != Level::Info);
    let possible: BTreeSet<_> = levels
        .flat_map(|one| one.assertion.findings())
        .chain(WITHOUT_ASSERTION)
        .copied()
        .collect();
    if possible.contains(&proves.finding) {
        return;
    }
    let node = view.document.get("proves");
    let finding = node.and_then(|node| entries(node).iter().find(|(key, _)| key.text == "finding"));
    if let Some((_, node)) = finding {
        let words: Vec<_> = possible.iter().map(|name| name.word()).collect();
        let words = listed(words.iter().map(String::as_str));
        reading
            .out
            .report(
                ids::IMPOSSIBLE_FINDING,
                &node.span,
                "no expectation here gives this finding",
            )
            .label("it would never be seen")
            .help(format!(
                "add an expectation that gives it, or name one of {words}"
            ));
    }
}

/// Findings that need no expectation.
const WITHOUT_ASSERTION: &[FindingName] = &[
    FindingName::UnexpectedRequest,
    FindingName::DeliveredAfterClaim,
    FindingName::OverBudget,
    FindingName::Hung,
    FindingName::Crashed,
];
