//! Text in columns: how wide it is, filling it up, breaking it into lines.

use unicode_width::UnicodeWidthStr;

/// Columns that a text without escapes takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces up to a width.
pub fn pad(text: &str, to: usize) -> String {
    let spaces = to.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(spaces))
}

/// The text in lines no wider than `to`, broken at spaces. A word that is wider
/// than a line has a line of its own: it may be a path, and stays whole.
pub fn wrap(text: &str, to: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if width(line) + 1 + width(word) <= to {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
