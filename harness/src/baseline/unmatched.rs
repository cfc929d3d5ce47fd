//! Entries of the baseline that no cell of a run answers to.
//!
//! Only where the shipped scenario took part and has no such case is an entry
//! stale. Of a scenario that is not in the suite a run knows nothing: it may be
//! a file of the user's own that is run by its path.

use std::collections::BTreeSet;

use reports::record::{StaleEntry, UnusedEntry};

use super::{Baseline, Entry};

/// A scenario that took part with all its cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// `area/name`.
    pub id: String,
    /// Its cases.
    pub cases: BTreeSet<String>,
    /// Its file, where that is none of the suite's.
    pub outside: Option<String>,
}

/// What is said of entries without a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Their case is not there any more.
    pub stale: Vec<StaleEntry>,
    /// That can not be told.
    pub unused: Vec<UnusedEntry>,
}

impl Baseline {
    /// The entries of these clients that no cell answers to. `asks_for` tells
    /// whether a scenario of this name would have taken part, if there was one.
    pub fn unmatched(
        &self,
        clients: &[&str],
        covered: &[Covered],
        asks_for: &dyn Fn(&str) -> bool,
    ) -> Unmatched {
        let mut unmatched = Unmatched::default();
        for client in clients {
            for (case, entry) in self.0.get(*client).into_iter().flatten() {
                let scenario = case.split('[').next().unwrap_or(case);
                match covered.iter().find(|one| one.id == scenario) {
                    Some(one) if one.cases.contains(case) => {}
                    Some(one) => unmatched.without_case(one, client, case, entry),
                    None if asks_for(scenario) => unmatched.unused.push(UnusedEntry {
                        client: (*client).to_owned(),
                        case: case.clone(),
                        place: entry.place.clone(),
                        why: format!(
                            "the suite has no scenario `{scenario}`; if it is a file of your own, \
                             run it by its path; if it was renamed or removed, correct or remove \
                             the entry"
                        ),
                    }),
                    None => {}
                }
            }
        }
        unmatched
    }
}

impl Unmatched {
    fn without_case(&mut self, one: &Covered, client: &str, case: &str, entry: &Entry) {
        let (client, case, place) = (client.to_owned(), case.to_owned(), entry.place.clone());
        match &one.outside {
            None => self.stale.push(StaleEntry {
                client,
                case,
                place,
            }),
            Some(file) => self.unused.push(UnusedEntry {
                client,
                case,
                place,
                why: format!(
                    "`{file}` has no such case; if the entry is about this file, remove it; if it \
                     is about another one that is called `{}` too, leave it",
                    one.id
                ),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use reports::record::BaselineEntry;
    use scenarios::verdict::Verdict;

    use super::*;

    fn baseline(cases: &[&str]) -> Baseline {
        let entry = Entry {
            says: BaselineEntry {
                expect: Verdict::Fail,
                fingerprint: "x".to_owned(),
                reason: "known".to_owned(),
                not_with: Vec::new(),
                or: Vec::new(),
            },
            place: "baseline/curl.yaml:3".to_owned(),
        };
        let entries = cases.iter().map(|case| ((*case).to_owned(), entry.clone()));
        Baseline(BTreeMap::from([("curl".to_owned(), entries.collect())]))
    }

    fn covered(id: &str, cases: &[&str], outside: Option<&str>) -> Covered {
        Covered {
            id: id.to_owned(),
            cases: cases.iter().map(|case| (*case).to_owned()).collect(),
            outside: outside.map(str::to_owned),
        }
    }

    /// The cases that are stale, and those that are unused.
    fn told(of: &Unmatched) -> (Vec<&str>, Vec<&str>) {
        (
            of.stale.iter().map(|entry| entry.case.as_str()).collect(),
            of.unused.iter().map(|entry| entry.case.as_str()).collect(),
        )
    }

    #[test]
    fn an_entry_is_stale_only_where_its_shipped_scenario_took_part_without_the_case() {
        let baseline = baseline(&["a/b[at=1]", "a/b[at=2]", "a/c"]);
        let suite = [covered("a/b", &["a/b[at=1]"], None)];
        let one = baseline.unmatched(&["curl", "node"], &suite, &|scenario| scenario == "a/b");
        assert_eq!(told(&one), (vec!["a/b[at=2]"], vec![]));
        let none = baseline.unmatched(&["node"], &suite, &|_| true);
        assert_eq!(none, Unmatched::default());
    }

    #[test]
    fn an_entry_of_a_scenario_that_is_not_in_the_suite_is_not_called_stale() {
        let baseline = baseline(&["mine/case"]);
        let all = baseline.unmatched(&["curl"], &[], &|_| true);
        assert_eq!(told(&all), (vec![], vec!["mine/case"]));
        assert!(all.unused[0].why.contains("run it by its path"), "{all:?}");
        let named = baseline.unmatched(&["curl"], &[], &|_| false);
        assert_eq!(named, Unmatched::default());
    }

    #[test]
    fn an_entry_of_the_suite_is_not_stale_because_of_a_file_with_the_same_name() {
        let baseline = baseline(&["a/b[at=1]", "a/b[at=2]"]);
        let file = [covered("a/b", &["a/b[at=1]"], Some("mine/a/b.yaml"))];
        let found = baseline.unmatched(&["curl"], &file, &|_| true);
        assert_eq!(told(&found), (vec![], vec!["a/b[at=2]"]));
        assert!(found.unused[0].why.contains("mine/a/b.yaml"), "{found:?}");
    }
}
