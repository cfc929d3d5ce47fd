//! Mistakes as a person sees them: place, id, the line with a caret, and what
//! to write instead.
//!
//! The only file that knows the snippet library. Text of a file can hold
//! anything; what is shown of it cannot move a cursor, colour a terminal, turn
//! the reading direction or begin a line of its own.

use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Padding, Renderer, Snippet,
};

use super::{Diagnostic, Source, Span};

/// Bytes of a line that are looked at on either side of a place.
const LINE_KEPT: usize = 120;

/// Renders mistakes of one file, ready to be printed; each ends in a newline.
pub fn render(found: &[Diagnostic], source: &Source, color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut text = String::new();
    for diagnostic in found {
        text.push_str(&one(diagnostic, source, &renderer));
        text.push_str("\n\n");
    }
    text
}

fn one(diagnostic: &Diagnostic, source: &Source, renderer: &Renderer) -> String {
    let title = Level::ERROR
        .primary_title(harmless(&diagnostic.title))
        .id(diagnostic.id);
    let mut marks = vec![Mark {
        excerpt: Excerpt::new(source, &diagnostic.span),
        kind: AnnotationKind::Primary,
        label: harmless(&diagnostic.label),
    }];
    if let Some((span, why)) = &diagnostic.other {
        marks.push(Mark {
            excerpt: Excerpt::new(source, span),
            kind: AnnotationKind::Context,
            label: harmless(why),
        });
    }
    let path = harmless(&source.path);
    let mut shown: Vec<Element<'_>> = Vec::new();
    // The library counts columns in what it is shown; it is told the place
    // where that is not the whole line.
    if marks.iter().any(|mark| !mark.excerpt.whole) {
        let (line, column) = source.place(diagnostic.span.start);
        let origin = Origin::path(path).line(line).char_column(column);
        shown.push(origin.into());
        shown.extend(marks.iter().map(|mark| mark.snippet(None).into()));
    } else {
        shown.extend(
            marks
                .iter()
                .map(|mark| mark.snippet(Some(path.clone())).into()),
        );
    }
    if let Some(help) = &diagnostic.help {
        shown.push(Padding.into());
        shown.push(Level::HELP.message(harmless(help)).into());
    }
    renderer.render(&[Group::with_title(title).elements(shown)])
}

/// A place that is pointed at.
struct Mark {
    excerpt: Excerpt,
    kind: AnnotationKind,
    label: String,
}

impl Mark {
    fn snippet(&self, path: Option<String>) -> Snippet<'static, Annotation<'static>> {
        let marked = self.kind.span(self.excerpt.marked.clone());
        Snippet::source(self.excerpt.text.clone())
            .line_start(self.excerpt.line)
            .path(path)
            .annotation(marked.label(self.label.clone()))
    }
}

/// One line of the source around a place, made harmless.
struct Excerpt {
    line: usize,
    text: String,
    marked: Span,
    /// Whether it is the line as it stands.
    whole: bool,
}

impl Excerpt {
    fn new(source: &Source, span: &Span) -> Self {
        let text = &source.text;
        let start = floor(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = floor(text, span.end.clamp(start, line_end));
        let end = start + text[start..end].trim_end().len();
        let from = floor(text, line_start.max(start.saturating_sub(LINE_KEPT)));
        let shown_end = floor(text, end.min(start + LINE_KEPT));
        let to = floor(text, line_end.min(shown_end + LINE_KEPT));
        let mut excerpt = String::new();
        if from > line_start {
            excerpt.push_str("...");
        }
        push_harmless(&mut excerpt, &text[from..start]);
        let marked_start = excerpt.len();
        push_harmless(&mut excerpt, &text[start..shown_end]);
        let marked_end = excerpt.len();
        push_harmless(&mut excerpt, text[shown_end..to].trim_end());
        if to < line_end {
            excerpt.push_str("...");
        }
        Self {
            line: source.place(start).0,
            whole: excerpt.trim_end() == text[line_start..line_end].replace('\t', " ").trim_end(),
            text: excerpt,
            marked: marked_start..marked_end,
        }
    }
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

impl Source {
    /// Line and column of a place, both from 1; columns are characters.
    pub fn place(&self, at: usize) -> (usize, usize) {
        let before = &self.text[..floor(&self.text, at)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }
}

/// Text from anywhere, safe to show in one line of a terminal.
pub fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    push_harmless(&mut shown, text);
    shown
}

fn push_harmless(shown: &mut String, text: &str) {
    for one in text.chars() {
        match one {
            '\t' => shown.push(' '),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            _ if moves_or_hides(one) => {
                shown.push_str(&format!("\\u{{{:x}}}", u32::from(one)));
            }
            _ => shown.push(one),
        }
    }
}

/// Control characters, and those that are invisible or turn the reading
/// direction.
fn moves_or_hides(one: char) -> bool {
    one.is_control()
        || matches!(
            one,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}
