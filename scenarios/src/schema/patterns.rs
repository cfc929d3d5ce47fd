//! Regular expressions of durations and sizes within bounds: what the decoders
//! work out by counting, said as text.

use std::time::Duration;

use crate::document::values::MAX_DURATION;

/// The digits that a duration may have before and behind its point.
const DIGITS: usize = 9;

/// The largest number that the digits before the point can say.
const MOST_WHOLE: u128 = 999_999_999;

const UNITS: [(&str, u128); 4] = [
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A duration of at least this; with `whole` of whole milliseconds.
pub(super) fn time(least: Duration, whole: bool) -> String {
    let units = UNITS.iter().map(|unit| of_unit(least.as_nanos(), unit));
    let all: Vec<String> = units.collect();
    let whole = if whole { WHOLE } else { "" };
    format!("{whole}(?:{})", all.join("|"))
}

/// Looks ahead for a duration of whole milliseconds: what is left of a second
/// behind the third digit, of a minute behind four, of an hour behind five.
const WHOLE: &str = "(?=[0-9]+(?:\
    (?:\\.0{1,6}|\\.0{6}[0-9]{1,3})?ms\
    |(?:\\.[0-9]{1,3}0*)?s\
    |(?:\\.(?:[0-9]{1,4}|[0-9]{4}[05])0*)?m\
    |(?:\\.(?:[0-9]{1,5}|[0-9]{5}(?:[05]|[27]5))0*)?h)$)";

fn of_unit(least: u128, (unit, nanos): &(&str, u128)) -> String {
    const ANY: &str = r"(?:\.[0-9]{1,9})?";
    const NOTHING: &str = r"(?:\.0{1,9})?";
    let most = MAX_DURATION.as_nanos() / nanos;
    let (low, rest) = (least / nanos, least % nanos);
    let mut all = Vec::new();
    let first_free = if rest == 0 { low } else { low + 1 };
    let last_free = if most > MOST_WHOLE {
        MOST_WHOLE
    } else {
        all.push(format!("{most}{NOTHING}"));
        most - 1
    };
    if first_free <= last_free {
        all.push(format!("{}{ANY}", between(first_free, last_free)));
    }
    if rest > 0 {
        // What lies behind the ninth digit is not counted.
        let digits = (rest * 1_000_000_000).div_ceil(*nanos);
        all.push(format!(r"{low}\.(?:{})", fraction_from(digits)));
    }
    format!("(?:{}){unit}", all.join("|"))
}

/// Digits behind a point that say at least so many billionths.
fn fraction_from(least: u128) -> String {
    let digits = format!("{least:09}").into_bytes();
    let mut all = Vec::new();
    for (at, digit) in digits.iter().enumerate() {
        let before = String::from_utf8_lossy(&digits[..at]);
        if *digit < b'9' {
            let above = range(digit + 1, b'9');
            all.push(format!("{before}{above}[0-9]{{0,{}}}", DIGITS - 1 - at));
        }
    }
    let all_digits = String::from_utf8_lossy(&digits);
    let exact = all_digits.trim_end_matches('0');
    all.push(format!("{exact}0{{0,{}}}", DIGITS - exact.len()));
    all.join("|")
}

/// A size that is written with a unit.
pub(super) fn size(low: u64, high: u64) -> String {
    let unit = |unit: &str, bytes: u64| {
        let (low, high) = (low.div_ceil(bytes), high / bytes);
        format!("{}{unit}", between(low.into(), high.into()))
    };
    format!("{}|{}", unit("KiB", 1 << 10), unit("MiB", 1 << 20))
}

/// A whole number within bounds, without zeros in front.
fn between(low: u128, high: u128) -> String {
    let mut all = Vec::new();
    let mut begin = low;
    while begin <= high {
        let digits = begin.to_string().len();
        let largest = 10_u128.pow(u32::try_from(digits).unwrap_or(0)) - 1;
        let end = high.min(largest);
        all.push(of_one_length(
            begin.to_string().as_bytes(),
            end.to_string().as_bytes(),
        ));
        begin = end + 1;
    }
    format!("(?:{})", all.join("|"))
}

fn of_one_length(low: &[u8], high: &[u8]) -> String {
    let (Some((first, low_rest)), Some((last, high_rest))) =
        (low.split_first(), high.split_first())
    else {
        return String::new();
    };
    let is_free = |digits: &[u8], digit| digits.iter().all(|one| *one == digit);
    if is_free(low_rest, b'0') && is_free(high_rest, b'9') {
        return match low_rest.len() {
            0 => range(*first, *last),
            rest => format!("{}[0-9]{{{rest}}}", range(*first, *last)),
        };
    }
    if first == last {
        let rest = of_one_length(low_rest, high_rest);
        return format!("{}{rest}", char::from(*first));
    }
    let nines = vec![b'9'; low_rest.len()];
    let zeros = vec![b'0'; low_rest.len()];
    let mut all = vec![format!(
        "{}{}",
        char::from(*first),
        of_one_length(low_rest, &nines)
    )];
    if first + 1 < *last {
        let rest = low_rest.len();
        all.push(format!("{}[0-9]{{{rest}}}", range(first + 1, last - 1)));
    }
    all.push(format!(
        "{}{}",
        char::from(*last),
        of_one_length(&zeros, high_rest)
    ));
    format!("(?:{})", all.join("|"))
}

fn range(low: u8, high: u8) -> String {
    let (low, high) = (char::from(low), char::from(high));
    match low == high {
        true => low.to_string(),
        false => format!("[{low}-{high}]"),
    }
}
