//! Which route takes a request, and which step of its queue is due.
//!
//! Pure choice over facts; nothing here counts turns or touches a connection.

use std::time::Duration;

use crate::request::Head;
use crate::script::{ConnectionUse, FieldTest, Queue, Step, Times, When};

/// What is known of a request when its step is chosen.
pub(crate) struct Facts<'a> {
    /// Whether the connection has carried a request before.
    pub(crate) reused: bool,
    /// Time since the server's first request.
    pub(crate) since_first: Duration,
    /// The head; none: only the first byte has arrived.
    pub(crate) head: Option<&'a Head>,
    /// The content as JSON; none: it is none, or nothing looks into it.
    pub(crate) content: Option<&'a serde_json::Value>,
}

/// The outcome of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// This step takes the request.
    Step(usize),
    /// That shows only with the complete head.
    WithHead,
    /// No step fits.
    Nothing,
}

/// Which queue takes a request: that with the longest path that fits, an exact
/// path before a prefix, then one with a method before one without.
pub(crate) fn route(queues: &[Queue], method: &str, target: &str) -> Option<usize> {
    let fitting = queues.iter().enumerate().filter_map(|(place, queue)| {
        let closeness = queue.route.closeness(method, target)?;
        // The first of equals wins, as `max_by_key` takes the last of them.
        Some(((closeness, usize::MAX - place), place))
    });
    fitting.max_by_key(|(key, _)| *key).map(|(_, place)| place)
}

/// Which step of a queue takes a request, given how often each was taken: the
/// first that has turns left and fits; when none has, the last that fits.
///
/// With only the first byte there, nothing but a step inside the head is due.
pub(crate) fn due(steps: &[Step], taken: &[u32], facts: &Facts<'_>) -> Due {
    let has_turns = |place: usize| match steps[place].times {
        Times::Always => true,
        Times::Count(times) => taken.get(place).copied().unwrap_or(0) < times,
    };
    let with_turns = (0..steps.len()).filter(|place| has_turns(*place));
    // A step without turns left comes after all others, the last one first.
    let without = (0..steps.len()).rev().filter(|place| !has_turns(*place));
    first_fit(steps, with_turns.chain(without), facts)
}

fn first_fit(steps: &[Step], places: impl Iterator<Item = usize>, facts: &Facts<'_>) -> Due {
    for place in places {
        let step = &steps[place];
        if facts.head.is_none() && asks_for_request(&step.when) {
            return Due::WithHead;
        }
        if fits(&step.when, facts) {
            return if facts.head.is_some() || step.inside_head {
                Due::Step(place)
            } else {
                Due::WithHead
            };
        }
    }
    Due::Nothing
}

fn asks_for_request(when: &When) -> bool {
    when.header.is_some() || when.json.is_some() || when.method.is_some()
}

fn fits(when: &When, facts: &Facts<'_>) -> bool {
    let connection = when
        .connection
        .is_none_or(|wanted| facts.reused == (wanted == ConnectionUse::Reused));
    let since = when.since.is_none_or(|since| facts.since_first >= since);
    let until = when.until.is_none_or(|until| facts.since_first < until);
    connection && since && until && fits_request(when, facts)
}

fn fits_request(when: &When, facts: &Facts<'_>) -> bool {
    let method = when
        .method
        .as_deref()
        .is_none_or(|method| facts.head.is_some_and(|head| head.method == method));
    let header = when.header.as_ref().is_none_or(|(name, test)| {
        facts.head.is_some_and(|head| {
            let mut values = head.values(name);
            match test {
                FieldTest::Present => values.next().is_some(),
                FieldTest::Absent => values.next().is_none(),
                FieldTest::Equals(wanted) => values.any(|value| value == wanted),
            }
        })
    });
    let json = when.json.as_ref().is_none_or(|(pointer, wanted)| {
        facts
            .content
            .is_some_and(|content| content.pointer(pointer) == Some(wanted))
    });
    method && header && json
}

#[cfg(test)]
mod tests;
