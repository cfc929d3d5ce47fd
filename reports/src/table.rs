//! The cells of a record as a table: rows are cases in the order of the record,
//! columns are clients, and the repeats of one cell lie together.

use std::collections::BTreeMap;

use crate::record::{Cell, RunRecord};

/// A record as a table.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// Names of the clients, in the order in which the record has them.
    pub clients: Vec<&'a str>,
    /// One row a case.
    pub rows: Vec<Row<'a>>,
}

/// One case with every client.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// `area/name`.
    pub scenario: &'a str,
    /// The columns of a sweep or table.
    pub columns: &'a [(String, String)],
    /// For each client of the table the repeats of its cell; none where the
    /// record has no such cell.
    pub groups: Vec<Vec<&'a Cell>>,
}

/// Scenario and columns: what makes a row.
type Key<'a> = (&'a str, &'a [(String, String)]);

impl<'a> Table<'a> {
    /// The table of a record.
    pub fn of(record: &'a RunRecord) -> Self {
        let mut clients: Vec<&str> = Vec::new();
        for cell in &record.cells {
            if !clients.contains(&cell.client.as_str()) {
                clients.push(&cell.client);
            }
        }
        let mut places: BTreeMap<Key<'_>, usize> = BTreeMap::new();
        let mut rows: Vec<Row<'a>> = Vec::new();
        for cell in &record.cells {
            let key = (cell.scenario.as_str(), cell.columns.as_slice());
            let place = *places.entry(key).or_insert_with(|| {
                rows.push(Row {
                    scenario: &cell.scenario,
                    columns: &cell.columns,
                    groups: vec![Vec::new(); clients.len()],
                });
                rows.len() - 1
            });
            if let Some(column) = clients.iter().position(|name| *name == cell.client) {
                rows[place].groups[column].push(cell);
            }
        }
        Self { clients, rows }
    }
}
