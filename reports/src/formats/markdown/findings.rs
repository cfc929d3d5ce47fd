//! What was found on one axis: for each finding what it means and with which
//! clients it was seen, then for each client where.

use std::collections::{BTreeMap, BTreeSet};

use scenarios::validate::FINDINGS;
use scenarios::verdict::{Axis, FindingName, Level};

use super::counts::{Standing, of_client};
use super::escape::{code, counted, html, row};
use super::meanings::meaning;
use crate::formats::text::mark::deliveries;
use crate::table::Table;

/// What was found with one client on one axis, by finding, then by scenario.
#[derive(Debug, Default)]
struct Found<'a> {
    /// Cells that were judged.
    judged: usize,
    /// Judged cells by scenario.
    cases: BTreeMap<&'a str, usize>,
    seen: BTreeMap<FindingName, BTreeMap<&'a str, Seen>>,
}

/// A finding in the cells of one scenario.
#[derive(Debug, Default)]
struct Seen {
    /// Cells that fail by it.
    fails: usize,
    /// Cells that only depart by it from a should.
    departs: usize,
    /// What was delivered in them.
    delivered: BTreeSet<String>,
}

impl<'a> Found<'a> {
    fn of(cells: impl Iterator<Item = Standing<'a>>, axis: Axis) -> Self {
        let mut found = Self::default();
        for cell in cells.filter(Standing::is_judged) {
            found.judged += 1;
            *found.cases.entry(cell.scenario).or_default() += 1;
            found.add(&cell, axis);
        }
        found
    }

    /// A finding counts once a cell, with the heaviest level that it has there.
    fn add(&mut self, cell: &Standing<'a>, axis: Axis) {
        let mut levels: BTreeMap<FindingName, (Level, BTreeSet<String>)> = BTreeMap::new();
        for repeat in &cell.judged {
            for finding in &repeat.judged.findings {
                if finding.axis == axis && finding.level != Level::Info {
                    let known = levels.entry(finding.name);
                    let known = known.or_insert((finding.level, BTreeSet::new()));
                    known.0 = known.0.min(finding.level);
                    known.1.insert(deliveries(repeat));
                }
            }
        }
        for (name, (level, delivered)) in levels {
            let scenarios = self.seen.entry(name).or_default();
            let seen = scenarios.entry(cell.scenario).or_default();
            match level {
                Level::Must => seen.fails += 1,
                Level::Should | Level::Info => seen.departs += 1,
            }
            seen.delivered.extend(delivered);
        }
    }

    /// In how many cells the client fails by a finding, and in how many it only
    /// departs.
    fn count(&self, name: FindingName) -> (usize, usize) {
        let seen = self.seen.get(&name).into_iter().flat_map(BTreeMap::values);
        seen.fold((0, 0), |(fails, departs), seen| {
            (fails + seen.fails, departs + seen.departs)
        })
    }

    /// Which findings it fails by, and which it only departs by, with the number
    /// of cells.
    fn in_words(&self) -> String {
        let list = |word: &str, count: fn((usize, usize)) -> usize| {
            let counts = self
                .seen
                .keys()
                .map(|name| (name, count(self.count(*name))));
            let counts = counts.filter(|(_, count)| *count > 0);
            let counts = counts.map(|(name, count)| format!("{} {count}", name.word()));
            let counts: Vec<String> = counts.collect();
            (!counts.is_empty()).then(|| format!("{word} {}", counts.join(", ")))
        };
        let parts = [
            list("fails by", |(fails, _)| fails),
            list("departs by", |(_, departs)| departs),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// A section on this axis.
pub(super) fn render(table: &Table<'_>, axis: Axis) -> String {
    let clients = 0..table.clients.len();
    let found: Vec<Found<'_>> = clients
        .map(|place| Found::of(of_client(table, place), axis))
        .collect();
    let (title, about) = match axis {
        Axis::Safety => (
            "Safety",
            "What is dangerous whatever the documentation says: work done twice, an outcome that was \
             none, a call without an end.",
        ),
        Axis::Conformance => (
            "Conformance",
            "What is otherwise than the client's own documentation says. It need not be dangerous, and \
             what is as documented can still be dangerous: see above.",
        ),
    };
    let mut out = format!("## {title}\n\n{about}\n");
    let met = FINDINGS.iter().copied();
    let met = met.filter(|name| found.iter().any(|one| one.seen.contains_key(name)));
    let met: Vec<FindingName> = met.collect();
    if met.is_empty() {
        out.push_str("\nNothing was found on this axis in any judged cell.\n");
        return out;
    }
    out.push_str(
        "\nA cell *fails* by a finding where a must does not hold; it *departs* where only a should \
         does not, and stays green. Each finding counts once a cell, and a cell can have several.\n\n",
    );
    for name in met {
        by_finding(table, &found, name, &mut out);
    }
    by_client(table, &found, &mut out);
    out
}

/// What a finding means, and the clients with which it was seen.
fn by_finding(table: &Table<'_>, found: &[Found<'_>], name: FindingName, out: &mut String) {
    out.push_str(&format!("- **{}**: {}\n", name.word(), meaning(name)));
    let list = |count: fn((usize, usize)) -> usize| -> Vec<String> {
        let counts = table.clients.iter().zip(found);
        let counts = counts.map(|(client, one)| (client, count(one.count(name))));
        let counts = counts.filter(|(_, count)| *count > 0);
        counts
            .map(|(client, count)| format!("{} {count}", code(client)))
            .collect()
    };
    for (word, clients) in [
        ("Cells that fail", list(|(fails, _)| fails)),
        ("Cells that depart", list(|(_, departs)| departs)),
    ] {
        if !clients.is_empty() {
            out.push_str(&format!("  - {word}: {}\n", clients.join(", ")));
        }
    }
}

/// For each client where it was seen, folded.
fn by_client(table: &Table<'_>, found: &[Found<'_>], out: &mut String) {
    out.push_str("\n### By client\n\n");
    out.push_str(
        "The number of cases counts only those that were judged with this client; *delivered* is how \
         many requests arrived in them (`1+2`: at two servers).\n",
    );
    let mut clean = Vec::new();
    let mut unjudged = Vec::new();
    for (place, client) in table.clients.iter().enumerate() {
        let one = &found[place];
        if !one.seen.is_empty() {
            client_table(client, one, out);
        } else if one.judged > 0 {
            clean.push(format!("{} ({})", code(client), one.judged));
        } else {
            unjudged.push(code(client));
        }
    }
    if !clean.is_empty() {
        let clean = clean.join(", ");
        out.push_str(&format!(
            "\nNothing found in all judged cells (so many): {clean}.\n"
        ));
    }
    if !unjudged.is_empty() {
        let unjudged = unjudged.join(", ");
        out.push_str(&format!(
            "\nNo cell was judged, so nothing is known: {unjudged}.\n"
        ));
    }
}

fn client_table(client: &str, found: &Found<'_>, out: &mut String) {
    out.push_str(&format!(
        "\n<details><summary><b>{}</b>: {}</summary>\n\n",
        html(client),
        found.in_words(),
    ));
    out.push_str(&row(&["Finding", "Fails", "Departs", "Where"]));
    out.push_str("|:--|--:|--:|:--|\n");
    for (name, scenarios) in &found.seen {
        let (fails, departs) = found.count(*name);
        let places = scenarios.iter();
        let places = places.map(|(scenario, seen)| place(scenario, seen, found, fails > 0));
        let places: Vec<String> = places.collect();
        out.push_str(&row(&[
            name.word(),
            fails.to_string(),
            departs.to_string(),
            places.join("<br>"),
        ]));
    }
    out.push_str("\n</details>\n");
}

/// A scenario, in how many of its cases it was seen, and what was delivered.
/// Where the client fails by it anywhere, what only departs is told apart.
fn place(scenario: &str, seen: &Seen, found: &Found<'_>, row_fails: bool) -> String {
    let all = found.cases.get(scenario).copied().unwrap_or(0);
    let mut told = Vec::new();
    if all > 1 {
        let cases = counted(all, "case", "cases");
        told.push(format!("{} of {cases}", seen.fails + seen.departs));
    }
    match (seen.fails, seen.departs) {
        (0, _) if row_fails => told.push("departs only".to_owned()),
        (1.., 1) => told.push("1 departs only".to_owned()),
        (1.., departs @ 2..) => told.push(format!("{departs} depart only")),
        _ => {}
    }
    let delivered: Vec<&str> = seen.delivered.iter().map(String::as_str).collect();
    told.push(format!("delivered {}", delivered.join(" or ")));
    format!("{}: {}", code(scenario), told.join("; "))
}
