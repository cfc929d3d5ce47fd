//! `expect`: levels, axes and scopes. The assertions decode themselves.

use crate::assertions;
use crate::document::decode::{Fields, Keys, counted};
use crate::document::{Key, Node, ids};
use crate::plan::{Call, Expectation, Limits, Of, ServerPlan};
use crate::scope::Scope;
use crate::verdict::{Axis, FindingName, Level};

use crate::reading::{Reading, all_good};

static KEYS: Keys = Keys::new(
    "`expect`",
    &[
        ("must", "what fails the cell"),
        ("should", "what marks it"),
        ("info", "what is shown only"),
    ],
);

static OF: Keys = Keys::new(
    "`of`",
    &[
        ("call", "the number of a call"),
        ("attempt", "the number of an attempt of the only call"),
        ("server", "the name of a server"),
    ],
)
.not_yet(&["item"]);

/// All findings; a test sees to it that none is missing.
pub const FINDINGS: &[FindingName] = &[
    FindingName::DuplicateDelivery,
    FindingName::DuplicateEffect,
    FindingName::Masquerade,
    FindingName::FalseSuccess,
    FindingName::FabricatedAnswer,
    FindingName::FalseFailure,
    FindingName::LostResult,
    FindingName::Hung,
    FindingName::OverBudget,
    FindingName::EarlyRetry,
    FindingName::LateRetry,
    FindingName::GaveUpEarly,
    FindingName::KeyChanged,
    FindingName::BodyChanged,
    FindingName::SecretLeaked,
    FindingName::UnboundedRead,
    FindingName::DeliveredAfterClaim,
    FindingName::UnexpectedRequest,
    FindingName::WrongOutcome,
    FindingName::WrongRequest,
    FindingName::WrongOrder,
    FindingName::CauseLost,
    FindingName::Crashed,
    FindingName::NotCancelled,
];

type Case<'a> = (&'a [ServerPlan], &'a [Call], &'a Limits);

/// Reads all expectations, in the order of the file within each level.
pub(super) fn expect(
    document: &Fields<'_>,
    case: Case<'_>,
    reading: &mut Reading<'_>,
) -> Option<Vec<Expectation>> {
    let node = document.need("expect", reading.out)?;
    let fields = node.fields(&KEYS, reading.out)?;
    let must = fields.need("must", reading.out);
    let levels = [
        (must, Level::Must),
        (fields.get("should"), Level::Should),
        (fields.get("info"), Level::Info),
    ];
    let mut read: Vec<(Option<Expectation>, &Node)> = Vec::new();
    for (node, level) in levels {
        let Some(node) = node else { continue };
        let what = format!("`{}`", word(level));
        for item in node.filled_list(&what, reading.out).unwrap_or_default() {
            read.push((entry(item, level, case, reading), item));
        }
    }
    must?;
    repeated(&read, reading);
    read.into_iter()
        .map(|(expectation, _)| expectation)
        .collect()
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Must => "must",
        Level::Should => "should",
        Level::Info => "info",
    }
}

fn entry(
    node: &Node,
    level: Level,
    (servers, calls, limits): Case<'_>,
    reading: &mut Reading<'_>,
) -> Option<Expectation> {
    let entries = node.map("an expectation", reading.out)?;
    let find = |word: &str| entries.iter().find(|(key, _)| key.text == word);
    let of = find("of").map(|(_, node)| of(node, calls, reading));
    let axis = find("axis").map(|(_, node)| {
        let words = [("conformance", Axis::Conformance), ("safety", Axis::Safety)];
        node.word("an axis", &words, reading.out)
    });
    let (key, value) = only_assertion(node, entries, reading)?;
    let of = all_good(of)?.unwrap_or_default();
    let axis = all_good(axis)?;
    let mut scope = Scope {
        servers,
        calls,
        limits,
        level,
        out: reading.out,
    };
    let assertion = assertions::decode(key, value, &mut scope)?;
    Some(Expectation {
        level,
        axis: axis.unwrap_or_else(|| assertion.axis()),
        of,
        assertion,
        line: reading.out.line(&node.span),
        text: format!("{}: {}", key.text, value.flow()),
    })
}

/// The one entry that is neither `of` nor `axis`.
fn only_assertion<'n>(
    node: &Node,
    entries: &'n [(Key, Node)],
    reading: &mut Reading<'_>,
) -> Option<(&'n Key, &'n Node)> {
    let rest: Vec<_> = entries
        .iter()
        .filter(|(key, _)| key.text != "of" && key.text != "axis")
        .collect();
    if let [(key, value)] = rest[..] {
        return Some((key, value));
    }
    let count = counted(rest.len(), "assertion");
    reading
        .out
        .report(
            ids::ONE_OF,
            &node.span,
            "an expectation has exactly one assertion",
        )
        .label(format!("{count} here"))
        .help("write one entry of the list for each assertion, `of` and `axis` beside it");
    None
}

fn of(node: &Node, calls: &[Call], reading: &mut Reading<'_>) -> Option<Of> {
    let fields = node.fields(&OF, reading.out)?;
    let most = u64::try_from(calls.len()).unwrap_or(u64::MAX);
    let call = fields
        .get("call")
        .map(|node| node.number("the number of a call", 1..=most, reading.out));
    let attempt = fields.get("attempt").map(|node| {
        let number = node.number("the number of an attempt", 1..=1000, reading.out)?;
        if calls.len() > 1 {
            reading
                .out
                .report(
                    ids::ATTEMPT_OF_MANY,
                    &node.span,
                    "an attempt of which call?",
                )
                .label(format!("there are {} calls", calls.len()))
                .help("attempts are counted only where there is a single call");
            return None;
        }
        Some(number)
    });
    let server = fields.get("server").map(|node| {
        let name = node.text("the name of a server", reading.out)?;
        reading
            .known_server(name, &node.span)
            .then(|| name.to_owned())
    });
    if fields.entries().is_empty() {
        return node.wrong(
            "`of`",
            "a map with `call`, `attempt` or `server`",
            reading.out,
        );
    }
    let number = |count: Option<u64>| count.and_then(|count| u32::try_from(count).ok());
    Some(Of {
        call: number(all_good(call)?),
        attempt: number(all_good(attempt)?),
        server: all_good(server)?,
    })
}

/// The same expectation in two places: one of them can never say anything new.
fn repeated(read: &[(Option<Expectation>, &Node)], reading: &mut Reading<'_>) {
    for (at, (one, node)) in read.iter().enumerate() {
        let Some(one) = one else { continue };
        let same = read[..at].iter().find(|(other, _)| {
            other
                .as_ref()
                .is_some_and(|other| other.assertion == one.assertion && other.of == one.of)
        });
        if let Some((_, first)) = same {
            reading
                .out
                .report(
                    ids::SAME_TWICE,
                    &node.span,
                    "this expectation stands here twice",
                )
                .label("again here")
                .help("keep the one at the level that is meant")
                .other(&first.span, "first here");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_finding_is_missing_from_the_list() {
        // Fails to compile when a finding is new: add it above, and here.
        let counted = |name: FindingName| match name {
            FindingName::DuplicateDelivery
            | FindingName::DuplicateEffect
            | FindingName::Masquerade
            | FindingName::FalseSuccess
            | FindingName::FabricatedAnswer
            | FindingName::FalseFailure
            | FindingName::LostResult
            | FindingName::Hung
            | FindingName::OverBudget
            | FindingName::EarlyRetry
            | FindingName::LateRetry
            | FindingName::GaveUpEarly
            | FindingName::KeyChanged
            | FindingName::BodyChanged
            | FindingName::SecretLeaked
            | FindingName::UnboundedRead
            | FindingName::DeliveredAfterClaim
            | FindingName::UnexpectedRequest
            | FindingName::WrongOutcome
            | FindingName::WrongRequest
            | FindingName::WrongOrder
            | FindingName::CauseLost
            | FindingName::Crashed
            | FindingName::NotCancelled => 24,
        };
        let distinct: std::collections::BTreeSet<_> = FINDINGS.iter().collect();
        assert_eq!(distinct.len(), counted(FINDINGS[0]));
    }
}
