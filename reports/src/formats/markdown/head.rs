//! The head: what the report is, of which run, and the clients with how many
//! of their cells came to what.

use std::collections::BTreeSet;

use scenarios::verdict::{Axis, Verdict};

use super::counts::{Standing, of_client, versions};
use super::escape::{code, counted, row, rule, text};
use crate::record::RunRecord;
use crate::table::Table;

const WHAT: &str = "Each client was given the same calls against servers that misbehave on the \
wire at exact points: connections refused, reset or cut, answers late, broken or missing, redirects. \
It was counted how many requests arrived, and compared with what the client told its caller. The \
results are those of the versions named here, with the settings of the adapters of wirefault's \
suite; another version or other settings may do otherwise.\n";

const COUNTS: &str = "A cell is one case of a scenario with one client. It can fail on **safety** \
(duplicates, lies, hangs), on **conformance** (otherwise than the client's own documentation says), \
or on both; then it is counted in both columns. *Inconclusive* cells prove nothing, because the \
fault did not happen or the documentation does not say what is right. *Unsupported* is what the \
client declares that it can not do. Clients have different abilities and so different numbers of \
judged cells: the numbers are no ranking.\n";

const REPEATS: &str = "A cell that was run several times counts once: it fails if any repeat fails, \
else it is the worst of its repeats.\n";

pub(super) fn render(record: &RunRecord, table: &Table<'_>) -> String {
    let mut out = String::from("# HTTP clients against faults on the wire\n\n");
    out.push_str(WHAT);
    out.push('\n');
    facts(record, table, &mut out);
    if table.rows.is_empty() {
        out.push_str("\nThe run has no cells, so there is nothing to compare.\n");
        return out;
    }
    contents(&mut out);
    out.push_str("\n## Clients\n\n");
    out.push_str(COUNTS);
    if record.cells.iter().any(|cell| cell.repeat > 1) {
        out.push('\n');
        out.push_str(REPEATS);
    }
    out.push('\n');
    clients(record, table, &mut out);
    out
}

fn facts(record: &RunRecord, table: &Table<'_>, out: &mut String) {
    let mut fact = |label: &str, what: &str| out.push_str(&format!("- {label}: {what}\n"));
    if let Some(date) = &record.date {
        fact("Date", &text(date));
    }
    fact("wirefault", &text(&record.tool_version));
    if !record.suite_digest.is_empty() {
        fact("Digest of the suite", &code(&record.suite_digest));
    }
    fact("Seed", &record.seed.to_string());
    let cells = table.rows.iter().flat_map(|row| &row.groups);
    let cells = cells.filter(|group| !group.is_empty()).count();
    let scenarios: BTreeSet<&str> = table.rows.iter().map(|row| row.scenario).collect();
    let all = format!(
        "{cells}: {} of {} with {}",
        counted(table.rows.len(), "case", "cases"),
        counted(scenarios.len(), "scenario", "scenarios"),
        counted(table.clients.len(), "client", "clients"),
    );
    fact("Cells", &all);
    if record.cells.len() > cells {
        fact(
            "Runs of cells, repeats included",
            &record.cells.len().to_string(),
        );
    }
    if !record.missing.is_empty() {
        let gaps = format!("{} (the run was stopped)", record.missing.len());
        fact("Planned, without a result", &gaps);
    }
}

fn contents(out: &mut String) {
    out.push_str(
        "\n[Clients](#clients) · [Safety](#safety) · [Conformance](#conformance) · \
         [Matrix](#matrix) · [Where the code sits](#where-the-code-sits) · \
         [The six-code rule](#the-six-code-rule)\n",
    );
}

/// A column of numbers: its title, what it counts, and whether it is left out
/// where it is empty.
type Column = (&'static str, fn(&Standing<'_>) -> bool, bool);

const COLUMNS: [Column; 9] = [
    ("Cells", |_| true, false),
    ("Pass", |cell| cell.verdict == Verdict::Pass, false),
    ("Fail on safety", |cell| cell.fails_on(Axis::Safety), false),
    (
        "Fail on conformance",
        |cell| cell.fails_on(Axis::Conformance),
        false,
    ),
    (
        "Inconclusive",
        |cell| cell.verdict == Verdict::Inconclusive,
        false,
    ),
    (
        "Unsupported",
        |cell| cell.verdict == Verdict::Unsupported,
        false,
    ),
    ("Skipped", |cell| cell.verdict == Verdict::Skipped, true),
    (
        "Error of the harness or the adapter",
        |cell| cell.verdict == Verdict::Error,
        true,
    ),
    ("Repeats differ", |cell| cell.differs, true),
];

fn clients(record: &RunRecord, table: &Table<'_>, out: &mut String) {
    let numbers = |place: usize| -> Vec<usize> {
        let count = |(_, is, _): &Column| of_client(table, place).filter(|cell| is(cell)).count();
        COLUMNS.iter().map(count).collect()
    };
    let rows: Vec<Vec<usize>> = (0..table.clients.len()).map(numbers).collect();
    let shown: Vec<usize> = (0..COLUMNS.len())
        .filter(|column| !COLUMNS[*column].2 || rows.iter().any(|row| row[*column] > 0))
        .collect();
    let mut titles = vec!["Client", "Version"];
    titles.extend(shown.iter().map(|column| COLUMNS[*column].0));
    out.push_str(&row(&titles));
    out.push_str(&rule(2, shown.len(), "--:"));
    for (place, client) in table.clients.iter().enumerate() {
        let mut cells = vec![code(client), text(&versions(table, place))];
        cells.extend(shown.iter().map(|column| rows[place][*column].to_string()));
        out.push_str(&row(&cells));
    }
    gaps(record, table, out);
}

/// Clients of which there is no cell at all.
fn gaps(record: &RunRecord, table: &Table<'_>, out: &mut String) {
    let missing = record.missing.iter().map(|cell| cell.client.as_str());
    let without: BTreeSet<&str> = missing
        .filter(|name| !table.clients.contains(name))
        .collect();
    if !without.is_empty() {
        let names: Vec<String> = without.into_iter().map(code).collect();
        out.push_str(&format!("\nWithout any result: {}.\n", names.join(", ")));
    }
}
