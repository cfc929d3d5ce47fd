//! `fleet`: several processes of one client, each with the same work.
//!
//! Their calls are numbered on from process to process, so that whoever looks at calls
//! sees more of them and nothing else.

use crate::document::decode::Fields;
use crate::document::ids;
use crate::document::kind::Kind;
use crate::plan::Call;

use super::work::MOST_CALLS;
use crate::reading::Reading;

/// Most processes of one cell.
const MOST_PROCESSES: u64 = 200;

/// `fleet`.
pub(super) fn kind() -> Kind {
    Kind::Number(2..=MOST_PROCESSES)
}

/// Reads how many processes there are, and makes the calls of all of them out of those
/// of one.
pub(super) fn fleet(
    document: &Fields<'_>,
    calls: Vec<Call>,
    reading: &mut Reading<'_>,
) -> Option<(u32, Vec<Call>)> {
    let Some(node) = document.get("fleet") else {
        return Some((1, calls));
    };
    let number = node.number("`fleet`", 2..=MOST_PROCESSES, reading.out)?;
    let each = u64::try_from(calls.len()).unwrap_or(u64::MAX);
    if number.saturating_mul(each) > MOST_CALLS {
        let title = "too many calls";
        let out = &mut *reading.out;
        out.report(ids::TOO_MANY_CALLS, &node.span, title)
            .label(format!(
                "more than {MOST_CALLS}, with {each} of each process"
            ))
            .help("start fewer processes, or let each make fewer calls");
        return None;
    }
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    Some((number, of_each_process(calls, number)))
}

/// The calls of so many processes that make these each.
pub(crate) fn of_each_process(calls: Vec<Call>, processes: u32) -> Vec<Call> {
    let each = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    let of_process = |process: u32| {
        calls.iter().cloned().map(move |call| Call {
            id: process * each + call.id,
            ..call
        })
    };
    (0..processes).flat_map(of_process).collect()
}
