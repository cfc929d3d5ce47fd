//! What all counting assertions share: one count against what fits.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::checked::Checked;
use super::facts::Exchange;
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

/// Requests in words: `3 (call 1: POST /submit 3 times)`.
pub(crate) fn in_words(exchanges: &[&Exchange]) -> String {
    const SHOWN: usize = 5;
    if exchanges.is_empty() {
        return "0".to_owned();
    }
    let groups = groups(exchanges);
    let shown = groups.iter().take(SHOWN).map(|((call, request), count)| {
        let call = call.map_or_else(|| "no call".to_owned(), |call| format!("call {call}"));
        let times = if *count == 1 {
            String::new()
        } else {
            format!(" {count} times")
        };
        format!("{call}: {request}{times}")
    });
    let mut shown: Vec<_> = shown.collect();
    if groups.len() > SHOWN {
        shown.push(format!("and {} more", groups.len() - SHOWN));
    }
    format!("{} ({})", exchanges.len(), shown.join("; "))
}

/// Whether any request came twice for one call, and whether one of an unsafe
/// method did.
pub(crate) fn repeats(exchanges: &[&Exchange]) -> Repeats {
    let twice = groups(exchanges);
    let twice = twice.iter().filter(|(_, count)| **count > 1);
    let mut repeats = Repeats::default();
    for ((_, request), _) in twice {
        repeats.any = true;
        let method = request.split(' ').next().unwrap_or_default();
        repeats.of_an_unsafe_method |= !target::is_safe(method);
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

fn groups(exchanges: &[&Exchange]) -> BTreeMap<(Option<u32>, String), u64> {
    let mut groups = BTreeMap::new();
    for exchange in exchanges {
        let request = exchange.head.as_ref().map_or_else(
            || "a request without a whole head".to_owned(),
            |head| format!("{} {}", head.method, head.target),
        );
        *groups.entry((exchange.call, request)).or_insert(0) += 1;
    }
    groups
}
