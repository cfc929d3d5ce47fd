//! How the six-code rule fares: the rule of many retry loops by which exactly
//! six codes prove that nothing was sent.

use std::collections::BTreeMap;

use super::calls::{CODES, Place, Told, concludes};
use super::counts::{Standing, of_client};
use super::escape::{code, counted, row, rule};
use crate::table::Table;

/// How the rule fares with one client.
#[derive(Debug, Default)]
struct Fares<'a> {
    told: BTreeMap<Told, usize>,
    /// Calls without any code.
    no_code: usize,
    /// Calls of which it concludes by a code below the outermost error only.
    below: usize,
    /// Calls of which it is wrong, by scenario.
    wrong: BTreeMap<&'a str, usize>,
}

impl<'a> Fares<'a> {
    fn of(cells: impl Iterator<Item = Standing<'a>>) -> Self {
        let mut fares = Self::default();
        for cell in cells {
            for failed in cell.failed_calls() {
                let told = Told::of(&failed);
                *fares.told.entry(told).or_default() += 1;
                let place = Place::of(&failed);
                fares.no_code += usize::from(place == Place::NoCode);
                fares.below += usize::from(place == Place::Below && concludes(&failed));
                if told == Told::Wrong {
                    *fares.wrong.entry(cell.scenario).or_default() += 1;
                }
            }
        }
        fares
    }

    fn count(&self, told: Told) -> usize {
        self.told.get(&told).copied().unwrap_or(0)
    }
}

fn about() -> String {
    let codes: Vec<String> = CODES.iter().map(|word| code(word)).collect();
    format!(
        "Many retry loops hold that exactly these six codes prove that nothing was sent, so that \
         sending again is safe: {}. Here the rule is held against what was delivered, for each call \
         that ended in an error in a judged cell. It is given the first code that is found in the \
         error, however deep; the codes are those of Node.js and of the operating system, so of \
         clients with codes of their own, or with none, it never concludes anything.\n\n\
         - **Right**: it concludes that nothing was sent, and no request was delivered.\n\
         - **Wrong**: it concludes that nothing was sent, and a request was delivered. Whoever sends \
         again pays twice.\n\
         - **Missed**: no request was delivered, and the rule does not see it. A retry that would \
         have been safe does not happen.\n\
         - **Held back**: a request was delivered, and the rule does not conclude the contrary.\n\
         - *Code below*: of right, wrong and unclear, how often the code is not on the error itself, so \
         that a loop which reads only `error.code` does not see it.\n\
         - *No code*: of all errors, how many have no code at all.\n\n\
         *Delivered* is a whole request that arrived where one is expected; of a request that was cut \
         off the server may still have seen a part. Right, wrong, missed, held back and unclear add up \
         to the errors. Not counted: calls that ended in an answer, whatever its status, calls that \
         were cancelled, hung or crashed, calls that were never judged, and all calls of cells that \
         are inconclusive, unsupported, skipped or an error of the harness. Of a cell that was run \
         several times one repeat counts: the one in which the rule is wrong most often, else the \
         worst, else the first.\n",
        codes.join(", ")
    )
}

/// The section.
pub(super) fn render(table: &Table<'_>) -> String {
    let mut out = format!("## The six-code rule\n\n{}\n", about());
    let clients = 0..table.clients.len();
    let fares: Vec<Fares<'_>> = clients
        .map(|place| Fares::of(of_client(table, place)))
        .collect();
    let unclear = fares.iter().any(|one| one.count(Told::Unclear) > 0);
    numbers(table, &fares, unclear, &mut out);
    if unclear {
        out.push_str(
            "\n*Unclear*: no request of the call arrived where one is expected, but in the cell a \
             request arrived elsewhere, or was whole only after the client's end.\n",
        );
    }
    wrongs(table, &fares, &mut out);
    out
}

fn numbers(table: &Table<'_>, fares: &[Fares<'_>], unclear: bool, out: &mut String) {
    let mut kinds = vec![
        (Told::Right, "Right"),
        (Told::Wrong, "Wrong"),
        (Told::Missed, "Missed"),
        (Told::HeldBack, "Held back"),
    ];
    if unclear {
        kinds.push((Told::Unclear, "Unclear"));
    }
    let mut titles = vec!["Client", "Errors"];
    titles.extend(kinds.iter().map(|(_, title)| *title));
    titles.extend(["Code below", "No code"]);
    out.push_str(&row(&titles));
    out.push_str(&rule(1, kinds.len() + 3, "--:"));
    for (client, one) in table.clients.iter().zip(fares) {
        let mut cells = vec![code(client), one.told.values().sum::<usize>().to_string()];
        for (told, _) in &kinds {
            let count = one.count(*told);
            cells.push(match told {
                Told::Wrong if count > 0 => format!("**{count}**"),
                _ => count.to_string(),
            });
        }
        cells.extend([one.below.to_string(), one.no_code.to_string()]);
        out.push_str(&row(&cells));
    }
}

/// Where the rule is wrong.
fn wrongs(table: &Table<'_>, fares: &[Fares<'_>], out: &mut String) {
    out.push_str("\n### Where the rule is wrong\n\n");
    if fares.iter().all(|one| one.wrong.is_empty()) {
        out.push_str("In no judged cell of this run.\n");
        return;
    }
    for (client, one) in table.clients.iter().zip(fares) {
        let places = one.wrong.iter();
        let places = places.map(|(scenario, calls)| {
            format!("{} ({})", code(scenario), counted(*calls, "call", "calls"))
        });
        let places: Vec<String> = places.collect();
        if !places.is_empty() {
            out.push_str(&format!("- {}: {}\n", code(client), places.join(", ")));
        }
    }
}
