//! Reading documents: what becomes of the text, and what is refused.

use scenarios::document::{Diagnostics, Kind, Node, Source, Value, decode::Keys, parse, render};

fn source(text: &str) -> Source {
    Source {
        path: "a.yaml".to_owned(),
        text: text.to_owned(),
    }
}

fn read(text: &str) -> (Option<Node>, String) {
    let source = source(text);
    let mut out = Diagnostics::new(&source);
    let node = parse(&source, &mut out);
    (node, render(&out.finish(), &source, false))
}

fn ids(text: &str) -> Vec<&'static str> {
    let source = source(text);
    let mut out = Diagnostics::new(&source);
    parse(&source, &mut out);
    out.finish().iter().map(|one| one.id).collect()
}

#[test]
fn a_value_keeps_its_place_kind_and_text() {
    let text = "a: \"1\"\nb:\n  - 2\n  - half # why\nc: {d: [true]}\n";
    let (node, said) = read(text);
    assert_eq!(said, "");
    let node = node.expect("a tree");
    assert_eq!(node.flow(), r#"{a: "1", b: [2, half], c: {d: [true]}}"#);
    let Value::Map(entries) = &node.value else {
        panic!("a map")
    };
    let shown: Vec<_> = entries
        .iter()
        .map(|(key, value)| (&text[key.span.clone()], &text[value.span.clone()]))
        .collect();
    let expected = [("a", "\"1\""), ("b", "- 2\n  - half"), ("c", "{d: [true]}")];
    assert_eq!(shown, expected);
}

#[test]
fn a_mistake_is_shown_with_its_line_a_caret_and_help() {
    static KEYS: Keys = Keys::new(
        "a step",
        &[("times", "how many requests it takes", Kind::text)],
    );
    let source = source("first: 1\nstep: {tmes: 2}\n");
    let mut out = Diagnostics::new(&source);
    let node = parse(&source, &mut out).expect("a tree");
    let entries = node.map("it", &mut out).expect("a map");
    entries[1].1.fields(&KEYS, &mut out);
    insta::assert_snapshot!(render(&out.finish(), &source, false));
}

#[test]
fn two_places_are_shown_together() {
    insta::assert_snapshot!(read("a: 1\nb: 2\na: 3\n").1);
}

#[test]
fn what_documents_do_not_use_is_refused_where_it_stands() {
    for (text, expected) in [
        ("a: &x 1", &["anchor"][..]),
        ("a: *x", &["alias"]),
        ("a: !x 1", &["tag"]),
        ("<<: {a: 1}", &["merge-key"]),
        ("a: 1\n---\nb: 1", &["several-documents"]),
        ("a: 1\na: 2", &["duplicate-key"]),
        ("a:\nb: 1", &["empty-value"]),
        ("[a]: 1", &["key-not-text"]),
        (
            "? {a: 1}\n: {b: 1}\nc: No",
            &["key-not-text", "ambiguous-word"],
        ),
        ("", &["empty-file"]),
        ("# only a comment", &["empty-file"]),
        ("a: [1", &["syntax"]),
    ] {
        assert_eq!(ids(text), expected, "{text}");
    }
}

#[test]
fn words_and_numbers_that_readers_disagree_about_are_refused() {
    for word in ["yes", "No", "ON", "off", "y", "n", "~", "null", "True"] {
        assert_eq!(ids(&format!("a: {word}")), ["ambiguous-word"], "{word}");
    }
    for number in [
        "01", "1e3", "0x10", ".5", "1_000", "5.", "+5", "-.inf", "0o7", "1.5E-3",
    ] {
        assert_eq!(ids(&format!("a: {number}")), ["odd-number"], "{number}");
    }
    for good in [
        "0", "-1", "1.5", "10", "true", "200ms", "1:30", "x", "\"yes\"", "'01'", "9.2.2",
    ] {
        assert_eq!(ids(&format!("a: {good}")), [""; 0], "{good}");
    }
}

#[test]
fn a_forgotten_quote_around_a_name_is_explained() {
    insta::assert_snapshot!(read("call: { url: {api}/x }\n").1);
    insta::assert_snapshot!(read("at: {at}\n").1);
}

#[test]
fn deep_nesting_and_size_end_quickly() {
    let deep = "[".repeat(1 << 20);
    assert_eq!(ids(&deep), ["too-deep"]);
    assert_eq!(ids(&"- ".repeat(100_000)), ["too-deep"]);
    assert_eq!(ids(&"[".repeat(10 << 20)), ["too-large"]);
    let (source, found) = Source::from_bytes("x", vec![b'a'; 10 << 20]).expect_err("too large");
    assert_eq!(found[0].id, "too-large");
    assert!(render(&found, &source, false).contains("1024 KiB"));
}

#[test]
fn what_is_shown_of_a_file_cannot_steer_a_terminal() {
    let (_, said) = read("a: \"\u{1b}[31m\"\n\"\u{202e}b\": \u{200b}yes\nc: [\u{7}");
    assert!(
        !said.chars().any(|c| c.is_control() && c != '\n'),
        "{said:?}"
    );
    assert!(!said.contains('\u{202e}'), "{said:?}");
}

/// A pipe that nobody writes to, or a device without end, would be waited for.
#[test]
fn what_is_no_regular_file_is_never_opened() {
    for (path, says) in [("/dev/null", "not a regular file"), (".", "a folder")] {
        match Source::read(std::path::Path::new(path)) {
            Err(scenarios::document::Unreadable::Io(error)) => {
                assert!(error.to_string().contains(says), "{path}: {error}");
            }
            other => panic!("{path}: {other:?}"),
        }
    }
}
