//! The text of contents that servers gave, as the case scripts it.

use super::case::{CallView, Case};
use super::effects;
use crate::faults::Fault;
use crate::plan::Content;
use crate::template::{Bindings, Template};

/// Characters by which a content is recognized.
const RECOGNIZED: usize = 16;

/// The first characters of the text contents with which servers answered a
/// call.
pub fn starts(case: &Case<'_>, call: &CallView<'_>) -> Vec<String> {
    let answered = call.exchanges.iter().filter(|one| one.answer.is_some());
    let steps = answered.filter_map(|one| effects::step(case.plan, one));
    let texts = steps.filter_map(|step| match &step.fault {
        Fault::Respond(respond) => text(respond.body.as_ref()?, &bindings(case)),
        Fault::Cut(_) | Fault::Raw(_) => None,
    });
    texts
        .map(|text| text.trim().chars().take(RECOGNIZED).collect::<String>())
        .filter(|start| !start.is_empty())
        .collect()
}

fn text(content: &Content, bindings: &Bindings) -> Option<String> {
    let render = |template: &Template| Some(template.render(bindings));
    match content {
        Content::Text(template) | Content::Json(template) => render(template),
        Content::Endless(text) => Some(text.clone()),
        Content::Hex(bytes) => String::from_utf8(bytes.clone()).ok(),
        Content::Bytes(_) | Content::Shape(_) => None,
    }
}

/// Where the servers of the cell listened.
fn bindings(case: &Case<'_>) -> Bindings {
    let servers = case.facts.servers.iter();
    let armed = servers.filter_map(|(name, facts)| Some((name.clone(), facts.armed?.0)));
    Bindings(armed.collect())
}
