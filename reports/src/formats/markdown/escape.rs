//! Text from clients and scenarios in GitHub-flavoured Markdown, so that it
//! stays text: no markup, no HTML, no links, no end of a table's cell.

use crate::harmless::one_line;

/// Text in a paragraph or in a cell of a table.
pub(super) fn text(text: &str) -> String {
    let mut out = String::new();
    for symbol in one_line(text).trim().chars() {
        match symbol {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            // Two of them are a formula.
            '$' => out.push_str("&#36;"),
            '\\' | '`' | '*' | '_' | '~' | '[' | ']' | '|' | '#' | '!' => {
                out.push('\\');
                out.push(symbol);
            }
            _ => out.push(symbol),
        }
    }
    // Addresses become links by themselves, unless they are not seen as such.
    out.replace("://", ":&#47;/").replace("www.", "www&#46;")
}

/// A word as code where it can stand as code, else as text.
pub(super) fn code(word: &str) -> String {
    let plain = |symbol: char| symbol.is_ascii_graphic() && !"`|\\<>&@".contains(symbol);
    if !word.is_empty() && word.chars().all(plain) && one_line(word) == word {
        format!("`{word}`")
    } else {
        text(word)
    }
}

/// Text inside an HTML element.
pub(super) fn html(text: &str) -> String {
    let line = one_line(text);
    let line = line.trim().replace('&', "&amp;").replace('<', "&lt;");
    line.replace('>', "&gt;")
        .replace('@', "&#64;")
        .replace('$', "&#36;")
}

/// A row of a table; the cells are Markdown already.
pub(super) fn row<T: AsRef<str>>(cells: &[T]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The line below a table's head: the first columns to the left, the others,
/// which hold numbers or marks, as the caller says.
pub(super) fn rule(left: usize, others: usize, other: &str) -> String {
    format!(
        "|{}{}\n",
        ":--|".repeat(left),
        format!("{other}|").repeat(others)
    )
}

/// A number with its noun.
pub(super) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_and_html_stay_text() {
        assert_eq!(
            text("a|b `c` *d* __e__ ~f~ [g](h) <i>&amp; \\"),
            "a\\|b \\`c\\` \\*d\\* \\_\\_e\\_\\_ \\~f\\~ \\[g\\](h) &lt;i&gt;&amp;amp; \\\\"
        );
    }

    #[test]
    fn a_line_end_does_not_end_the_cell() {
        assert_eq!(text("a\r\nb"), "a\\\\r\\\\nb");
        assert_eq!(html("a\n<b>"), "a\\n&lt;b&gt;");
    }

    #[test]
    fn addresses_do_not_become_links_nor_dollars_formulas() {
        assert_eq!(
            text("http://x www.y a@b $c$"),
            "http:&#47;/x www&#46;y a&#64;b &#36;c&#36;"
        );
    }

    #[test]
    fn a_word_is_code_only_where_nothing_in_it_ends_the_code() {
        assert_eq!(code("error.__cause__"), "`error.__cause__`");
        assert_eq!(code("error.Unwrap()"), "`error.Unwrap()`");
        assert_eq!(code("a`b"), "a\\`b");
        assert_eq!(code("a|b"), "a\\|b");
        assert_eq!(code("a b"), "a b");
        assert_eq!(code(""), "");
    }

    proptest! {
        #[test]
        fn no_text_has_a_bare_pipe_or_a_tag(any in any::<String>()) {
            for out in [text(&any), code(&any)] {
                prop_assert!(!out.contains(['<', '>', '\n', '\r']), "{}", out);
                let mut escaped = false;
                for symbol in out.chars() {
                    prop_assert!(symbol != '|' || escaped, "{}", out);
                    escaped = symbol == '\\' && !escaped;
                }
            }
            let out = html(&any);
            prop_assert!(!out.contains(['<', '>', '\n', '\r']), "{}", out);
        }
    }
}
