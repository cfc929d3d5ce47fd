//! Plain scalars: what YAML takes them for, and which spellings are refused
//! because YAML readers disagree about them.

/// What a plain scalar is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    /// Text.
    Text,
    /// Decimal digits, perhaps with a sign and a fraction.
    Number,
    /// `true` or `false`.
    Truth,
    /// A word that means truth or nothing to some; what to write instead.
    AmbiguousWord(&'static str),
    /// A number to some; what to write instead.
    OddNumber(&'static str),
}

/// Digits that all readers keep apart.
const LONGEST: usize = 15;

/// Reads a plain scalar.
pub(super) fn plain(text: &str) -> Plain {
    if matches!(text, "true" | "false") {
        return Plain::Truth;
    }
    match text.to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "true" => return Plain::AmbiguousWord("for a truth value write true"),
        "no" | "off" | "n" | "false" => {
            return Plain::AmbiguousWord("for a truth value write false");
        }
        "null" | "~" => return Plain::AmbiguousWord("leave the key out when there is no value"),
        _ => {}
    }
    number(text)
}

fn number(text: &str) -> Plain {
    let signed = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(
        signed.to_ascii_lowercase().as_str(),
        ".inf" | ".nan" | "inf" | "nan" | "infinity"
    ) {
        return Plain::OddNumber("write a number in digits");
    }
    if !signed.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Plain::Text;
    }
    if let Some(instead) = odd(signed) {
        return Plain::OddNumber(instead);
    }
    let (whole, fraction) = signed.split_once('.').unwrap_or((signed, "0"));
    if !digits(whole) || !digits(fraction) {
        return Plain::Text;
    }
    if text.starts_with('+') {
        return Plain::OddNumber("leave the sign out");
    }
    if whole.len() > 1 && whole.starts_with('0') {
        return Plain::OddNumber("leave out the zeros in front");
    }
    if (text.starts_with('-') && whole == "0" && fraction.trim_matches('0').is_empty())
        || whole.len() > LONGEST
        || fraction.len() > LONGEST
    {
        return Plain::OddNumber("write a smaller number");
    }
    Plain::Number
}

/// What to write instead of an unsigned number in an unusual spelling.
fn odd(text: &str) -> Option<&'static str> {
    let lower = text.to_ascii_lowercase();
    let based = |prefix: &str| {
        lower.strip_prefix(prefix).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_hexdigit() || c == '_')
        })
    };
    if based("0x") || based("0o") || based("0b") {
        return Some("write it in decimal digits");
    }
    if text.contains('_')
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || c == '_' || c == '.')
    {
        return Some("leave out the underscores");
    }
    if let Some((mantissa, exponent)) = lower.split_once('e') {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if digits(exponent) && pointed(mantissa) {
            return Some("write it without an exponent");
        }
    }
    let no_whole = text.strip_prefix('.').is_some_and(digits);
    let no_fraction = text.strip_suffix('.').is_some_and(digits);
    (no_whole || no_fraction).then_some("write digits on both sides of the point")
}

fn pointed(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let good = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    good(whole) && good(fraction) && !(whole.is_empty() && fraction.is_empty())
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// The name of an unquoted `{name}` at the begin of a value, when the line up
/// to a syntax error looks like one.
pub(super) fn unquoted_name(before: &str) -> Option<&str> {
    let close = before.rfind('}')?;
    let open = before[..close].rfind('{')?;
    let name = &before[open + 1..close];
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
    let value = before[..open].trim_end();
    (!name.is_empty() && name.chars().all(word) && value.ends_with([':', '-', '[', ',']))
        .then_some(name)
}
