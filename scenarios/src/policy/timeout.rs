//! Which of the client's limits ends an answer, if any does.

use std::time::Duration;

use super::span::{MARGIN, Span};
use crate::faults::shown::Period;
use crate::manifest::ErrorKind;
use crate::plan::Limits;

/// Why a walk ends where nothing else ends an answer.
pub(super) const NO_END: &str =
    "undocumented: the client's own timeouts; the scenario sets no limit that ends this";

/// Why a walk ends where the time for the call may be up.
pub(super) const TOTAL_MAY_END_IT: &str =
    "not computable: `limits.total` may end the call at this point";

/// What the client dies of during a period of an answer, if it does, and how
/// much time passes. `elapsed` is the time since the call began.
pub(super) fn during(
    period: Period,
    limits: &Limits,
    elapsed: Span,
) -> Result<(Option<Vec<ErrorKind>>, Duration), String> {
    let (time, idle) = match period {
        Period::Silent(time) => (time, limits.idle),
        Period::Busy(time) => (time, None),
    };
    let idle = match (idle, time) {
        (Some(idle), Some(time)) if time.saturating_add(MARGIN) <= idle => None,
        (Some(idle), Some(time)) if time < idle.saturating_add(MARGIN) => {
            return Err("not computable: a silence about as long as `limits.idle`".to_owned());
        }
        (idle, _) => idle,
    };
    let idles = idle.map(|_| vec![ErrorKind::IdleTimeout]);
    let total_is_up = || Some(vec![ErrorKind::TotalTimeout]);
    let Some(ends) = idle.or(time) else {
        let total = limits.total.ok_or(NO_END)?;
        return Ok((total_is_up(), total));
    };
    let by_then = elapsed.plus(Span::exactly(ends));
    match limits.total {
        None => Ok((idles, ends)),
        Some(total) if by_then.surely_before(total) => Ok((idles, ends)),
        Some(total) if by_then.surely_after(total) => Ok((total_is_up(), total)),
        Some(_) if idle.is_none() => Err(TOTAL_MAY_END_IT.to_owned()),
        Some(total) => {
            let either = vec![ErrorKind::IdleTimeout, ErrorKind::TotalTimeout];
            Ok((Some(either), total))
        }
    }
}

/// How long the client tries to connect where nobody answers.
pub(super) fn connecting(limits: &Limits, elapsed: Span) -> Result<Duration, String> {
    let connect = limits.connect.ok_or(NO_END)?;
    let by_then = elapsed.plus(Span::exactly(connect));
    match limits.total {
        Some(total) if !by_then.surely_before(total) => Err(TOTAL_MAY_END_IT.to_owned()),
        _ => Ok(connect),
    }
}
