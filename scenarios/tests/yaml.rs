//! Our reading of YAML against two other readers, and against any text at all.

#![expect(clippy::expect_used, reason = "helpers of tests may fail the test")]

use std::path::Path;

use proptest::prelude::*;
use scenarios::document::{Diagnostics, Node, Scalar, ScalarKind, Source, Value, parse};
use scenarios::validate::{Known, scenario};

fn source(text: &str) -> Source {
    Source {
        path: "a.yaml".to_owned(),
        text: text.to_owned(),
    }
}

/// The tree, when nothing is wrong with the text.
fn read(text: &str) -> Option<Node> {
    let source = source(text);
    let mut out = Diagnostics::new(&source);
    parse(&source, &mut out).filter(|_| out.is_empty())
}

fn json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Scalar(Scalar { text, kind }) => match kind {
            ScalarKind::Text => text.as_str().into(),
            ScalarKind::Truth => (text == "true").into(),
            ScalarKind::Null => serde_json::Value::Null,
            ScalarKind::Number => serde_json::from_str(text).expect("a number of JSON"),
        },
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| (key.text.clone(), json(value)))
            .collect(),
    }
}

/// Holds that all three readers see the same in a text that we accept.
fn all_agree(text: &str, strict: bool) -> Result<(), TestCaseError> {
    let Some(node) = read(text) else {
        return Ok(());
    };
    let ours = json(&node);
    let saphyr: serde_json::Value = serde_saphyr::from_str(text)
        .map_err(|error| TestCaseError::fail(format!("serde_saphyr: {error}: {text:?}")))?;
    prop_assert_eq!(&ours, &saphyr, "serde_saphyr of {:?}", text);
    let yaml: serde_json::Value = match serde_yaml::from_str(text) {
        Ok(value) => value,
        // It knows less of YAML than the others and may refuse what they read.
        Err(_) if !strict => return Ok(()),
        Err(error) => {
            return Err(TestCaseError::fail(format!(
                "serde_yaml: {error}: {text:?}"
            )));
        }
    };
    prop_assert_eq!(&ours, &yaml, "serde_yaml of {:?}", text);
    Ok(())
}

fn files_below(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, found);
        } else if path.extension().is_some_and(|end| end == "yaml") {
            found.push(path);
        }
    }
}

#[test]
fn all_readers_agree_about_every_file() {
    let mut files = Vec::new();
    // The shipped scenarios and manifests, and the files of these tests.
    for folder in ["suite", "../clients", "tests/rejects"] {
        files_below(Path::new(folder), &mut files);
    }
    let mut read_whole = 0;
    for file in files {
        if let Ok(text) = std::fs::read_to_string(&file) {
            read_whole += usize::from(read(&text).is_some());
            all_agree(&text, true).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
    }
    assert!(read_whole > 50, "only {read_whole} files were compared");
}

/// A tree that documents can hold.
fn tree() -> impl Strategy<Value = serde_json::Value> {
    let text = prop_oneof![
        "[a-z]{1,8}",
        "[ -~]{0,20}",
        any::<String>()
            .prop_map(|text| text.replace(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'], "")),
    ];
    let scalar = prop_oneof![
        text.prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map("k[a-z]{0,5}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Writes a tree as a person would: blocks outside, flow inside, text quoted.
fn written(value: &serde_json::Value, indent: usize, out: &mut String) {
    let pad = "  ".repeat(indent);
    match value {
        serde_json::Value::Object(entries) if indent < 2 && !entries.is_empty() => {
            for (key, value) in entries {
                out.push_str(&format!("\n{pad}{key}:"));
                written(value, indent + 1, out);
            }
        }
        serde_json::Value::Array(items) if indent < 2 && !items.is_empty() => {
            for item in items {
                out.push_str(&format!("\n{pad}-"));
                written(item, indent + 1, out);
            }
        }
        other => out.push_str(&format!(" {other}")),
    }
}

/// Bits of scenarios, to make texts that are nearly right.
fn fragment() -> impl Strategy<Value = String> {
    let words = [
        "respond",
        "cut",
        "{api}",
        "{n}",
        "{{x}}",
        ": ",
        "- ",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "#",
        "&a",
        "*a",
        "!t",
        "<<",
        "null",
        "~",
        "yes",
        "0x1",
        "1e3",
        "-1",
        "0",
        "half",
        "always",
        "calls",
        "table",
        "sweep",
        "18446744073709551616",
        "720h",
        "4096MiB",
        "endless",
        "chunked",
        "raw",
        "repeat",
        "\u{0}",
        "\u{1b}",
        "\u{202e}",
        "é",
        "---",
        "...",
        "%YAML 1.2",
        "|",
        ">",
        "\t",
        "\r\n",
        "required: false",
        "listen: refuse",
        "bytes: 64MiB",
        "connections: [hang]",
        "then: { close: 1s }",
        "json: { a: [1, {b: \"{api}\"}] }",
    ];
    prop_oneof![
        proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        "[0-9a-z.:_-]{1,8}",
    ]
}

const VALID: &str = r#"title: An answer that is lost
why: w
tags: [redirect]
servers:
  api:
    connections: [reset, serve]
    script:
      - { when: { connection: reused }, times: 2, applies: order, key: { json: /id }, cut: { after: { body: "{at}" }, with: reset } }
      - respond: { status: 429, retry_after: { date_in: 2s }, framing: chunked, chunks: [2, 2], body: { text: "abcdef" }, drip: { bytes: 2, every: 10ms }, stall: { after: { body: 1 }, for: 5ms } }
      - { raw: [ { text: "HTTP/1.1 200 OK\r\n\r\n" }, { pause: 5ms }, { hex: "00ff" } ] }
  dead: { listen: refuse }
calls:
  - { method: POST, url: "{api}/orders/{n}", headers: { X: "{dead}" }, body: { json: { id: "{n}" } }, repeat: 2 }
  - { operation: create, at: "{api}", pause: 20ms }
limits: { attempts: 2, idle: 1s }
sweep: { at: [0, 1, half] }
expect:
  must: [ { of: { call: 1 }, honest: true } ]
"#;

fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..12_usize, fragment());
    proptest::collection::vec(change, 1..6).prop_map(|changes| {
        let mut text: Vec<char> = VALID.chars().collect();
        for (at, removed, added) in changes {
            let at = at.index(text.len() + 1);
            let end = (at + removed).min(text.len());
            text.splice(at..end, added.chars());
        }
        text.into_iter().collect()
    })
}

/// Whatever the text, validation ends, and what it says can be shown.
fn is_survived(text: &str) {
    let source = source(text);
    if let Err(found) = scenario(&source, "area/name", 1, &Known::default()) {
        assert!(!found.is_empty(), "no reason for refusing {text:?}");
        let shown = scenarios::document::render(&found, &source, true);
        let plain = shown.replace('\u{1b}', "");
        assert!(
            !plain.contains(|c: char| c.is_control() && c != '\n'),
            "{plain:?}"
        );
    }
}

#[test]
fn the_text_that_is_mutated_is_valid() {
    let cases = scenario(&source(VALID), "area/name", 1, &Known::default());
    assert_eq!(
        cases.map(|cases| cases.len()).map_err(|found| found.len()),
        Ok(3)
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        is_survived(&text);
    }

    #[test]
    fn texts_made_of_bits_of_scenarios_are_survived(bits in proptest::collection::vec(fragment(), 0..40)) {
        is_survived(&bits.concat());
    }

    #[test]
    fn scenarios_that_are_nearly_right_are_survived(text in mutated()) {
        is_survived(&text);
    }

    #[test]
    fn all_readers_agree_about_written_trees(tree in tree()) {
        let mut text = String::new();
        written(&tree, 0, &mut text);
        all_agree(&text, true)?;
    }

    #[test]
    fn a_written_tree_is_read_as_it_was(tree in tree()) {
        let mut text = String::new();
        written(&tree, 0, &mut text);
        let source = source(&text);
        let mut out = Diagnostics::new(&source);
        let node = parse(&source, &mut out);
        prop_assert!(out.is_empty(), "{text:?}");
        prop_assert_eq!(node.map(|node| json(&node)), Some(tree));
    }

    #[test]
    fn all_readers_agree_about_plain_scalars(text in "[a-zA-Z0-9.+_:~-]{1,8}|[-+]?[0-9][0-9_]{0,3}(\\.[0-9]{0,3})?([eE][-+]?[0-9]{1,2})?|[-+]?0[xob][0-9a-fA-F]{1,4}|[-+]?[0-9]{10,24}|[-+]?\\.(inf|nan|NaN|INF)") {
        all_agree(&format!("a: {text}\n"), false)?;
        all_agree(&format!("[{text}]\n"), false)?;
        all_agree(&format!("{text}: 1\n"), false)?;
    }

    #[test]
    fn all_readers_agree_about_texts_made_of_bits(
        start in proptest::sample::select(vec!["", "a: ", "a:\n  - ", "{a: ", "a: [", "a: |\n  ", "a: \""]),
        bits in proptest::collection::vec(fragment(), 0..12),
    ) {
        // A document is a map; of a lone block scalar the others say more or less.
        let text = format!("{start}{}\n", bits.concat());
        if read(&text).is_some_and(|node| matches!(node.value, Value::Map(_))) {
            all_agree(&text, false)?;
        }
    }
}
