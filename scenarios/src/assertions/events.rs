//! `events`: the events of a list that were lost, and those that came twice.
//!
//! Ids count: those that the client's caller was given against those that the
//! servers sent whole. An id that no server sent whole is a finding by itself.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::document::decode::Keys;
use crate::document::kind::Rule;
use crate::document::{Kind, Node};
use crate::expected::{Expected, Words, counts, side, values};
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::judge::effects;
use crate::plan::{Content, Of};
use crate::reading::all_good;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "events",
    summary: "events of a `stream` that were lost, or given to the caller twice",
    example: "events: { lost: 0, repeated: 0 }",
    findings: &[
        FindingName::LostResult,
        FindingName::DuplicateEffect,
        FindingName::FabricatedAnswer,
    ],
    kind: || Kind::Map(&KEYS).expected(),
    decode,
};

/// How many may be lost, and how many may come twice; neither: they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventsExpected {
    /// Sent whole, and not given to the caller.
    pub lost: Option<Expected<u64>>,
    /// Given to the caller again.
    pub repeated: Option<Expected<u64>>,
}

impl Parameters for EventsExpected {}

static KEYS: Keys = Keys::new(
    "`events`",
    &[
        (
            "lost",
            "events that were sent whole and that the caller never got",
            counts::one_count,
        ),
        (
            "repeated",
            "events that the caller got again",
            counts::one_count,
        ),
    ],
)
.rules(&[Rule::AnyOf(&["lost", "repeated"])]);

/// `{lost, repeated}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    if values::is_shown(node, scope) {
        let (lost, repeated) = (None, None);
        return Some(Assertion::Events(EventsExpected { lost, repeated }));
    }
    values::must_expect(node, "`events`", scope)?;
    let fields = node.fields(&KEYS, scope.out)?;
    if fields.entries().is_empty() {
        return node.wrong("`events`", "a map with `lost` or `repeated`", scope.out);
    }
    let lost = fields.get("lost");
    let lost = lost.map(|node| counts::number_of(node, "`lost`", scope));
    let repeated = fields.get("repeated");
    let repeated = repeated.map(|node| counts::number_of(node, "`repeated`", scope));
    Some(Assertion::Events(EventsExpected {
        lost: all_good(lost)?,
        repeated: all_good(repeated)?,
    }))
}

/// Each stream by itself.
pub(super) fn judge(expected: &EventsExpected, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for call in case.calls_of(of) {
        let Some((_, report)) = call.report else {
            continue;
        };
        let Some(told) = &report.events else {
            out.doubt(format!("call {}: the client tells of no events", call.id));
            continue;
        };
        one(expected, told, call, case, &mut out);
    }
    out
}

/// The ids that servers sent for a call.
#[derive(Default)]
struct SentIds<'c> {
    /// Whole, for certain.
    whole: BTreeSet<&'c str>,
    /// Perhaps whole.
    perhaps: BTreeSet<&'c str>,
    /// Whether no more than these were sent whole.
    certain: bool,
}

fn sent<'c>(call: &CallView<'_>, case: &Case<'c>) -> SentIds<'c> {
    let mut sent = SentIds {
        certain: true,
        ..SentIds::default()
    };
    for exchange in &call.exchanges {
        let Some(step) = effects::step(case.plan, exchange) else {
            continue;
        };
        let behaviour = step.fault.behaviour();
        let Some(Content::Events(events)) = behaviour.content() else {
            continue;
        };
        match behaviour.events_sent() {
            Some(ids) if exchange.answered().is_some() => sent.whole.extend(ids),
            Some(ids) => {
                sent.certain = false;
                sent.perhaps.extend(ids);
            }
            None => {
                sent.certain = false;
                let ids = events.iter().filter_map(|event| event.id.as_deref());
                sent.perhaps.extend(ids);
            }
        }
    }
    sent
}

fn one(
    expected: &EventsExpected,
    told: &[String],
    call: &CallView<'_>,
    case: &Case<'_>,
    out: &mut Checked,
) {
    let sent = sent(call, case);
    let given: BTreeSet<&str> = told.iter().map(String::as_str).collect();
    let lost: Vec<&str> = sent.whole.difference(&given).copied().collect();
    let repeated = told.len() - given.len();
    let id = call.id;
    let proof = || {
        let exchanges = call.exchanges.iter().flat_map(|one| one.proof());
        exchanges.chain(call.report_n())
    };
    let made_up = given.iter().copied();
    let made_up = made_up.filter(|id| !sent.whole.contains(id) && !sent.perhaps.contains(id));
    let made_up: Vec<&str> = made_up.collect();
    if expected.lost.is_none() && expected.repeated.is_none() {
        let (given, lost) = (given.len(), lost.len());
        out.note(format!(
            "events of call {id}: {given} given, {lost} lost, {repeated} repeated"
        ));
        return;
    }
    if !made_up.is_empty() {
        out.wrong(Raised::new(
            FindingName::FabricatedAnswer,
            format!("only events of call {id} that a server sent whole"),
            format!("also {}", made_up.join(", ")),
            proof(),
        ));
    }
    if let Some(Expected::Fits(matcher)) = &expected.lost {
        if side(matcher, &(lost.len() as u64)).is_some() {
            out.wrong(Raised::new(
                FindingName::LostResult,
                format!("{} events of call {id} lost", matcher.words()),
                format!("{}: {}", lost.len(), lost.join(", ")),
                proof(),
            ));
        } else if sent.certain || sent.perhaps.is_subset(&given) {
            out.good();
        } else {
            out.doubt(format!(
                "call {id}: which events were sent whole is not known"
            ));
        }
    }
    if let Some(Expected::Fits(matcher)) = &expected.repeated {
        if side(matcher, &(repeated as u64)).is_some() {
            out.wrong(Raised::new(
                FindingName::DuplicateEffect,
                format!("{} events of call {id} repeated", matcher.words()),
                format!("{repeated}: {}", told.join(", ")),
                proof(),
            ));
        } else {
            out.good();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{ClientEvent, Report, Shown};
    use crate::faults::Fault;
    use crate::faults::respond::ResponsePoint;
    use crate::plan::{Plan, SentEvent};
    use crate::testing::{Story, exactly, plan, respond, server};
    use scripted_servers::wire::End;

    /// Four events, cut behind some of them.
    fn case(cut: Option<ResponsePoint>) -> Plan {
        let event = |id: u32| SentEvent {
            id: Some(id.to_string()),
            event: None,
            data: "x".to_owned(),
        };
        let step = respond(200).with(|respond| {
            respond.body = Some(Content::Events((1..=4).map(event).collect()));
            respond.cut = cut.map(|point| (point, End::Reset));
        });
        assert!(matches!(step.fault, Fault::Respond(_)));
        plan([server("api").step(step)]).call("GET", "api", "/x")
    }

    fn told(answered: bool, ids: &[&str]) -> Story {
        let story = Story::new().request(5, "api", 1, "GET /x");
        let story = story.took(5, ("api", 1, 1), 0);
        let story = if answered {
            story.answer(6, ("api", 1, 1), 200, "")
        } else {
            story
        };
        story.client(
            10,
            ClientEvent::Report(Report {
                call: 1,
                shown: Shown::Error(Vec::new()),
                claim: None,
                events: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
            }),
        )
    }

    fn none() -> Assertion {
        Assertion::Events(EventsExpected {
            lost: Some(exactly(0)),
            repeated: Some(exactly(0)),
        })
    }

    #[test]
    fn what_was_sent_whole_must_be_given_once() {
        let check = |ids: &[&str]| told(true, ids).check(&case(None), &none());
        check(&["1", "2", "3", "4"]).assert_good();
        assert_eq!(check(&["1", "2", "4"]).names(), [FindingName::LostResult]);
        let twice = check(&["1", "2", "1", "2", "3", "4"]);
        assert_eq!(twice.names(), [FindingName::DuplicateEffect]);
        let made_up = check(&["1", "2", "3", "4", "5"]);
        assert_eq!(made_up.names(), [FindingName::FabricatedAnswer]);
    }

    #[test]
    fn a_cut_leaves_those_before_it() {
        let between = case(Some(ResponsePoint::Events(2)));
        told(true, &["1", "2"])
            .check(&between, &none())
            .assert_good();
        let inside = case(Some(ResponsePoint::InsideEvent(3)));
        told(true, &["1", "2"])
            .check(&inside, &none())
            .assert_good();
        let half = told(true, &["1", "2", "3"]).check(&inside, &none());
        assert_eq!(half.names(), [FindingName::FabricatedAnswer]);
        let lost = told(true, &["1"]).check(&inside, &none());
        assert_eq!(lost.names(), [FindingName::LostResult]);
    }

    #[test]
    fn what_was_perhaps_sent_is_neither_lost_nor_made_up() {
        let unsure = told(false, &["1"]).check(&case(None), &none());
        assert_eq!((unsure.names().len(), unsure.doubts.len()), (0, 1));
        let silent = Story::new()
            .request(5, "api", 1, "GET /x")
            .shows(9, 1, 200, "");
        assert_eq!(silent.check(&case(None), &none()).doubts.len(), 1);
    }
}
