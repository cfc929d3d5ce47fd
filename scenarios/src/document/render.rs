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
    if let Some(snippet) = together(&marks, source) {
        shown.push(snippet.path(path).into());
    } else if marks.iter().all(|mark| mark.excerpt.whole) {
        let snippets = marks.iter().map(|mark| mark.snippet().path(path.clone()));
        shown.extend(snippets.map(Element::from));
    } else {
        // The library counts columns in what it is shown; it is told the place
        // where that is not the whole line.
        let (line, column) = source.place(diagnostic.span.start);
        let origin = Origin::path(path).line(line).char_column(column);
        shown.push(origin.into());
        shown.extend(marks.iter().map(|mark| mark.snippet().into()));
    }
    if let Some(help) = &diagnostic.help {
        shown.push(Padding.into());
        shown.push(Level::HELP.message(harmless(help)).into());
    }
    renderer.render(&[Group::with_title(title).elements(shown)])
}

/// Two places that are close to each other, in one piece of the source.
fn together(marks: &[Mark], source: &Source) -> Option<Snippet<'static, Annotation<'static>>> {
    const CLOSE: usize = 2000;
    let [one, other] = marks else { return None };
    let first = one.excerpt.start.min(other.excerpt.start);
    let last = one.excerpt.end.max(other.excerpt.end);
    let whole = one.excerpt.whole && other.excerpt.whole;
    let text = source.text.get(first..last).filter(|_| whole)?;
    let safe = text.lines().all(|line| harmless(line) == line);
    if !safe || text.len() > CLOSE {
        return None;
    }
    let line = one.excerpt.line.min(other.excerpt.line);
    let annotations = marks.iter().map(|mark| {
        let from = mark.excerpt.start - first;
        let marked = &mark.excerpt.marked;
        mark.annotation(from + marked.start..from + marked.end)
    });
    let snippet = Snippet::source(text.to_owned()).line_start(line);
    Some(snippet.annotations(annotations))
}

/// A place that is pointed at.
struct Mark {
    excerpt: Excerpt,
    kind: AnnotationKind,
    label: String,
}

impl Mark {
    fn annotation(&self, marked: Span) -> Annotation<'static> {
        self.kind.span(marked).label(self.label.clone())
    }

    fn snippet(&self) -> Snippet<'static, Annotation<'static>> {
        Snippet::source(self.excerpt.text.clone())
            .line_start(self.excerpt.line)
            .annotation(self.annotation(self.excerpt.marked.clone()))
    }
}

/// One line of the source around a place, made harmless.
struct Excerpt {
    line: usize,
    text: String,
    marked: Span,
    /// Whether it is the line as it stands.
    whole: bool,
    /// Where the line begins and ends in the source.
    start: usize,
    end: usize,
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
            start: line_start,
            end: line_end,
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
