//! Colour of text on a terminal.

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
