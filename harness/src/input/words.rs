//! Every word of scenarios and manifests, with what it is for and an example.
//!
//! Words and their meaning come from the tables by which the decoders accept
//! keys, the examples from documents that the decoders have read without a
//! mistake. So nothing is listed that is not accepted.

use scenarios::document::decode::Keys;
use scenarios::document::{Diagnostics, Met, Source};
use scenarios::validate::{FINDINGS, Known, TAGS};
use scenarios::{assertions, manifest, validate};

use crate::failure::Failure;

/// Documents that use every word; `---` stands between them.
const SAMPLES: &str = include_str!("words/samples.yaml");

/// Defects that the samples name.
const DEFECTS: &[&str] = &["retries-post-on-reset"];

/// The words that stand beside an assertion. They are read without a table.
const BESIDE: [(&str, &str, &str); 2] = [
    (
        "of",
        "the call, attempt or server that it is about",
        "of: {call: 1}",
    ),
    (
        "axis",
        "the question that it belongs to: `conformance` or `safety`",
        "axis: safety",
    ),
];

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// `scenario` or `manifest`.
    pub document: &'static str,
    /// The map that it is a key of, with an article: `a step`.
    pub of: &'static str,
    /// The word.
    pub word: &'static str,
    /// What it is for.
    pub summary: String,
    /// How it is written, in one line.
    pub example: String,
}

/// A map with known keys, and all examples of it that were met. Maps that have
/// one name, such as a call alone and one of several, are one.
struct Table {
    document: &'static str,
    of: &'static str,
    known: Vec<(&'static str, &'static str)>,
    entries: Vec<(String, String)>,
}

/// All words, in the order in which a document has them. One that no document
/// can use in this version is left out.
///
/// # Errors
/// When a sample is not accepted, which is a bug.
pub fn all() -> Result<Vec<Word>, Failure> {
    let mut words = Vec::new();
    for table in tables()? {
        words.extend(table.words());
        if (table.document, table.of) == ("scenario", "`expect`") {
            words.extend(expectations());
        }
    }
    Ok(words)
}

fn tables() -> Result<Vec<Table>, Failure> {
    let mut tables: Vec<Table> = Vec::new();
    for text in SAMPLES.split("---\n") {
        let (document, met) = met(text)?;
        for Met { keys, entries } in met {
            let same = |table: &&mut Table| (table.document, table.of) == (document, keys.of);
            match tables.iter_mut().find(same) {
                Some(table) => table.add(keys, entries),
                None => tables.push(Table {
                    document,
                    of: keys.of,
                    known: told(keys).collect(),
                    entries,
                }),
            }
        }
    }
    tables.sort_by_key(|table| table.document != "scenario");
    Ok(tables)
}

/// What kind of document a sample is, and the maps in it.
fn met(text: &str) -> Result<(&'static str, Vec<Met>), Failure> {
    let source = Source {
        path: "samples.yaml".to_owned(),
        text: text.to_owned(),
    };
    let mut out = Diagnostics::new(&source).keeping_maps();
    let document = if text.contains("\nstart:") {
        manifest::read(&source, &mut out);
        "manifest"
    } else {
        let known = Known {
            defects: DEFECTS.iter().map(|word| (*word).to_owned()).collect(),
        };
        validate::read(&source, "list/words", 0, &known, &mut out);
        "scenario"
    };
    let met = out.met().to_vec();
    if out.is_empty() {
        return Ok((document, met));
    }
    let rendered = scenarios::document::render(&out.finish(), &source, false);
    Err(Failure::internal(format!(
        "a sample of the language is not accepted:\n{rendered}"
    )))
}

/// The keys of a map, each with what it is for.
fn told(keys: &'static Keys) -> impl Iterator<Item = (&'static str, &'static str)> {
    keys.known
        .iter()
        .map(|(word, summary, _)| (*word, *summary))
}

impl Table {
    fn add(&mut self, keys: &'static Keys, entries: Vec<(String, String)>) {
        for one in told(keys) {
            if !self.known.contains(&one) {
                self.known.push(one);
            }
        }
        self.entries.extend(entries);
    }

    fn words(&self) -> Vec<Word> {
        let known = self.known.iter();
        known
            .filter_map(|(word, summary)| {
                Some(Word {
                    document: self.document,
                    of: self.of,
                    word,
                    summary: with_values(word, summary, self.document),
                    example: self.example(word)?,
                })
            })
            .collect()
    }

    /// The shortest example that was met.
    fn example(&self, word: &str) -> Option<String> {
        let entries = self.entries.iter().filter(|(key, _)| key == word);
        let shortest = entries.min_by_key(|(_, value)| value.len())?;
        Some(format!("{word}: {}", shortest.1))
    }
}

/// What a word is for, with its values where those are a list of their own.
fn with_values(word: &str, summary: &str, document: &str) -> String {
    let values: Vec<String> = match (document, word) {
        ("scenario", "tags") => TAGS.iter().map(|(tag, _)| (*tag).to_owned()).collect(),
        ("scenario", "finding") => FINDINGS.iter().map(|name| name.word()).collect(),
        _ => return summary.to_owned(),
    };
    format!("{summary}: {}", values.join(", "))
}

fn expectations() -> impl Iterator<Item = Word> {
    let listed = assertions::LIST.iter();
    BESIDE
        .into_iter()
        .chain(listed.map(|entry| (entry.word, entry.summary, entry.example)))
        .map(|(word, summary, example)| Word {
            document: "scenario",
            of: "an expectation",
            word,
            summary: summary.to_owned(),
            example: example.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_word_has_an_example() {
        let without: Vec<(&str, &str)> = tables()
            .unwrap()
            .iter()
            .flat_map(|table| {
                let words = table.words();
                let known = table.known.iter().map(|(word, _)| *word);
                known
                    .filter(|word| !words.iter().any(|one| one.word == *word))
                    .map(|word| (table.of, word))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(without, []);
    }

    /// The schema has the maps that the decoders met, with the same keys, and no
    /// others.
    #[test]
    fn the_schema_has_every_key_that_the_decoders_accept_and_no_other() {
        use scenarios::schema::{Document, maps};
        let mut accepted: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
        for table in tables().unwrap() {
            for (word, _) in &table.known {
                accepted.insert((table.document, table.of, word));
            }
        }
        let mut said = BTreeSet::new();
        for (name, document) in [
            ("scenario", Document::Scenario),
            ("manifest", Document::Manifest),
        ] {
            for (of, keys) in maps(document) {
                said.extend(keys.into_iter().map(|key| (name, of, key)));
            }
        }
        // These are read without a table.
        let without: BTreeSet<&str> = [
            "an expectation",
            "a moment",
            "a point in a request",
            "a point in an answer",
        ]
        .into();
        let expectations: BTreeSet<_> = expectations().map(|word| word.word).collect();
        let listed = said.iter().filter(|(_, of, _)| *of == "an expectation");
        assert_eq!(
            listed.map(|(.., word)| *word).collect::<BTreeSet<_>>(),
            expectations
        );
        said.retain(|(_, of, _)| !without.contains(of));
        let unsaid: Vec<_> = accepted.difference(&said).collect();
        let unread: Vec<_> = said.difference(&accepted).collect();
        assert!(
            unsaid.is_empty() && unread.is_empty(),
            "not in the schema: {unsaid:?}, only there: {unread:?}"
        );
    }

    /// The names of the maps whose keys the decoders know, as the source of the
    /// crate has them.
    fn maps_in(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                maps_in(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for begin in ["Keys::new(", "call_keys!("] {
                for rest in text.split(begin).skip(1) {
                    if let Some(rest) = rest.trim_start().strip_prefix('"') {
                        found.insert(rest.split('"').next().unwrap().to_owned());
                    }
                }
            }
        }
    }

    #[test]
    fn no_map_of_the_language_is_left_out() {
        let mut maps = BTreeSet::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        maps_in(&root.join("../scenarios/src"), &mut maps);
        assert!(maps.len() > 20, "{maps:?}");
        let listed: BTreeSet<String> = all()
            .unwrap()
            .iter()
            .filter(|word| word.of != "an expectation")
            .map(|word| word.of.to_owned())
            .collect();
        assert_eq!(listed, maps);
    }

    #[test]
    fn what_stands_beside_an_assertion_is_accepted_beside_one() {
        for (word, _, example) in BESIDE {
            assert!(SAMPLES.contains(&format!("\n      {word}: ")), "{example}");
        }
    }
}
