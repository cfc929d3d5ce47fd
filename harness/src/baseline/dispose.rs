//! A cell against its entry. Pure: what goes in is data, what comes out a word.

use reports::record::{BaselineEntry, Disposition, KnownSight};
use scenarios::verdict::Verdict;

/// The disposition of one cell that was seen once.
pub fn dispose(entry: Option<&BaselineEntry>, verdict: Verdict, seen: &str) -> Disposition {
    let Some(entry) = entry else {
        return match verdict {
            // What a client declares and what is not installed are no findings.
            Verdict::Pass | Verdict::Skipped | Verdict::Unsupported => Disposition::Expected,
            Verdict::Inconclusive | Verdict::Fail | Verdict::Error => Disposition::Regression,
        };
    };
    let is_known = |or: &KnownSight| or.expect == verdict && or.fingerprint == seen;
    match verdict {
        Verdict::Error => Disposition::Regression,
        _ if entry.or.iter().any(is_known) => Disposition::Expected,
        Verdict::Pass if entry.expect != verdict => Disposition::Fixed,
        // What can not run here says nothing about what the entry says.
        Verdict::Skipped => Disposition::Expected,
        Verdict::Unsupported if entry.expect == verdict => Disposition::Expected,
        _ if entry.expect == verdict && entry.fingerprint == seen => Disposition::Expected,
        _ => Disposition::Changed,
    }
}

/// The dispositions of the repeats of one cell: each on its own, unless they
/// differ in verdict or in what was seen. A client that races with itself may show
/// all that its entry lists.
pub fn dispose_repeats(
    entry: Option<&BaselineEntry>,
    repeats: &[(Verdict, &str)],
) -> Vec<Disposition> {
    let each = repeats
        .iter()
        .map(|(verdict, seen)| dispose(entry, *verdict, seen));
    let each: Vec<_> = each.collect();
    let differ = repeats.windows(2).any(|pair| pair[0] != pair[1]);
    let races = entry.is_some_and(|entry| !entry.or.is_empty());
    let are_known = races && each.iter().all(|one| *one == Disposition::Expected);
    if differ && !are_known {
        return vec![Disposition::Flaky; repeats.len()];
    }
    each
}

#[cfg(test)]
mod tests {
    use super::*;
    use Disposition::{Changed, Expected, Fixed, Regression};
    use Verdict::{Error, Fail, Inconclusive, Pass, Skipped, Unsupported};

    const VERDICTS: [Verdict; 6] = [Pass, Skipped, Unsupported, Inconclusive, Fail, Error];

    fn entry(expect: Verdict) -> BaselineEntry {
        BaselineEntry {
            expect,
            fingerprint: "seen".to_owned(),
            reason: "known".to_owned(),
            not_with: Vec::new(),
            or: Vec::new(),
        }
    }

    #[test]
    fn every_verdict_against_every_entry() {
        // Rows are what is expected, columns are VERDICTS, seen as before.
        let table = [
            (
                None,
                [
                    Expected, Expected, Expected, Regression, Regression, Regression,
                ],
            ),
            (
                Some(Fail),
                [Fixed, Expected, Changed, Changed, Expected, Regression],
            ),
            (
                Some(Inconclusive),
                [Fixed, Expected, Changed, Expected, Changed, Regression],
            ),
            (
                Some(Unsupported),
                [Fixed, Expected, Expected, Changed, Changed, Regression],
            ),
            (
                Some(Skipped),
                [Fixed, Expected, Changed, Changed, Changed, Regression],
            ),
        ];
        for (expect, row) in table {
            let entry = expect.map(entry);
            for (verdict, right) in VERDICTS.into_iter().zip(row) {
                let found = dispose(entry.as_ref(), verdict, "seen");
                assert_eq!(found, right, "{expect:?} against {verdict:?}");
            }
        }
    }

    #[test]
    fn another_fingerprint_is_a_change_where_a_cell_runs() {
        for expect in [Fail, Inconclusive] {
            assert_eq!(dispose(Some(&entry(expect)), expect, "other"), Changed);
        }
        assert_eq!(
            dispose(Some(&entry(Unsupported)), Unsupported, ""),
            Expected
        );
        assert_eq!(dispose(Some(&entry(Fail)), Pass, "other"), Fixed);
    }

    #[test]
    fn without_an_entry_nobody_looks_at_the_fingerprint() {
        for verdict in VERDICTS {
            assert_eq!(dispose(None, verdict, "a"), dispose(None, verdict, "b"));
        }
    }

    #[test]
    fn repeats_that_differ_are_flaky_all_of_them() {
        let entry = entry(Fail);
        let differ = [(Fail, "seen"), (Fail, "seen"), (Fail, "other")];
        assert_eq!(
            dispose_repeats(Some(&entry), &differ),
            [Disposition::Flaky; 3]
        );
        let verdicts = [(Pass, "seen"), (Fail, "seen")];
        assert_eq!(dispose_repeats(None, &verdicts), [Disposition::Flaky; 2]);
    }

    #[test]
    fn a_race_may_show_all_that_is_listed_and_nothing_else() {
        let mut entry = entry(Fail);
        entry.or.push(KnownSight {
            expect: Pass,
            fingerprint: "other".to_owned(),
        });
        let known = [(Fail, "seen"), (Pass, "other")];
        assert_eq!(dispose_repeats(Some(&entry), &known), [Expected; 2]);
        for unknown in [(Pass, "seen"), (Fail, "other"), (Error, "other")] {
            let seen = [(Fail, "seen"), unknown];
            assert_eq!(
                dispose_repeats(Some(&entry), &seen),
                [Disposition::Flaky; 2]
            );
        }
        assert_eq!(dispose(Some(&entry), Pass, "seen"), Fixed);
    }

    #[test]
    fn a_race_may_pass_in_more_than_one_way() {
        let mut entry = entry(Pass);
        entry.or.push(KnownSight {
            expect: Pass,
            fingerprint: "other".to_owned(),
        });
        let known = [(Pass, "seen"), (Pass, "other")];
        assert_eq!(dispose_repeats(Some(&entry), &known), [Expected; 2]);
        let unknown = [(Pass, "seen"), (Pass, "third")];
        assert_eq!(
            dispose_repeats(Some(&entry), &unknown),
            [Disposition::Flaky; 2]
        );
        assert_eq!(dispose(Some(&entry), Pass, "third"), Changed);
        assert_eq!(dispose(Some(&entry), Fail, "seen"), Changed);
    }

    #[test]
    fn repeats_that_agree_are_what_one_of_them_is() {
        let entry = entry(Fail);
        for verdict in VERDICTS {
            for seen in ["seen", "other"] {
                let right = dispose(Some(&entry), verdict, seen);
                assert_eq!(
                    dispose_repeats(Some(&entry), &[(verdict, seen); 3]),
                    [right; 3]
                );
            }
        }
        assert_eq!(dispose_repeats(None, &[]), []);
    }
}
