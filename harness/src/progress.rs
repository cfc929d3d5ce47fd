//! How far a run is, on stderr: a bar on a terminal, a line now and then
//! elsewhere. The only file that knows the bar's library.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenarios::verdict::CellVerdict;

use crate::output::Output;
use crate::run::RunEvent;

/// Lines that a whole run leaves where there is no terminal.
const LINES: usize = 10;

/// The state of the display.
pub struct Progress<'a> {
    bar: Option<ProgressBar>,
    all: usize,
    done: usize,
    differ: usize,
    differs: &'a dyn Fn(&str, &CellVerdict) -> bool,
}

impl<'a> Progress<'a> {
    /// For a run of so many cells. `differs` tells whether a cell, by its id,
    /// is other than expected.
    pub fn new(
        all: usize,
        terminal: bool,
        differs: &'a dyn Fn(&str, &CellVerdict) -> bool,
    ) -> Self {
        let bar = terminal.then(|| {
            let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::stderr());
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
            all,
            done: 0,
            differ: 0,
            differs,
        }
    }

    /// Takes what the run tells.
    pub fn seen(&mut self, event: &RunEvent, output: &mut Output<'_>) {
        match event {
            RunEvent::Started { .. } => {}
            RunEvent::Finished { id, verdict } => {
                self.done += 1;
                self.differ += usize::from((self.differs)(id, verdict));
                self.show(output);
            }
            RunEvent::Interrupted { missing } => {
                self.tell(
                    &format!("interrupted: {missing} cells will have no result"),
                    output,
                );
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
            n => format!("{n} differ from the baseline"),
        };
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
            bar.set_message(differ);
            return;
        }
        // A line each time another tenth is done.
        let tenth = |done: usize| done * LINES / self.all.max(1);
        if tenth(self.done) > tenth(self.done - 1) {
            let comma = if differ.is_empty() { "" } else { ", " };
            output.message(&format!(
                "{} of {} cells{comma}{differ}",
                self.done, self.all
            ));
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
            .field("done", &self.done)
            .field("all", &self.all)
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
        let mut progress = Progress::new(95, false, &differs);
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
        assert!(text.starts_with("10 of 95 cells\n"), "{text}");
        assert!(
            text.ends_with("95 of 95 cells, 1 differ from the baseline\n"),
            "{text}"
        );
        assert!(out.is_empty());
    }
}
