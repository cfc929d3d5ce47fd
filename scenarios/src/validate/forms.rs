//! How each part of a scenario is written, by the examples that the language
//! gives of itself: for people who wrote something else.

use crate::document::{Diagnostics, Node, Source, Value, parse};
use crate::{assertions, faults};

/// Parts that are neither a fault nor an assertion.
const FORMS: &[&str] = &[
    "servers: { api: { script: [ { respond: { status: 503 } } ] } }",
    "script: [ { respond: { status: 503 } } ]",
    "routes: { POST /jobs: [ { respond: { status: 503 } } ] }",
    "call: { method: POST, url: \"{api}/jobs\" }",
    "calls: [ { url: \"{api}/1\" }, { url: \"{api}/2\" } ]",
    "expect: { must: [ { honest: true } ] }",
    "must: [ { honest: true } ]",
    "limits: { attempts: 3, total: 2s }",
    "enough: { api: 3 }",
    "sweep: { status: [500, 503] }",
    "proves: { defect: retries-post-on-reset, finding: duplicate-delivery }",
    "when: { connection: reused }",
    "headers: { Location: \"{api}/end\" }",
    "key: { header: Idempotency-Key }",
    "delay: 200ms",
    "listen: { phases: [ { drop: { for: 2s } }, { open: always } ] }",
    "deadline: 10s",
];

/// How something is written, by what it is called in messages: `` `drip` ``.
pub(super) fn form(what: &str) -> Option<String> {
    let (what, of_answer) = match what.strip_suffix(" of an answer") {
        Some(what) => (what, true),
        None => (what, false),
    };
    let word = what.strip_prefix('`')?.strip_suffix('`')?;
    let own = FORMS.iter().copied();
    let asserted = assertions::LIST.iter().map(|entry| entry.example);
    let faulty = faults::all().filter(|listed| !of_answer || listed.place == "respond");
    let all: Vec<&str> = match of_answer {
        true => faulty.map(|listed| listed.example).collect(),
        false => own
            .chain(asserted)
            .chain(faulty.map(|listed| listed.example))
            .collect(),
    };
    all.into_iter().find_map(|example| part(example, word))
}

/// The part of an example that shows a word.
fn part(example: &str, word: &str) -> Option<String> {
    let source = Source {
        path: String::new(),
        text: example.to_owned(),
    };
    let root = parse(&source, &mut Diagnostics::new(&source))?;
    // The word on the outside is the example itself.
    if let Value::Map(entries) = &root.value
        && entries.iter().any(|(key, _)| key.text == word)
    {
        return Some(example.to_owned());
    }
    let value = inside(&root, word)?;
    Some(format!("{word}: {}", value.flow()))
}

fn inside<'n>(node: &'n Node, word: &str) -> Option<&'n Node> {
    match &node.value {
        Value::Scalar(_) => None,
        Value::List(items) => items.iter().find_map(|item| inside(item, word)),
        Value::Map(entries) => {
            let here = entries.iter().find(|(key, _)| key.text == word);
            here.map(|(_, value)| value)
                .or_else(|| entries.iter().find_map(|(_, value)| inside(value, word)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_word_is_its_own_example() {
        let shown = |what: &str| form(what).unwrap_or_default();
        assert_eq!(shown("`retry_after`"), "retry_after: {seconds: 2}");
        assert_eq!(shown("`cut`"), "cut: { after: request, with: reset }");
        assert_eq!(
            shown("`cut` of an answer"),
            "cut: {after: {body: half}, with: reset}"
        );
        assert_eq!(shown("`gap`"), "gap: { at_least: 1s, at_most: 2200ms }");
        assert_eq!(form("a step"), None);
        assert_eq!(form("`nonsense`"), None);
    }

    #[test]
    fn every_form_can_be_read() {
        for text in FORMS {
            let word = text.split(':').next().unwrap_or_default();
            let form = form(&format!("`{word}`")).unwrap_or_default();
            assert!(form.starts_with(&format!("{word}: ")), "{text}: {form}");
        }
    }
}
