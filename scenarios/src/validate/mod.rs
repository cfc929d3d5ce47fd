//! The one way from a document to Plans: everything is checked here, every
//! default is filled in, and what comes out needs no second look.
//!
//! A scenario is read once for each of its cases, on a tree in which the
//! columns are replaced already. Mistakes are collected over all cases.

mod address;
mod batch;
mod cancel;
mod checks;
mod columns;
mod crash;
mod document;
mod expect;
mod fleet;
mod forms;
mod job;
mod limits;
mod listen;
mod needs;
mod polls;
mod servers;
mod step_checks;
mod steps;
mod tags;
mod through;
mod when;
mod work;

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::document::{Diagnostic, Diagnostics, Kind, Node, Source, decode::Fields, parse};
use crate::plan::{CaseName, Plan};
use crate::reading::Reading;

pub use expect::FINDINGS;
#[cfg(test)]
pub(crate) use fleet::of_each_process;
pub use tags::TAGS;

/// What a scenario may refer to that stands outside of its file.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The defects of the reference client.
    pub defects: BTreeSet<String>,
}

/// A scenario as a whole.
pub(crate) fn kind() -> Kind {
    Kind::Map(&document::KEYS)
}

/// The keys that a scenario has on the outside.
pub fn keys() -> impl Iterator<Item = &'static str> {
    document::KEYS.known.iter().map(|(key, ..)| *key)
}

/// Reads a scenario: one Plan for each of its cases.
///
/// `name` is its name in reports, `area/name`; `seed` is the run's.
///
/// # Errors
/// All mistakes of the file, by position.
pub fn scenario(
    source: &Source,
    name: &str,
    seed: u64,
    known: &Known,
) -> Result<Vec<Plan>, Vec<Diagnostic>> {
    let mut out = Diagnostics::new(source).with_forms(forms::form);
    match read(source, name, seed, known, &mut out) {
        Some(plans) if out.is_empty() => Ok(plans),
        _ => Err(out.finish()),
    }
}

/// As [`scenario`], with a collector that is looked at afterwards. What comes
/// out is good only if that has no mistake.
pub fn read(
    source: &Source,
    name: &str,
    seed: u64,
    known: &Known,
    out: &mut Diagnostics,
) -> Option<Vec<Plan>> {
    let root = parse(source, out)?;
    let document = root.fields(&document::KEYS, out)?;
    let rows = columns::rows(&document, source, out)?;
    let context = (source, name, seed, known);
    Some(all_cases(&root, &document, &rows, context, out))
}

/// The tree of each case, its columns replaced; none where they cannot be.
#[cfg(test)]
pub(crate) fn cases(source: &Source) -> Vec<Node> {
    let mut out = Diagnostics::new(source);
    let Some(root) = parse(source, &mut out) else {
        return Vec::new();
    };
    let Some(document) = root.fields(&document::KEYS, &mut out) else {
        return Vec::new();
    };
    let rows = columns::rows(&document, source, &mut out).unwrap_or_default();
    let mut out = Diagnostics::new(source);
    rows.iter()
        .map(|row| row.replace(&root, &mut out))
        .collect()
}

fn all_cases(
    root: &Node,
    document: &Fields<'_>,
    rows: &[columns::Row],
    (source, name, seed, known): (&Source, &str, u64, &Known),
    out: &mut Diagnostics,
) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut always: Option<Diagnostics> = None;
    for row in rows {
        let mut here = Diagnostics::new(source);
        let tree = row.replace(root, out);
        let case = CaseName {
            scenario: name.to_owned(),
            columns: row
                .0
                .iter()
                .map(|(column, value)| (column.clone(), columns::value_name(value)))
                .collect(),
        };
        let mut reading = Reading {
            out: &mut *out,
            in_every_case: &mut here,
            source,
            servers: Vec::new(),
            models: Vec::new(),
            used_models: BTreeSet::new(),
            goes_through: false,
            columns: row.0.iter().map(|(column, _)| column.clone()).collect(),
            mentioned: BTreeSet::new(),
            call: None,
            in_query: false,
            content_bytes: 0,
        };
        let seed = case_seed(seed, &case);
        plans.extend(document::plan(
            &tree,
            document,
            row,
            (case, seed),
            known,
            &mut reading,
        ));
        always = Some(match always {
            None => here,
            Some(before) => before.also_in(&here),
        });
    }
    if let Some(always) = always {
        out.take(always);
    }
    plans
}

/// The seed of a case: another for each case, the same in every run with the
/// same seed.
fn case_seed(seed: u64, case: &CaseName) -> u64 {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(case.to_string().as_bytes());
    let digest = hash.finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first)
}
