//! `gap`: from the end of one attempt to the first byte of the next.

use std::time::Duration;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::{Expected, Words, values};
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::judge::facts::Exchange;
use crate::judge::time::{Bounded, bounded};
use crate::matcher::Matcher;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    word: "gap",
    summary: "time from the end of one answer or failure to the first byte of the next attempt",
    example: "gap: { at_least: 1s, at_most: 2200ms }",
    decode,
};

/// A range, or `by-policy`.
pub fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    values::range_of_time(node, "`gap`", true, scope).map(Assertion::Gap)
}

/// The time between two attempts of a call at a server.
struct Wait<'a> {
    /// Which wait at this server, from 0.
    number: usize,
    time: Duration,
    before: &'a Exchange,
    after: &'a Exchange,
}

/// Every wait by itself: too short is an early retry, too long a late one.
/// Without a second attempt there is nothing to judge, which is fine if the
/// client promises none.
pub fn judge(expected: &Expected<Duration>, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for call in case.calls_of(of) {
        let waits = waits(call, of);
        if waits.is_empty() {
            if case.prediction.promises_a_wait(call.id, of) && !call.stopped {
                out.doubt(format!(
                    "the client's policy promises another attempt of call {}, and none came",
                    call.id
                ));
            }
            continue;
        }
        for wait in &waits {
            one(expected, wait, call, case, &mut out);
        }
    }
    out
}

fn one(
    expected: &Expected<Duration>,
    wait: &Wait<'_>,
    call: &CallView<'_>,
    case: &Case<'_>,
    out: &mut Checked,
) {
    let server = &wait.before.place.server;
    match expected {
        Expected::Fits(range) => held(range, "", wait, call, case, out),
        Expected::Shown => {
            let number = wait.number + 1;
            let time = wait.time.words();
            out.note(format!(
                "gap {number} of call {} at {server}: {time}",
                call.id
            ));
        }
        Expected::ByPolicy => match case.prediction.wait(call.id, server, wait.number) {
            Ok(Some(range)) => {
                let words = range.words();
                let number = wait.number + 1;
                out.note(format!(
                    "by-policy, gap {number} of call {}: {words}",
                    call.id
                ));
                held(
                    &range,
                    ", by the client's declared policy",
                    wait,
                    call,
                    case,
                    out,
                );
            }
            // More attempts than promised: the counts say so.
            Ok(None) => {}
            Err(missing) => out.doubt(missing),
        },
    }
}

fn held(
    range: &Matcher<Duration>,
    by: &str,
    wait: &Wait<'_>,
    call: &CallView<'_>,
    case: &Case<'_>,
    out: &mut Checked,
) {
    let name = match bounded(range, wait.time, case.facts.client.run_delay_us) {
        Bounded::Within => return out.good(),
        Bounded::Doubtful(why) => return out.doubt(why),
        Bounded::TooShort => FindingName::EarlyRetry,
        Bounded::TooLong => FindingName::LateRetry,
    };
    let over = wait.before.over().map(|mark| mark.n);
    out.wrong(Raised::new(
        name,
        format!("a gap of {} in call {}{by}", range.words(), call.id),
        format!(
            "{} before attempt {}",
            wait.time.words(),
            wait.after.attempt
        ),
        over.into_iter().chain([wait.after.began().n]),
    ));
}

/// The waits of a call, server by server. A redirect that is followed is no new
/// attempt: the next request has another target, and there is nothing to wait
/// for.
fn waits<'a>(call: &CallView<'a>, of: &Of) -> Vec<Wait<'a>> {
    let mut waits = Vec::new();
    let mut servers: Vec<&str> = Vec::new();
    for exchange in &call.exchanges {
        if !servers.contains(&exchange.place.server.as_str()) {
            servers.push(&exchange.place.server);
        }
    }
    for server in servers {
        let attempts = call.exchanges.iter();
        let attempts: Vec<&Exchange> = attempts
            .filter(|one| one.place.server == server && one.attempt > 0)
            .copied()
            .collect();
        let mut number = 0;
        for pair in attempts.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            if followed(before, after) {
                continue;
            }
            if let (Some(over), true) = (before.over(), after.is_of(of)) {
                let time = after.began().at_us.saturating_sub(over.at_us);
                waits.push(Wait {
                    number,
                    time: Duration::from_micros(time),
                    before,
                    after,
                });
            }
            number += 1;
        }
    }
    waits
}

fn followed(before: &Exchange, after: &Exchange) -> bool {
    let target = |one: &Exchange| one.head.as_ref().map(|head| head.target.clone());
    let redirect = matches!(before.status(), Some(301 | 302 | 303 | 307 | 308));
    redirect && target(before) != target(after)
}
