//! `expect`: levels, axes and scopes. The assertions decode themselves.

use crate::assertions;
use crate::document::decode::{Fields, Keys, counted};
use crate::document::kind::{Kind, Known, Rule};
use crate::document::{Key, Node, ids};
use crate::plan::{Call, Expectation, Limits, Of, ServerPlan};
use crate::scope::{Scope, Treatment};
use crate::verdict::{Axis, FindingName, Level};

use super::work::MOST_CALLS;
use crate::reading::{Reading, all_good};

static KEYS: Keys = Keys::new(
    "`expect`",
    &[
        ("must", "what fails the cell", || Kind::list(entry_kind())),
        ("should", "what marks it", || Kind::list(entry_kind())),
        ("info", "what is shown only", || {
            Kind::Shown(Box::new(Kind::list(entry_kind())))
        }),
    ],
)
.rules(&[Rule::Needs(&["must"])]);

static OF: Keys = Keys::new(
    "`of`",
    &[
        ("call", "the number of a call", || {
            Kind::Number(1..=MOST_CALLS)
        }),
        (
            "attempt",
            "the number of an attempt of the only call",
            || Kind::Number(1..=1000),
        ),
        ("item", "the number of an item of a `batch`", || {
            Kind::Number(1..=MOST_CALLS)
        }),
        ("server", "the name of a server", Kind::text),
    ],
)
.rules(&[Rule::AnyOf(&["call", "attempt", "item", "server"])]);

const AXES: &[(&str, Axis)] = &[("conformance", Axis::Conformance), ("safety", Axis::Safety)];

/// What stands beside an assertion.
const BESIDE: &[Known] = &[
    (
        "of",
        "the call, attempt, item or server that it is about",
        || Kind::Map(&OF),
    ),
    ("axis", "the question that it belongs to", || {
        Kind::words(AXES)
    }),
];

/// `expect`.
pub(super) fn kind() -> Kind {
    Kind::Map(&KEYS)
}

fn entry_kind() -> Kind {
    let known = assertions::LIST.iter();
    Kind::Tagged {
        of: "an expectation",
        one: known
            .map(|entry| (entry.word, entry.summary, entry.kind))
            .collect(),
        beside: BESIDE.to_vec(),
    }
}

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
    FindingName::TooManyInFlight,
    FindingName::InStep,
    FindingName::FalseProgress,
];

type Case<'a> = (&'a [ServerPlan], &'a [Call], &'a Limits, Treatment);

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
    (servers, calls, limits, treatment): Case<'_>,
    reading: &mut Reading<'_>,
) -> Option<Expectation> {
    let entries = node.map("an expectation", reading.out)?;
    let find = |word: &str| entries.iter().find(|(key, _)| key.text == word);
    let of = find("of").map(|(_, node)| of(node, calls, reading));
    let axis = find("axis").map(|(_, node)| node.word("an axis", AXES, reading.out));
    let (key, value) = only_assertion(node, entries, reading)?;
    let of = all_good(of)?.unwrap_or_default();
    let axis = all_good(axis)?;
    let mut scope = Scope {
        servers,
        calls,
        limits,
        treatment,
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

/// The number of a call that is made.
pub(super) fn call_number(node: &Node, most: u64, reading: &mut Reading<'_>) -> Option<u64> {
    number_up_to(node, "the number of a call", most, reading)
}

fn number_up_to(node: &Node, what: &str, most: u64, reading: &mut Reading<'_>) -> Option<u64> {
    let number = node.number(what, 1..=MOST_CALLS, reading.out)?;
    if number > most {
        node.number(what, 1..=most, reading.out);
        reading.out.last().beyond_schema();
        return None;
    }
    Some(number)
}

fn of(node: &Node, calls: &[Call], reading: &mut Reading<'_>) -> Option<Of> {
    let fields = node.fields(&OF, reading.out)?;
    let most = u64::try_from(calls.len()).unwrap_or(u64::MAX);
    let of_items = calls.iter().any(|call| call.batch.is_some());
    let call = [("call", false), ("item", true)]
        .into_iter()
        .find_map(|(word, of_item)| fields.entry(word).map(|entry| (of_item, entry)))
        .map(|(of_item, (key, node))| {
            if of_item != of_items {
                return other_work(key, of_item, reading);
            }
            match of_item {
                true => number_up_to(node, "the number of an item", most, reading),
                false => call_number(node, most, reading),
            }
        });
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
            "a map with `call`, `attempt`, `item` or `server`",
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

/// A batch has items, other work has calls.
fn other_work(key: &Key, of_item: bool, reading: &mut Reading<'_>) -> Option<u64> {
    let (title, label, help) = if of_item {
        (
            "`item` needs the work `batch`",
            "there are no items here",
            "write `call`",
        )
    } else {
        (
            "`call` needs the work `call` or `calls`",
            "the calls of a batch are its items",
            "write `item`",
        )
    };
    reading
        .out
        .report(ids::KEY_WITHOUT, &key.span, title)
        .label(label)
        .help(help)
        .beyond_schema = true;
    None
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
            | FindingName::NotCancelled
            | FindingName::TooManyInFlight
            | FindingName::InStep
            | FindingName::FalseProgress => 27,
        };
        let distinct: std::collections::BTreeSet<_> = FINDINGS.iter().collect();
        assert_eq!(distinct.len(), counted(FINDINGS[0]));
    }
}
