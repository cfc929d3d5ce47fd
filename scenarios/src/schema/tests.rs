//! The schema and the checker hold each other.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::agreement::{OF_THE_TEXT, REFUSED, REFUSED_IN_PART, is_refused};
use super::*;
use crate::document::{
    Diagnostic, Diagnostics, Node, ScalarKind, Source, Unreadable, Value as Tree, ids, parse,
};
use crate::validate::{Known as KnownOutside, cases};

fn known() -> KnownOutside {
    let mut defects: BTreeSet<String> = files("suite")
        .iter()
        .filter_map(|file| json_of(&read(file)))
        .filter_map(|scenario| Some(scenario["proves"]["defect"].as_str()?.to_owned()))
        .collect();
    defects.insert("retries-post-on-reset".to_owned());
    KnownOutside { defects }
}

/// All YAML files below a folder of this crate.
fn files(folder: &str) -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.ends_with("node_modules") {
                below(&path, found);
            } else if path.extension().is_some_and(|end| end == "yaml") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    below(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
        &mut found,
    );
    found.sort();
    assert!(!found.is_empty(), "{folder} has no files");
    found
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("text")
}

fn source(text: &str) -> Source {
    Source {
        path: "a.yaml".to_owned(),
        text: text.to_owned(),
    }
}

/// A tree as an editor's reader of YAML hands it on.
fn json(node: &Node) -> Json {
    match &node.value {
        Tree::Scalar(scalar) => match scalar.kind {
            ScalarKind::Text => json!(scalar.text),
            ScalarKind::Null => Json::Null,
            ScalarKind::Number | ScalarKind::Truth => {
                serde_json::from_str(&scalar.text).unwrap_or_else(|_| json!(scalar.text))
            }
        },
        Tree::List(items) => items.iter().map(json).collect(),
        Tree::Map(entries) => {
            let entries = entries.iter();
            entries
                .map(|(key, value)| (key.text.clone(), json(value)))
                .collect()
        }
    }
}

fn json_of(text: &str) -> Option<Json> {
    let source = source(text);
    parse(&source, &mut Diagnostics::new(&source)).map(|node| json(&node))
}

/// Mistakes of columns, with which no case is read.
const STOPS: &[&str] = &[
    ids::UNUSED_COLUMN,
    ids::RAGGED_TABLE,
    ids::EQUAL_CASES,
    ids::TOO_MANY_CASES,
];

/// What both say of one document.
struct Said {
    found: Vec<Diagnostic>,
    /// Whether the schema refuses what is written.
    written: bool,
    /// Whether the schema without columns refuses any of the cases.
    replaced: bool,
}

struct Both {
    document: Document,
    known: KnownOutside,
    written: Validator,
    replaced: Validator,
}

impl Both {
    fn new(document: Document) -> Self {
        let validator = |schema: &Json| {
            jsonschema::draft202012::meta::validate(schema).expect("a schema");
            jsonschema::draft202012::new(schema).expect("a schema")
        };
        Self {
            document,
            known: known(),
            written: validator(&schema(document)),
            replaced: validator(&of_a_case(document)),
        }
    }

    fn say(&self, text: &str) -> Said {
        let source = source(text);
        let mut out = Diagnostics::new(&source);
        match self.document {
            Document::Scenario => {
                crate::validate::read(&source, "area/name", 1, &self.known, &mut out);
            }
            Document::Manifest => {
                crate::manifest::read(&source, &mut out);
            }
        }
        let root = parse(&source, &mut Diagnostics::new(&source));
        let cases = match self.document {
            Document::Scenario => cases(&source),
            Document::Manifest => root.iter().cloned().collect(),
        };
        Said {
            found: out.finish(),
            written: root.is_some_and(|root| !self.written.is_valid(&json(&root))),
            replaced: cases
                .iter()
                .any(|case| !self.replaced.is_valid(&json(case))),
        }
    }

    /// Where schema and checker differ, in words.
    fn difference(&self, text: &str) -> Option<String> {
        let said = self.say(text);
        if said.found.iter().any(|one| OF_THE_TEXT.contains(&one.id)) {
            return None;
        }
        // Behind these nothing is read, so that more may be wrong.
        let stopped = said.found.iter().any(|one| STOPS.contains(&one.id));
        if stopped && !said.found.iter().any(is_refused) {
            return None;
        }
        let refused = said.written || said.replaced;
        let expected = said.found.iter().any(is_refused);
        let ids: Vec<_> = said.found.iter().map(|one| (one.id, &one.title)).collect();
        (refused != expected).then(|| {
            let root = json_of(text).unwrap_or_default();
            let why: Vec<String> = self
                .written
                .iter_errors(&root)
                .map(|error| format!("{} at {}", error, error.instance_path()))
                .collect();
            format!(
                "the schema {} this, the checker says {ids:?}; schema: {why:?}\n{text}",
                if refused { "refuses" } else { "accepts" },
            )
        })
    }
}

#[test]
fn what_is_shipped_fits_the_schema() {
    let scenario = Both::new(Document::Scenario);
    for file in files("suite") {
        assert_eq!(
            scenario.difference(&read(&file)),
            None,
            "{}",
            file.display()
        );
        assert!(!scenario.say(&read(&file)).written, "{}", file.display());
    }
    let manifest = Both::new(Document::Manifest);
    let manifests = files("../clients");
    let manifests = manifests.iter().map(|file| read(file));
    let manifests: Vec<String> = manifests.filter(|text| text.contains("\nstart:")).collect();
    assert!(manifests.len() > 5);
    for text in manifests {
        assert_eq!(manifest.difference(&text), None);
    }
}

/// Both directions: what is listed as refused is, and nothing else is.
#[test]
fn the_schema_refuses_the_mistakes_that_are_listed_and_no_others() {
    let mut refused = BTreeSet::new();
    let mut in_part = BTreeSet::new();
    let mut wrong = Vec::new();
    let mut look = |both: &Both, folder: &str| {
        for file in files(folder) {
            let source = match Source::read(&file) {
                Ok(source) => source,
                Err(Unreadable::Rejected(source, _)) => source,
                Err(Unreadable::Io(error)) => panic!("{error}"),
            };
            wrong.extend(both.difference(&source.text));
            for one in both.say(&source.text).found {
                match is_refused(&one) {
                    true => refused.insert(one.id),
                    false => in_part.insert(one.id),
                };
            }
        }
    };
    look(&Both::new(Document::Scenario), "tests/rejects");
    look(&Both::new(Document::Manifest), "tests/manifests");
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
    let part = REFUSED_IN_PART.iter().map(|(id, _)| *id);
    let all: BTreeSet<_> = REFUSED.iter().copied().chain(part.clone()).collect();
    let missing: Vec<_> = all.difference(&refused).collect();
    assert!(
        missing.is_empty(),
        "no file shows that these are refused: {missing:?}"
    );
    let missing: Vec<_> = part.filter(|id| !in_part.contains(id)).collect();
    assert!(
        missing.is_empty(),
        "no file shows where these are not refused: {missing:?}"
    );
}

/// Where a name in braces stands for the wrong value, the schema of what is
/// written accepts it, as it does not know the value.
#[test]
fn what_is_written_without_braces_is_refused_as_it_stands() {
    let both = Both::new(Document::Scenario);
    let mut only_replaced = Vec::new();
    for file in files("tests/rejects") {
        let Ok(source) = Source::read(&file) else {
            continue;
        };
        let said = both.say(&source.text);
        if said.replaced && !said.written {
            let name = file.file_stem().expect("a name");
            only_replaced.push(name.to_string_lossy().into_owned());
        }
    }
    assert_eq!(only_replaced, BY_BRACES);
}

/// A column has the name of a server, and takes its place in a URL.
const BY_BRACES: &[&str] = &["bad-name-of-a-column"];

#[test]
fn every_mistake_stands_in_one_list() {
    let lists = OF_THE_TEXT.iter().chain(REFUSED);
    let lists = lists
        .copied()
        .chain(REFUSED_IN_PART.iter().map(|(id, _)| *id));
    let listed: Vec<_> = lists.chain(agreement::only_checked()).collect();
    let distinct: BTreeSet<_> = listed.iter().copied().collect();
    assert_eq!(distinct.len(), listed.len());
    assert_eq!(distinct, ids::ALL.iter().map(|(id, _)| *id).collect());
}

/// The schema of one kind of value.
fn validator(kind: &Kind) -> Validator {
    let mut maker = Maker {
        defs: BTreeMap::new(),
        maps: Vec::new(),
    };
    let at = At {
        shown: false,
        columns: false,
    };
    let mut schema = maker.value(kind, at);
    schema["$defs"] = json!(maker.defs);
    jsonschema::draft202012::new(&schema).expect("a schema")
}

/// Patterns work out by text what decoders work out by counting.
fn same_as_decoded(validator: &Validator, scalar: &str, decoded: bool) {
    let value = json_of(&format!("a: {scalar}")).expect("a map")["a"].clone();
    assert_eq!(validator.is_valid(&value), decoded, "{scalar}");
}

fn decoded<T>(text: &str, read: impl Fn(&Node, &mut Diagnostics) -> Option<T>) -> Option<T> {
    let source = source(&format!("a: {text}"));
    let mut out = Diagnostics::new(&source);
    let root = parse(&source, &mut out)?;
    let Tree::Map(entries) = &root.value else {
        return None;
    };
    read(&entries[0].1, &mut out)
}

const NUMBERS: &[&str] = &[
    "0",
    "00",
    "1",
    "2",
    "3",
    "9",
    "10",
    "59",
    "60",
    "64",
    "65",
    "99",
    "100",
    "719",
    "720",
    "721",
    "4096",
    "4097",
    "43199",
    "43200",
    "43201",
    "65536",
    "65537",
    "2591999",
    "2592000",
    "2592001",
    "4194304",
    "4194305",
    "67108864",
    "67108865",
    "99999999",
    "999999999",
    "1000000000",
    "4294967296",
    "4294967297",
    "-1",
    "",
];

const FRACTIONS: &[&str] = &[
    "",
    ".",
    ".0",
    ".5",
    ".25",
    ".001",
    ".003",
    ".0029",
    ".00003",
    ".00005",
    ".00004",
    ".00002",
    ".0000008",
    ".000000834",
    ".000000833",
    ".000001",
    ".0000005",
    ".00000025",
    ".000000001",
    ".000000000",
    ".0000000000",
    ".1234",
    ".12345",
    ".123456",
    ".1234575",
    ".123457500",
    ".000050000",
    ".999999999",
    ".x",
];

#[test]
fn patterns_of_durations_are_what_is_read() {
    let nanos = std::time::Duration::from_nanos;
    let least = nanos(1_000_000);
    let any = validator(&Kind::time());
    let from =
        [1, 3_000_000].map(|least| (nanos(least), validator(&Kind::time_from(nanos(least)))));
    let whole = validator(&Kind::Time(Time { least, whole: true }));
    for number in NUMBERS {
        for fraction in FRACTIONS {
            for unit in ["ms", "s", "m", "h", "", "us"] {
                let text = format!("\"{number}{fraction}{unit}\"");
                let time = decoded(&text, |node, out| node.duration("it", out));
                same_as_decoded(&any, &text, time.is_some());
                for (least, from) in &from {
                    let good = time.is_some_and(|time| time >= *least);
                    same_as_decoded(from, &text, good);
                }
                let good =
                    time.is_some_and(|time| time >= least && time.subsec_nanos() % 1_000_000 == 0);
                same_as_decoded(&whole, &text, good);
            }
        }
    }
}

#[test]
fn patterns_of_sizes_are_what_is_read() {
    let all = [0..=1_u64 << 32, 1..=1 << 32, 0..=64 << 20];
    let all = all.map(|bounds| (bounds.clone(), validator(&Kind::Size(bounds))));
    for number in NUMBERS {
        for unit in ["", "KiB", "MiB", "kB"] {
            for quoted in [true, false] {
                let text = match quoted || number.is_empty() {
                    true => format!("\"{number}{unit}\""),
                    false => format!("{number}{unit}"),
                };
                let size = decoded(&text, |node, out| node.size("it", out));
                for (bounds, of_size) in &all {
                    let good = size.is_some_and(|size| bounds.contains(&size));
                    same_as_decoded(of_size, &text, good);
                }
            }
        }
    }
}

/// Values of all kinds, to stand in the place of another.
fn strangers() -> Vec<Json> {
    vec![
        json!(0),
        json!(7),
        json!(1.5),
        json!(100_000_000),
        json!(true),
        json!("word"),
        json!(""),
        json!("1s"),
        json!("1500us"),
        json!("4KiB"),
        json!("half"),
        json!("GET"),
        json!("{api}"),
        json!([]),
        json!([1, "a"]),
        json!({}),
        json!({"at_least": 1}),
        json!({"a": 1}),
    ]
}

/// The places of a document, by JSON pointer, the whole left out.
fn places(value: &Json, here: &str, found: &mut Vec<String>) {
    let mut inner = |key: &str, value: &Json| {
        let key = key.replace('~', "~0").replace('/', "~1");
        let place = format!("{here}/{key}");
        found.push(place.clone());
        places(value, &place, found);
    };
    match value {
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                inner(&at.to_string(), item);
            }
        }
        Json::Object(entries) => entries.iter().for_each(|(key, value)| inner(key, value)),
        _ => {}
    }
}

/// All keys of the language, to rename others to.
fn all_keys(document: Document) -> Vec<&'static str> {
    let keys: BTreeSet<_> = maps(document)
        .into_iter()
        .flat_map(|(_, keys)| keys)
        .collect();
    keys.into_iter().chain(["nonsense"]).collect()
}

/// A document with one change at a place.
fn changed(root: &Json, place: &str, how: usize, document: Document) -> Json {
    let mut root = root.clone();
    let (outer, key) = place.rsplit_once('/').expect("a place");
    let key = key.replace("~1", "/").replace("~0", "~");
    let strangers = strangers();
    let keys = all_keys(document);
    let Some(outer) = root.pointer_mut(outer) else {
        return root;
    };
    match outer {
        Json::Object(entries) => {
            let value = entries.remove(&key).unwrap_or_default();
            if let Some(stranger) = strangers.get(how) {
                entries.insert(key, stranger.clone());
            } else if let Some(other) = keys.get(how - strangers.len()) {
                entries.insert((*other).to_owned(), value);
            }
        }
        Json::Array(items) => {
            let at: usize = key.parse().expect("a number");
            match strangers.get(how) {
                Some(stranger) => items[at] = stranger.clone(),
                None => drop(items.remove(at)),
            }
        }
        _ => {}
    }
    root
}

fn corpus(document: Document) -> Vec<Json> {
    let folder = match document {
        Document::Scenario => "suite",
        Document::Manifest => "../clients",
    };
    let texts = files(folder).into_iter().map(|file| read(&file));
    let texts = texts.filter(|text| folder == "suite" || text.contains("\nstart:"));
    let found: Vec<Json> = texts.filter_map(|text| json_of(&text)).collect();
    assert!(!found.is_empty());
    found
}

/// The difference that a change of a shipped document makes.
fn difference_of_change(
    both: &Both,
    corpus: &[Json],
    (which, place, how): (usize, usize, usize),
) -> Option<String> {
    let root = &corpus[which % corpus.len()];
    let mut found = Vec::new();
    places(root, "", &mut found);
    let place = &found[place % found.len()];
    let ways = strangers().len() + all_keys(both.document).len() + 1;
    let root = changed(root, place, how % ways, both.document);
    let difference = both.difference(&root.to_string())?;
    Some(format!("at {place}: {difference}"))
}

fn hold_under_changes(document: Document) {
    let both = Both::new(document);
    let corpus = corpus(document);
    let any = || 0..10_000_usize;
    proptest!(|(change in (any(), any(), any()))| {
        prop_assert_eq!(difference_of_change(&both, &corpus, change), None);
    });
}

#[test]
fn a_change_of_a_shipped_scenario_is_refused_by_both_or_neither() {
    hold_under_changes(Document::Scenario);
}

#[test]
fn a_change_of_a_shipped_manifest_is_refused_by_both_or_neither() {
    hold_under_changes(Document::Manifest);
}
