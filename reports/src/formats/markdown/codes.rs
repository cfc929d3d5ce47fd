//! Where in an error its first code sits, for each client and each kind of
//! error that was met.

use std::collections::BTreeMap;

use super::calls::Place;
use super::counts::{Standing, of_client, versions};
use super::escape::{code, counted, html, row, rule};
use crate::table::Table;

const ABOUT: &str = "A program that decides by the code of an error has to know where in the error \
it sits. For every call that ended in an error: the place of the first code, from the outermost error \
inwards, as the client's runtime spells it. `error` is the value that was thrown or returned itself, \
so its code is `error.code`; in `error.cause` it is `error.cause.code`. Calls that ended in an answer, \
whatever its status, and calls that were cancelled, hung or crashed have no error and are not counted, \
and neither are those of cells that were not judged.\n";

/// Columns of the overview; the last is left out where it is empty.
const PLACES: [(Place, &str); 5] = [
    (Place::Outermost, "Code on the error itself"),
    (Place::Below, "Code only below it"),
    (Place::Exit, "Exit code"),
    (Place::NoCode, "No code"),
    (Place::NotTold, "Code, place not recorded"),
];

/// A kind of error: what tells it from others, in the order of a row.
type Kind<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Place);

/// How often a kind was met.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    calls: usize,
    /// Of these, calls of which a request was delivered.
    delivered: usize,
}

/// The errors of one client, by their kind.
#[derive(Debug, Default)]
struct Errors<'a>(BTreeMap<Kind<'a>, Met>);

impl<'a> Errors<'a> {
    fn of(cells: impl Iterator<Item = Standing<'a>>) -> Self {
        let mut errors = Self::default();
        for failed in cells.flat_map(|cell| cell.failed_calls()) {
            let call = failed.call;
            let kind = (
                call.error_type.as_deref(),
                call.code.as_deref(),
                call.code_at.as_deref(),
                Place::of(&failed),
            );
            let met = errors.0.entry(kind).or_default();
            met.calls += 1;
            met.delivered += usize::from(call.delivered > 0);
        }
        errors
    }

    fn calls(&self, is: impl Fn(Place) -> bool) -> usize {
        let kinds = self.0.iter().filter(|((.., place), _)| is(*place));
        kinds.map(|(_, met)| met.calls).sum()
    }

    /// The kinds, the most frequent first.
    fn sorted(&self) -> Vec<(&Kind<'a>, &Met)> {
        let mut kinds: Vec<_> = self.0.iter().collect();
        kinds.sort_by_key(|(_, met)| std::cmp::Reverse(met.calls));
        kinds
    }
}

/// The section.
pub(super) fn render(table: &Table<'_>) -> String {
    let mut out = format!("## Where the code sits\n\n{ABOUT}\n");
    let clients = 0..table.clients.len();
    let errors: Vec<Errors<'_>> = clients
        .map(|place| Errors::of(of_client(table, place)))
        .collect();
    overview(table, &errors, &mut out);
    for (place, client) in table.clients.iter().enumerate() {
        if !errors[place].0.is_empty() {
            kinds(client, &versions(table, place), &errors[place], &mut out);
        }
    }
    out
}

fn overview(table: &Table<'_>, errors: &[Errors<'_>], out: &mut String) {
    let told = |place| {
        errors
            .iter()
            .any(|one| one.calls(|other| other == place) > 0)
    };
    let places = PLACES.iter();
    let places = places.filter(|(place, _)| *place != Place::NotTold || told(*place));
    let places: Vec<&(Place, &str)> = places.collect();
    let mut titles = vec!["Client", "Calls with an error"];
    titles.extend(places.iter().map(|(_, title)| *title));
    out.push_str(&row(&titles));
    out.push_str(&rule(1, places.len() + 1, "--:"));
    for (column, client) in table.clients.iter().enumerate() {
        let mut cells = vec![code(client)];
        cells.push(errors[column].calls(|_| true).to_string());
        let numbers = places.iter();
        let numbers = numbers.map(|(place, _)| errors[column].calls(|other| other == *place));
        cells.extend(numbers.map(|number| number.to_string()));
        out.push_str(&row(&cells));
    }
}

/// The kinds of error of one client, folded.
fn kinds(client: &str, version: &str, errors: &Errors<'_>, out: &mut String) {
    out.push_str(&format!(
        "\n<details><summary><b>{}</b> ({}): {}</summary>\n\n",
        html(client),
        html(version),
        counted(errors.0.len(), "kind of error", "kinds of error"),
    ));
    out.push_str(&row(&[
        "Type of the error",
        "First code",
        "Sits at",
        "Calls",
        "of these delivered",
    ]));
    out.push_str(&rule(3, 2, "--:"));
    for ((kind, first, at, place), met) in errors.sorted() {
        out.push_str(&row(&[
            kind.map_or_else(|| "–".to_owned(), code),
            first.map_or_else(|| "none".to_owned(), code),
            sits(*place, *at),
            met.calls.to_string(),
            met.delivered.to_string(),
        ]));
    }
    out.push_str("\n</details>\n");
}

fn sits(place: Place, at: Option<&str>) -> String {
    match place {
        Place::NoCode => "–".to_owned(),
        Place::Exit => "the command's exit code".to_owned(),
        Place::NotTold => "not recorded".to_owned(),
        Place::Outermost | Place::Below => at.map_or_else(String::new, code),
    }
}
