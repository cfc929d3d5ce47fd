//! The servers' side of the walk: what a perfect server shows to a request.

use std::collections::BTreeMap;
use std::time::Duration;

use scripted_servers::script::{ConnectionAct, ConnectionUse, FieldTest, PathPattern, Times, When};
use scripted_servers::wire::{End, IdleEnd, Position, RequestPoint};

use super::raw::{self, Read};
use crate::counter::fits;
use crate::faults::Fault;
use crate::faults::cut::Cut;
use crate::faults::raw::{Raw, RawPart};
use crate::faults::respond::{Framing, Respond, ResponsePoint, RetryAfter};
use crate::manifest::ErrorKind;
use crate::plan::{Content, Plan, QueuePlan, ServerPlan, StepPlan};
use crate::target::{self, Target};
use crate::template::Template;

/// Up to this size a request is in the server's kernel as a whole, wherever it
/// is cut.
const WHOLE_IN_KERNEL: u64 = 16 << 10;

/// With so much still to come at the point of a cut, the request can not be.
const TOO_MUCH_FOR_KERNEL: u64 = 1 << 20;

/// A request of the walk.
pub(super) struct Asked<'r> {
    pub target: &'r Target,
    /// None where the client may choose it.
    pub method: Option<&'r str>,
    pub headers: &'r [(String, String)],
    pub content: u64,
    pub reused: bool,
}

/// Whether a request arrives as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrives {
    Yes,
    No,
    Perhaps,
}

/// A time in which an answer is on its way; without end where it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    /// Not a byte.
    Silent(Option<Duration>),
    /// Bytes all the time.
    Busy(Option<Duration>),
}

/// What comes in the end.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Comes {
    Answer {
        status: u16,
        location: Option<Template>,
        retry_after: Option<RetryAfter>,
        /// Whether the connection is kept, and how it ends when it stays idle.
        kept: Option<Option<(IdleEnd, Duration)>>,
    },
    Fails(Vec<ErrorKind>),
    /// Nothing that a client could tell from a slow answer.
    Nothing,
}

/// What a request meets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Met {
    pub arrives: Arrives,
    /// Whether a route expects it.
    pub routed: bool,
    pub periods: Vec<Period>,
    pub comes: Comes,
}

impl Met {
    fn new(arrives: Arrives, comes: Comes) -> Self {
        Self {
            arrives,
            routed: true,
            periods: Vec::new(),
            comes,
        }
    }

    fn silent(arrives: Arrives) -> Self {
        Self {
            periods: vec![Period::Silent(None)],
            ..Self::new(arrives, Comes::Nothing)
        }
    }
}

/// The servers of a case, as far as the walk has used them up.
pub(super) struct Servers<'a> {
    plan: &'a Plan,
    accepted: BTreeMap<&'a str, usize>,
    taken: BTreeMap<(&'a str, usize, usize), u32>,
}

impl<'a> Servers<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            accepted: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    /// What is done with one more connection.
    pub(super) fn accept(&mut self, server: &'a ServerPlan) -> ConnectionAct {
        let accepted = self.accepted.entry(&server.name).or_default();
        let acts = &server.connections;
        let act = acts.get(*accepted).or(acts.last());
        *accepted += 1;
        act.copied().unwrap_or(ConnectionAct::Serve)
    }

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

    /// What a request meets on a connection that is served.
    pub(super) fn ask(&mut self, server: &'a ServerPlan, asked: &Asked<'_>) -> Result<Met, String> {
        let Some((place, queue)) = route(server, asked)? else {
            let comes = Comes::Answer {
                status: 404,
                location: None,
                retry_after: None,
                kept: Some(None),
            };
            return Ok(Met {
                routed: false,
                ..Met::new(Arrives::Yes, comes)
            });
        };
        let mut last = None;
        let mut found = None;
        for (number, step) in queue.steps.iter().enumerate() {
            if !when_fits(&step.when, asked)? {
                continue;
            }
            last = Some((number, step));
            let taken = self.taken.get(&(server.name.as_str(), place, number));
            let left = match step.times {
                Times::Always => true,
                Times::Count(count) => taken.copied().unwrap_or(0) < count,
            };
            if left {
                found = last;
                break;
            }
        }
        let Some((number, step)) = found.or(last) else {
            return Err("undocumented: no step fits, and nobody says what then".to_owned());
        };
        *self
            .taken
            .entry((server.name.as_str(), place, number))
            .or_default() += 1;
        self.step(step, asked.content)
    }

    fn step(&self, step: &StepPlan, content: u64) -> Result<Met, String> {
        let mut met = match &step.fault {
            Fault::Cut(cut) => cut_met(cut, content),
            Fault::Raw(raw) => self.raw_met(raw)?,
            Fault::Respond(respond) => self.respond_met(respond),
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

    fn raw_met(&self, raw: &Raw) -> Result<Met, String> {
        let names = target::stand_ins(&self.plan.servers);
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

    fn respond_met(&self, respond: &Respond) -> Met {
        let length = respond.body.as_ref().map_or(Some(0), |body| match body {
            Content::Endless(_) => None,
            body => Some(target::length(self.plan, body)),
        });
        let mut periods = Vec::new();
        if let Some((bytes, every)) = respond.drip {
            let pieces = length.map(|length| length.div_ceil(bytes.max(1)));
            let time = pieces
                .map(|pieces| every.saturating_mul(u32::try_from(pieces).unwrap_or(u32::MAX)));
            // Between two pieces there is silence; once over the whole is as
            // good as once over one pause.
            periods.push(Period::Silent(Some(every)));
            periods.push(Period::Busy(time));
        } else if length.is_none() {
            periods.push(Period::Busy(None));
        }
        if let Some((_, time)) = respond.stall {
            periods.push(Period::Silent(Some(time)));
        }
        let lies = respond.says_length.zip(length);
        let waits_for_more = lies.is_some_and(|(says, length)| says > length);
        let met = Met::new(Arrives::Yes, self.answer(respond, lies.is_none()));
        let (comes, forever) = match respond.cut {
            Some((point, End::Reset)) => {
                (Comes::Fails(vec![cut_kind(point, ErrorKind::Reset)]), false)
            }
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

    fn answer(&self, respond: &Respond, truthful: bool) -> Comes {
        let field = |name: &str| {
            let found = respond.headers.iter();
            let mut found = found.filter(|(key, _)| key.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.clone())
        };
        let names = target::stand_ins(&self.plan.servers);
        let says_close = field("connection")
            .is_some_and(|value| value.render(&names).eq_ignore_ascii_case("close"));
        let kept = truthful && !says_close && respond.framing != Framing::Close;
        let in_headers = field("retry-after").map(|value| retry_after(value.render(&names)));
        Comes::Answer {
            status: respond.status,
            location: field("location"),
            retry_after: respond.retry_after.clone().or(in_headers),
            kept: kept.then_some(None),
        }
    }
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

/// The queue that takes a request: the longest path, then one with a method.
fn route<'a>(
    server: &'a ServerPlan,
    asked: &Asked<'_>,
) -> Result<Option<(usize, &'a QueuePlan)>, String> {
    let path = asked.target.path.as_str();
    let mut best: Option<((usize, bool, bool), usize, &QueuePlan)> = None;
    for (place, queue) in server.queues.iter().enumerate() {
        let method = asked.method.or(queue.route.method.as_deref());
        if !fits(&queue.route, method.unwrap_or("GET"), path) {
            continue;
        }
        if asked.method.is_none() && queue.route.method.is_some() {
            return Err(super::walk::UNKNOWN_METHOD.to_owned());
        }
        let with_method = queue.route.method.is_some();
        let rank = match &queue.route.path {
            PathPattern::Any => (0, false, with_method),
            PathPattern::Prefix(prefix) => (prefix.len(), false, with_method),
            PathPattern::Exact(exact) => (exact.len(), true, with_method),
        };
        if best.as_ref().is_none_or(|(other, _, _)| rank > *other) {
            best = Some((rank, place, queue));
        }
    }
    Ok(best.map(|(_, place, queue)| (place, queue)))
}

fn when_fits(when: &When, asked: &Asked<'_>) -> Result<bool, String> {
    if when.since.is_some() || when.until.is_some() || when.json.is_some() {
        return Err("undocumented: a step's `when` that the walk can not follow".to_owned());
    }
    let connection = when.connection.is_none_or(|wanted| {
        let reused = wanted == ConnectionUse::Reused;
        reused == asked.reused
    });
    let method = match (&when.method, asked.method) {
        (None, _) => true,
        (Some(wanted), Some(method)) => wanted == method,
        (Some(_), None) => return Err(super::walk::UNKNOWN_METHOD.to_owned()),
    };
    let header = match &when.header {
        None => true,
        Some((name, test)) => {
            let mut sent = asked.headers.iter();
            let sent = sent.find(|(key, _)| key.eq_ignore_ascii_case(name));
            match (test, sent) {
                // A client may add fields of its own.
                (_, None) => {
                    return Err(format!(
                        "undocumented: whether the client sends the header field {name}"
                    ));
                }
                (FieldTest::Present, Some(_)) => true,
                (FieldTest::Absent, Some(_)) => false,
                (FieldTest::Equals(value), Some((_, sent))) => sent == value,
            }
        }
    };
    Ok(connection && method && header)
}
