//! One baseline file, decoded with positions.

use std::collections::BTreeMap;
use std::path::Path;

use reports::record::{BaselineEntry, KnownSight};
use scenarios::document::decode::Keys;
use scenarios::document::kind::{Kind, Rule};
use scenarios::document::{Diagnostic, Diagnostics, Node, Source, parse};
use scenarios::verdict::Verdict;

use super::{Entry, UNSAID};

/// A case that stands twice in a file.
const DUPLICATE_CASE: &str = "duplicate-case";
/// A client's name that is not the file's.
const CLIENT_MISMATCH: &str = "client-mismatch";
/// A proposal that was taken over unread.
const REASON_UNSAID: &str = "reason-unsaid";

static FILE: Keys = Keys::new(
    "a baseline",
    &[
        ("client", "the client it is about", Kind::text),
        ("cells", "the cells that are known to differ", || {
            Kind::any_list(Kind::Map(&CELL))
        }),
    ],
)
.rules(&[Rule::Needs(&["client", "cells"])]);

static CELL: Keys = Keys::new(
    "a cell of a baseline",
    &[
        ("case", "the case, `area/name[column=value]`", Kind::text),
        ("expect", "the verdict that is known", || {
            Kind::words(EXPECT)
        }),
        (
            "fingerprint",
            "what was seen when the entry was written",
            Kind::any_text,
        ),
        (
            "reason",
            "why this is known and whose fault it is",
            Kind::text,
        ),
        (
            "not_with",
            "texts in the client's version, such as `curl 8.`, with which this is not so",
            || Kind::any_list(Kind::text()),
        ),
        (
            "or",
            "what is seen as well, where the client races with itself",
            || Kind::list(Kind::Map(&OR)),
        ),
    ],
)
.rules(&[
    Rule::Needs(&["case", "expect", "reason"]),
    Rule::WordNeeds("expect", "fail", "fingerprint"),
    Rule::WordNeeds("expect", "inconclusive", "fingerprint"),
    Rule::WordNeeds("expect", "pass", "fingerprint"),
    Rule::WordNeeds("expect", "pass", "or"),
]);

static OR: Keys = Keys::new(
    "what else is seen",
    &[
        ("expect", "the verdict", || Kind::words(EXPECT_OR)),
        ("fingerprint", "what was seen", Kind::text),
    ],
)
.rules(&[Rule::Needs(&["expect", "fingerprint"])]);

/// The verdicts that may come of a race.
const EXPECT_OR: &[(&str, Verdict)] = &[
    ("pass", Verdict::Pass),
    ("fail", Verdict::Fail),
    ("inconclusive", Verdict::Inconclusive),
];

/// The verdicts that an entry may expect. A pass needs no entry, unless the client
/// races with itself and passes in more than one way; an error is never fine.
const EXPECT: &[(&str, Verdict)] = &[
    ("pass", Verdict::Pass),
    ("fail", Verdict::Fail),
    ("inconclusive", Verdict::Inconclusive),
    ("unsupported", Verdict::Unsupported),
    ("skipped", Verdict::Skipped),
];

/// The client and its entries, by case.
///
/// # Errors
/// With everything that is wrong in the file.
pub fn decode(source: &Source) -> Result<(String, BTreeMap<String, Entry>), Vec<Diagnostic>> {
    let mut out = Diagnostics::new(source);
    let decoded = parse(source, &mut out).and_then(|node| file(&node, source, &mut out));
    match decoded {
        Some(decoded) if out.is_empty() => Ok(decoded),
        _ => Err(out.finish()),
    }
}

fn file(
    node: &Node,
    source: &Source,
    out: &mut Diagnostics,
) -> Option<(String, BTreeMap<String, Entry>)> {
    let fields = node.fields(&FILE, out)?;
    let client = fields.need("client", out);
    let name = client.and_then(|node| node.text("the client", out).map(|name| (node, name)));
    let stem = Path::new(&source.path).file_stem()?.to_string_lossy();
    if let Some((node, name)) = name
        && name != stem
    {
        out.report(
            CLIENT_MISMATCH,
            &node.span,
            format!("the file of this client must be named `{name}.yaml`"),
        )
        .label(format!("the file is named `{stem}.yaml`"))
        .help("one file a client: rename the file or correct the name");
    }
    let mut entries = BTreeMap::new();
    let mut places: BTreeMap<String, &Node> = BTreeMap::new();
    let cells = fields.need("cells", out)?.list("`cells`", out)?;
    for node in cells {
        let Some((case, at, entry)) = cell(node, source, out) else {
            continue;
        };
        if let Some(first) = places.get(&case) {
            out.report(
                DUPLICATE_CASE,
                &at.span,
                format!("the case `{case}` stands twice"),
            )
            .label("this one says it again")
            .help("remove one of the two")
            .other(&first.span, "the other one");
            continue;
        }
        places.insert(case.clone(), at);
        entries.insert(case, entry);
    }
    Some((name?.1.to_owned(), entries))
}

fn cell<'n>(
    node: &'n Node,
    source: &Source,
    out: &mut Diagnostics,
) -> Option<(String, &'n Node, Entry)> {
    let fields = node.fields(&CELL, out)?;
    let case = fields.need("case", out);
    let expect = fields
        .need("expect", out)
        .and_then(|node| node.word("a verdict that a baseline can expect", EXPECT, out));
    let runs = !matches!(expect, Some(Verdict::Unsupported | Verdict::Skipped));
    let fingerprint = match fields.get("fingerprint") {
        None if runs => fields.need("fingerprint", out),
        found => found,
    };
    let fingerprint = match fingerprint {
        Some(node) => node.any_text("the fingerprint", out)?,
        None => "",
    };
    let reason = fields.need("reason", out)?;
    let why = reason.text("the reason", out)?;
    if why == UNSAID {
        out.report(
            REASON_UNSAID,
            &reason.span,
            "the reason is still to be said",
        )
        .label("this is what a proposal says")
        .help("write why this is known and whose fault it is, or correct what is wrong");
    }
    let not_with = match fields.get("not_with") {
        Some(node) => texts(node, out)?,
        None => Vec::new(),
    };
    let races = match fields.get("or") {
        None if expect == Some(Verdict::Pass) => fields.need("or", out),
        found => found,
    };
    let or = match races {
        Some(node) => sights(node, out)?,
        None => Vec::new(),
    };
    let case_node = case?;
    let case = case_node.text("the case", out)?;
    Some((
        case.to_owned(),
        case_node,
        Entry {
            says: BaselineEntry {
                expect: expect?,
                fingerprint: fingerprint.to_owned(),
                reason: why.to_owned(),
                not_with,
                or,
            },
            place: format!("{}:{}", source.path, out.line(&node.span)),
        },
    ))
}

fn sights(node: &Node, out: &mut Diagnostics) -> Option<Vec<KnownSight>> {
    let listed = node.filled_list("`or`", out)?.iter();
    let sights: Vec<_> = listed.map(|node| sight(node, out)).collect();
    sights.into_iter().collect()
}

fn sight(node: &Node, out: &mut Diagnostics) -> Option<KnownSight> {
    let fields = node.fields(&OR, out)?;
    let expect = fields.need("expect", out);
    let fingerprint = fields.need("fingerprint", out);
    let expect = expect.and_then(|node| node.word("a verdict", EXPECT_OR, out));
    let fingerprint = fingerprint.and_then(|node| node.text("the fingerprint", out));
    Some(KnownSight {
        expect: expect?,
        fingerprint: fingerprint?.to_owned(),
    })
}

fn texts(node: &Node, out: &mut Diagnostics) -> Option<Vec<String>> {
    let texts = node.list("`not_with`", out)?.iter();
    texts
        .map(|node| {
            node.text("a text in the client's version", out)
                .map(str::to_owned)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source {
            path: "baseline/curl.yaml".to_owned(),
            text: text.to_owned(),
        }
    }

    fn rendered(text: &str) -> String {
        let source = source(text);
        let found = decode(&source).unwrap_err();
        scenarios::document::render(&found, &source, false)
    }

    #[test]
    fn an_entry_keeps_its_words_and_its_place() {
        let text = "client: curl\ncells:\n  - case: redirect/loop[hops=2]\n    expect: fail\n    \
                    fingerprint: \"delivered api=3\"\n    reason: curl follows for ever\n";
        let (client, entries) = decode(&source(text)).unwrap();
        assert_eq!(client, "curl");
        let entry = &entries["redirect/loop[hops=2]"];
        assert_eq!(entry.says.expect, Verdict::Fail);
        assert_eq!(entry.says.fingerprint, "delivered api=3");
        assert_eq!(entry.place, "baseline/curl.yaml:3");
    }

    #[test]
    fn an_entry_does_not_count_with_the_versions_that_it_excepts() {
        let text = "client: curl\ncells:\n  - case: a/b\n    expect: fail\n    fingerprint: x\n    \
                    reason: r\n    not_with: [\"curl 8.\", \"curl 7.9\"]\n  - case: a/c\n    \
                    expect: fail\n    fingerprint: x\n    reason: r\n";
        let (client, entries) = decode(&source(text)).unwrap();
        let baseline = super::super::Baseline(BTreeMap::from([(client, entries)]));
        let there = |version, case| baseline.entry("curl", version, case).is_some();
        for (version, excepted) in [
            ("curl 7.88.1", false),
            ("curl 7.90.0", true),
            ("curl 8.1.0 (x86_64)", true),
            ("", false),
        ] {
            assert_eq!(there(version, "a/b"), !excepted, "{version}");
            assert!(there(version, "a/c"), "{version}");
        }
        let empty = text.replace("\"curl 8.\"", "\" \"");
        assert!(rendered(&empty).contains("a text in the client's version"));
    }

    #[test]
    fn what_a_race_shows_as_well_is_kept() {
        let text = "client: curl\ncells:\n  - case: a/b\n    expect: fail\n    fingerprint: x\n    \
                    or: [{ expect: pass, fingerprint: two }]\n    reason: r\n";
        let (_, entries) = decode(&source(text)).unwrap();
        let seen = KnownSight {
            expect: Verdict::Pass,
            fingerprint: "two".to_owned(),
        };
        assert_eq!(entries["a/b"].says.or, [seen]);
        let wrong = rendered(&text.replace("expect: pass", "expect: error"));
        assert!(wrong.contains("inconclusive"), "{wrong}");
    }

    #[test]
    fn a_cell_that_does_not_run_needs_no_fingerprint() {
        let text = "client: curl\ncells:\n  - case: a/b\n    expect: unsupported\n    reason: r\n";
        assert_eq!(decode(&source(text)).unwrap().1["a/b"].says.fingerprint, "");
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        insta::assert_snapshot!(rendered(
            "client: wget\ncells:\n  - case: a/b\n    expect: pass\n    fingerprint: x\n    \
             reason: because\n  - case: a/c\n    expect: fail\n    reasons: because\n  - case: \
             a/d\n    expect: fail\n    fingerprint: x\n    reason: say why this is known and \
             whose fault it is\n  - case: a/d\n    expect: fail\n    fingerprint: x\n    reason: \
             because\n"
        ));
    }
}
