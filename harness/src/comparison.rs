//! What clients do differently from each other in one run, and what changed between
//! two runs.
//!
//! Pure: records come in, the comparison comes out. What is compared is what the
//! baseline keeps, its fingerprint; between clients without their codes, which are
//! different in each runtime anyway.

use std::collections::{BTreeMap, BTreeSet};

use reports::harmless::one_line;
use reports::layout::wrap;
use reports::record::{Cell, RunRecord};
use reports::words::verdict;
use scenarios::document::decode::counted;
use scenarios::plan::CaseName;
use scenarios::verdict::{CellVerdict, Verdict};

use crate::baseline::{facts, fingerprint};

/// What was seen of a case with a client, all its repeats together.
type Seen = BTreeSet<String>;

/// Where the clients of one run differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Among {
    clients: usize,
    /// Cases that at least two clients ran.
    compared: usize,
    cases: Vec<Case>,
}

/// A case in which clients differ.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Case {
    name: String,
    /// What was seen, with the clients of which it was, most clients first.
    groups: Vec<(String, Vec<String>)>,
}

impl Among {
    /// The clients of a run against each other.
    pub fn of(record: &RunRecord) -> Self {
        let clients: BTreeSet<&str> = record.cells.iter().map(|cell| &*cell.client).collect();
        let mut all = Self {
            clients: clients.len(),
            compared: 0,
            cases: Vec::new(),
        };
        for (name, seen) in cases(record, &|cell| ran(cell), &without_code) {
            all.compared += usize::from(seen.len() > 1);
            let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (client, seen) in seen {
                let seen: Vec<String> = seen.into_iter().collect();
                groups.entry(seen.join(" | ")).or_default().push(client);
            }
            let mut groups: Vec<_> = groups.into_iter().collect();
            groups.sort_by_key(|(_, clients)| std::cmp::Reverse(clients.len()));
            if groups.len() > 1 {
                all.cases.push(Case { name, groups });
            }
        }
        all
    }

    /// For people: each case with what was seen, and of whom.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for case in &self.cases {
            text.push_str(&format!("{}\n", one_line(&case.name)));
            for (seen, clients) in &case.groups {
                text.push_str(&indented(seen, 2, width));
                text.push_str(&indented(&clients.join(", "), 6, width));
            }
            text.push('\n');
        }
        let differ = match self.cases.len() {
            0 => "they differ in none".to_owned(),
            n => format!("they differ in {n}"),
        };
        text.push_str(&format!(
            "{}, {} that at least two of them ran: {differ}.\n",
            counted(self.clients, "client"),
            counted(self.compared, "case")
        ));
        text
    }
}

/// What changed from one run to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// Whether scenarios or manifests are not the same.
    other_suite: bool,
    /// Clients of another version: name, before, after.
    versions: Vec<(String, String, String)>,
    /// Cells of which something else was seen: case and client, before, after.
    changed: Vec<(String, String, String)>,
    compared: usize,
    only_before: usize,
    only_after: usize,
}

impl Between {
    /// A run against one that came before it.
    pub fn of(before: &RunRecord, after: &RunRecord) -> Self {
        let (old, new) = (cells(before), cells(after));
        let (old_versions, new_versions) = (versions(before), versions(after));
        let versions = old_versions.iter().filter_map(|(client, old)| {
            let new = new_versions.get(client).filter(|new| *new != old)?;
            Some((client.to_string(), old.to_string(), new.to_string()))
        });
        let mut all = Self {
            other_suite: before.suite_digest != after.suite_digest,
            versions: versions.collect(),
            changed: Vec::new(),
            compared: 0,
            only_before: old.keys().filter(|key| !new.contains_key(*key)).count(),
            only_after: new.keys().filter(|key| !old.contains_key(*key)).count(),
        };
        for (key, seen) in &old {
            let Some(now) = new.get(key) else {
                continue;
            };
            all.compared += 1;
            if seen != now {
                let words = |seen: &Seen| seen.iter().cloned().collect::<Vec<_>>().join(" | ");
                let (case, client) = key;
                let title = format!("{case} [{client}]");
                all.changed.push((title, words(seen), words(now)));
            }
        }
        all
    }

    /// Whether nothing of what both have changed.
    pub fn is_unchanged(&self) -> bool {
        self.changed.is_empty()
    }

    /// For people: what changed, and a line on what was compared.
    pub fn text(&self, width: usize) -> String {
        let mut text = String::new();
        for (client, before, after) in &self.versions {
            let line = one_line(&format!("{client}: {before} -> {after}"));
            text.push_str(&indented(&line, 0, width));
        }
        if !self.versions.is_empty() {
            text.push('\n');
        }
        for (title, before, after) in &self.changed {
            text.push_str(&format!("{}\n", one_line(title)));
            text.push_str(&indented(&format!("before  {before}"), 2, width));
            text.push_str(&indented(&format!("after   {after}"), 2, width));
            text.push('\n');
        }
        let mut line = format!(
            "{} in both runs: {} changed.",
            counted(self.compared, "cell"),
            self.changed.len()
        );
        for (count, run) in [(self.only_before, "first"), (self.only_after, "second")] {
            if count > 0 {
                line.push_str(&format!(" {} only in the {run}.", counted(count, "cell")));
            }
        }
        if self.other_suite {
            line.push_str(" Scenarios or manifests are not the same in both.");
        }
        text.push_str(&indented(&line, 0, width));
        text
    }
}

/// Everything that was seen, by case and client.
fn cells(record: &RunRecord) -> BTreeMap<(String, String), Seen> {
    let all = cases(record, &|_| true, &whole).into_iter();
    let cells = all.flat_map(|(case, clients)| {
        let clients = clients.into_iter();
        clients.map(move |(client, seen)| ((case.clone(), client), seen))
    });
    cells.collect()
}

/// What was seen, by case in the order of the record and by client.
fn cases(
    record: &RunRecord,
    counts: &dyn Fn(&Cell) -> bool,
    words: &dyn Fn(&CellVerdict) -> String,
) -> Vec<(String, BTreeMap<String, Seen>)> {
    let mut cases: Vec<(String, BTreeMap<String, Seen>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for cell in record.cells.iter().filter(|cell| counts(cell)) {
        let name = CaseName {
            scenario: cell.scenario.clone(),
            columns: cell.columns.clone(),
        };
        let name = name.to_string();
        let place = *places.entry(name.clone()).or_insert_with(|| {
            cases.push((name, BTreeMap::new()));
            cases.len() - 1
        });
        let seen = cases[place].1.entry(cell.client.clone()).or_default();
        seen.insert(words(&cell.judged));
    }
    cases
}

fn versions(record: &RunRecord) -> BTreeMap<&str, &str> {
    let cells = record.cells.iter();
    cells
        .map(|cell| (cell.client.as_str(), cell.client_version.as_str()))
        .collect()
}

/// Whether anything was seen that tells of the client.
fn ran(cell: &Cell) -> bool {
    matches!(cell.judged.verdict, Verdict::Pass | Verdict::Fail)
}

fn whole(judged: &CellVerdict) -> String {
    match fingerprint(judged) {
        seen if seen.is_empty() => verdict(judged.verdict).to_owned(),
        seen => format!("{}: {seen}", verdict(judged.verdict)),
    }
}

fn without_code(judged: &CellVerdict) -> String {
    let code = facts(judged).into_iter().find(|(word, _)| *word == "code");
    let seen = whole(judged);
    match code {
        Some((word, code)) => seen.replacen(&format!("; {word} {code}"), "", 1),
        None => seen,
    }
}

/// A text in lines of this width, each so far from the left, all but the first a
/// little farther.
fn indented(text: &str, by: usize, width: usize) -> String {
    let lines = wrap(&one_line(text), width.saturating_sub(by + 2).max(20));
    let margin = " ".repeat(by);
    let lines = lines.iter().enumerate().map(|(at, line)| match at {
        0 => format!("{margin}{line}\n"),
        _ => format!("{margin}  {line}\n"),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use scenarios::verdict::{Axis, FindingName, Level, Outcome};

    use super::*;
    use crate::samples;

    fn passed() -> CellVerdict {
        samples::verdict(Verdict::Pass, &[("api", 1)])
    }

    fn refused(code: &str) -> CellVerdict {
        let mut judged = passed();
        judged.outcome = Outcome::Unknown;
        judged.calls[0].code = Some(code.to_owned());
        judged
    }

    fn twice() -> CellVerdict {
        let mut judged = samples::verdict(Verdict::Fail, &[("api", 2)]);
        let finding = samples::finding(FindingName::DuplicateDelivery, Axis::Safety, Level::Must);
        judged.findings = vec![finding];
        judged
    }

    fn run(cells: Vec<Cell>) -> RunRecord {
        samples::record(cells)
    }

    #[test]
    fn clients_that_differ_are_told_by_what_was_seen_and_not_by_their_codes() {
        let unsupported = samples::verdict(Verdict::Unsupported, &[]);
        let record = run(vec![
            samples::cell("redirect/dead", "curl", refused("CURLE_COULDNT_CONNECT")),
            samples::cell("redirect/dead", "node", refused("ECONNREFUSED")),
            samples::cell("redirect/dead", "loop", twice()),
            samples::cell("redirect/dead", "old", unsupported),
            samples::cell("redirect/same", "curl", passed()),
            samples::cell("redirect/same", "node", passed()),
        ]);
        insta::assert_snapshot!(Among::of(&record).text(60));
    }

    #[test]
    fn an_upgrade_shows_its_versions_and_what_changed() {
        let before = run(vec![
            samples::cell("a/one", "curl", passed()),
            samples::cell("a/two", "curl", refused("CURLE_RECV_ERROR")),
            samples::cell("a/gone", "curl", passed()),
        ]);
        let mut after = run(vec![
            samples::cell("a/one", "curl", twice()),
            samples::cell("a/two", "curl", refused("CURLE_RECV_ERROR")),
        ]);
        for cell in &mut after.cells {
            cell.client_version = "curl 9".to_owned();
        }
        let between = Between::of(&before, &after);
        assert!(!between.is_unchanged());
        insta::assert_snapshot!(between.text(60));
        assert!(Between::of(&before, &before).is_unchanged());
    }

    #[test]
    fn repeats_that_differ_are_seen_as_they_are() {
        let mut second = samples::cell("a/one", "curl", twice());
        second.repeat = 2;
        let flaky = run(vec![samples::cell("a/one", "curl", passed()), second]);
        let steady = run(vec![samples::cell("a/one", "curl", passed())]);
        let text = Between::of(&steady, &flaky).text(100);
        assert!(text.contains(" | "), "{text}");
    }
}
