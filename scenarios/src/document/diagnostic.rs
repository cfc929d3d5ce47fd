//! The collector of mistakes: many in a file, each once, in the file's order.

use std::collections::BTreeSet;

use super::met::Met;
use super::{Diagnostic, Source, Span};

/// Mistakes beyond this number are counted, not kept.
const KEPT: usize = 100;

/// The mistakes found in one file so far. Whoever finds one reports it and goes
/// on, so that a person sees all of them at once.
#[derive(Debug)]
pub struct Diagnostics {
    path: String,
    line_starts: Vec<usize>,
    found: Vec<Diagnostic>,
    reports: usize,
    spare: Diagnostic,
    last_is_kept: bool,
    pub(super) met: Option<Vec<Met>>,
    forms: Forms,
}

/// How something is written, in one line; none: nobody knows.
pub(crate) type Forms = fn(&str) -> Option<String>;

impl Diagnostics {
    /// None yet, for this source.
    pub fn new(source: &Source) -> Self {
        let after_breaks = source.text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            path: source.path.clone(),
            line_starts: std::iter::once(0).chain(after_breaks).collect(),
            found: Vec::new(),
            reports: 0,
            spare: empty(String::new(), "", 0..0, String::new()),
            last_is_kept: false,
            met: None,
            forms: |_| None,
        }
    }

    /// With the language's own examples of how things are written.
    #[must_use]
    pub(crate) fn with_forms(self, forms: Forms) -> Self {
        Self { forms, ..self }
    }

    /// How something is written, by what it is called in messages.
    pub(crate) fn form_of(&self, what: &str) -> Option<String> {
        // Of a file full of mistakes nobody reads the last ones.
        (!self.is_full()).then(|| (self.forms)(what)).flatten()
    }

    /// Reports one; what it returns takes label, help and a second place.
    pub fn report(
        &mut self,
        id: &'static str,
        span: &Span,
        title: impl Into<String>,
    ) -> &mut Diagnostic {
        self.reports += 1;
        let diagnostic = empty(self.path.clone(), id, span.clone(), title.into());
        let again = |one: &Diagnostic| {
            (one.id, &one.span, &one.title) == (id, &diagnostic.span, &diagnostic.title)
        };
        self.last_is_kept = !self.is_full() && !self.found.iter().any(again);
        if !self.last_is_kept {
            self.spare = diagnostic;
            return &mut self.spare;
        }
        self.found.push(diagnostic);
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// The one that was reported last.
    pub(crate) fn last(&mut self) -> &mut Diagnostic {
        match self.found.last_mut() {
            Some(last) if self.last_is_kept => last,
            _ => &mut self.spare,
        }
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether nothing more is kept; looking for good advice is then in vain.
    pub fn is_full(&self) -> bool {
        self.found.len() >= KEPT
    }

    /// How often something was reported so far, repeats included; to see later
    /// whether more came.
    pub fn reports(&self) -> usize {
        self.reports
    }

    /// The line of a place, from 1.
    pub fn line(&self, span: &Span) -> u32 {
        let line = self
            .line_starts
            .partition_point(|start| *start <= span.start);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    /// All of them by position. What was reported twice of one place, in two
    /// cases of a scenario, stands there once.
    pub fn finish(self) -> Vec<Diagnostic> {
        let mut seen = BTreeSet::new();
        let mut found: Vec<_> = self
            .found
            .into_iter()
            .filter(|one| seen.insert((one.id, one.span.start, one.span.end, one.title.clone())))
            .collect();
        found.sort_by_key(|one| (one.span.start, one.span.end));
        found
    }

    /// Those that are mistakes in `other`, too, by id and place.
    #[must_use]
    pub(crate) fn also_in(mut self, other: &Self) -> Self {
        self.found.retain(|one| {
            let mut there = other.found.iter();
            there.any(|two| two.id == one.id && two.span == one.span)
        });
        self
    }

    /// Takes over what another collector of the same file found.
    pub(crate) fn take(&mut self, other: Self) {
        let room = KEPT.saturating_sub(self.found.len());
        self.found.extend(other.found.into_iter().take(room));
    }
}

fn empty(path: String, id: &'static str, span: Span, title: String) -> Diagnostic {
    Diagnostic {
        id,
        path,
        span,
        title,
        label: String::new(),
        help: None,
        other: None,
        beyond_schema: false,
    }
}

impl Diagnostic {
    /// Sets what stands under the caret.
    pub fn label(&mut self, label: impl Into<String>) -> &mut Self {
        self.label = label.into();
        self
    }

    /// Sets what to write instead.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Says that no schema can know this, where one knows others of its id.
    pub fn beyond_schema(&mut self) -> &mut Self {
        self.beyond_schema = true;
        self
    }

    /// Sets a second place that explains it.
    pub fn other(&mut self, span: &Span, label: impl Into<String>) -> &mut Self {
        self.other = Some((span.clone(), label.into()));
        self
    }
}
