//! What goes together in a map, as a schema says it.

use serde_json::{Map, Value, json};

use crate::document::kind::{NAME, Rule};

/// Keywords for the rules of a map.
pub(super) fn of(rules: &[Rule], shown: bool, columns: bool) -> Map<String, Value> {
    let said = rules.iter().flat_map(|rule| said(rule, shown, columns));
    unless_named_by_columns(said.collect(), columns)
}

/// Keywords for exactly one of some keys.
pub(super) fn one_of_words(words: &[&str], columns: bool) -> Map<String, Value> {
    unless_named_by_columns(vec![one_of(words)], columns)
}

/// A key that a column names can be any of them, so that with one of those
/// nothing is known.
fn unless_named_by_columns(all: Vec<Value>, columns: bool) -> Map<String, Value> {
    let said = match all.len() {
        0 => return Map::new(),
        1 => all.into_iter().next().unwrap_or_default(),
        _ => merged(all),
    };
    let said = match columns {
        false => said,
        true => {
            let named = format!(r"\{{{NAME}\}}");
            json!({ "if": { "propertyNames": { "not": { "pattern": named } } }, "then": said })
        }
    };
    match said {
        Value::Object(said) => said,
        _ => Map::new(),
    }
}

/// `required` of all in one place, where a person and an editor look for it.
fn merged(all: Vec<Value>) -> Value {
    let mut required = Vec::new();
    let mut rest = Vec::new();
    for one in all {
        match one.get("required").and_then(Value::as_array) {
            Some(keys) if one.as_object().is_some_and(|one| one.len() == 1) => {
                required.extend(keys.clone());
            }
            _ => rest.push(one),
        }
    }
    let mut said = Map::new();
    if !required.is_empty() {
        said.insert("required".to_owned(), Value::Array(required));
    }
    if !rest.is_empty() {
        said.insert("allOf".to_owned(), Value::Array(rest));
    }
    Value::Object(said)
}

fn said(rule: &Rule, shown: bool, columns: bool) -> Vec<Value> {
    match rule {
        Rule::OneOfExpected(keys) | Rule::NeedsExpected(keys) if shown => keys
            .iter()
            .map(|key| json!({ "not": { "required": [key] } }))
            .collect(),
        Rule::Needs(keys) | Rule::NeedsExpected(keys) => vec![json!({ "required": keys })],
        Rule::OneOf(keys) => vec![one_of(keys)],
        Rule::OneOfExpected(keys) => vec![one_of(keys)],
        Rule::AtMostOneOf(keys) => pairs(keys)
            .map(|pair| json!({ "not": { "required": pair } }))
            .collect(),
        Rule::AnyOf(keys) => {
            let each = keys.iter().map(|key| json!({ "required": [key] }));
            vec![json!({ "anyOf": each.collect::<Vec<_>>() })]
        }
        Rule::With(key, other) => {
            let needed = Value::Object(Map::from_iter([((*key).to_owned(), json!([other]))]));
            vec![json!({ "dependentRequired": needed })]
        }
        Rule::WithWord(key, other, word) => vec![json!({
            "if": { "required": [key] },
            "then": {
                "required": [other],
                "properties": property(other, is_word(word, columns)),
            },
        })],
        Rule::WordNeeds(other, word, key) => vec![json!({
            "if": {
                "required": [other],
                "properties": property(other, json!({ "const": word })),
            },
            "then": { "required": [key] },
        })],
    }
}

fn is_word(word: &str, columns: bool) -> Value {
    let word = json!({ "const": word });
    match columns {
        false => word,
        true => json!({ "anyOf": [word, { "$ref": "#/$defs/text-with-a-column" }] }),
    }
}

fn property(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

fn one_of(keys: &[&str]) -> Value {
    let each = keys.iter().map(|key| json!({ "required": [key] }));
    json!({ "oneOf": each.collect::<Vec<_>>() })
}

fn pairs<'k>(keys: &'k [&'static str]) -> impl Iterator<Item = [&'static str; 2]> + 'k {
    let ends = keys.iter().enumerate();
    ends.flat_map(move |(at, end)| keys[..at].iter().map(move |begin| [*begin, *end]))
}
