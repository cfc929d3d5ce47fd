//! Scalars with a meaning: numbers, durations, sizes, places, ranges.

use std::ops::RangeInclusive;
use std::time::Duration;

use scripted_servers::wire::Position;

use super::decode::{Keys, brief};
use super::diagnostic::Diagnostics;
use super::kind::{Kind, Rule};
use super::{Node, Scalar, ScalarKind, Value, ids};
use crate::matcher::Matcher;

/// The bounds of a range; the kind of their values is that of what is expected.
pub(crate) static RANGE: Keys = Keys::new(
    "a range",
    &[
        ("at_least", "the lowest value that fits", || Kind::Scalar),
        ("at_most", "the highest value that fits", || Kind::Scalar),
    ],
)
.rules(&[Rule::AnyOf(&["at_least", "at_most"])]);

/// The places that have a word.
pub(crate) const PLACES: &[(&str, Position)] = &[
    ("half", Position::Half),
    ("last", Position::Last),
    ("all", Position::All),
];

/// The largest size: far more than any scenario sends, and far below what would
/// not fit.
pub(crate) const MOST_BYTES: u64 = 1 << 32;

/// The longest duration that a document may ask for.
pub(crate) const MAX_DURATION: Duration = Duration::from_hours(24 * 30);

impl Node {
    /// As a whole number within bounds.
    pub fn number(
        &self,
        what: &str,
        bounds: RangeInclusive<u64>,
        out: &mut Diagnostics,
    ) -> Option<u64> {
        let needed = bounds_in_words(&bounds);
        let Value::Scalar(scalar) = &self.value else {
            return self.wrong(what, &needed, out);
        };
        let number = match scalar.kind {
            ScalarKind::Null => return None,
            ScalarKind::Number => scalar.text.parse().ok(),
            ScalarKind::Text if scalar.text.parse::<u64>().is_ok() => {
                out.report(
                    ids::BAD_NUMBER,
                    &self.span,
                    format!("{what} must be a number"),
                )
                .label("quotes make it text")
                .help(format!("remove the quotes: {}", scalar.text));
                return None;
            }
            _ => return self.wrong(what, &needed, out),
        };
        let good = number.filter(|number| bounds.contains(number));
        if good.is_none() {
            out.report(
                ids::BAD_NUMBER,
                &self.span,
                format!("{what} must be {needed}"),
            )
            .label(format!("{} is not", brief(&scalar.text)))
            .help(format!("write {needed}"));
        }
        good
    }

    /// As a duration: a number and a unit.
    pub fn duration(&self, what: &str, out: &mut Diagnostics) -> Option<Duration> {
        let scalar = self.scalar(what, "a duration such as `200ms`", out)?;
        match duration(scalar) {
            Ok(duration) => Some(duration),
            Err(help) => {
                out.report(
                    ids::BAD_DURATION,
                    &self.span,
                    format!("{what} must be a duration"),
                )
                .label("a number and one unit: ms, s, m or h")
                .help(help);
                None
            }
        }
    }

    /// As a number of bytes.
    pub fn size(&self, what: &str, out: &mut Diagnostics) -> Option<u64> {
        let scalar = self.scalar(what, "a size such as `512` or `64KiB`", out)?;
        match size(scalar) {
            Ok(size) => Some(size),
            Err(help) => {
                out.report(ids::BAD_SIZE, &self.span, format!("{what} must be a size"))
                    .label("bytes, or a number with KiB or MiB")
                    .help(help);
                None
            }
        }
    }

    /// As a place in something: bytes, or a word.
    pub fn position(&self, what: &str, out: &mut Diagnostics) -> Option<Position> {
        let scalar = self.scalar(what, "a position such as `512`, `half` or `last`", out)?;
        let mut places = PLACES.iter();
        if let Some((_, place)) = places.find(|(word, _)| self.is_word(word)) {
            return Some(*place);
        }
        match size(scalar) {
            Ok(bytes) => Some(Position::Bytes(bytes)),
            Err(help) => {
                out.report(
                    ids::BAD_POSITION,
                    &self.span,
                    format!("{what} must be a position"),
                )
                .label("this is none")
                .help(format!("{help}, or one of `half`, `last` and `all`"));
                None
            }
        }
    }

    /// As a matcher of numbers: `3`, `[0, 1]`, `{at_least: 1, at_most: 3}`.
    pub fn matcher_of_numbers(&self, what: &str, out: &mut Diagnostics) -> Option<Matcher<u64>> {
        self.matcher(what, out, &|node, out| node.number(what, 0..=MOST, out))
    }

    /// As a range of time. A bare duration is refused: times are never exact.
    pub fn range_of_time(&self, what: &str, out: &mut Diagnostics) -> Option<Matcher<Duration>> {
        if matches!(self.value, Value::Map(_)) {
            return self.matcher(what, out, &|node, out| node.duration(what, out));
        }
        if let Value::Scalar(scalar) = &self.value
            && duration(scalar).is_ok()
        {
            out.report(
                ids::BAD_RANGE,
                &self.span,
                format!("{what} must be a range"),
            )
            .label("no time is ever exactly this")
            .help(format!(
                "write {{at_most: {0}}} or {{at_least: {0}}}",
                scalar.text
            ));
            return None;
        }
        self.wrong(what, "a range such as `{at_least: 1s, at_most: 2s}`", out)
    }

    /// As a matcher of anything that `item` reads.
    pub fn matcher<T: PartialOrd>(
        &self,
        what: &str,
        out: &mut Diagnostics,
        item: &dyn Fn(&Self, &mut Diagnostics) -> Option<T>,
    ) -> Option<Matcher<T>> {
        match &self.value {
            Value::Scalar(_) => Some(Matcher::OneOf(vec![item(self, out)?])),
            Value::List(_) => {
                let items = self.filled_list(what, out)?;
                // All of them are read first, so that each mistake is told.
                let items: Vec<_> = items.iter().map(|one| item(one, out)).collect();
                items.into_iter().collect::<Option<_>>().map(Matcher::OneOf)
            }
            Value::Map(_) => {
                let fields = self.fields(&RANGE, out)?;
                if fields.get("at_least").or(fields.get("at_most")).is_none() {
                    out.report(ids::BAD_RANGE, &self.span, format!("{what} has no bounds"))
                        .label("neither `at_least` nor `at_most`")
                        .help("write {at_least: 1}, {at_most: 3} or both");
                    return None;
                }
                let at_least = bound(fields.get("at_least"), out, item)?;
                let at_most = bound(fields.get("at_most"), out, item)?;
                if let (Some(low), Some(high)) = (&at_least, &at_most)
                    && low > high
                {
                    out.report(ids::BAD_RANGE, &self.span, "the range is upside down")
                        .label("`at_least` is above `at_most`")
                        .help("swap the two bounds")
                        .beyond_schema();
                    return None;
                }
                Some(Matcher::Range { at_least, at_most })
            }
        }
    }

    fn scalar(&self, what: &str, needed: &str, out: &mut Diagnostics) -> Option<&Scalar> {
        match &self.value {
            Value::Scalar(scalar) if scalar.kind == ScalarKind::Null => None,
            Value::Scalar(scalar) => Some(scalar),
            _ => self.wrong(what, needed, out),
        }
    }
}

/// The highest count that makes sense anywhere.
const MOST: u64 = 1_000_000;

fn bound<T>(
    node: Option<&Node>,
    out: &mut Diagnostics,
    item: &dyn Fn(&Node, &mut Diagnostics) -> Option<T>,
) -> Option<Option<T>> {
    match node {
        None => Some(None),
        Some(node) => item(node, out).map(Some),
    }
}

fn bounds_in_words(bounds: &RangeInclusive<u64>) -> String {
    match (*bounds.start(), *bounds.end()) {
        (0, u64::MAX) => "a whole number".to_owned(),
        (low, u64::MAX) => format!("a whole number, at least {low}"),
        (low, high) => format!("a whole number from {low} to {high}"),
    }
}

/// A duration, or what to write instead.
fn duration(scalar: &Scalar) -> Result<Duration, String> {
    let text = scalar.text.as_str();
    if scalar.kind == ScalarKind::Number {
        return Err(format!("add a unit: {text}ms or {text}s"));
    }
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let wrong = || "write a number with one unit, such as 200ms, 1.5s, 4m or 1h".to_owned();
    let nanos_a_unit: u64 = match unit {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |part: &str| !part.is_empty() && part.len() <= 9;
    if !digits(whole) || !digits(fraction) || fraction.contains('.') {
        return Err(wrong());
    }
    if whole.len() > 1 && whole.starts_with('0') {
        return Err("leave out the zeros in front".to_owned());
    }
    let parse = |part: &str| part.parse::<u64>().map_err(|_| wrong());
    let scale = 10_u64.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let part = u128::from(parse(fraction)?) * u128::from(nanos_a_unit) / u128::from(scale);
    let nanos = u128::from(parse(whole)?) * u128::from(nanos_a_unit) + part;
    match u64::try_from(nanos).map(Duration::from_nanos) {
        Ok(duration) if duration <= MAX_DURATION => Ok(duration),
        _ => Err("the longest duration is 720h".to_owned()),
    }
}

/// A size, or what to write instead.
fn size(scalar: &Scalar) -> Result<u64, String> {
    let text = scalar.text.as_str();
    let wrong = || "write bytes such as 512, or a number with KiB or MiB such as 64KiB".to_owned();
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match (unit, scalar.kind) {
        ("", ScalarKind::Number) => 1,
        ("", _) if !number.is_empty() => return Err(format!("remove the quotes: {number}")),
        ("KiB", ScalarKind::Text) => 1 << 10,
        ("MiB", ScalarKind::Text) => 1 << 20,
        _ => return Err(wrong()),
    };
    if number.len() > 1 && number.starts_with('0') {
        return Err("leave out the zeros in front".to_owned());
    }
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(factor)
        .filter(|bytes| *bytes <= MOST_BYTES)
        .ok_or_else(|| "the largest size is 4096MiB".to_owned())
}
