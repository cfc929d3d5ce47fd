//! How far a run is, on stderr: a bar on a terminal, a line now and then
//! elsewhere. The only file that knows the bar's library.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenarios::document::decode::counted;
use scenarios::verdict::CellVerdict;

use crate::output::Output;
use crate::run::RunEvent;

/// Lines that a whole run leaves where there is no terminal.
const LINES: usize = 10;

/// The cells of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// All that are planned, as the totals of the report count them.
    pub all: usize,
    /// Those that are done, or need no running.
    pub done: usize,
}

/// The state of the display.
pub struct Progress<'a> {
    bar: Option<ProgressBar>,
    counts: Counts,
    differ: usize,
    differs: &'a dyn Fn(&str, &CellVerdict) -> bool,
}

impl<'a> Progress<'a> {
    /// For a run of these cells. `differs` tells whether a cell, by its id,
    /// is other than expected.
    pub fn new(
        counts: Counts,
        terminal: bool,
        differs: &'a dyn Fn(&str, &CellVerdict) -> bool,
    ) -> Self {
        let bar = terminal.then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(counts.all as u64),
                ProgressDrawTarget::stderr(),
            );
            let style =
                ProgressStyle::with_template("{bar:30} {pos}/{len} cells  {elapsed}  {msg}");
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("━━─"));
            }
            bar.enable_steady_tick(std::time::Duration::from_millis(200));
            bar
        });
        Self {
            bar,
            counts,
            differ: 0,
            differs,
        }
    }

    /// Takes what the run tells.
    pub fn seen(&mut self, event: &RunEvent, output: &mut Output<'_>) {
        match event {
            RunEvent::Started { .. } => {}
            RunEvent::Finished { id, verdict } => {
                self.counts.done += 1;
                self.differ += usize::from((self.differs)(id, verdict));
                self.show(output);
            }
            RunEvent::Interrupted { missing } => {
                let cells = counted(*missing, "cell");
                self.tell(&format!("interrupted: {cells} will have no result"), output);
            }
        }
    }

    /// The run is over.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&self, output: &mut Output<'_>) {
        let differ = match self.differ {
            0 => String::new(),
            1 => "1 differs from the baseline".to_owned(),
            n => format!("{n} differ from the baseline"),
        };
        let Counts { all, done } = self.counts;
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            bar.set_message(differ);
            return;
        }
        // A line each time another tenth is done.
        let tenth = |done: usize| done * LINES / all.max(1);
        if tenth(done) > tenth(done - 1) {
            let comma = if differ.is_empty() { "" } else { ", " };
            let cells = counted(all, "cell");
            output.message(&format!("{done} of {cells}{comma}{differ}"));
        }
    }

    fn tell(&self, line: &str, output: &mut Output<'_>) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output.message(line)),
            None => output.message(line),
        }
    }
}

impl std::fmt::Debug for Progress<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Progress")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use scenarios::verdict::Verdict;

    #[test]
    fn without_a_terminal_ten_lines_tell_how_far_it_is() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output::new(&mut out, &mut err);
        let differs = |_: &str, verdict: &CellVerdict| verdict.verdict == Verdict::Fail;
        // Five cells can not run; they are counted as the totals count them.
        let counts = Counts { all: 100, done: 5 };
        let mut progress = Progress::new(counts, false, &differs);
        for number in 0..95 {
            let verdict = if number == 40 {
                Verdict::Fail
            } else {
                Verdict::Pass
            };
            let event = RunEvent::Finished {
                id: number.to_string(),
                verdict: Box::new(samples::verdict(verdict, &[])),
            };
            progress.seen(&event, &mut output);
        }
        progress.finish();
        let text = String::from_utf8(err).unwrap();
        assert_eq!(text.lines().count(), 10, "{text}");
        assert!(text.starts_with("10 of 100 cells\n"), "{text}");
        assert!(
            text.ends_with("100 of 100 cells, 1 differs from the baseline\n"),
            "{text}"
        );
        assert!(out.is_empty());
    }
}
