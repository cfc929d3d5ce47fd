//! Text from clients, servers and scenario files, made harmless.
//!
//! What a client prints may hold terminal escapes, characters that turn the
//! direction of the text, or lines that a CI system takes for its own commands.
//! Every report shows such text only through this file. It makes text visible,
//! it does not shorten it and it does not hide secrets (that is `redact`).

/// The text on one line: whatever is not plainly visible is written as an
/// escape, line ends included.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_line(text, &mut out);
    out
}

/// The text in its lines, each of them harmless.
pub fn lines(text: &str) -> Vec<String> {
    text.lines().map(one_line).collect()
}

fn push_line(text: &str, out: &mut String) {
    let spaces = text.len() - text.trim_start().len();
    let mut rest = text;
    while let Some(symbol) = rest.chars().next() {
        let at = text.len() - rest.len();
        if starts_command(rest, at <= spaces) {
            out.push_str(if symbol == '#' { "#\\" } else { "\\" });
            if symbol == '#' {
                rest = &rest[1..];
                continue;
            }
        }
        if is_plain(symbol) {
            out.push(symbol);
        } else {
            out.extend(symbol.escape_default());
        }
        rest = &rest[symbol.len_utf8()..];
    }
}

/// Whether a CI system would take what follows for a command to itself:
/// `::error::` at the beginning of a line, `##[error]`, `##vso[...]` and
/// `##teamcity[...]` anywhere.
fn starts_command(rest: &str, at_line_start: bool) -> bool {
    if let Some(word) = rest.strip_prefix("##") {
        let name = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        return name.starts_with('[');
    }
    at_line_start && rest.starts_with("::")
}

/// Whether a symbol shows as itself and nothing else.
fn is_plain(symbol: char) -> bool {
    let hidden = matches!(symbol,
        '\u{ad}' | '\u{61c}' | '\u{180e}'
        // Zero-width characters, direction marks, line and paragraph ends.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
        | '\u{e0000}'..='\u{e007f}');
    !symbol.is_control() && !hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminal_escapes_and_line_ends_become_visible() {
        assert_eq!(
            one_line("a\x1b[31mred\r\n\t\u{9b}2J"),
            "a\\u{1b}[31mred\\r\\n\\t\\u{9b}2J"
        );
    }

    #[test]
    fn text_that_turns_its_direction_becomes_visible() {
        assert_eq!(one_line("ab\u{202e}cd\u{feff}"), "ab\\u{202e}cd\\u{feff}");
    }

    #[test]
    fn commands_to_a_ci_system_lose_their_form() {
        assert_eq!(one_line("::error::x"), "\\::error::x");
        assert_eq!(one_line("  ::set-env name=a::b"), "  \\::set-env name=a::b");
        assert_eq!(one_line("a ##[error]b"), "a #\\#[error]b");
        assert_eq!(one_line("##vso[task.complete]"), "#\\#vso[task.complete]");
    }

    #[test]
    fn plain_text_of_any_language_stays_as_it_is() {
        let text = "a ## heading, std::io, Grüße, 日本語, ✓ 1";
        assert_eq!(one_line(text), text);
    }

    proptest! {
        #[test]
        fn no_text_keeps_a_control_character_or_a_command(text in any::<String>()) {
            let line = one_line(&text);
            prop_assert!(line.chars().all(is_plain));
            prop_assert!(!line.trim_start().starts_with("::"));
            prop_assert!(!line.contains("##["));
        }
    }
}
