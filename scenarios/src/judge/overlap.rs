//! What was under way at the same time.

/// The most that were under way at once, in their order; of several such times
/// those of the first that is found. `lasts` says from when to when. What begins
/// in the moment in which another is over does not meet it, and nothing is over
/// in the moment in which it begins.
pub(crate) fn peak<'a, T>(all: &[&'a T], lasts: impl Fn(&T) -> (u64, u64)) -> Vec<&'a T> {
    let lasts = |one: &T| {
        let (began, over) = lasts(one);
        (began, over.max(began.saturating_add(1)))
    };
    let (mut begins, mut ends): (Vec<u64>, Vec<u64>) = all.iter().map(|one| lasts(one)).unzip();
    begins.sort_unstable();
    ends.sort_unstable();
    let until = |times: &[u64], at: u64| times.partition_point(|time| *time <= at);
    let (mut most, mut peak_us) = (0, 0);
    for one in all {
        let (at, _) = lasts(one);
        let number = until(&begins, at) - until(&ends, at);
        if number > most {
            (most, peak_us) = (number, at);
        }
    }
    let at_peak = all.iter().copied().filter(|one| {
        let (began, over) = lasts(one);
        began <= peak_us && peak_us < over
    });
    at_peak.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As by asking of each beginning what was under way then.
        #[test]
        fn it_is_the_first_of_the_largest_sets(
            spans in prop::collection::vec((0_u64..12, 0_u64..12), 0..10),
        ) {
            let all: Vec<&(u64, u64)> = spans.iter().collect();
            let open = |at: u64| {
                let goes_on = |one: &&&(u64, u64)| one.0 <= at && one.1.max(one.0 + 1) > at;
                all.iter().filter(goes_on).copied().collect::<Vec<_>>()
            };
            let mut expected: Vec<&(u64, u64)> = Vec::new();
            for one in &all {
                let now = open(one.0);
                if now.len() > expected.len() {
                    expected = now;
                }
            }
            prop_assert_eq!(peak(&all, |one| *one), expected);
        }
    }
}
