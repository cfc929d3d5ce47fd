//! Showing a record: the matrix on stdout, reports into files.

use reports::formats::{View, text};
use reports::record::RunRecord;

use super::Context;
use super::arguments::{Common, Shown};
use crate::failure::Failure;
use crate::run::folder::{try_place, write_whole};

/// Columns of a text report in a file.
const FILE_WIDTH: usize = 160;

/// Tries whether the reports can be written, so that a whole run is not lost on
/// a wrong path. To be asked once the run's folder is made: a report may go there.
pub(super) fn try_places(shown: &Shown, context: &Context<'_, '_>) -> Result<(), Failure> {
    for report in &shown.reports {
        try_place(&context.around.cwd.join(&report.path))
            .map_err(|error| Failure::place("cannot write the report", &report.path, &error))?;
    }
    Ok(())
}

/// Prints the matrix and writes the reports that are wanted.
pub(super) fn present(
    record: &RunRecord,
    shown: &Shown,
    common: &Common,
    context: &mut Context<'_, '_>,
) -> Result<(), Failure> {
    let view = shown.view(common, context.around);
    context
        .output
        .result((text::FORMAT.render)(record, &view))?;
    let file = View {
        width: FILE_WIDTH,
        color: false,
        all: shown.all,
    };
    for report in &shown.reports {
        let bytes = (report.format.render)(record, &file);
        write_whole(&context.around.cwd.join(&report.path), &bytes)
            .map_err(|error| Failure::file("cannot write the report", &report.path, &error))?;
    }
    Ok(())
}
