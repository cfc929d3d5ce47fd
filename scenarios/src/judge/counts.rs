//! What all counting assertions share: one count against what fits.

use std::cmp::Ordering;

use super::case::Case;
use super::checked::Checked;
use super::exchange::Exchange;
use crate::expected::{Words, side};
use crate::matcher::Matcher;
use crate::target;

/// Holds a count against what fits. What was cut short by the harness can not
/// be too little: it shows `-`. The answer says on which side a wrong count
/// lies.
pub(crate) fn compare(
    matcher: &Matcher<u64>,
    observed: u64,
    cut_short: bool,
    out: &mut Checked,
) -> Option<Ordering> {
    match side(matcher, &observed) {
        None => {
            out.good();
            None
        }
        Some(Ordering::Less) if cut_short => None,
        wrong => wrong,
    }
}

/// `api: 3`, for a value that is only shown.
pub(crate) fn shown(what: &str, name: &str, observed: u64) -> String {
    format!("{what} {name}: {}", observed.words())
}

/// Values one after another; of very many the first.
pub(crate) fn listed(values: impl Iterator<Item = String>) -> String {
    listed_by(", ", values)
}

/// As [`listed`], with these words between them.
pub(crate) fn listed_by(between: &str, mut values: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 100;
    let shown: Vec<String> = values.by_ref().take(SHOWN).collect();
    let mut listed = shown.join(between);
    let more = values.count();
    if more > 0 {
        listed.push_str(&format!("{between}and {more} more"));
    }
    listed
}

/// Requests in words: `3 (call 1: POST /submit 3 times)`.
pub(crate) fn in_words(exchanges: &[&Exchange]) -> String {
    const SHOWN: usize = 5;
    if exchanges.is_empty() {
        return "0".to_owned();
    }
    let sorted = sorted(exchanges);
    let mut groups = groups(&sorted);
    let shown = groups.by_ref().take(SHOWN).map(|group| {
        let (call, request) = asked(group[0]);
        let call = call.map_or_else(|| "no call".to_owned(), |call| format!("call {call}"));
        let request = request.map_or_else(
            |()| "a request without a whole head".to_owned(),
            |(method, target)| format!("{method} {target}"),
        );
        let times = match group.len() {
            1 => String::new(),
            count => format!(" {count} times"),
        };
        format!("{call}: {request}{times}")
    });
    let mut shown: Vec<_> = shown.collect();
    let more = groups.count();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    format!("{} ({})", exchanges.len(), shown.join("; "))
}

/// Whether any request came twice for one call, and whether one of an unsafe
/// method did. To ask after a job again repeats nothing.
pub(crate) fn repeats(exchanges: &[&Exchange], case: &Case<'_>) -> Repeats {
    let work = exchanges.iter().copied().filter(|one| !case.is_query(one));
    let work: Vec<&Exchange> = work.collect();
    let sorted = sorted(&work);
    let mut repeats = Repeats::default();
    for group in groups(&sorted).filter(|group| group.len() > 1) {
        repeats.any = true;
        // What has no whole head may have been of any method.
        let (_, request) = asked(group[0]);
        let is_safe = request.is_ok_and(|(method, _)| target::is_safe(method));
        repeats.of_an_unsafe_method |= !is_safe;
    }
    repeats
}

/// Whether requests were repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repeats {
    /// Any was.
    pub any: bool,
    /// One with an unsafe method was.
    pub of_an_unsafe_method: bool,
}

/// A request as its repeats are told by: its call, method and target. Those
/// without a whole head come last.
type Asked<'a> = (Option<u32>, Result<(&'a str, &'a str), ()>);

fn asked(exchange: &Exchange) -> Asked<'_> {
    let head = exchange.head().ok_or(());
    (exchange.call, head.map(|head| (head.method, head.target)))
}

fn sorted<'a>(exchanges: &[&'a Exchange]) -> Vec<&'a Exchange> {
    let mut sorted = exchanges.to_vec();
    sorted.sort_unstable_by(|one, other| asked(one).cmp(&asked(other)));
    sorted
}

fn groups<'s, 'e>(sorted: &'s [&'e Exchange]) -> impl Iterator<Item = &'s [&'e Exchange]> {
    sorted.chunk_by(|one, other| asked(one) == asked(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_values_the_first_are_listed_and_the_rest_are_counted() {
        let list = |number: u32| listed((1..=number).map(|number| number.to_string()));
        assert_eq!(list(0), "");
        assert_eq!(list(3), "1, 2, 3");
        assert!(list(100).ends_with(", 99, 100"));
        assert!(list(102).ends_with(", 99, 100, and 2 more"));
    }
}
