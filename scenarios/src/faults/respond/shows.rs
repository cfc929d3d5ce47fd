//! What an answer shows to a client that keeps to its policy.

use scripted_servers::wire::{End, Position};

use super::{Framing, Respond, ResponsePoint};
use crate::faults::common::shown::{Arrives, Comes, Met, Period, retry_after};
use crate::manifest::ErrorKind;
use crate::plan::Content;
use crate::template::Bindings;

/// What an answer shows.
pub(super) fn met(respond: &Respond, names: &Bindings) -> Met {
    if respond.is_never_answered() {
        return Met {
            periods: vec![Period::Busy(None)],
            ..Met::new(Arrives::Yes, Comes::Nothing)
        };
    }
    let length = respond.body.as_ref().map_or(Some(0), |body| match body {
        Content::Endless(_) => None,
        body => Some(body.likely_length(names)),
    });
    let mut periods = periods(respond, length);
    let lies = respond.says_length.zip(length);
    let waits_for_more = lies.is_some_and(|(says, length)| says > length);
    let met = Met::new(Arrives::Yes, answer(respond, names, lies.is_none()));
    let (comes, forever) = match respond.cut {
        Some((point, End::Reset)) => (Comes::Fails(vec![cut_kind(point, ErrorKind::Reset)]), false),
        Some((point, End::Close | End::HalfClose)) if ends_it(respond, point) => {
            (met.comes.clone(), false)
        }
        Some((point, End::Close | End::HalfClose)) => (
            Comes::Fails(vec![cut_kind(point, ErrorKind::Closed)]),
            false,
        ),
        Some((_, End::Hang)) => (Comes::Nothing, true),
        None => (met.comes.clone(), waits_for_more),
    };
    if forever {
        periods.push(Period::Silent(None));
    }
    Met {
        periods,
        comes,
        ..met
    }
}

fn answer(respond: &Respond, names: &Bindings, truthful: bool) -> Comes {
    let field = |name: &str| {
        let found = respond.headers.iter();
        let mut found = found.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.clone())
    };
    let says_close =
        field("connection").is_some_and(|value| value.render(names).eq_ignore_ascii_case("close"));
    let kept = truthful && !says_close && respond.framing != Framing::Close;
    let in_headers = field("retry-after").map(|value| retry_after(value.render(names)));
    Comes::Answer {
        status: respond.status,
        location: field("location"),
        retry_after: respond.retry_after.clone().or(in_headers),
        kept: kept.then_some(None),
    }
}

/// The time that an answer takes, before its end is looked at.
fn periods(respond: &Respond, length: Option<u64>) -> Vec<Period> {
    let mut periods = Vec::new();
    if let Some((bytes, every)) = respond.drip {
        let pieces = length.map(|length| length.div_ceil(bytes.max(1)));
        let pieces = pieces.map(|pieces| u32::try_from(pieces).unwrap_or(u32::MAX));
        // A client that survives one pause between two pieces survives all.
        periods.push(Period::Silent(Some(every)));
        periods.push(Period::Busy(
            pieces.map(|pieces| every.saturating_mul(pieces)),
        ));
    } else if length.is_none() {
        periods.push(Period::Busy(None));
    }
    if let Some((_, time)) = respond.stall {
        periods.push(Period::Silent(Some(time)));
    }
    periods
}

/// Without a byte of the answer it is a reset or a close, later a cut answer.
fn cut_kind(point: ResponsePoint, at_once: ErrorKind) -> ErrorKind {
    match point {
        ResponsePoint::Head(Position::Bytes(0)) => at_once,
        _ => ErrorKind::Truncated,
    }
}

/// Where the end of the connection tells the end of the content, closing in the
/// content looks like its end.
fn ends_it(respond: &Respond, point: ResponsePoint) -> bool {
    respond.framing == Framing::Close
        && !matches!(point, ResponsePoint::Head(_))
        && !point.is_of_events()
}
