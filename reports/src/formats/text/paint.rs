//! Colour and width of text on a terminal.

use unicode_width::UnicodeWidthStr;

/// A colour of the terminal's own palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Color {
    Plain,
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
    Cyan,
}

/// Paints, or leaves as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Painter {
    /// Whether escapes are wanted.
    pub(super) color: bool,
}

impl Painter {
    /// The text in a colour.
    pub(super) fn paint(self, color: Color, text: &str) -> String {
        let code = match color {
            Color::Plain => return text.to_owned(),
            Color::Bold => "1",
            Color::Dim => "2",
            Color::Green => "32",
            Color::Red => "1;31",
            Color::Yellow => "33",
            Color::Cyan => "36",
        };
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Columns that a text without escapes takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces up to a width.
pub(super) fn pad(text: &str, to: usize) -> String {
    let spaces = to.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(spaces))
}

/// The text in lines no wider than `to`, broken at spaces. A word that is wider
/// than a line has a line of its own: it may be a path, and stays whole.
pub(super) fn wrap(text: &str, to: usize) -> Vec<String> {
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
