//! `events`: the events of a list that were lost, and those that came twice.
//!
//! Ids count: those that the client's caller was given against those that the
//! servers sent whole, or left out since the client said that it has them. An id that
//! no server sent whole is a finding by itself.

use std::collections::BTreeSet;

use scripted_servers::wire::SentEvents;
use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::document::decode::Keys;
use crate::document::kind::Rule;
use crate::document::{Kind, Node};
use crate::expected::{Expected, Words, counts, side, values};
use crate::judge::case::{CallView, Case};
use crate::judge::checked::{Checked, Raised};
use crate::plan::Of;
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
            "events that were sent whole, or that the client said it has, and that the caller never got",
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
        one(expected, told, call, &mut out);
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
    /// Not sent, as the client said that it has them.
    left_out: BTreeSet<&'c str>,
    /// Whether no more than these were sent whole.
    certain: bool,
}

fn sent<'c>(call: &CallView<'c>) -> SentIds<'c> {
    let mut sent = SentIds {
        certain: true,
        ..SentIds::default()
    };
    for exchange in &call.exchanges {
        let Some((_, answer)) = exchange.answer() else {
            continue;
        };
        let SentEvents {
            whole,
            perhaps,
            left_out,
        } = &answer.events;
        let (whole, perhaps) = (whole.iter().map(String::as_str), perhaps.iter());
        sent.certain &= perhaps.len() == 0;
        sent.perhaps.extend(perhaps.map(String::as_str));
        sent.left_out.extend(left_out.iter().map(String::as_str));
        if exchange.answered().is_some() {
            sent.whole.extend(whole);
        } else {
            sent.certain = false;
            sent.perhaps.extend(whole);
        }
    }
    sent
}

fn one(expected: &EventsExpected, told: &[String], call: &CallView<'_>, out: &mut Checked) {
    let sent = sent(call);
    let given: BTreeSet<&str> = told.iter().map(String::as_str).collect();
    let due = &sent.whole | &sent.left_out;
    let lost: Vec<&str> = due.difference(&given).copied().collect();
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
    use crate::plan::Plan;
    use crate::testing::{Story, exactly, plan, respond, server};
    use scripted_servers::event::What;

    fn case() -> Plan {
        plan([server("api").step(respond(200))]).call("GET", "api", "/x")
    }

    /// A request whose answer lists events.
    fn asked(story: Story, at: u64, connection: u32, answered: bool, ids: [&[&str]; 3]) -> Story {
        let place = ("api", connection, 1);
        let story = story.request(at, "api", connection, "GET /x");
        let story = story.listing(at, place, ids);
        let (bytes, handed_us) = (100, at * 1000);
        match answered {
            true => story.server(at, place, What::Answered { bytes, handed_us }),
            false => story,
        }
    }

    fn given(story: Story, ids: &[&str]) -> Checked {
        let expected = Assertion::Events(EventsExpected {
            lost: Some(exactly(0)),
            repeated: Some(exactly(0)),
        });
        let report = Report {
            call: 1,
            shown: Shown::Error(Vec::new()),
            claim: None,
            events: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
        };
        story
            .client(20, ClientEvent::Report(report))
            .check(&case(), &expected)
    }

    fn sent(whole: &[&str]) -> Story {
        asked(Story::new(), 5, 1, true, [whole, &[], &[]])
    }

    #[test]
    fn what_was_sent_whole_must_be_given_once() {
        let check = |ids: &[&str]| given(sent(&["1", "2", "3", "4"]), ids);
        check(&["1", "2", "3", "4"]).assert_good();
        assert_eq!(check(&["1", "2", "4"]).names(), [FindingName::LostResult]);
        let twice = check(&["1", "2", "1", "2", "3", "4"]);
        assert_eq!(twice.names(), [FindingName::DuplicateEffect]);
        let made_up = check(&["1", "2", "3", "4", "5"]);
        assert_eq!(made_up.names(), [FindingName::FabricatedAnswer]);
    }

    #[test]
    fn a_list_that_went_on_is_one_list() {
        let rest: [&[&str]; 3] = [&["3"], &[], &["1", "2"]];
        let check = |ids: &[&str]| given(asked(sent(&["1", "2"]), 7, 2, true, rest), ids);
        check(&["1", "2", "3"]).assert_good();
        assert_eq!(check(&["1", "3"]).names(), [FindingName::LostResult]);
    }

    #[test]
    fn what_the_client_says_it_has_it_must_have() {
        let rest: [&[&str]; 3] = [&["4"], &[], &["1", "2", "3"]];
        let check = |ids: &[&str]| given(asked(sent(&["1", "2"]), 7, 2, true, rest), ids);
        assert_eq!(check(&["1", "2", "4"]).names(), [FindingName::LostResult]);
    }

    #[test]
    fn what_was_perhaps_sent_is_neither_lost_nor_made_up() {
        let cut = || asked(Story::new(), 5, 1, false, [&["1", "2"], &[], &[]]);
        let unsure = given(cut(), &["1"]);
        assert_eq!((unsure.names().len(), unsure.doubts.len()), (0, 1));
        given(cut(), &["1", "2"]).assert_good();
        let dripped = || asked(Story::new(), 5, 1, true, [&[], &["1", "2"], &[]]);
        assert_eq!(given(dripped(), &["1"]).doubts.len(), 1);
        let silent = Story::new().request(5, "api", 1, "GET /x");
        let silent = silent.shows(9, 1, 200, "");
        let shown = Assertion::Events(EventsExpected {
            lost: Some(exactly(0)),
            repeated: None,
        });
        assert_eq!(silent.check(&case(), &shown).doubts.len(), 1);
    }
}
