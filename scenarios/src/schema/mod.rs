//! The JSON Schema of scenarios and of clients' manifests, for editors.
//!
//! It is made of the tables by which the decoders accept keys, so that it has
//! every word that they have and no other. What it can say, it says as the
//! checker does; `agreement` lists the mistakes that only the checker knows.

pub mod agreement;
mod patterns;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::document::kind::{ANY_TEXT, Kind, Known, NAME, Rule, SOME_TEXT, Time};
use crate::document::values::RANGE;
use crate::{manifest, validate};

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// A scenario.
    Scenario,
    /// A client's manifest.
    Manifest,
}

/// The schema of a document as people write it.
pub fn schema(document: Document) -> Value {
    let columns = document == Document::Scenario;
    make(document, columns).0
}

/// The maps with known keys that a schema has, each with its keys.
pub fn maps(document: Document) -> Vec<(&'static str, Vec<&'static str>)> {
    make(document, false).1
}

/// The schema of a document in which every column has been replaced.
#[cfg(test)]
fn of_a_case(document: Document) -> Value {
    make(document, false).0
}

type Maps = Vec<(&'static str, Vec<&'static str>)>;

fn make(document: Document, columns: bool) -> (Value, Maps) {
    let (kind, title) = match document {
        Document::Scenario => (validate::kind(), "wirefault scenario"),
        Document::Manifest => (manifest::kind(), "wirefault client manifest"),
    };
    let mut maker = Maker {
        defs: BTreeMap::new(),
        maps: Vec::new(),
    };
    let at = At {
        shown: false,
        columns,
    };
    let mut root = Map::new();
    root.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    root.insert("title".to_owned(), json!(title));
    root.insert("$comment".to_owned(), json!(agreement::comment()));
    if let Kind::Map(keys) = kind {
        root.extend(maker.object(keys.of, keys.known, keys.rules, at, true));
    }
    if columns {
        maker.define("column", whole_column);
        maker.define("text-with-a-column", text_with_a_column);
    }
    root.insert("$defs".to_owned(), json!(maker.defs));
    (Value::Object(root), maker.maps)
}

/// A name in braces that stands alone.
fn whole_column() -> Value {
    json!({
        "description": "the value of a column, in the place of any value",
        "type": "string",
        "pattern": format!(r"^\{{{NAME}\}}$"),
    })
}

/// A name in braces as a part of text.
fn text_with_a_column() -> Value {
    json!({
        "description": "text with the value of a column in it",
        "type": "string",
        "pattern": format!(r"\{{{NAME}\}}"),
    })
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct At {
    /// At the level `info`.
    shown: bool,
    /// Where columns can stand.
    columns: bool,
}

/// How a column can stand in the place of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    /// As any text; nothing need be said of it.
    Anyhow,
    /// Alone.
    Whole,
    /// As a part of text, too.
    Within,
}

struct Maker {
    defs: BTreeMap<String, Value>,
    maps: Maps,
}

impl Maker {
    /// A value where a column can stand in its place.
    fn value(&mut self, kind: &Kind, at: At) -> Value {
        match kind {
            Kind::AsWritten(kind) => {
                let columns = false;
                return self.value(kind, At { columns, ..at });
            }
            Kind::Default(kind, default) => {
                let mut value = self.value(kind, at);
                value["default"] = default.clone();
                return value;
            }
            Kind::Shown(kind) => return self.value(kind, At { shown: true, ..at }),
            _ => {}
        }
        let bare = self.bare(kind, at);
        match column(kind, at) {
            _ if !at.columns => bare,
            Column::Anyhow => bare,
            Column::Whole => json!({ "anyOf": [bare, { "$ref": "#/$defs/column" }] }),
            Column::Within => json!({ "anyOf": [bare, { "$ref": "#/$defs/text-with-a-column" }] }),
        }
    }

    /// A value as it stands where it is no column.
    fn bare(&mut self, kind: &Kind, at: At) -> Value {
        match kind {
            Kind::Any => self.any(),
            Kind::Scalar => json!({ "type": ["string", "number", "boolean"] }),
            Kind::Truth => json!({ "type": "boolean" }),
            Kind::True => json!({ "const": true }),
            Kind::Number(bounds) => number(*bounds.start(), *bounds.end()),
            Kind::Time(Time { least, whole }) => {
                let value = text(&patterns::time(*least, *whole));
                self.defined("a duration", value)
            }
            Kind::Size(bounds) => {
                let value = size(*bounds.start(), *bounds.end());
                self.defined("a size", value)
            }
            Kind::Text { pattern, longest } => {
                let mut value = text(pattern);
                if let Some(longest) = longest {
                    value["maxLength"] = json!(longest);
                }
                value
            }
            Kind::Word(words) => word(words),
            Kind::List { of, count } => {
                let mut value = json!({ "type": "array", "items": self.value(of, at) });
                count_of(&mut value, "Items", (*count.start(), *count.end()));
                value
            }
            Kind::Names { name, of, count } => {
                let names = self.value(&Kind::fits(name.as_str()), at);
                let mut value = json!({
                    "type": "object",
                    "propertyNames": names,
                    "additionalProperties": self.value(of, at),
                });
                count_of(&mut value, "Properties", (*count.start(), *count.end()));
                value
            }
            Kind::Map(keys) => {
                let object = self.object(keys.of, keys.known, keys.rules, at, false);
                self.defined(keys.of, Value::Object(object))
            }
            Kind::Tagged { of, one, beside } => self.tagged(of, one, beside, at),
            Kind::Either(kinds) => {
                let all: Vec<Value> = kinds.iter().map(|kind| self.bare(kind, at)).collect();
                json!({ "anyOf": all })
            }
            Kind::Range(item) => self.range(item, at),
            Kind::Expected(_) if at.shown => json!({
                "description": "the value is shown",
                "type": "object",
                "maxProperties": 0,
            }),
            Kind::Expected(kind) => self.bare(kind, at),
            Kind::Shown(kind) => self.bare(kind, At { shown: true, ..at }),
            Kind::AsWritten(kind) | Kind::Default(kind, _) => self.bare(kind, at),
        }
    }

    /// Any value in which nothing is missing.
    fn any(&mut self) -> Value {
        let this = json!({ "$ref": "#/$defs/anything" });
        self.define("anything", || {
            json!({
                "type": ["string", "number", "boolean", "array", "object"],
                "items": this,
                "additionalProperties": this,
            })
        });
        this
    }

    fn range(&mut self, item: &Kind, at: At) -> Value {
        self.met(RANGE.of, RANGE.known);
        let value = self.value(item, at);
        let known = RANGE.known.iter();
        let properties = known.map(|(key, what, _)| ((*key).to_owned(), described(&value, what)));
        let mut object = object_of(properties.collect(), at);
        object.extend(rules::of(RANGE.rules, at.shown, at.columns));
        Value::Object(object)
    }

    fn tagged(&mut self, of: &'static str, one: &[Known], beside: &[Known], at: At) -> Value {
        self.met(of, one);
        self.met(of, beside);
        let all = one.iter().chain(beside);
        let properties = all.map(|known| (known.0.to_owned(), self.property(known, at)));
        let mut object = object_of(properties.collect(), at);
        let words: Vec<&str> = one.iter().map(|(word, ..)| *word).collect();
        object.extend(rules::one_of_words(&words, at.columns));
        self.defined(of, Value::Object(object))
    }

    fn object(
        &mut self,
        of: &'static str,
        known: &[Known],
        told: &[Rule],
        at: At,
        is_root: bool,
    ) -> Map<String, Value> {
        self.met(of, known);
        let properties = known.iter();
        let properties = properties.map(|known| (known.0.to_owned(), self.property(known, at)));
        // The keys on the outside are read before columns are replaced.
        let of_keys = At {
            columns: at.columns && !is_root,
            ..at
        };
        let mut object = object_of(properties.collect(), of_keys);
        object.extend(rules::of(told, at.shown, of_keys.columns));
        object
    }

    fn property(&mut self, (_, what, kind): &Known, at: At) -> Value {
        described(&self.value(&kind(), at), what)
    }

    fn met(&mut self, of: &'static str, known: &[Known]) {
        let keys = known.iter().map(|(key, ..)| *key);
        match self.maps.iter_mut().find(|(name, _)| *name == of) {
            Some((_, there)) => {
                for key in keys {
                    if !there.contains(&key) {
                        there.push(key);
                    }
                }
            }
            None => self.maps.push((of, keys.collect())),
        }
    }

    fn define(&mut self, name: &str, value: impl FnOnce() -> Value) {
        self.defs.entry(name.to_owned()).or_insert_with(value);
    }

    /// A reference to a value by its name; another of the same name gets a
    /// number.
    fn defined(&mut self, of: &str, value: Value) -> Value {
        let plain = of.trim_start_matches("an ").trim_start_matches("a ");
        let letters = plain.chars().map(|c| if c == ' ' { '-' } else { c });
        let slug: String = letters.filter(|c| *c != '`').collect();
        let mut name = slug.clone();
        let mut number = 1;
        while self.defs.get(&name).is_some_and(|there| *there != value) {
            number += 1;
            name = format!("{slug}-{number}");
        }
        let this = json!({ "$ref": format!("#/$defs/{name}") });
        self.defs.insert(name, value);
        this
    }
}

fn described(value: &Value, what: &str) -> Value {
    let mut value = value.clone();
    value["description"] = json!(what);
    value
}

/// A map with these properties and no others, but for those that a column names.
fn object_of(properties: Map<String, Value>, at: At) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("properties".to_owned(), Value::Object(properties));
    if at.columns {
        let named = format!(r"\{{{NAME}\}}");
        object.insert("patternProperties".to_owned(), json!({ named: true }));
    }
    object.insert("additionalProperties".to_owned(), json!(false));
    object
}

fn column(kind: &Kind, at: At) -> Column {
    match kind {
        Kind::Any | Kind::Scalar => Column::Anyhow,
        Kind::Text { pattern, .. } if is_any_text(pattern) => Column::Anyhow,
        Kind::Time(_) | Kind::Size(_) | Kind::Text { .. } | Kind::Word(_) => Column::Within,
        Kind::Either(kinds) => {
            let mut kinds = kinds.iter();
            match kinds.any(|kind| column(kind, at) == Column::Within) {
                true => Column::Within,
                false => Column::Whole,
            }
        }
        Kind::Expected(kind) if !at.shown => column(kind, at),
        _ => Column::Whole,
    }
}

/// Whether names in braces fit a pattern as other text does.
fn is_any_text(pattern: &str) -> bool {
    [ANY_TEXT, SOME_TEXT].contains(&pattern)
}

fn text(pattern: &str) -> Value {
    match pattern {
        ANY_TEXT => return json!({ "type": "string" }),
        SOME_TEXT => return json!({ "type": "string", "pattern": r"\S" }),
        _ => {}
    }
    json!({ "type": "string", "pattern": format!("^(?:{pattern})$") })
}

fn number(low: u64, high: u64) -> Value {
    let mut value = json!({ "type": "integer", "minimum": low });
    // What YAML keeps apart ends long before.
    if high < u64::MAX {
        value["maximum"] = json!(high);
    }
    value
}

fn size(low: u64, high: u64) -> Value {
    json!({
        "type": ["integer", "string"],
        "minimum": low,
        "maximum": high,
        "pattern": format!("^(?:{})$", patterns::size(low, high)),
    })
}

fn word(words: &[(String, String)]) -> Value {
    let names: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    let mut value = json!({ "enum": names });
    if words.iter().all(|(_, what)| !what.is_empty()) {
        let told: Vec<&str> = words.iter().map(|(_, what)| what.as_str()).collect();
        value["markdownEnumDescriptions"] = json!(told);
    }
    value
}

fn count_of(value: &mut Value, what: &str, (low, high): (usize, usize)) {
    if low > 0 {
        value[format!("min{what}")] = json!(low);
    }
    if high < usize::MAX {
        value[format!("max{what}")] = json!(high);
    }
}
