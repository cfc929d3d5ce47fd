//! The text of contents that servers gave, as the case scripts it.

use std::collections::BTreeSet;

use super::case::{CallView, Case};
use super::effects;
use crate::resolve::rendering;
use crate::template::Bindings;

/// Characters by which a content is recognized.
const RECOGNIZED: usize = 16;

/// What the contents begin with that servers gave to a call.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    /// The first characters of those that are text.
    pub texts: Vec<String>,
    /// Whether there were others, of which a client need not show anything that
    /// could be recognized.
    pub not_text: bool,
}

/// What the contents begin with that servers gave to a call.
pub(crate) fn starts(case: &Case<'_>, call: &CallView<'_>) -> Starts {
    let bindings = bindings(case);
    let answered = call.exchanges.iter().filter(|one| one.answer().is_some());
    let taken = answered.filter_map(|one| Some((&one.place.server, one.step()?)));
    // Each step gives the same content every time.
    let taken: BTreeSet<_> = taken.collect();
    let steps = taken.into_iter();
    let steps =
        steps.filter_map(|(server, id)| Some((server, effects::step_of(case.plan, server, id)?)));
    let contents =
        steps.filter_map(|(server, step)| Some((server, step.fault.behaviour().content()?)));
    let mut starts = Starts::default();
    for (server, content) in contents {
        let with = rendering(case.plan, case.manifest, server, &bindings);
        match String::from_utf8(content.render(&with).bytes) {
            Ok(text) => {
                let start: String = text.trim().chars().take(RECOGNIZED).collect();
                starts
                    .texts
                    .extend(Some(start).filter(|start| !start.is_empty()));
            }
            Err(_) => starts.not_text = true,
        }
    }
    starts
}

/// Where the servers of the cell listened.
pub(crate) fn bindings(case: &Case<'_>) -> Bindings {
    let servers = case.facts.servers.iter();
    let armed = servers.filter_map(|(name, facts)| Some((name.clone(), facts.armed?)));
    Bindings(armed.collect())
}
