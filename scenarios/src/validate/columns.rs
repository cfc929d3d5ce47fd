//! `sweep` and `table`: the columns of a scenario, its cases, and the replacing
//! of columns in the tree before anything is decoded.

use std::collections::BTreeSet;

use crate::document::decode::{Fields, brief, listed};
use crate::document::{Diagnostics, Key, Node, Scalar, ScalarKind, Source, Value, ids};

use crate::document::kind::{FILLED, Kind};
use crate::reading::names::{Part, is_name, parts};

/// Most cases a scenario may have.
const MOST_CASES: usize = 256;
/// Most bytes that are decoded over all cases, so that a large file with many
/// cases cannot take minutes.
const MOST_BYTES: usize = 8 << 20;

/// The name of a column.
pub(super) const NAME_OF_A_COLUMN: &str = "(?!(?:n|job)$)[a-z][a-z0-9_]*";

/// `sweep`: two values or more for each column.
pub(super) fn sweep_kind() -> Kind {
    let values = Kind::List {
        of: Box::new(Kind::Scalar),
        count: 2..=usize::MAX,
    };
    Kind::names(NAME_OF_A_COLUMN, FILLED, values).as_written()
}

/// `table`: a value for each column in each row.
pub(super) fn table_kind() -> Kind {
    Kind::list(Kind::names(NAME_OF_A_COLUMN, FILLED, Kind::Any)).as_written()
}

/// One case: a value for each column, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Row(pub(super) Vec<(String, Node)>);

/// The cases that `sweep` or `table` make; one without columns where neither is
/// there. None when they cannot be used.
pub(super) fn rows(
    document: &Fields<'_>,
    source: &Source,
    out: &mut Diagnostics,
) -> Option<Vec<Row>> {
    let before = out.reports();
    let rows = match document.at_most_one_of(&["sweep", "table"], out)? {
        None => return Some(vec![Row::default()]),
        Some(("sweep", key, node)) => sweep(key, node, out)?,
        Some((_, _, node)) => table(node, out)?,
    };
    let (_, key, node) = document.at_most_one_of(&["sweep", "table"], out)??;
    let bytes = source.text.len().saturating_mul(rows.len());
    if rows.len() > MOST_CASES || bytes > MOST_BYTES {
        too_many(key, rows.len(), out);
        return None;
    }
    unused(document, &rows, node, out);
    equal(&rows, node, out);
    (out.reports() == before).then_some(rows)
}

fn too_many(key: &Key, cases: usize, out: &mut Diagnostics) {
    out.report(ids::TOO_MANY_CASES, &key.span, "too many cases")
        .label(format!("these columns make {cases} cases"))
        .help(format!(
            "at most {MOST_CASES} are allowed, fewer in a large file; drop values or split the scenario"
        ));
}

fn sweep(key: &Key, node: &Node, out: &mut Diagnostics) -> Option<Vec<Row>> {
    let columns = node.map("`sweep`", out)?;
    if columns.is_empty() {
        return node.wrong("`sweep`", "a map from columns to lists of values", out);
    }
    let mut rows = vec![Row::default()];
    let mut good = true;
    for (name, values) in columns {
        good &= column_name(name, out);
        let Some(values) = sweep_values(name, values, out) else {
            good = false;
            continue;
        };
        let cases = rows.len().saturating_mul(values.len());
        if cases > MOST_CASES {
            too_many(key, cases, out);
            return None;
        }
        rows = rows
            .iter()
            .flat_map(|row| {
                values.iter().map(|value| {
                    let mut row = row.clone();
                    row.0.push((name.text.clone(), value.clone()));
                    row
                })
            })
            .collect();
    }
    good.then_some(rows)
}

fn sweep_values<'n>(name: &Key, node: &'n Node, out: &mut Diagnostics) -> Option<&'n [Node]> {
    let values = node.filled_list("a column of `sweep`", out)?;
    if values.len() == 1 {
        out.report(
            ids::ONE_VALUE,
            &node.span,
            format!("the column `{}` has one value", brief(&name.text)),
        )
        .label("a sweep of one value is no sweep")
        .help("add a value, or write it where the column is used");
        return None;
    }
    let mut good = true;
    for value in values {
        if value.is_null() {
            good = false;
        } else if !matches!(value.value, Value::Scalar(_)) {
            value.wrong::<()>("a value of `sweep`", "a single word, number or text", out);
            good = false;
        }
    }
    good.then_some(values)
}

fn table(node: &Node, out: &mut Diagnostics) -> Option<Vec<Row>> {
    let rows = node.filled_list("`table`", out)?;
    let first = rows[0].map("a row of `table`", out)?;
    let mut good = !first.is_empty();
    if first.is_empty() {
        rows[0].wrong::<()>("a row of `table`", "a map from columns to values", out);
    }
    for (name, _) in first {
        good &= column_name(name, out);
    }
    let columns: Vec<&str> = first.iter().map(|(key, _)| key.text.as_str()).collect();
    let mut cases = Vec::new();
    for row in rows {
        let Some(entries) = row.map("a row of `table`", out) else {
            good = false;
            continue;
        };
        let here: BTreeSet<&str> = entries.iter().map(|(key, _)| key.text.as_str()).collect();
        if here != columns.iter().copied().collect() {
            out.report(ids::RAGGED_TABLE, &row.span, "this row has other columns")
                .label(format!("the columns here are {}", listed(here.into_iter())))
                .help(format!(
                    "every row needs the columns of the first: {}",
                    listed(columns.iter().copied())
                ));
            good = false;
            continue;
        }
        let value = |name: &&str| {
            let found = entries.iter().find(|(key, _)| key.text == *name)?;
            Some(((*name).to_owned(), found.1.clone()))
        };
        cases.push(Row(columns.iter().filter_map(value).collect()));
    }
    good.then_some(cases)
}

fn column_name(name: &Key, out: &mut Diagnostics) -> bool {
    let good = is_name(&name.text) && !matches!(name.text.as_str(), "n" | "job");
    if !good {
        out.report(
            ids::BAD_NAME,
            &name.span,
            format!("`{}` cannot be a column", brief(&name.text)),
        )
        .label("not a name")
        .help("a name is a lower-case word such as `code` or `cut_at`; `n` and `job` are taken");
    }
    good
}

fn equal(rows: &[Row], node: &Node, out: &mut Diagnostics) {
    let mut seen = BTreeSet::new();
    for row in rows {
        let names: Vec<_> = row.0.iter().map(|(_, value)| value_name(value)).collect();
        if !seen.insert(names.clone()) {
            let span = row.0.last().map_or(&node.span, |(_, value)| &value.span);
            out.report(ids::EQUAL_CASES, span, "two cases are the same")
                .label(format!("again {}", names.join(", ")))
                .help("remove one of the two; they would have the same name");
        }
    }
}

fn unused(document: &Fields<'_>, rows: &[Row], node: &Node, out: &mut Diagnostics) {
    let mut used = BTreeSet::new();
    for (key, value) in document.entries() {
        if !matches!(
            key.text.as_str(),
            "sweep" | "table" | "title" | "why" | "refs" | "tags"
        ) {
            collect_names(value, &mut used);
        }
    }
    let Some(first) = rows.first() else { return };
    for (name, value) in &first.0 {
        if !used.contains(name) {
            let span = column_key(node, name).map_or(&value.span, |key| &key.span);
            out.report(
                ids::UNUSED_COLUMN,
                span,
                format!("the column `{name}` is not used"),
            )
            .label("all its cases would be the same")
            .help(format!(
                "write \"{{{name}}}\" where its values belong, or remove it"
            ));
        }
    }
}

fn column_key<'n>(node: &'n Node, name: &str) -> Option<&'n Key> {
    let map = match &node.value {
        Value::List(rows) => &rows.first()?.value,
        value => value,
    };
    let Value::Map(entries) = map else {
        return None;
    };
    entries
        .iter()
        .map(|(key, _)| key)
        .find(|key| key.text == name)
}

fn collect_names(node: &Node, used: &mut BTreeSet<String>) {
    match &node.value {
        Value::Scalar(scalar) => collect_from(&scalar.text, used),
        Value::List(items) => items.iter().for_each(|item| collect_names(item, used)),
        Value::Map(entries) => {
            for (key, value) in entries {
                collect_from(&key.text, used);
                collect_names(value, used);
            }
        }
    }
}

fn collect_from(text: &str, used: &mut BTreeSet<String>) {
    for part in parts(text) {
        if let Part::Name(name) = part {
            used.insert(name.to_owned());
        }
    }
}

impl Row {
    /// The value of a column.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.0
            .iter()
            .find(|(column, _)| column == name)
            .map(|(_, value)| value)
    }

    /// The tree with the columns of this case in their places.
    pub(super) fn replace(&self, node: &Node, out: &mut Diagnostics) -> Node {
        let value = match &node.value {
            Value::Scalar(scalar) if scalar.kind == ScalarKind::Text => {
                if let [Part::Name(name)] = parts(&scalar.text)[..]
                    && let Some(value) = self.get(name)
                {
                    return value.clone();
                }
                Value::Scalar(Scalar {
                    text: self.replace_text(&scalar.text, node, out),
                    kind: ScalarKind::Text,
                })
            }
            Value::Scalar(scalar) => Value::Scalar(scalar.clone()),
            Value::List(items) => {
                Value::List(items.iter().map(|item| self.replace(item, out)).collect())
            }
            Value::Map(entries) => Value::Map(
                entries
                    .iter()
                    .map(|(key, value)| {
                        let text = self.replace_text(&key.text, node, out);
                        let span = key.span.clone();
                        (Key { text, span }, self.replace(value, out))
                    })
                    .collect(),
            ),
        };
        Node {
            span: node.span.clone(),
            value,
        }
    }

    fn replace_text(&self, text: &str, node: &Node, out: &mut Diagnostics) -> String {
        if self.0.is_empty() || !text.contains('{') {
            return text.to_owned();
        }
        let mut replaced = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => replaced.push_str(text),
                Part::Escaped(word) => replaced.push_str(&format!("{{{{{word}}}}}")),
                Part::Name(name) => match self.get(name).map(|value| &value.value) {
                    None => replaced.push_str(&format!("{{{name}}}")),
                    Some(Value::Scalar(scalar)) => replaced.push_str(&scalar.text),
                    Some(_) => {
                        out.report(
                            ids::COLUMN_IN_TEXT,
                            &node.span,
                            format!("the column `{name}` is a list or a map"),
                        )
                        .label("it cannot be a part of text")
                        .help(format!("let it stand alone, as \"{{{name}}}\""));
                    }
                },
            }
        }
        replaced
    }
}

/// A value as it stands in a case's name: short, and of harmless characters.
pub(super) fn value_name(value: &Node) -> String {
    const LONGEST: usize = 60;
    let text = match &value.value {
        Value::Scalar(scalar) => scalar.text.clone(),
        _ => value.flow().replace(", ", ",").replace(": ", ":"),
    };
    let harmless = |c: char| match c {
        '{' | '}' | '"' => None,
        ',' => Some('+'),
        _ if c.is_ascii_alphanumeric() || ".:/+-_".contains(c) => Some(c),
        _ => Some('_'),
    };
    text.chars().filter_map(harmless).take(LONGEST).collect()
}
