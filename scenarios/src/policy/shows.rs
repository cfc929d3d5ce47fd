//! What a step shows to a request: whether the request arrives, how long the
//! answer takes, and what comes in the end.

use scripted_servers::script::ConnectionAct;
use scripted_servers::wire::{End, Position, RequestPoint};

use super::raw::{self, Read};
use super::wire::{Arrives, Comes, Met, Period};
use crate::faults::Fault;
use crate::faults::cut::Cut;
use crate::faults::raw::{Raw, RawPart};
use crate::faults::respond::{Framing, Respond, ResponsePoint, RetryAfter};
use crate::manifest::ErrorKind;
use crate::plan::{Content, Plan, StepPlan};
use crate::target;
use crate::template::Template;

/// Up to this size a request is in the server's kernel as a whole, wherever it
/// is cut.
const WHOLE_IN_KERNEL: u64 = 16 << 10;

/// With so much still to come at the point of a cut, the request can not be.
const TOO_MUCH_FOR_KERNEL: u64 = 1 << 20;

/// What a request meets on a connection that is not served.
pub(super) fn unserved(act: ConnectionAct, content: u64) -> Met {
    let arrives = if content <= WHOLE_IN_KERNEL {
        Arrives::Yes
    } else {
        Arrives::Perhaps
    };
    match act {
        ConnectionAct::Reset => Met::new(arrives, Comes::Fails(vec![ErrorKind::Reset])),
        ConnectionAct::Close => Met::new(arrives, Comes::Fails(closed(content))),
        ConnectionAct::Hang | ConnectionAct::Serve => Met::silent(arrives),
    }
}

/// What a step shows to a request with so much content.
pub(super) fn step(plan: &Plan, step: &StepPlan, content: u64) -> Result<Met, String> {
    let mut met = match &step.fault {
        Fault::Cut(cut) => cut_met(cut, content),
        Fault::Raw(raw) => raw_met(plan, raw)?,
        Fault::Respond(respond) => respond_met(plan, respond),
    };
    if !step.delay.is_zero() {
        met.periods.insert(0, Period::Silent(Some(step.delay)));
    }
    if let (Comes::Answer { kept, .. }, Some(then)) = (&mut met.comes, step.then)
        && kept.is_some()
    {
        *kept = Some(Some(then));
    }
    Ok(met)
}

fn raw_met(plan: &Plan, raw: &Raw) -> Result<Met, String> {
    let names = target::stand_ins(&plan.servers);
    let mut bytes = Vec::new();
    let mut periods = Vec::new();
    for part in &raw.parts {
        match part {
            RawPart::Text(text) => bytes.extend(text.render(&names).into_bytes()),
            RawPart::Hex(hex) => bytes.extend(hex),
            RawPart::Pause(time) => periods.push(Period::Silent(Some(*time))),
        }
    }
    let mut met = match raw::read(&bytes) {
        Read::Malformed => Met::new(Arrives::Yes, Comes::Fails(vec![ErrorKind::Malformed])),
        Read::Unfinished => Met::silent(Arrives::Yes),
        Read::Unclear => {
            return Err("undocumented: what the client makes of these raw bytes".to_owned());
        }
        Read::Answer {
            status,
            headers,
            clean,
        } => {
            let field = |name: &str| {
                let found = headers
                    .iter()
                    .find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.clone())
            };
            let comes = Comes::Answer {
                status,
                // Rendered with stand-in addresses, which lead back to the
                // servers they stand for.
                location: field("location").map(Template::text),
                retry_after: field("retry-after").map(retry_after),
                kept: clean.then_some(None),
            };
            Met::new(Arrives::Yes, comes)
        }
    };
    met.periods.splice(0..0, periods);
    Ok(met)
}

fn respond_met(plan: &Plan, respond: &Respond) -> Met {
    let length = respond.body.as_ref().map_or(Some(0), |body| match body {
        Content::Endless(_) => None,
        body => Some(target::length(plan, body)),
    });
    let mut periods = periods(respond, length);
    let lies = respond.says_length.zip(length);
    let waits_for_more = lies.is_some_and(|(says, length)| says > length);
    let met = Met::new(Arrives::Yes, answer(plan, respond, lies.is_none()));
    let (comes, forever) = match respond.cut {
        Some((point, End::Reset)) => (Comes::Fails(vec![cut_kind(point, ErrorKind::Reset)]), false),
        Some((point, End::Close)) if ends_it(respond, point) => (met.comes.clone(), false),
        Some((point, End::Close)) => (
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

fn answer(plan: &Plan, respond: &Respond, truthful: bool) -> Comes {
    let field = |name: &str| {
        let found = respond.headers.iter();
        let mut found = found.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.clone())
    };
    let names = target::stand_ins(&plan.servers);
    let says_close =
        field("connection").is_some_and(|value| value.render(&names).eq_ignore_ascii_case("close"));
    let kept = truthful && !says_close && respond.framing != Framing::Close;
    let in_headers = field("retry-after").map(|value| retry_after(value.render(&names)));
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

/// The value of a header field as the language would say it.
fn retry_after(value: String) -> RetryAfter {
    match value.parse() {
        Ok(seconds) => RetryAfter::Seconds(seconds),
        Err(_) => RetryAfter::Text(value),
    }
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
    respond.framing == Framing::Close && !matches!(point, ResponsePoint::Head(_))
}

fn cut_met(cut: &Cut, content: u64) -> Met {
    let arrives = arrives(cut.after, content);
    match cut.with {
        End::Reset => Met::new(arrives, Comes::Fails(vec![ErrorKind::Reset])),
        End::Close if arrives == Arrives::Yes => {
            Met::new(arrives, Comes::Fails(vec![ErrorKind::Closed]))
        }
        End::Close => Met::new(arrives, Comes::Fails(closed(content))),
        End::Hang => Met::silent(arrives),
    }
}

/// A client that is still sending when the server closes gets a reset for it,
/// and may see either.
fn closed(content: u64) -> Vec<ErrorKind> {
    if content <= WHOLE_IN_KERNEL {
        vec![ErrorKind::Closed]
    } else {
        vec![ErrorKind::Closed, ErrorKind::Reset]
    }
}

fn arrives(point: RequestPoint, content: u64) -> Arrives {
    let to_come = match point {
        RequestPoint::Request => return Arrives::Yes,
        RequestPoint::Head(_) => content,
        RequestPoint::Body(position) => content.saturating_sub(place(position, content)),
    };
    match to_come {
        0 => Arrives::Yes,
        _ if content <= WHOLE_IN_KERNEL => Arrives::Yes,
        TOO_MUCH_FOR_KERNEL.. => Arrives::No,
        _ => Arrives::Perhaps,
    }
}

fn place(position: Position, content: u64) -> u64 {
    match position {
        Position::Bytes(bytes) => bytes,
        Position::Half => content / 2,
        Position::Last => content.saturating_sub(1),
        Position::All => content,
    }
}
