//! `connections`: how many connections were accepted.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::{Assertion, Entry};
use crate::document::Node;
use crate::expected::counts::Count;
use crate::expected::{Expected, Words, counts};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::{compare, shown};
use crate::judge::mark::Mark;
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "connections",
    summary: "connections that were accepted",
    example: "connections: { api: 1 }",
    findings: &[FindingName::OverBudget, FindingName::GaveUpEarly],
    kind: counts::of_servers,
    decode,
};

/// `{api: 1}`.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    counts::decode_of_servers(node, "`connections`", scope).map(Assertion::Connections)
}

/// Too many is over the budget, too few is giving up early. A connection is of
/// a call when a request of that call began on it.
pub(super) fn judge(counts: &[Count], of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    for count in counts {
        let server = &count.counter.server;
        let facts = case.facts.servers.get(server);
        let accepted = facts.map_or(&[][..], |facts| &facts.accepted);
        let whole_server = of.call.is_none() && of.attempt.is_none();
        let own = case.facts.exchanges.iter();
        let own = own.filter(|one| one.place.server == *server && one.is_of(of));
        let own: HashSet<u32> = own.map(|one| one.place.connection).collect();
        let seen: Vec<Mark> = accepted
            .iter()
            .filter(|(number, _)| whole_server || own.contains(number))
            .map(|(_, mark)| *mark)
            .collect();
        let observed = seen.len() as u64;
        let Expected::Fits(matcher) = &count.expected else {
            out.note(shown("connections", server, observed));
            continue;
        };
        let Some(side) = compare(matcher, observed, case.cut_short(), &mut out) else {
            continue;
        };
        let finding = match side {
            Ordering::Greater => FindingName::OverBudget,
            _ => FindingName::GaveUpEarly,
        };
        out.wrong(Raised::new(
            finding,
            format!("{} connections at {server}", matcher.words()),
            observed.words(),
            seen.iter().map(|mark| mark.n),
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Story, count, exactly, of_call, plan, respond, server};

    fn check(expected: u64, of: &Of) -> Checked {
        let plan = plan([server("api").step(respond(200))])
            .call("GET", "api", "/1")
            .call("GET", "api", "/2");
        let story = Story::new()
            .request(5, "api", 1, "GET /1")
            .shows(6, 1, 200, "")
            .request(7, "api", 2, "GET /2")
            .accepted(8, "api", 3)
            .shows(9, 2, 200, "");
        let assertion = Assertion::Connections(vec![count("api", exactly(expected))]);
        story.check_of(&plan, &assertion, of)
    }

    #[test]
    fn every_accepted_connection_counts_also_one_without_a_request() {
        check(3, &Of::default()).assert_good();
    }

    #[test]
    fn more_is_over_the_budget_and_fewer_is_giving_up_early() {
        assert_eq!(check(2, &Of::default()).names(), [FindingName::OverBudget]);
        assert_eq!(check(4, &Of::default()).names(), [FindingName::GaveUpEarly]);
    }

    #[test]
    fn a_connection_is_of_the_call_whose_request_began_on_it() {
        check(1, &of_call(2)).assert_good();
        assert_eq!(check(2, &of_call(2)).names(), [FindingName::GaveUpEarly]);
    }
}
