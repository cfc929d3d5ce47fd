//! Arguments that several commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use reports::formats::{self, Format, View};
use reports::time::RealTime;

use crate::failure::Failure;
use crate::output::Output;
use crate::surroundings::Surroundings;

/// Where things are and how they are shown.
#[derive(Debug, Args)]
pub(super) struct Common {
    /// Folder with the suite, the clients and the baseline
    ///
    /// Default: the nearest folder from the current one upwards that has
    /// `scenarios/suite` and `clients`, else the source tree that this program
    /// was built from.
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,

    /// Folder with clients of your own; can be given several times
    ///
    /// Manifests lie in it as NAME.yaml or ECOSYSTEM/NAME.yaml, and are added to those
    /// of the root.
    #[arg(long = "clients", value_name = "DIR")]
    pub(super) client_folders: Vec<PathBuf>,

    /// Folder with scenarios of your own; can be given several times
    ///
    /// They lie in it as AREA/NAME.yaml, and are added to those of the root.
    #[arg(long = "scenarios", value_name = "DIR")]
    pub(super) scenario_folders: Vec<PathBuf>,

    /// Whether to use colour; marks differ without it too
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) color: When,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// On a terminal, unless NO_COLOR is set or TERM is `dumb`
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Common {
    /// Whether results are coloured.
    pub(super) fn color_results(&self, around: &Surroundings) -> bool {
        self.color.decide(around.stdout_is_terminal, around)
    }

    /// Whether messages are coloured.
    pub(super) fn color_messages(&self, around: &Surroundings) -> bool {
        self.color.decide(around.stderr_is_terminal, around)
    }
}

impl When {
    fn decide(self, terminal: bool, around: &Surroundings) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => terminal && !around.no_color,
        }
    }
}

/// How the result of a run is shown and where else it goes.
#[derive(Debug, Args)]
pub(super) struct Shown {
    /// Write a report to a file; can be given several times
    #[arg(long = "report", value_name = "FORMAT=PATH", value_parser = report,
        long_help = report_help())]
    pub(super) reports: Vec<Report>,

    /// Show each case of a sweep in a row of its own, and the known
    /// differences with their reasons
    #[arg(long)]
    pub(super) all: bool,
}

impl Shown {
    /// How the matrix is printed.
    pub(super) fn view(&self, common: &Common, around: &Surroundings) -> View {
        View {
            width: around.width,
            color: common.color_results(around),
            all: self.all,
        }
    }
}

/// One report that is wanted.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) format: &'static Format,
    pub(super) path: PathBuf,
}

fn report_help() -> String {
    let mut help = String::from("Write a report to a file; can be given several times\n\nFormats:");
    for format in formats::ALL {
        help.push_str(&format!("\n- {}: {}", format.word, format.summary));
    }
    help
}

fn report(text: &str) -> Result<Report, String> {
    let words: Vec<&str> = formats::ALL.iter().map(|format| format.word).collect();
    let (word, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or_else(|| format!("write FORMAT=PATH, as in `{}=report.xml`", words.join("|")))?;
    let format = formats::find(word)
        .ok_or_else(|| format!("there is no format `{word}`, only {}", words.join(", ")))?;
    Ok(Report {
        format,
        path: PathBuf::from(path),
    })
}

/// Which time cells run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Time {
    /// Virtual where this machine can, else real, with a line that says why
    Auto,
    /// Waiting takes no time: clients run traced, with clocks that jump over it.
    /// Cases that depend on the kernel's own timers run in real time
    Virtual,
    /// Waiting is waited for
    Real,
}

impl Time {
    /// Why cells run in real time; none: they run in virtual time.
    ///
    /// # Errors
    /// When virtual time is asked for and can not be had.
    pub(super) fn real_time(self, output: &mut Output<'_>) -> Result<Option<RealTime>, Failure> {
        match (self, virtual_time::probe()) {
            (Self::Real, _) => Ok(Some(RealTime::not_asked())),
            (_, Ok(())) => Ok(None),
            (Self::Virtual, Err(why)) => Err(Failure::usage(format!("--time virtual: {why}"))),
            (Self::Auto, Err(why)) => {
                output.message(&format!("time: real, because {why}"));
                Ok(Some(RealTime::unavailable(why)))
            }
        }
    }
}

/// Which time the cells of a run run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RunTime {
    /// Virtual where this machine can, else real, with a line that says why
    Auto,
    /// Waiting takes no time: clients run traced, with clocks that jump over it.
    /// Cases that depend on the kernel's own timers run in real time
    Virtual,
    /// Waiting is waited for
    Real,
    /// Virtual, then real: the run is done twice, and what differs is told
    Both,
}

impl RunTime {
    /// The one time that they run in; none: in both.
    ///
    /// # Errors
    /// When both are asked for and can not be had.
    pub(super) fn single(self) -> Result<Option<Time>, Failure> {
        match self {
            Self::Auto => Ok(Some(Time::Auto)),
            Self::Virtual => Ok(Some(Time::Virtual)),
            Self::Real => Ok(Some(Time::Real)),
            Self::Both => virtual_time::probe()
                .map(|()| None)
                .map_err(|why| Failure::usage(format!("--time both: {why}"))),
        }
    }
}
