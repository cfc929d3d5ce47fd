//! Field lines of a head or a trailer section (RFC 9112 section 5).

use super::Malformed;
use super::encode::is_token;

/// Fields in the order in which they came; octets beyond ASCII as Latin-1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The first value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a name.
    pub(crate) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The members of a comma-separated list over all lines of a name.
    pub(crate) fn members<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.all(name)
            .flat_map(|value| value.split(','))
            .map(str::trim)
    }

    /// Whether there is none at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes one field line without its line end. A line that begins with a
    /// blank continues the one before it (RFC 9112 section 5.2).
    pub(crate) fn take(&mut self, line: &[u8]) -> Result<(), Malformed> {
        if line.iter().any(|byte| is_forbidden(*byte)) {
            return Err(Malformed::new("a control character in a field line"));
        }
        let line: String = line.iter().map(|byte| char::from(*byte)).collect();
        if line.starts_with([' ', '\t']) {
            let (_, value) = self
                .0
                .last_mut()
                .ok_or_else(|| Malformed::new("the first field line begins with a blank"))?;
            value.push(' ');
            value.push_str(trim(&line));
            return Ok(());
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| Malformed::new(format!("a field line without a colon: {line:?}")))?;
        if !is_token(name) {
            return Err(Malformed::new(format!("not a field name: {name:?}")));
        }
        self.0.push((name.to_owned(), trim(value).to_owned()));
        Ok(())
    }
}

fn trim(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

const fn is_forbidden(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t') || byte == 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[&str]) -> Result<Fields, Malformed> {
        let mut fields = Fields::default();
        for line in lines {
            fields.take(line.as_bytes())?;
        }
        Ok(fields)
    }

    #[test]
    fn names_are_compared_without_case_and_values_trimmed() {
        let fields = fields(&["Retry-After: \t 2 ", "X: a", "x: b"]).unwrap();
        assert_eq!(fields.get("retry-after"), Some("2"));
        assert_eq!(fields.all("X").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(fields.get("Y"), None);
    }

    #[test]
    fn a_folded_line_continues_the_one_before_it() {
        let fields = fields(&["X: a", " \t b"]).unwrap();
        assert_eq!(fields.get("X"), Some("a b"));
    }

    #[test]
    fn lines_that_are_no_fields_are_refused() {
        for line in [
            "no colon",
            "name : value",
            ": value",
            " folded first",
            "X: a\0b",
        ] {
            assert!(fields(&[line]).is_err(), "{line:?}");
        }
    }

    #[test]
    fn lists_are_read_over_all_lines() {
        let fields = fields(&["Connection: keep-alive, X", "Connection: close"]).unwrap();
        let members: Vec<_> = fields.members("connection").collect();
        assert_eq!(members, ["keep-alive", "X", "close"]);
    }
}
