//! Text from clients, servers and scenario files, made harmless.
//!
//! What a client prints may hold terminal escapes, characters that turn the
//! direction of the text, or lines that a CI system takes for its own commands.
//! Every report shows such text only through this file. It makes text visible,
//! it does not shorten it and it does not hide secrets (that is `redact`).

use scenarios::document;

/// The text on one line: whatever is not plainly visible is written as an
/// escape, line ends included, and commands to CI systems lose their form.
pub fn one_line(text: &str) -> String {
    let line = document::harmless(text)
        // Characters that no XML can hold.
        .replace('\u{fffe}', "\\u{fffe}")
        .replace('\u{ffff}', "\\u{ffff}");
    let mut out = String::with_capacity(line.len());
    let mut rest = line.as_str();
    // `::error::` counts at the beginning of a line, after spaces.
    let bare = line.trim_start();
    if bare.starts_with("::") {
        out.push_str(&line[..line.len() - bare.len()]);
        out.push('\\');
        rest = bare;
    }
    // `##[error]`, `##vso[...]` and `##teamcity[...]` count anywhere.
    while let Some(at) = rest.find("##") {
        let word = rest[at + 2..].trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        out.push_str(&rest[..=at]);
        if word.starts_with('[') {
            out.push('\\');
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

/// The text in its lines, each of them harmless.
pub fn lines(text: &str) -> Vec<String> {
    text.lines().map(one_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn terminal_escapes_and_line_ends_become_visible() {
        assert_eq!(
            one_line("a\x1b[31mred\r\n\t\u{9b}2J"),
            "a\\u{1b}[31mred\\r\\n \\u{9b}2J"
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
            prop_assert!(!line.contains(char::is_control));
            prop_assert!(!line.trim_start().starts_with("::"));
            prop_assert!(!line.contains("##["));
        }
    }
}
